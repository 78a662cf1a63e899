// The story: one figure that plays a real run, in eight scenes; the app's first page, and a file of its own.
//
// `data` has colors and words (role -> {light, dark}), links ([text, address]), made (what made it), and either draws (a
// blob) or the address they are served at. Where it has a setting, that of the app's knobs, what is let go is told to
// `root.settled`.

import { HALL, LETTERS, isDark, set, sized } from "../draw.js";
import { CONTROLS } from "./controls.js";
import { unpackedDraws } from "./draws.js";
import { manyRuns } from "./many.js";
import { laplace } from "./noise.js";
import { errorOf, estimateOf, runOf, scales, wrongOf } from "./run.js";
import { BUDGETS, SCENES, SLOW } from "./scenes.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const RUNS = 200;
const FIRST = 6, EARLY = 1.8, REST = 11; // seconds of the first guess, of each of some more, and of all others
const FALL = 1.6, GROW = 2.5; // seconds in which people fall into bars, and runs pile up
const NARROW = 760; // pixels
const START = { epsilonTotal: 0.2, epsilonAbc: 0.1, c: 10, n: 5000, noise: 0, redrawn: false };
const IN_ADDRESS = { epsilon_total: "epsilonTotal", epsilon_abc: "epsilonAbc", c: "c", n: "n", noise_draw: "noise" };
const ENDS = { epsilonTotal: [0.001, 1000], epsilonAbc: [0.001, 1.41], c: [1, 1000], noise: [0, 1e6] };

// Show the first scene, or the one in the address, once the draws are there.
export async function begun(root, data) {
  try {
    const blob = data.draws ?? await (await fetch(data.address)).blob();
    const story = new Story(root, data, await unpackedDraws(blob));
    story.enter(story.scene, true);
    return story;
  } catch (error) {
    set(root.querySelector(".headline"), "This browser cannot play the story.");
    set(root.querySelector(".live"), "It needs one of 2023 or newer.");
    throw error;
  }
}

