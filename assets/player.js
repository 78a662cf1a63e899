// Draws what abcdp_core/publish/output/player.py sends: people answer one after the other, and what
// is known by then.
// Called again with every update; the person at hand is kept on the element.

import {
  HALL, LETTERS, atMost, diamond, disc, inside, isDark, label, measured, nearest, path, powers, round, set, size, sized, ticks,
  write,
} from "./draw.js";

const STILL = matchMedia("(prefers-reduced-motion: reduce)");
const SLOW = 10; // people that are shown one by one at leisure
const ROOMY = matchMedia("(min-width: 769px)"); // a telephone that follows a lecturer is no hall

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".player");
  root.player ??= create(root);
  update(root.player, data);
  // Nothing to return for the end: Streamlit also calls that when one update overtakes another.
}

// ---------------------------------------------------------------- state and controls

// The place is a person, not a frame number: frames are added while a run grows.
function create(root) {
  const find = (selector) => root.querySelector(selector);
  const player = {
    root, ids: {}, place: 1, playing: false, awaits: false, due: 0, request: 0, said: 0,
    play: find("[data-do=play]"), range: find("input"), speed: find("select.speed"),
    state: find(".state"), rows: find("tbody"), status: find(".said"), which: find("select.which"),
    moving: find("select.moving"),
    who: find(".who"), whole: find(".whole"), zoom: find(".zoom"), known: find(".known"),
    person: find(".person"),
  };
  const doing = {
    play: () => (player.playing ? pause(player) : play(player)),
    back: () => step(player, -1),
    forward: () => step(player, 1),
    reset: () => go(player, player.data.times[0]),
  };
  for (const button of root.querySelectorAll("button")) {
    button.onclick = () => { doing[button.dataset.do](); wake(player); };
  }
  player.range.oninput = () => { go(player, player.data.times[Number(player.range.value)]); };
  player.which.onchange = player.moving.onchange = () => wake(player);
  for (const canvas of [player.whole, player.zoom, player.known]) scrubbing(player, canvas);
  new ResizeObserver(() => wake(player)).observe(root);
  return player;
}

function scrubbing(player, canvas) {
  const follow = (event) => {
    if (event.buttons !== 1 || !canvas.people) return;
    go(player, nearest(player.data.times, canvas.people(event.offsetX)));
  };
  canvas.onpointerdown = (event) => { canvas.setPointerCapture(event.pointerId); follow(event); };
  canvas.onpointermove = follow;
}

function update(player, data) {
  const differs = ([name, id]) => (player.ids[name] ?? id) !== id;
  const isNew = !player.data || Object.entries(data.ids).some(differs);
  player.ids = isNew ? data.ids : { ...player.ids, ...data.ids };
  player.data = data;
  player.runs = Object.entries(data.runs)
    .map(([name, run]) => ({ name, ...data.looks[name], ...unpacked(run) }));
  choices(player.moving, player.runs.filter((run) => run.place).map((run) => run.name));
  player.range.max = data.times.length - 1;
  player.whole.setAttribute("aria-label", data.summary);
  const style = getComputedStyle(player.root);
  player.ink = style.getPropertyValue("--st-text-color");
  player.paper = style.getPropertyValue("--st-background-color");
  player.font = style.getPropertyValue("--st-font");
  const theme = isDark(player.paper) ? "dark" : "light";
  player.colors = Object.fromEntries(
    Object.entries(data.colors).map(([name, color]) => [name, color[theme]]));
  if (isNew) { player.place = data.times[0]; player.playing = player.awaits = false; }
  player.place = Math.min(player.place, last(player));
  if (player.awaits) step(player, 1);
  wake(player);
}

// What can be chosen from, with the choice as it was; nothing to choose is nothing to see.
function choices(select, names) {
  select.hidden = names.length < 2;
  if (names.join() === [...select.options].map((option) => option.value).join()) return;
  const before = select.value;
  select.replaceChildren(...names.map((name) => new Option(name, name)));
  select.value = names.includes(before) ? before : names[0] ?? "";
}

function unpacked(series) {
  const numbers = (text) =>
    new Float32Array(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)).buffer);
  return Object.fromEntries(Object.entries(series).map(([name, text]) => [name, numbers(text)]));
}

const last = (player) => player.data.times.at(-1);
const frameAt = (player) => Math.max(0, atMost(player.data.times, player.place));

function go(player, place) {
  player.place = Math.min(Math.max(place, player.data.times[0]), last(player));
  player.awaits = false;
  pause(player);
  wake(player);
}

