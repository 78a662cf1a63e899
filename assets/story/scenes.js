// Eight scenes. Each has a title, a live line, controls and a picture; a story holds what they share (story.js).

import {
  bars, believed, comma, crowd, dotplot, errorCurve, estimates, hills, published, track,
} from "./panels.js";
import { belief, promise } from "./run.js";

export const SLOW = 4; // guesses that are looked at one by one
const USUAL = { epsilonTotal: 0.2, epsilonAbc: 0.1, c: 10, redrawn: false };
const ROUND = [1, 1.5, 2, 3, 5, 7];
const decades = (from, to) => ROUND.flatMap((x) => [-2, -1, 0, 1, 2].map((e) => Number((x * 10 ** e).toPrecision(3))))
  .filter((x) => x >= from && x <= to).sort((a, b) => a - b);

export const BUDGETS = decades(0.02, 20);
const SOFTER = decades(0.02, 200); // as far as a list may betray
const THRESHOLDS = [0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, 0.17, 0.2, 0.25, 0.3, 0.4, 0.5];
const COUNTS = [1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500];

const WITH = "with noise: ", WITHOUT = "without noise: ";

const off = (error) => error.toFixed(3);
const strong = (text, role) => ({ text, role });

// ---------------------------------------------------------------- where things are

// The figure in parts: across on a wide screen; on a telephone the first parts share the upper half.
function parts({ width, height, narrow }, shares, upper = shares.length - 1, above = 0.42) {
  const gap = narrow ? 14 : 36;
  if (!narrow) {
    const whole = shares.reduce((a, b) => a + b), free = width - gap * (shares.length - 1);
    let left = 0;
    return shares.map((share) => {
      const box = { left, right: left + (share / whole) * free, top: 0, bottom: height };
      left = box.right + gap;
      return box;
    });
  }
  const line = height * above, wide = (width - gap * (upper - 1)) / upper;
  const first = shares.slice(0, upper).map((_, i) =>
    ({ left: i * (wide + gap), right: i * (wide + gap) + wide, top: 0, bottom: line }));
  return [...first, { left: 0, right: width, top: line + gap, bottom: height }];
}

const at = (plot, box) => ({ ...plot, box });
const halved = (box, part, gap = 24) => [
  { ...box, bottom: box.top + part * (box.bottom - box.top) - gap / 2 },
  { ...box, top: box.top + part * (box.bottom - box.top) + gap / 2 },
];

// ---------------------------------------------------------------- scenes 2 and 4: a run

const row = (shares, t) => Array.from(shares.subarray(5 * t, 5 * t + 5));

// Kept guesses of the first `done`, as an estimate of the panel.
function series(story, { run, errorAt }, done, color, word) {
  const kept = run.kept.filter((t) => t < done);
  const { mean, error } = errorAt(kept);
  const words = `${word}${kept.length ? `${comma(kept.length)} kept, off by ${off(error)}` : "none kept"}`;
  return { mean, guesses: kept.map((t) => row(story.draws.theta, t)), color, words, error };
}

function running(story, plot, facts) {
  const { draws, place } = story, { noisy, run, rho, plain } = facts;
  const [left, middle, right] = plot.narrow
    ? (([a, b, c]) => [a, c, b])(parts(plot, [1, 1, 1])) : parts(plot, [0.27, 0.45, 0.28]);
  const done = Math.min(Math.floor(place), run.stop), now = Math.min(done, run.stop - 1);
  const part = place - done, slow = place < SLOW && part > 0;
  const looked = slow ? now : Math.max(0, done - 1), simulated = 5 * looked < draws.simulated.length;
  const guess = place > 0 ? looked : null;
  bars(at(plot, left), {
    people: draws.people[draws.shown], you: draws.you.said, guess,
    simulated: guess === null ? null : row(simulated ? draws.simulated : draws.theta, guess),
    risen: slow ? part / 0.35 : 1,
  });
  track(at(plot, middle), {
    rho, noisy, run, plain: plain.limit, limit: noisy ? run.thresholds.at(-1) : plain.limit, place: done,
    most: Math.max(12, place),
    flight: slow && part > 0.35
      ? { part: (part - 0.35) / 0.65, from: [left.right - 20, (left.top + left.bottom) / 2] } : null,
  });
  const both = [series(story, plain, noisy ? plain.run.stop : done, "plain", plot.narrow || !noisy ? "" : WITHOUT)];
  if (noisy) both.push(series(story, facts, done, "private", plot.narrow ? "" : WITH));
  estimates(at(plot, right), { truth: draws.truth, series: both });
}