class Story {
  constructor(root, data, draws) {
    Object.assign(this, {
      root, draws, scene: 0, place: 0, fallen: 0, playing: false, changed: false, second: false, curve: false, held: [],
      guesses: {}, answers: {}, setting: { ...START }, memory: new Map(), noises: new Map(), request: 0, notice: "",
    });
    const find = (selector) => root.querySelector(selector);
    Object.assign(this, { canvas: find("canvas"), row: find(".controls"), said: find(".said") });
    const { rho, theta, truth, seed, most } = draws;
    try {
      this.ask = this.asking(manyRuns({ rho, theta, truth, seed, most, budgets: BUDGETS }, RUNS));
    } catch {
      this.notice = "This browser runs no workers: two scenes show no runs.";
      this.ask = () => {};
    }
    this.take(data);
    this.read();
    find("[data-do=back]").onclick = () => {
      if (!this.second) this.enter(this.scene - 1);
      this.second = false;
      this.wake();
    };
    find("[data-do=next]").onclick = () => this.enter(this.scene + 1);
    find(".steps").append(...SCENES.map((scene, i) => {
      const step = document.createElement("button");
      step.type = "button";
      step.onclick = () => this.enter(i);
      step.setAttribute("aria-label", `Scene ${i + 1} of ${SCENES.length}`);
      return step;
    }));
    root.onkeydown = (event) => this.key(event);
    new ResizeObserver(() => this.wake()).observe(root);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.wake());
    if (!data.setting) addEventListener("hashchange", () => { this.read(); this.enter(this.scene, true); });
  }

  // ---------------------------------------------------------------- numbers

  once(key, made) {
    if (!this.memory.has(key)) {
      if (this.memory.size > 40) this.memory.clear();
      this.memory.set(key, made());
    }
    return this.memory.get(key);
  }

  // What a setting does: the run with its noise, the one without, and their errors.
  facts(asked) {
    const setting = { ...asked, delta: this.draws.delta[asked.n] }, key = JSON.stringify(setting);
    return this.once(key, () => {
      const { draws } = this, { theta, truth } = draws, rho = draws.rho[setting.n], scale = scales(setting);
      const noise = setting.noise === null ? null : this.noise(setting.noise);
      const errorAt = (kept) => {
        const mean = estimateOf(theta, kept);
        return { mean, error: errorOf(mean, truth) };
      };
      const described = (run) => ({ run, rho, errorAt, setting, limit: setting.epsilonAbc, error: errorAt(run.kept).error });
      const plain = described(runOf(rho, setting)), run = noise ? runOf(rho, setting, noise) : plain.run;
      const kicked = (distances) => noise && distances.map((value, t) => value + scale.query * noise[t]);
      const facts = {
        ...described(run), key, plain, scale, noisy: kicked(rho), wrong: wrongOf(rho, setting, run),
        nothing: errorAt([]).error, of: (distances) => runOf(distances, setting, noise),
      };
      facts.with = (distances, other) => ({ ...facts, rho: distances, noisy: kicked(distances), run: other });
      return facts;
    });
  }

  noise(number) {
    if (!this.noises.has(number)) {
      if (this.noises.size > 40) this.noises.clear();
      this.noises.set(number, laplace(this.draws.seed, number, this.draws.rho[this.draws.shown].length + this.draws.most));
    }
    return this.noises.get(number);
  }

  // Questions to the worker: 200 runs that pile up, and the curve of their errors.
  asking(worker) {
    this.curveOf = ({ noise, epsilonTotal, ...setting }) => {
      const key = JSON.stringify(setting);
      if (this.curveKey !== key) {
        this.curveKey = key;
        worker("curve", setting, (rows) => { this.rows = rows; this.wake(); });
      }
      return this.rows;
    };
    return (number, setting) => worker("runs", { ...setting, delta: this.draws.delta[setting.n] }, (found) => {
      this.answers[number] = { ...found, shown: STILL.matches ? RUNS : 0 };
      this.guesses[number] ??= setting.c / 2;
      this.wake();
    });
  }

  // ---------------------------------------------------------------- what changes

  // Take what the app says: colors, and knobs that were moved elsewhere.
  take(data) {
    this.data = data;
    this.held = data.held ?? [];
    // What comes back of what was told is no news, and late where a slider is dragged on.
    const news = JSON.stringify(data.setting);
    if (data.setting && news !== this.told) {
      const { scene, ...setting } = data.setting;
      this.told = news;
      this.setting = this.within(setting);
      if (scene - 1 !== this.scene) this.enter(scene - 1, true);
    }
    const links = this.root.querySelector(".onwards nav");
    links.replaceChildren(...data.links.map(([text, href]) => Object.assign(document.createElement("a"),
      { textContent: text, href, target: data.setting ? "_self" : "_blank", rel: "noopener" })));
    set(this.root.querySelector(".made"), data.made ?? "");
  }

  follow(data) {
    this.take(data);
    this.wake();
  }

  // A setting with what is out of range moved inside, and a notice of that.
  within(setting) {
    const held = { ...setting };
    for (const [name, [low, high]] of Object.entries(ENDS)) held[name] = Math.min(high, Math.max(low, held[name]));
    held.n = this.draws.sizes.reduce((a, b) => (Math.abs(b - held.n) < Math.abs(a - held.n) ? b : a));
    const moved = Object.keys(held).filter((name) => held[name] !== setting[name]);
    if (moved.length) this.notice = `Moved inside what this page has: ${moved.map((name) => `${name} = ${held[name]}`).join(", ")}.`;
    return held;
  }

  // The address holds the scene, and in a file of its own the setting.
  read() {
    if (this.data.setting) return;
    const said = new URLSearchParams(location.hash.slice(1)), scene = Number(said.get("scene"));
    if (scene) this.scene = Math.min(SCENES.length, Math.max(1, Math.round(scene))) - 1;
    const given = Object.entries(IN_ADDRESS).filter(([name]) => Number.isFinite(Number(said.get(name) ?? "none")));
    const asked = Object.fromEntries(given.map(([name, key]) => [key, Number(said.get(name))]));
    this.setting = this.within({ ...START, ...asked, redrawn: said.get("resample") === "1" });
  }

  say() {
    const { setting } = this, said = new URLSearchParams({ scene: this.scene + 1 });
    for (const [name, key] of Object.entries(IN_ADDRESS)) if (setting[key] !== START[key]) said.set(name, setting[key]);
    if (setting.redrawn) said.set("resample", 1);
    history.replaceState(history.state, "", `#${said}`);
  }

  change(more, settles = true) {
    this.setting = { ...this.setting, ...more };
    if (settles) this.settle();
    this.wake();
  }

  // Tell where one is: to the program's knobs, or in the address of a file of its own.
  settle() {
    if (!this.data.setting) {
      this.say();
      return;
    }
    const setting = { ...this.setting, scene: this.scene + 1 }, keys = Object.keys(this.data.setting);
    this.told = JSON.stringify(Object.fromEntries(keys.map((key) => [key, setting[key]])));
    this.root.settled(setting);
  }

  enter(scene, first = false) {
    const from = this.scene;
    this.scene = Math.min(SCENES.length - 1, Math.max(0, scene));
    Object.assign(this, { changed: false, second: false, playing: false });
    if (!first) this.notice = "";
    const run = this.run();
    if (run) {
      this.fallen = this.scene === 1 && from === 0 && !STILL.matches ? 0 : 1;
      this.place = STILL.matches ? run.stop : 0;
      if (!STILL.matches) this.play();
    }
    if (!first) this.settle();
    this.wake();
  }

  key(event) {
    const { key, target } = event;
    if (target.matches("input")) return;
    if (key === "ArrowRight") this.enter(this.scene + 1);
    else if (key === "ArrowLeft") this.enter(this.scene - 1);
    else if (key === " " && !target.matches("button, a")) { event.preventDefault(); this.toggle(); }
  }

  // ---------------------------------------------------------------- time

  // The run that the scene plays; none in most.
  run() {
    return SCENES[this.scene].facts?.(this).run;
  }

  play() {
    if (this.place >= this.run().stop) this.place = 0;
    this.playing = true;
    this.before = 0;
    this.wake();
  }

  toggle() {
    if (!this.run()) return;
    if (this.playing) this.playing = false;
    else this.play();
    this.wake();
  }

  // Move on by some seconds; return whether more is to come.
  advance(seconds) {
    let more = false;
    const many = Object.values(this.answers).find((each) => each.shown < RUNS);
    if (many) { many.shown = Math.min(RUNS, many.shown + (seconds / GROW) * RUNS); more = true; }
    if (!this.playing) return more;
    if (this.fallen < 1) { this.fallen = Math.min(1, this.fallen + seconds / FALL); return true; }
    const { stop } = this.run(), slow = Math.min(SLOW, stop), rest = Math.max(1, stop - slow);
    const by = STILL.matches ? 1 : seconds;
    if (this.place < slow) this.place += by / (this.place < 1 ? FIRST : EARLY);
    else this.place = slow + rest * (((this.place - slow) / rest) ** (1 / 3) + by / REST) ** 3;
    this.place = Math.min(stop, this.place);
    this.playing = this.place < stop;
    return more || this.playing;
  }

  wake() {
    this.request ||= requestAnimationFrame((now) => {
      this.request = 0;
      if (!this.root.isConnected) return;
      const seconds = Math.min(0.1, (now - (this.before || now)) / 1000);
      this.before = now;
      const more = this.advance(seconds);
      this.draw();
      if (!more) this.before = 0;
      else if (STILL.matches) setTimeout(() => this.wake(), 1000);
      else this.wake();
    });
  }

  // ---------------------------------------------------------------- what is seen

  draw() {
    const { root, data } = this, scene = SCENES[this.scene], style = getComputedStyle(root);
    const { ink, width, height } = sized(this.canvas), narrow = width < NARROW;
    const letters = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
    const unit = narrow ? 0.85 * letters : data.projector ? Math.max(letters, HALL / LETTERS)
      : Math.min(1.6, letters) * Math.max(1, width / 1400);
    const paper = style.getPropertyValue("--st-background-color").trim();
    const theme = isDark(paper) ? "dark" : "light", inTheme = (part) =>
      Object.fromEntries(Object.entries(part).map(([name, color]) => [name, color[theme]]));
    const look = { paper, unit, ink: style.getPropertyValue("--st-text-color").trim(), thick: narrow ? 0.8 : Math.max(1, unit),
      font: style.getPropertyValue("--st-font") };
    const colors = { ...inTheme(data.colors), inWords: inTheme(data.words), words: data.words.rejected[theme] };
    root.style.setProperty("--story-private", colors.inWords.private);
    root.style.setProperty("--story-plain", colors.inWords.plain);
    root.style.setProperty("--story-theory", colors.inWords.theory);
    scene.draw(this, { ink, look, colors, width, height, narrow, box: { left: 0, right: width, top: 0, bottom: height } });
    this.tell(scene);
    this.control(scene);
  }

  tell(scene) {
    const find = (selector) => this.root.querySelector(selector), live = scene.live(this);
    set(find(".headline"), scene.title(this));
    set(find(".count"), `${this.scene + 1} of ${SCENES.length}`);
    set(find(".notice"), this.notice);
    const words = live.map((part) => part.text ?? part).join("");
    if (words !== this.words) {
      this.words = words;
      find(".live").replaceChildren(...live.map((part) => {
        if (!part.text) return part;
        const strong = document.createElement("strong");
        strong.textContent = part.text;
        strong.className = part.role ?? "";
        return strong;
      }));
      this.canvas.setAttribute("aria-label", `${scene.title(this)} ${words}`);
      // Only what stands is read aloud, not what runs past.
      clearTimeout(this.soon);
      this.soon = setTimeout(() => { if (!this.playing) set(this.said, words); }, 700);
    }
    [...find(".steps").children].forEach((step, i) => {
      if (i === this.scene) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    });
    find("[data-do=back]").disabled = this.scene === 0;
    find("[data-do=next]").disabled = this.scene === SCENES.length - 1;
    find(".onwards").hidden = this.scene < SCENES.length - 1;
  }

  // Controls are made where there are others, and otherwise follow: a slider that is dragged stays.
  control(scene) {
    const wanted = scene.controls(this), kinds = wanted.map(({ kind, name, key, to }) => [kind, name, key, to]);
    if (JSON.stringify([this.scene, kinds]) !== this.kinds) {
      this.kinds = JSON.stringify([this.scene, kinds]);
      const had = this.row.contains(document.activeElement) ? [...this.row.children].indexOf(document.activeElement) : -1;
      this.row.replaceChildren(...wanted.map(({ kind }) => CONTROLS[kind](this)));
      if (had >= 0) this.row.children[Math.min(had, wanted.length - 1)]?.focus();
    }
    wanted.forEach((each, i) => this.row.children[i].follow(each));
  }
}