// To the person before or after, who is among those sent; to one who is not sent yet, once there.
function step(player, by) {
  const longest = player.runs.reduce((a, b) => (a.t.length < b.t.length ? b : a));
  const row = atMost(longest.t, player.place) + by;
  go(player, longest.t[Math.min(Math.max(row, 0), longest.t.length - 1)]);
  player.awaits = row === longest.t.length && player.place < player.data.n;
}

function pause(player) {
  player.playing = false;
}

function play(player) {
  if (!player.data.running && player.place >= last(player)) player.place = player.data.times[0];
  player.playing = true;
  player.awaits = false;
  player.due = 0;
}

// Milliseconds that a person stays: the first ones longer.
function stay(player) {
  const natural = STILL.matches ? 1000 : player.place < SLOW ? 450 : 130;
  return natural / Number(player.speed.value);
}

function advance(player, now) {
  if (!player.playing) return;
  player.due ||= now + stay(player);
  if (now < player.due) return;
  player.due = now + stay(player);
  const { times } = player.data;
  // Where motion is not wanted: few still pictures, each twice as far.
  const wanted = STILL.matches ? 2 * player.place : player.place + 1e-9;
  const next = times.findIndex((t) => t > wanted - (STILL.matches ? 1 : 0));
  player.place = next < 0 ? last(player) : times[next];
  if (player.place >= last(player) && !player.data.running) pause(player);
}

function wake(player) {
  player.request ||= requestAnimationFrame((now) => {
    player.request = 0;
    if (!player.root.isConnected) return; // the page is gone
    const before = player.place;
    advance(player, now);
    if (before !== player.place || !player.playing || player.drawn !== player.data) draw(player);
    player.drawn = player.data;
    if (player.playing) wake(player);
  });
}

// ---------------------------------------------------------------- words

function tell(player) {
  const { data, place, playing } = player;
  const person = `person ${place} of ${data.n}`;
  player.play.dataset.moving = playing;
  set(player.play.querySelector("span"), playing ? "Pause" : "Play");
  set(player.state, player.awaits ? `${person}, waiting for the next` : person);
  set(player.who, `Person ${place}`);
  player.range.value = frameAt(player);
  player.range.setAttribute("aria-valuetext", person);
  const cells = player.runs.map((run) => reading(player, run));
  const words = [person, ...cells.map((row) => row.map(([text]) => text).join(", "))].join("; ");
  if (words === player.words) return;
  player.words = words;
  player.rows.replaceChildren(...cells.map((row, i) => {
    const line = document.createElement("tr");
    line.append(...row.map(([text, kind], column) => {
      const cell = document.createElement(column ? "td" : "th");
      if (!column) {
        const { light, dark } = data.colors[player.runs[i].name];
        cell.scope = "row";
        // It stays when the theme changes.
        cell.style.color = `light-dark(${light}, ${dark})`;
      }
      cell.textContent = text;
      cell.className = kind ?? "";
      return cell;
    }));
    return line;
  }));
  // Only what stands is read aloud, not what runs past.
  clearTimeout(player.said);
  player.said = setTimeout(() => { if (!player.playing) set(player.status, words); }, 800);
}

// The cells of a run's row: text, and a class.
function reading(player, run) {
  const { data, place } = player, i = rowAt(run, place);
  if (i < 0 || (run.t[i] < place && i === run.t.length - 1)) {
    return [[run.name], [run.knows], ...Array(5).fill(["…", "dim"])];
  }
  const width = run.right[i] - run.left[i], small = width / 10;
  const known = (mean, sd) => `${round(mean, sd)} ± ${size(1.96 * sd)}`;
  const sigma = data.known ? `${round(run.mean_sigma[i], run.mean_sigma[i] / 100)}, known`
    : isLearnt(data, run, i) ? known(run.mean_sigma[i], run.sd_sigma[i]) : "hardly more than its prior";
  return [
    [run.name], [run.knows],
    [width > 0 ? `${round(run.left[i], small)} to ${round(run.right[i], small)}`
      : `either side of ${round(run.left[i], 0.1)}`],
    [run.sets ? run.answers : `± ${size(width * data.unit_scale)}`],
    [known(run.mean_mu[i], run.sd_mu[i])],
    [sigma, isLearnt(data, run, i) ? "" : "dim"],
    [`${run.missed[i]} of ${run.t[i]}`],
  ];
}

const rowAt = (run, place) => atMost(run.t, place);