function told(story, facts) {
  const { place } = story, { run, rho, noisy, plain } = facts, shown = noisy ?? rho;
  const done = Math.min(Math.floor(place), run.stop), slow = place < SLOW && place > done;
  const t = slow ? done : Math.max(0, done - 1), isKept = run.kept.includes(t), many = run.kept.filter((k) => k <= t).length;
  if (place <= 0 && !story.playing) return ["Press Play."];
  if (done >= run.stop) return null;
  const said = [`Guess ${comma(t + 1)}: `];
  if (place <= 0 || (slow && place - done < (t ? 0.5 : 0.85))) {
    if (noisy) return [...said, `distance ${off(rho[t])}, and now its kick.`];
    const more = t ? "" : " Their distance says how much they differ from the real people; the bars are its rough picture.";
    return [...said, `five shares at random, and 5,000 people simulated with them.${more}`];
  }
  said.push(noisy ? `${off(rho[t])} is kicked to ${off(shown[t])}, ` : `distance ${off(rho[t])}, `);
  const isNear = rho[t] <= plain.limit, role = noisy ? "private" : "plain";
  said.push(isKept ? strong(isNear ? "kept" : "wrongly kept", role)
    : noisy && isNear ? strong("wrongly rejected", "plain") : "too far");
  return [...said, `. ${comma(many)} of ${comma(plain.setting.c)} kept.`];
}

const PLAY = [{ kind: "play" }, { kind: "scrub", name: "Drag through the run" }];
const NEW_NOISE = { kind: "press", text: "New noise", on: (story) => story.change({ noise: story.setting.noise + 1 }) };

// ---------------------------------------------------------------- scenes 3 and 5: you

const usual = (story, more) => story.facts({ ...USUAL, n: story.draws.shown, noise: story.setting.noise, ...more });

function shownRun(story, plot, facts, { marked, limit }) {
  const [left, right] = parts(plot, [0.36, 0.64], 1, 0.3);
  const { run, rho, noisy, plain } = facts;
  track(at(plot, left), {
    rho, noisy, run, plain: plain.limit, limit, place: run.stop, most: run.stop, marked,
  });
  return right;
}

const otherAnswer = (story) => ({
  kind: "press", primary: true,
  text: story.changed ? `Say ${story.draws.you.said} again` : `Say ${story.draws.you.instead} instead`,
  on: () => { story.changed = !story.changed; },
});

function spied(story) {
  const { you, spy } = story.draws;
  const facts = story.facts({ ...USUAL, epsilonAbc: spy, n: story.draws.shown, noise: null });
  const other = facts.of(story.draws.other);
  const differs = (one, two) => one.kept.filter((t) => !two.kept.includes(t));
  const [mine, others] = [differs(facts.run, other), differs(other, facts.run)];
  // Without noise a list is certain with one answer and impossible with the other.
  const now = mine.length + others.length ? (story.changed ? 0 : 100) : 50;
  return { you, spy, facts, other, mine, others, now };
}

function kicked(story) {
  const { draws } = story, { epsilonTotal } = story.setting;
  const facts = usual(story, { epsilonTotal, epsilonAbc: draws.spy });
  const other = facts.of(draws.other), seen = story.changed ? other : facts.run;
  const now = story.once(`belief ${story.changed} ${facts.key}`,
    () => belief(facts.rho, draws.other, facts.setting, seen));
  return { facts, other, now, ends: promise(facts.setting.epsilonTotal) };
}

// ---------------------------------------------------------------- scenes 6 and 7: guess first

const QUESTIONS = [
  { at: 5, c: 10, more: {} },
  { at: 6, c: 100, more: { epsilonTotal: 1, c: 100 } },
  { at: 6, c: 10, more: { epsilonTotal: 1, n: 1000 } },
];

function question(story) {
  const found = QUESTIONS.findIndex((each) => each.at === story.scene), second = story.scene === 6 && story.second;
  return { ...QUESTIONS[found + (second ? 1 : 0)], number: found + (second ? 1 : 0) };
}