const isLearnt = (data, run, row) => row < 0 || data.known || run.narrower[row] >= data.learnt;

// ---------------------------------------------------------------- drawing

function draw(player) {
  const unit = parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
  const hall = player.data.projector && ROOMY.matches;
  player.root.classList.toggle("hall", hall);
  player.unit = hall ? Math.max(unit, HALL / LETTERS) : Math.min(1.6, unit);
  player.thick = hall ? 1.6 : 1;
  whole(player);
  zoom(player);
  known(player);
  person(player);
  tell(player);
}

// Everything that was asked about so far, with all intervals in sight.
function whole(player) {
  const { data, runs } = player;
  if (!player.whole.clientWidth) return; // left out for want of room
  const plot = plotOf(player, player.whole, data.axes.whole);
  for (const run of runs) {
    if (run.place) middles(plot, run);
    else if (run.wide) strip(plot, run, 0.16);
  }
  level(plot, data.truth.mu, player.ink, `true mean ${data.truth.mu}`);
  for (const run of runs.filter((each) => each.wide)) {
    const y = plot.y(run.right[0]);
    write(plot, `fixed: everybody ${round(run.left[0], 1)} to ${round(run.right[0], 1)}`,
      plot.box.left + 6, y - 10 * player.unit, "left", player.colors[run.name], 600);
  }
  cursor(plot);
}

// The same around the truth, where widths can be seen.
function zoom(player) {
  const { data, runs } = player;
  const plot = plotOf(player, player.zoom, data.axes.zoom);
  inside(plot, () => {
    for (const run of runs) if (!run.place) strip(plot, run, run.wide ? 0.16 : 0.4);
  });
  for (const run of runs) if (run.name === player.moving.value) bars(plot, run);
  level(plot, data.truth.mu, player.ink);
  cursor(plot);
}

// 1.96 standard deviations of the posterior, on two logarithmic axes.
function known(player) {
  const { data, runs } = player, which = player.which.value;
  const plot = plotOf(player, player.known, data.axes[which], true);
  const labels = [];
  // As far as all of them are: one that is not finished would be beside others far ahead.
  const together = Math.min(...runs.map((run) => run.t.at(-1)));
  const from = Array.from({ length: 60 }, (_, i) => data.n ** (i / 59));
  inside(plot, () => {
    const plain = from.map((t) => [plot.x(t), plot.y(data.plain[which] / Math.sqrt(t))]);
    path(plot, plain, player.colors.plain, 2.5, [7, 4]);
    labels.push(["without noise", data.plain[which] / Math.sqrt(together), player.colors.plain]);
    if (which === "sigma" && data.known) return;
    for (const run of runs) {
      const rows = Array.from(run.t.keys());
      const value = (i) => plot.y(1.96 * run[`sd_${which}`][i]);
      const end = rowAt(run, player.place);
      const color = (i) => which === "sigma" && !isLearnt(data, run, i)
        ? player.colors.unlearnt : player.colors[run.name];
      stretches(rows, color).forEach(([part, shade]) => {
        const so_far = part.filter((i) => i <= end), later = part.filter((i) => i >= end);
        path(plot, later.map((i) => [plot.x(run.t[i]), value(i)]), shade, 1.5, [1.5, 3]);
        path(plot, so_far.map((i) => [plot.x(run.t[i]), value(i)]), shade, 3, run.dash);
      });
      const final = rowAt(run, together);
      labels.push([run.name, 1.96 * run[`sd_${which}`][final], color(final)]);
    }
  });
  ends(plot, labels);
  cursor(plot);
}

// Rows of one colour at a time, each with the first of the next.
function stretches(rows, color) {
  const found = [];
  for (const row of rows) {
    if (found.at(-1)?.[1] === color(row)) found.at(-1)[0].push(row);
    else {
      found.at(-1)?.[0].push(row);
      found.push([[row], color(row)]);
    }
  }
  return found;
}

// Names at the right end of lines, moved apart.
function ends(plot, labels) {
  const { box, player } = plot, gap = 17 * player.unit;
  const placed = labels
    .map(([name, value, color]) => ({ text: `${name} ±${size(value)}`, color, y: plot.y(value) }))
    .sort((a, b) => a.y - b.y);
  placed.forEach((each, i) => {
    each.y = Math.max(each.y, i ? placed[i - 1].y + gap : box.top + 8);
  });
  const over = (placed.at(-1)?.y ?? 0) - (box.bottom - 8);
  if (over > 0) placed.toReversed().forEach((each, i, all) => {
    each.y = Math.min(each.y, i ? all[i - 1].y - gap : box.bottom - 8);
  });
  for (const each of placed) write(plot, each.text, box.right + 6, each.y, "left", each.color, 600);
}