const WHY = [
  "Close guesses are rare and far ones common: noise mostly lets far ones in.",
  "A hundred share the budget, so each kick is nine times as long.",
  "One of 1,000 people weighs five times as much, so each kick is five times as long.",
];

const middle = (values) => values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)];

function predicted(story, plot) {
  const { c, more, number } = question(story), many = story.answers[number], guess = story.guesses[number] ?? c / 2;
  const [left, right] = parts(plot, [0.34, 0.66], 1);
  const shown = many ? Math.max(1, Math.floor(many.shown)) : 0;
  const facts = usual(story, { ...more, noise: shown ? shown - 1 : 0 });
  // Where the kept ones truly are: those above the line are wrong.
  track(at(plot, left), {
    ...facts, noisy: null, limit: facts.plain.limit, plain: facts.plain.limit, most: facts.run.stop,
    run: { ...facts.run, kept: shown ? facts.run.kept : [] }, place: shown ? facts.run.stop : 0,
    title: shown ? `Run ${shown}: ${facts.run.kept.length < c ? "all guesses used up" : `the ${c} it kept, where they truly are`}` : `A run keeps ${c}`,
    role: "private",
  });
  const wrong = many ? many.wrong.slice(0, shown) : [];
  if (many) wrong.short = many.kept.map((kept) => kept < c);
  if (many) wrong.most = Math.max(...Object.values(Object.groupBy(many.wrong, String)).map((each) => each.length));
  dotplot(at(plot, right), { wrong, c, guess, typical: shown >= 200 ? middle(many.wrong) : null });
}

const asked = (story) => {
  const { c, more, number } = question(story), many = story.answers[number];
  const guess = { kind: "slide", name: "Your guess", from: 0, to: c, value: story.guesses[number] ?? c / 2,
    shown: comma(story.guesses[number] ?? c / 2), on: (value) => { if (!many) story.guesses[number] = value; }, off: Boolean(many) };
  const show = { kind: "press", primary: true, text: many ? "Guess again" : "Show 200 runs",
    on: () => {
      if (many) delete story.answers[number];
      else story.ask(number, { ...USUAL, n: story.draws.shown, ...more });
    } };
  const next = { kind: "press", text: "Now ask a thousand people", on: () => { story.second = true; } };
  return [guess, show, ...(story.scene === 6 && !story.second && many?.shown >= 200 ? [next] : [])];
};

function outcome(story) {
  const { c, number } = question(story), many = story.answers[number], guess = story.guesses[number] ?? c / 2;
  if (!many) return null;
  const shown = Math.floor(many.shown), typical = middle(many.wrong);
  if (shown < 200) return [`Run ${shown} of 200: `, strong(`${many.wrong[Math.max(0, shown - 1)]} wrong`, "private"), "."];
  return [`You said ${comma(guess)}. `, strong(`A typical run has ${comma(typical)} of ${comma(c)} wrong.`, "private"),
    ` ${guess === typical ? "Exactly right. " : ""}${WHY[number]}`];
}

// ---------------------------------------------------------------- all scenes