// One lane for each way of asking: where it is asked about, the value, the answer.
function person(player) {
  const { data, place, unit } = player, canvas = player.person;
  const runs = player.runs.filter((run) => data.lanes.includes(run.name));
  if (!runs.length) return;
  const { ink, width, height } = sized(canvas);
  const left = 12 + Math.max(...runs.map((run) => measured(ink, player, run.name, 600)));
  const box = { left, right: width - 14, top: 24 * unit, bottom: height - 24 * unit };
  const [low, high] = data.axes.person;
  const across = (value) => box.left + ((value - low) / (high - low)) * (box.right - box.left);
  const held = (value) => Math.min(Math.max(across(value), box.left - 1), box.right + 1);
  const plot = { ink, box, player, look: player, held, height: (box.bottom - box.top) / runs.length };
  for (const tick of ticks(low, high, (box.right - box.left) / (70 * unit))) {
    path(plot, [[across(tick), box.top], [across(tick), box.bottom]], player.ink, 1, [], 0.12);
    write(plot, label(tick), across(tick), box.bottom + 12 * unit, "center", player.ink);
  }
  const rows = runs.map((run) => rowAt(run, place));
  const first = rows.findIndex((i) => i >= 0);
  if (first < 0) return;
  const value = runs[first].value[rows[first]], at = held(value);
  path(plot, [[at, box.top - 4], [at, box.bottom]], player.ink, 2, [2, 3]);
  disc(plot, at, box.top - 4, 5, player.ink);
  const words = `their value ${round(value, 0.1)}, known only to them`;
  const half = measured(ink, player, words, 400) / 2 + 12;
  const side = at + 2 * half > width ? "right" : "left";
  write(plot, words, at + (side === "left" ? 10 : -10), 10 * unit, side, player.ink);
  runs.forEach((run, k) => {
    const y = box.top + (k + 0.5) * plot.height, i = rows[k];
    write(plot, run.name, box.left - 10, y, "right", player.colors[run.name], 600);
    path(plot, [[box.left, y], [box.right, y]], player.ink, 1, [], 0.2);
    if (i >= 0 && run.t[i] === place) (run.sets ? symbol : noisy)(plot, y, run, i);
  });
}

// An answer with noise: the interval, and where the answer lies.
function noisy(plot, y, run, i) {
  const { box, held, player } = plot, color = player.colors[run.name];
  const [x0, x1] = [held(run.left[i]), held(run.right[i])];
  const answer = run.response[i], text = `answer ${round(answer, 0.1)}`;
  // What lies beyond the edges stands there as words.
  const beyond = { left: [], right: [] };
  if (x1 <= box.left || x0 >= box.right) {
    const middle = round((run.left[i] + run.right[i]) / 2, 1);
    beyond[x1 <= box.left ? "left" : "right"].push([`asked around ${middle}`, color, 400]);
  } else lit(plot, y, x0, Math.max(x1, x0 + 3), color, 0.4);
  const x = held(answer), red = player.colors.answer;
  if (x < box.left || x > box.right) beyond[x < box.left ? "left" : "right"].push([text, red, 600]);
  else marked(plot, x, y, text);
  outside(plot, y, beyond);
}

// An answer by a symbol: all places asked at, and what the answer says lights up.
function symbol(plot, y, run, i) {
  const { box, held, player } = plot, color = player.colors[run.name];
  const [left, width] = [run.left[i], run.right[i] - run.left[i]];
  const value = (part) => left + part * width;
  const places = new Set(run.sets.flat().filter((part) => part !== null));
  lit(plot, y, box.left, box.right, color, 0.1);
  const [a, b] = run.sets[Math.round(run.response[i])];
  const [from, to] = [a === null ? -Infinity : value(a), b === null ? Infinity : value(b)];
  const bands = (from < to ? [[from, to]] : [[-Infinity, to], [from, Infinity]])
    .map((ends) => ends.map(held)).filter(([x0, x1]) => x1 > box.left && x0 < box.right);
  for (const [x0, x1] of bands) lit(plot, y, x0, Math.max(x1, x0 + 3), color, 0.55);
  for (const part of places) {
    const x = held(value(part)), half = thickness(plot) / 2 + 2;
    if (x >= box.left && x <= box.right) path(plot, [[x, y - half], [x, y + half]], color, 2);
  }
  const small = Math.max(width / 10, 0.1), said = (end) => round(end, small);
  const text = `answer ${Number.isFinite(from) && Number.isFinite(to)
    ? from < to ? `${said(from)} to ${said(to)}` : `below ${said(to)} or above ${said(from)}`
    : Number.isFinite(from) ? `above ${said(from)}` : `below ${said(to)}`}`;
  if (!bands.length) {
    outside(plot, y, { [held(from) <= box.left ? "left" : "right"]: [[text, player.colors.answer, 600]] });
    return;
  }
  const longest = bands.reduce((one, other) => (other[1] - other[0] > one[1] - one[0] ? other : one));
  const inside = longest.map((x) => Math.min(Math.max(x, box.left), box.right));
  marked(plot, (inside[0] + inside[1]) / 2, y, text);
}

const thickness = ({ height }) => Math.min(height * 0.6, 18);

function lit(plot, y, x0, x1, color, alpha) {
  const { ink } = plot, thick = thickness(plot);
  ink.globalAlpha = alpha;
  ink.fillStyle = color;
  ink.fillRect(x0, y - thick / 2, x1 - x0, thick);
  ink.globalAlpha = 1;
}

// The answer where it lies, and in words beside that.
function marked(plot, x, y, text) {
  const { ink, box, player } = plot, red = player.colors.answer;
  diamond(plot, x, y, 7, red);
  const fits = x + 14 + measured(ink, player, text, 600) < box.right;
  write(plot, text, fits ? x + 12 : x - 12, y, fits ? "left" : "right", red, 600);
}

function outside(plot, y, beyond) {
  const { ink, box, player } = plot;
  for (const [side, words] of Object.entries(beyond)) {
    if (!words.length) continue;
    const all = side === "left" ? [["◀", player.ink, 400], ...words]
      : [["▶", player.ink, 400], ...words.toReversed()];
    let from = side === "left" ? box.left + 4 : box.right - 4;
    for (const [word, shade, weight] of all) {
      write(plot, word, from, y, side, shade, weight);
      from += (side === "left" ? 1 : -1) * (measured(ink, player, word, weight) + 9);
    }
  }
}

// ---------------------------------------------------------------- plots

// Axes and grid: people along a logarithmic axis, and values.
function plotOf(player, canvas, [y0, y1], logarithmic = false) {
  const { ink, width, height } = sized(canvas), { data, unit } = player;
  const right = logarithmic ? widestEnd(ink, player) : 12;
  const box = { left: 50 * unit, top: 8, right: width - right, bottom: height - 40 * unit };
  const n = Math.max(2, data.n), scale = logarithmic ? Math.log10 : (value) => value;
  const across = box.right - box.left, up = box.bottom - box.top;
  const held = (value, low, high) => Math.min(Math.max(value, low - 60), high + 60);
  const x = (t) => box.left + (Math.log(t) / Math.log(n)) * across;
  const y = (value) => held(
    box.bottom - ((scale(Math.max(value, logarithmic ? 1e-30 : value)) - scale(y0))
      / (scale(y1) - scale(y0))) * up, box.top, box.bottom);
  canvas.people = (at) => n ** Math.min(1, Math.max(0, (at - box.left) / across));
  const plot = { ink, box, x, y, player, look: player, reach: y1 - y0 };
  let free = Infinity;
  for (const t of people(n).toReversed()) {
    const half = measured(ink, player, label(t), 400) / 2;
    if (x(t) + half > free) continue;
    free = x(t) - half - 9;
    path(plot, [[x(t), box.bottom], [x(t), box.bottom + 4]], player.ink, 1);
    write(plot, label(t), Math.min(x(t), width - half), box.bottom + 13 * unit, "center", player.ink);
  }
  write(plot, "person", (box.left + box.right) / 2, height - 8 * unit, "center", player.ink);
  const levels = logarithmic ? powers(y0, y1) : ticks(y0, y1, up / (34 * unit));
  for (const tick of levels) {
    path(plot, [[box.left, y(tick)], [box.right, y(tick)]], player.ink, 1, [], 0.12);
    write(plot, label(tick), box.left - 7, y(tick), "right", player.ink);
  }
  path(plot, [[box.left, box.top], [box.left, box.bottom], [box.right, box.bottom]], player.ink, 1);
  return plot;
}

function widestEnd(ink, player) {
  const names = ["without noise", ...player.runs.map((run) => run.name)];
  return 12 + Math.max(...names.map((name) => measured(ink, player, `${name} ±0.00`, 600)));
}