export const SCENES = [
  {
    title: () => "A study publishes a result. Could it betray you?",
    live: ({ draws }) => [`${comma(draws.shown)} people each gave a number from 0 to 5. One of them is you, and you said `,
      strong(String(draws.you.said)), "."],
    controls: () => [],
    draw: (story, plot) => crowd(at(plot, parts(plot, [0.27, 0.73], 1)[0]), plot.box,
      story.draws.people[story.draws.shown], story.draws.you.said, 0),
  },
  {
    title: () => "Guess, simulate, compare. Keep what looks real.",
    facts: (story) => story.facts({ ...USUAL, n: story.draws.shown, noise: null }),
    live(story) {
      if (story.fallen < 1) return ["First, the real people: how many gave which number?"];
      const facts = this.facts(story);
      return told(story, facts) ?? [strong(`${facts.run.kept.length} kept: the run stops`, "plain"),
        ` after ${comma(facts.run.stop)} guesses. Their average is off from the truth by `, strong(off(facts.error), "plain"), "."];
    },
    controls: () => PLAY,
    draw(story, plot) {
      const [left] = plot.narrow ? parts(plot, [1, 1, 1]) : parts(plot, [0.27, 0.45, 0.28]);
      if (story.fallen < 1) {
        crowd(at(plot, left), plot.box, story.draws.people[story.draws.shown], story.draws.you.said, story.fallen);
      } else running(story, plot, this.facts(story));
    },
  },
  {
    title: () => "Published: only which guesses were kept. Change your answer.",
    live(story) {
      const { you, spy, mine, others } = spied(story), names = (kept) => kept.map((t) => comma(t + 1)).join(", ");
      if (!story.changed) {
        return [`Nothing is hidden yet. A spy knows everybody else's number and chose the threshold ${spy}. `,
          strong(`From this list the spy is certain that you said ${you.said}.`, "private")];
      }
      return [`With ${you.instead} instead of ${you.said}, guess `, strong(names(others), "private"),
        ` is published in place of ${names(mine)}. `, strong("Again the spy is certain what you said.", "private")];
    },
    controls: (story) => [otherAnswer(story)],
    draw(story, plot) {
      const { you, spy, facts, other, others, now } = spied(story), guess = others[0];
      const seen = story.changed ? facts.with(story.draws.other, other) : facts;
      const right = shownRun(story, plot, seen, { marked: guess, limit: spy });
      const [upper, lower] = halved(right, 0.48);
      hills(at(plot, upper), { you, guess, mine: facts.rho[guess], other: story.draws.other[guess], limit: spy, scale: 0,
        delta: facts.setting.delta });
      const [bar, lists] = halved(lower, 0.36, 10);
      believed(at(plot, bar), { you, low: 0, high: 100, now, title: `How sure is the spy that you said ${you.said}?` });
      published(at(plot, lists), [
        { title: `Published if you say ${you.said}`, kept: facts.run.kept },
        { title: `Published if you say ${you.instead}`, kept: story.changed ? other.kept : [], color: "private" },
      ].slice(0, story.changed ? 2 : 1));
    },
  },
  {
    title: () => "To hide you, add noise: kick every distance.",
    facts: (story) => usual(story, {}),
    live(story) {
      const facts = this.facts(story);
      return told(story, facts) ?? [`The run stops: `, strong(`${facts.wrong} of ${facts.run.kept.length} are wrong, kept only because of noise`,
        "private"), ". The estimate is off by ", strong(off(facts.error), "private"), " instead of ",
      strong(off(facts.plain.error), "plain"), "."];
    },
    controls: () => [...PLAY, NEW_NOISE],
    draw(story, plot) { running(story, plot, this.facts(story)); },
  },
  {
    title(story) {
      const [low, high] = promise(story.setting.epsilonTotal);
      if (low === 0) return "How hard? With kicks this soft, a spy may become certain.";
      return `How hard? Hard enough that a spy stays between ${low} and ${high} of 100.`;
    },
    live(story) {
      const { facts, other, now, ends } = kicked(story), { you } = story.draws, { epsilonTotal, delta } = facts.setting;
      const same = facts.run.kept.filter((t) => other.kept.includes(t)).length;
      const times = facts.scale.query / delta;
      const long = times >= 1.5 ? `${Math.round(times)} times as long as` : times > 0.7 ? "about as long as" : "shorter than";
      const less = Math.abs(now - 50) < 0.5 * (50 - ends[0]) ? " The promise is for the worst list; this one tells less." : "";
      return [`ε_total = ${epsilonTotal} makes a typical kick, called noise, ${long} your effect on a distance. `,
        `${same} of ${facts.run.kept.length} are published whatever you say. The spy, who gave 50 of 100 to ${you.said}, now gives `,
        strong(now.toFixed(0), "theory"), `.${less}`];
    },
    controls: (story) => [otherAnswer(story), knob(story, "epsilonTotal", "Privacy budget ε_total: smaller hides better,",
      SOFTER), NEW_NOISE],
    draw(story, plot) {
      const { facts, other, now, ends } = kicked(story), { you } = story.draws, { run } = facts;
      const guess = spied(story).others[0], seen = story.changed ? facts.with(story.draws.other, other) : facts;
      const right = shownRun(story, plot, seen, { marked: guess, limit: run.thresholds[0] });
      const [upper, lower] = halved(right, 0.48);
      hills(at(plot, upper), { you, guess, mine: facts.rho[guess], other: story.draws.other[guess],
        scale: facts.scale.query, delta: facts.setting.delta });
      const [bar, lists] = halved(lower, 0.36, 10);
      believed(at(plot, bar), { you, low: ends[0], high: ends[1], now, title: `How sure is the spy that you said ${you.said}?` });
      published(at(plot, lists), [
        { title: `Published if you say ${you.said}`, kept: run.kept },
        { title: `Published with the same noise if you say ${you.instead}`, kept: other.kept, color: "private" },
      ]);
    },
  },
  {
    title: () => "In a typical run, how many of the ten are wrong? Guess first.",
    live: (story) => outcome(story) ?? ["The same people and ε_total = 0.2, but new noise in every run. Set your guess, then look."],
    controls: asked,
    draw: predicted,
  },
  {
    title: (story) => (story.second ? "Now ask a thousand people." : "Now keep a hundred."),
    live: (story) => outcome(story) ?? (story.second
      ? ["Ten kept and ε_total = 1 again, but 1,000 people instead of 5,000: each moves the distances five times as far. How many are wrong?"]
      : ["ε_total = 1, five times as much as before: with ten kept, a typical run has one wrong. But a hundred share the budget. How many are wrong?"]),
    controls: asked,
    draw: predicted,
  },
  {
    title: () => "What would you trade? Drag anything.",
    live(story) {
      const facts = story.facts(story.setting), [low, high] = promise(facts.setting.epsilonTotal), { kept } = facts.run;
      const spy = low === 0 ? "a spy may become certain" : `a spy stays between ${low} and ${high} of 100`;
      if (!kept.length) {
        return [strong("Nothing is kept", "private"), ": the estimate is what one knew before, off by ",
          strong(off(facts.error), "private"), " · ", strong(spy, "theory")];
      }
      const [mine, without] = [facts.error, facts.plain.error], ratio = Number(off(mine)) / Number(off(without));
      return [strong(`${comma(facts.wrong)} of ${comma(kept.length)} kept are wrong`, "private"), " · error ",
        strong(off(mine), "private"), `, ${ratio >= 10 ? ratio.toFixed(0) : ratio.toFixed(1)} times `,
        strong(off(without), "plain"), " · ", strong(spy, "theory")];
    },
    controls: (story) => [
      budgetSlider(story),
      knob(story, "epsilonAbc", "Threshold ε_abc", THRESHOLDS),
      knob(story, "c", "Keep c", COUNTS),
      knob(story, "n", "People N", story.draws.sizes),
      NEW_NOISE,
      { kind: "choose", text: "Error curve", value: story.curve, on: (value) => { story.curve = value; } },
      { kind: "choose", text: "New threshold each time", value: story.setting.redrawn,
        on: (value) => story.change({ redrawn: value }) },
    ],
    draw(story, plot) {
      const facts = story.facts(story.setting), { run, plain } = facts;
      const [left, right] = plot.narrow ? parts(plot, [1, 1], 1).toReversed() : parts(plot, [0.52, 0.48]);
      track(at(plot, left), { rho: facts.rho, noisy: facts.noisy, run, plain: plain.limit, limit: run.thresholds.at(-1),
        place: run.stop, most: run.stop, redrawn: facts.setting.redrawn });
      // A telephone has room for one of the two.
      const [upper, lower] = !story.curve ? [right] : plot.narrow ? [null, right] : halved(right, 0.5);
      const both = [series(story, plain, plain.run.stop, "plain", WITHOUT),
        series(story, facts, run.stop, "private", WITH)];
      if (upper) estimates(at(plot, upper), { truth: story.draws.truth, series: both });
      if (!lower) return;
      const rows = story.curveOf(facts.setting);
      if (rows) {
        errorCurve(at(plot, lower), { rows, plain: plain.error, nothing: facts.nothing, now: facts.setting.epsilonTotal,
          error: facts.error });
      }
    },
  },
];

function knob(story, name, words, values) {
  const nearest = values.reduce((best, value, i) =>
    (Math.abs(value - story.setting[name]) < Math.abs(values[best] - story.setting[name]) ? i : best), 0);
  return { kind: "slide", name: words, from: 0, to: values.length - 1, value: nearest, key: name,
    shown: comma(story.setting[name]), off: story.held.includes(name), settles: true,
    on: (i) => story.change({ [name]: values[i] }, false) };
}

const budgetSlider = (story) => knob(story, "epsilonTotal", "Budget ε_total", BUDGETS);