// 1, 2, 5, 10, … and the last person, who comes first where there is no room for both.
function people(n) {
  const found = [];
  for (let power = 1; power <= n; power *= 10) for (const k of [1, 2, 5]) found.push(k * power);
  return [...found.filter((t) => t < n), n];
}

// An interval that everybody is asked in.
function strip({ ink, box, y, player }, run, alpha) {
  const top = y(run.right[0]), high = Math.max(1.5, y(run.left[0]) - top);
  ink.globalAlpha = alpha;
  ink.fillStyle = player.colors[run.name];
  ink.fillRect(box.left, top, box.right - box.left, high);
  ink.globalAlpha = 1;
}

// Intervals of the people so far, to scale in either panel.
function middles(plot, run) {
  each(plot, run, (x, i, alpha) => {
    const middle = plot.y((run.left[i] + run.right[i]) / 2);
    // Symbols tell all values apart by places: how far these reach says little.
    const [top, bottom] = run.sets ? [middle, middle] : [run.right[i], run.left[i]].map(plot.y);
    mark(plot, x, Math.min(top, middle - 2), Math.max(bottom, middle + 2), 4, run, alpha);
  });
}

function bars(plot, run) {
  const { box, y, player } = plot;
  let away = 0;
  inside(plot, () => {
    const rows = Array.from(run.t.keys()).slice(0, rowAt(run, player.place) + 1);
    // The estimate from where its interval fits into the panel: before, it is all over the place.
    const fits = rows.map((i) => 2 * 1.96 * run.sd_mu[i] < plot.reach);
    const course = (k) => rows.slice(fits.lastIndexOf(false) + 1).map((i) =>
      [plot.x(run.t[i]), y(run.mean_mu[i] + k * 1.96 * run.sd_mu[i])]);
    each(plot, run, (x, i, alpha) => {
      const top = y(run.right[i]), bottom = y(run.left[i]);
      if (bottom > box.top && top < box.bottom) {
        mark(plot, x, top, Math.max(bottom, top + 2), broad(plot, run.t[i]), run, 0.9 * alpha);
      } else if (i < rows.length) {
        away++;
        triangle(plot, x, bottom <= box.top ? box.top + 1 : box.bottom - 1, bottom <= box.top, run);
      }
    });
    path(plot, course(0), player.paper, 5);
    path(plot, course(0), player.colors[run.name], 2.5);
    for (const k of [-1, 1]) path(plot, course(k), player.colors[run.name], 1.3, [2, 3]);
  });
  if (away) {
    const at = rowAt(run, player.place) + 1;
    write(plot, `${away} of ${at} outside`, box.left + 6, box.bottom - 12 * player.unit, "left",
      player.colors[run.name]);
  }
}

// People so far, and paler those to come.
function each(plot, run, draw) {
  const end = rowAt(run, plot.player.place);
  run.t.forEach((t, i) => draw(plot.x(t), i, i <= end ? 0.5 : 0.12));
}

// Pixels that a person's interval is wide: less where many stand side by side.
const broad = (plot, t) => Math.min(4, Math.max(0.3, 0.8 * (plot.x(t + 1) - plot.x(t))));

function mark({ ink, player }, x, top, bottom, wide, run, alpha) {
  const width = wide * player.thick;
  ink.globalAlpha = alpha;
  ink.fillStyle = player.colors[run.name];
  ink.fillRect(x - width / 2, top, width, bottom - top);
  ink.globalAlpha = 1;
}

function triangle({ ink, player }, x, y, up, run) {
  const tip = (up ? 7 : -7) * player.thick, half = 4.5 * player.thick;
  ink.beginPath();
  for (const [dx, dy] of [[0, 0], [half, tip], [-half, tip]]) ink.lineTo(x + dx, y + dy);
  ink.globalAlpha = 0.7;
  ink.fillStyle = player.colors[run.name];
  ink.fill();
  ink.globalAlpha = 1;
}

function level(plot, value, color, text = "") {
  const at = plot.y(value);
  path(plot, [[plot.box.left, at], [plot.box.right, at]], color, 1.6);
  if (text) {
    write(plot, text, plot.box.right - 4, at + 12 * plot.player.unit, "right", color);
  }
}

function cursor(plot) {
  const at = plot.x(plot.player.place);
  path(plot, [[at, plot.box.top], [at, plot.box.bottom]], plot.player.ink, 1.5, [], 0.75);
}
