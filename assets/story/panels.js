// Parts of the one figure. Each draws into a box: plot is {ink, look, box, colors}, numbers come ready.

import { disc, inside, label, measured, path, ticks, write } from "../draw.js";

const GAVE = "the number each gave";
const INTERVALS = ["0–1", "1–2", "2–3", "3–4", "4–5"];
const TALLEST = 0.5; // share at the top of bars
const LOW = -0.2, HIGH = 0.55; // distances at the edges of the track; the legend has the room below 0
const DOT = 5;

export const comma = (number) => number.toLocaleString("en-US");
const smooth = (part) => { const x = Math.min(1, Math.max(0, part)); return x * x * (3 - 2 * x); };
const between = (a, b, part) => a + (b - a) * part;

function filled({ ink }, x, y, width, height, color, alpha = 1) {
  ink.globalAlpha = alpha;
  ink.fillStyle = color;
  ink.fillRect(x, y, width, height);
  ink.globalAlpha = 1;
}

function ringed(plot, x, y, color) {
  disc(plot, x, y, DOT, color);
  const { ink, look } = plot;
  ink.beginPath();
  ink.arc(x, y, (DOT + 4) * look.thick, 0, 7);
  ink.strokeStyle = color;
  ink.lineWidth = 2 * look.thick;
  ink.stroke();
}

// Words above a part of the figure: its name, and lines of [text, color].
function headed(plot, name, lines = []) {
  const { box, look } = plot, line = 17 * look.unit;
  write(plot, name, box.left, box.top + 8 * look.unit, "left", look.ink, 700);
  lines.forEach(([text, color], i) =>
    write(plot, text, box.left, box.top + 8 * look.unit + (i + 1) * line, "left", color, 600));
  return box.top + (lines.length + 1.2) * line;
}

// ---------------------------------------------------------------- people and bars

// Where bars of five shares stand in a box: their foot, and functions of interval and share.
function barsIn({ box, look }, top) {
  const foot = box.bottom - 36 * look.unit, pitch = (box.right - box.left) / 5;
  return {
    foot, wide: pitch * 0.76,
    left: (i) => box.left + (i + 0.12) * pitch,
    y: (share) => foot - (foot - top) * Math.min(1, share / TALLEST),
  };
}

function barsAxis(plot, bars, below) {
  const { box, look } = plot;
  path(plot, [[box.left, bars.foot], [box.right, bars.foot]], look.ink, 1.5);
  INTERVALS.forEach((name, i) => write(
    plot, name, bars.left(i) + bars.wide / 2, bars.foot + 12 * look.unit, "center", look.ink));
  write(plot, below, (box.left + box.right) / 2, bars.foot + 29 * look.unit, "center", look.ink);
}

// People scattered over the figure (fallen = 0), who fall into bars (fallen = 1). The last of them is you.
export function crowd(plot, whole, people, you, fallen) {
  const { ink, box, look, colors } = plot;
  const bars = barsIn(plot, headed(plot, fallen > 0.9 ? "The real people" : ""));
  const total = people.reduce((sum, count) => sum + count);
  // The same places at every frame.
  let state = 1;
  const random = () => (state = (state * 16807) % 2147483647) / 2147483647;
  const side = 2.6 * look.thick;
  ink.fillStyle = colors.rejected;
  let mark;
  people.forEach((count, i) => {
    for (let k = 0; k < count; k++) {
      const part = smooth(fallen * 2 - random());
      const top = bars.y(count / total);
      const x = between(between(whole.left, whole.right, random()), bars.left(i) + bars.wide * random(), part);
      const y = between(between(whole.top, whole.bottom, random()), between(bars.foot, top, random()), part);
      ink.fillRect(x - side / 2, y - side / 2, side, side);
      if (k === 0 && i === Math.floor(you)) mark = [x, y];
    }
  });
  if (fallen > 0.9) barsAxis(plot, bars, GAVE);
  ringed(plot, ...mark, look.ink);
  write(plot, `you: ${you}`, mark[0] + 15 * look.unit, mark[1], "left", look.ink, 700);
}

// The real people as outlines, over those simulated from a guess, whose bars have risen so far.
export function bars(plot, { people, simulated, guess, risen, you }) {
  const { ink, look, colors } = plot, total = people.reduce((sum, count) => sum + count);
  const of = plot.narrow ? "guess" : "simulated from guess";
  const lines = [[guess === null ? "" : `■ ${of} ${comma(guess + 1)}`, colors.words],
    ["□ the real people", look.ink]];
  const place = barsIn(plot, headed(plot, "Do they look alike?", lines));
  people.forEach((count, i) => {
    if (simulated) {
      const top = between(place.foot, place.y(simulated[i]), smooth(risen));
      filled(plot, place.left(i), top, place.wide, place.foot - top, colors.rejected, 0.55);
    }
    const top = place.y(count / total);
    ink.strokeStyle = look.ink;
    ink.lineWidth = 1.8 * look.thick;
    ink.strokeRect(place.left(i), top, place.wide, place.foot - top);
    if (i === Math.floor(you)) {
      ringed(plot, place.left(i) + 0.72 * place.wide, top + 14 * look.unit, look.ink);
    }
  });
  barsAxis(plot, place, GAVE);
}

// Two estimates as bars side by side, with the kept guesses they average and the truth.
export function estimates(plot, { truth, series }) {
  const { box, look, colors } = plot;
  const said = series.map(({ words, color }) => [words, colors.inWords[color]]);
  const place = barsIn(plot, headed(plot, "Estimate", said));
  truth.forEach((share, i) => {
    const wide = place.wide / series.length;
    series.forEach(({ mean, guesses, color }, k) => {
      const left = place.left(i) + k * wide, shade = colors[color];
      if (!guesses.length) return;
      filled(plot, left, place.y(mean[i]), wide, place.foot - place.y(mean[i]), shade, 0.28);
      path(plot, [[left, place.y(mean[i])], [left + wide, place.y(mean[i])]], shade, 2.5);
      // Spread evenly, so that no dot hides another.
      guesses.forEach((shares, j) => disc(
        plot, left + wide * (0.12 + 0.76 * ((j * 0.618) % 1)), place.y(shares[i]),
        guesses.length > 30 ? 1.6 : 3, shade));
    });
    const y = place.y(share);
    path(plot, [[place.left(i) - 3, y], [place.left(i) + place.wide + 3, y]], look.ink, 2.2);
  });
  barsAxis(plot, place, box.right - box.left > 260 ? "━ truth    • a kept guess" : "━ truth");
}

// ---------------------------------------------------------------- the track

// Guesses by number and distance, with what noise made of them; the last one may still be on its way.
export function track(plot, scene) {
  const { ink, look, colors } = plot, { rho, noisy, run, limit, plain, place, most } = scene;
  const title = noisy ? "Distance to the real people, after its kick" : "Distance to the real people";
  const top = headed(plot, scene.title ?? title);
  const frame = { left: plot.box.left + 34 * look.unit, right: plot.box.right - 12, top,
    bottom: plot.box.bottom - 22 * look.unit };
  const high = plain > 0.4 ? 1.45 : HIGH, low = (LOW / HIGH) * high;
  const x = (t) => frame.left + ((t + 0.5) / Math.max(1, most)) * (frame.right - frame.left);
  const y = (distance) => frame.bottom
    - ((Math.min(high, Math.max(low, distance)) - low) / (high - low)) * (frame.bottom - frame.top);
  const shown = { ...plot, box: frame };
  const role = scene.role ?? (noisy ? "private" : "plain"), shade = colors[role], across = (at) => [[frame.left, at], [frame.right, at]];
  const floor = noisy ? frame.bottom : y(0);
  inside(shown, () => filled(
    shown, frame.left, y(limit), frame.right - frame.left, floor - y(limit), noisy ? shade : colors.plain, 0.1));
  for (const tick of ticks(0, high, 4)) {
    path(shown, across(y(tick)), look.ink, 1, [], 0.14);
    write(shown, label(tick), frame.left - 6, y(tick), "right", look.ink);
  }
  const value = noisy ? (t) => noisy[t] : (t) => rho[t];
  const done = Math.floor(place), kept = new Set(run.kept);
  // Few are seen from afar, many beside each other.
  const size = Math.max(2, 6 - 2 * Math.log10(most / 12)) * look.thick;
  ink.fillStyle = colors.rejected;
  for (let t = 0; t < done; t++) {
    if (!kept.has(t) && !(noisy && rho[t] <= plain)) ink.fillRect(x(t) - size / 2, y(value(t)) - size / 2, size, size);
  }
  if (noisy) {
    path(shown, across(y(plain)), colors.plain, 2, [2, 4]);
    // Kicks of the latest tries, which fade.
    for (let t = Math.max(0, done - 24); t < done && done < run.stop; t++) {
      path(shown, [[x(t), y(rho[t])], [x(t), y(noisy[t])]], colors.rejected, 1, [], 1 - (done - t) / 25);
    }
  }
  path(shown, across(y(limit)), noisy ? shade : colors.plain, 2.4, [9, 5]);
  const counts = { right: 0, wrong: 0, lost: 0 };
  for (let t = 0; t < done; t++) {
    const isKept = kept.has(t), isNear = rho[t] <= plain;
    if (!isKept && !(noisy && isNear)) continue;
    const color = isKept ? shade : colors.plain;
    if (noisy) path(shown, [[x(t), y(rho[t])], [x(t), y(noisy[t])]], color, 1.4);
    if (isKept === isNear) disc(shown, x(t), y(value(t)), DOT, color);
    else ringed(shown, x(t), y(value(t)), color);
    counts[isKept ? (isNear ? "right" : "wrong") : "lost"]++;
  }
  const arrived = kept.has(done) ? shade : colors.rejected;
  if (scene.flight) flying(shown, scene.flight, { x, y, rho, noisy, done, color: arrived });
  if (scene.marked < most) {
    ink.beginPath();
    ink.arc(x(scene.marked), y(rho[scene.marked]), 13 * look.thick, 0, 7);
    ink.strokeStyle = look.ink;
    ink.lineWidth = 2;
    ink.stroke();
  }
  const line = 18 * look.unit, room = Math.floor((frame.bottom - y(0)) / line);
  let words = role === "plain" ? [[`${counts.right} close enough: kept`, "plain"]]
    : [[`${counts.right} rightly kept`, "private"], [`${counts.wrong} wrongly kept`, "private", true]];
  if (noisy) {
    words.push([`${counts.lost} wrongly rejected`, "plain", true]);
    if (room < words.length) words = words.slice(1, 1 + Math.max(1, room));
    const moved = `threshold ${plain}, ${scene.redrawn ? "last " : ""}kicked to ${limit.toFixed(3)}`;
    if (room > words.length) write(shown, moved, frame.left + 7 * look.unit, frame.bottom - (words.length + 0.6) * line, "left",
      colors.inWords.private, 600);
  }
  const over = Math.max(...words.map(([text]) => measured(ink, look, text, 600))) + 34 * look.unit;
  filled(shown, frame.left + 1, frame.bottom - (words.length + 0.1) * line, over, (words.length + 0.1) * line, look.paper, 0.8);
  words.forEach(([text, color, isWrong], i) => {
    const at = frame.bottom - (words.length - i - 0.4) * line;
    (isWrong ? ringed : (p, a, b, c) => disc(p, a, b, DOT, c))(shown, frame.left + 14 * look.unit, at, colors[color]);
    write(shown, text, frame.left + 28 * look.unit, at, "left", colors.inWords[color], 600);
  });
  const last = Math.max(1, Math.ceil(most));
  write(plot, `guesses 1 to ${comma(last)}`, (frame.left + frame.right) / 2, plot.box.bottom - 8 * look.unit,
    "center", look.ink);
}

// A distance on its way from the bars to its place, then kicked.
function flying(plot, { part, from }, { x, y, rho, noisy, done, color }) {
  const [x0, y0] = from, arrived = smooth(part / 0.5), kicked = noisy ? smooth((part - 0.55) / 0.3) : 0;
  const at = between(rho[done], noisy?.[done] ?? 0, kicked);
  if (kicked) path(plot, [[x(done), y(rho[done])], [x(done), y(at)]], color, 1.6);
  disc(plot, between(x0, x(done), arrived), between(y0, y(at), arrived), DOT, part > 0.85 ? color : plot.look.ink);
}

// ---------------------------------------------------------------- one distance, and what a spy learns

// Where one distance may end, with your answer and with the other: two hills, or without kicks two lines.
export function hills(plot, { you, guess, mine, other, limit, scale, delta }) {
  const { box, look, colors } = plot, unit = look.unit;
  const top = headed(plot, `The distance of guess ${comma(guess + 1)}, magnified`,
    [[`▬ if you say ${you.said}`, colors.words], [`╌ if you say ${you.instead}`, colors.inWords.private]]);
  const foot = box.bottom - 44 * unit, reach = scale ? 4 * scale : 2.2 * delta;
  const x = (distance) => between(box.left, box.right, 0.5 + (distance - mine) / (2 * reach));
  const height = (distance, middle) =>
    foot - (foot - top - 8) * Math.exp(-Math.abs(distance - middle) / scale);
  for (const [middle, color, width, dash] of [
    [mine, colors.rejected, 6, []], [other, colors.private, 2.4, [6, 5]]]) {
    const points = scale
      ? Array.from({ length: 161 }, (_, i) => between(box.left, box.right, i / 160))
        .map((at) => [at, height(mine + ((at - box.left) / (box.right - box.left) - 0.5) * 2 * reach, middle)])
      : [[x(middle), foot], [x(middle), top + 8]];
    path(plot, points, color, width, dash);
  }
  if (!scale) {
    path(plot, [[x(limit), foot], [x(limit), top]], colors.plain, 2.4, [9, 5]);
    write(plot, `threshold ${limit}`, x(limit), foot - 12 * unit, "center", colors.inWords.plain, 600);
    for (const at of [mine, other]) {
      write(plot, at <= limit ? "kept" : "too far", x(at) + (at < limit ? -8 : 8), top + 40 * unit,
        at < limit ? "right" : "left", look.ink, 600);
    }
  }
  path(plot, [[box.left, foot], [box.right, foot]], look.ink, 1.5);
  const wide = Math.min((box.right - box.left) / 2, Math.max(3, x(mine + delta) - x(mine))), middle = (box.left + box.right) / 2;
  filled(plot, middle - wide, foot + 5, 2 * wide, 4, look.ink);
  write(plot, `one person can move it by ${delta.toPrecision(2)} at most`, middle, foot + 19 * unit, "center",
    look.ink, 600);
  const kick = scale ? `a typical kick: ${scale.toPrecision(2)}`
    : "no kick";
  write(plot, kick, middle, foot + 36 * unit, "center", colors.inWords.private, 600);
}

// What the spy believes, from 0 to 100: the promise as a band, and what this result makes of it.
export function believed(plot, { you, low, high, now, title }) {
  const { box, look, colors } = plot, unit = look.unit;
  const top = headed(plot, title), tall = 26 * unit;
  const x = (hundred) => between(box.left, box.right, hundred / 100);
  filled(plot, box.left, top, box.right - box.left, tall, look.ink, 0.07);
  filled(plot, x(low), top, Math.max(2, x(high) - x(low)), tall, colors.theory, 0.4);
  disc(plot, x(now), top + tall / 2, 6, look.ink);
  const side = now > 60 ? "right" : "left", bare = { ...plot, look: { ...look, paper: "transparent" } };
  write(bare, `this result: ${now.toFixed(0)}`, x(now) + (side === "left" ? 11 : -11), top + tall / 2, side, look.ink, 600);
  for (const hundred of [0, 25, 50, 75, 100]) {
    const side = { 0: "left", 100: "right" }[hundred] ?? "center";
    const words = { 0: `0: you said ${you.instead}`, 50: "before: 50", 100: `100: you said ${you.said}` }[hundred];
    write(plot, words ?? String(hundred), x(hundred), top + tall + 11 * unit, side, look.ink);
  }
}

// Numbers of the published guesses in rows; those that the other answer changes stand out.
export function published(plot, rows) {
  const { box, look, colors } = plot, line = 22 * look.unit;
  const many = box.right - box.left < 330 ? 5 : 10, wide = (box.right - box.left) / many;
  const all = rows.map(({ kept }) => new Set(kept));
  let at = box.top + line / 2;
  for (const [row, { title, kept, color }] of rows.entries()) {
    write(plot, title, box.left, at, "left", colors.inWords[color] ?? look.ink, 600);
    kept.forEach((t, i) => {
      const isOwn = !all[1 - row]?.has(t) && rows.length > 1;
      const x = box.left + (i % many) * wide, y = at + (1 + Math.floor(i / many)) * line;
      filled(plot, x, y - line * 0.42, wide - 4, line * 0.84, isOwn ? colors.private : look.ink, isOwn ? 0.3 : 0.06);
      write({ ...plot, look: { ...look, paper: "transparent" } }, comma(t + 1), x + wide / 2 - 2, y, "center", look.ink,
        isOwn ? 700 : 400);
    });
    at += (1.4 + Math.max(1, Math.ceil(kept.length / many))) * line;
  }
}

// ---------------------------------------------------------------- many runs

// A dot for each run, by how many of the kept guesses are wrong, with the guess that was made before.
export function dotplot(plot, { wrong, c, guess, typical }) {
  const { box, look, colors } = plot, unit = look.unit;
  const top = headed(plot, `Runs, by how many of the ${comma(c)} kept are wrong`) + 44 * unit;
  const foot = box.bottom - 38 * unit, pitch = (box.right - box.left) / (c + 1);
  const x = (count) => box.left + (count + 0.5) * pitch, stacks = new Map();
  for (const count of wrong) stacks.set(count, (stacks.get(count) ?? 0) + 1);
  // As large as all 200 fit.
  let radius = 8 * look.thick, beside = 1;
  const rowsOf = (count) => Math.ceil(count / beside);
  for (; radius > 1; radius *= 0.93) {
    beside = Math.max(1, Math.floor((pitch * 0.72) / (2.2 * radius)));
    if (2.2 * radius <= Math.max(pitch, 3) && rowsOf(wrong.most ?? 60) * 2.2 * radius < foot - top) break;
  }
  for (const [count, many] of stacks) {
    for (let k = 0; k < many; k++) {
      const column = (k % beside) - (Math.min(beside, many) - 1) / 2;
      const at = [x(count) + column * 2.2 * radius, foot - (Math.floor(k / beside) + 0.6) * 2.2 * radius];
      disc({ ...plot, look: { ...look, thick: 1 } }, ...at, radius, colors.private);
    }
  }
  // Runs that used up all guesses are in front, hollow.
  const used = new Map();
  wrong.forEach((count, run) => { if (wrong.short[run]) used.set(count, (used.get(count) ?? 0) + 1); });
  for (const [count, many] of used) {
    const all = stacks.get(count);
    for (let k = 0; k < many; k++) {
      const column = (k % beside) - (Math.min(beside, all) - 1) / 2;
      const at = [x(count) + column * 2.2 * radius, foot - (Math.floor(k / beside) + 0.6) * 2.2 * radius];
      disc({ ...plot, look: { ...look, thick: 1 } }, ...at, 0.6 * radius, look.paper);
    }
  }
  if (used.size) write(plot, "hollow: all guesses used up", box.left, top, "left", colors.inWords.private);
  path(plot, [[box.left, foot], [box.right, foot]], look.ink, 1.5);
  const every = [1, 2, 5, 10, 20, 50, 100, 200].find((step) => (pitch * step) > 34 * unit) ?? 500;
  for (let count = 0; count <= c; count += every) {
    const half = measured(plot.ink, look, comma(count), 400) / 2;
    write(plot, comma(count), Math.min(x(count), box.right - half), foot + 12 * unit, "center", look.ink);
  }
  write(plot, `wrong among the ${comma(c)} kept`, (box.left + box.right) / 2, foot + 29 * unit, "center", look.ink);
  const marked = (at, text, color, words, y, dash) => {
    path(plot, [[x(at), y + 10 * unit], [x(at), foot]], color, 2, dash);
    const half = measured(plot.ink, look, text, 700) / 2;
    const held = Math.min(Math.max(x(at), box.left + half), box.right - half);
    write(plot, text, held, y, "center", words, 700);
  };
  marked(guess, `your guess: ${comma(guess)}`, look.ink, look.ink, top - 36 * unit, [4, 4]);
  if (typical !== null) {
    marked(typical, `typical: ${comma(typical)}`, colors.private, colors.inWords.private, top - 14 * unit, []);
  }
}

// The error of 200 runs against the budget: median and middle 80 %, without noise, and knowing nothing.
export function errorCurve(plot, { rows, plain, nothing, now, error }) {
  const { box, look, colors } = plot, unit = look.unit;
  const top = headed(plot, "Error against privacy budget, 200 runs each");
  const foot = box.bottom - 38 * unit, left = box.left + 34 * unit;
  const budgets = rows.map(([budget]) => budget), [first, last] = [budgets[0], budgets.at(-1)];
  const x = (budget) => between(left, box.right - 8, Math.log(budget / first) / Math.log(last / first));
  const most = Math.max(1.25 * nothing, ...rows.map(([, , , high]) => 1.05 * high), 1.05 * error);
  const y = (value) => between(foot, top, value / most);
  for (const tick of ticks(0, 0.96 * most, 3)) {
    path(plot, [[left, y(tick)], [box.right, y(tick)]], look.ink, 1, [], 0.14);
    write(plot, label(tick), left - 6, y(tick), "right", look.ink);
  }
  const { ink } = plot;
  ink.beginPath();
  rows.forEach(([budget, , , high]) => ink.lineTo(x(budget), y(high)));
  rows.toReversed().forEach(([budget, low]) => ink.lineTo(x(budget), y(low)));
  ink.globalAlpha = 0.18;
  ink.fillStyle = colors.private;
  ink.fill();
  ink.globalAlpha = 1;
  path(plot, rows.map(([budget, , median]) => [x(budget), y(median)]), colors.private, 2.5);
  path(plot, [[left, y(plain)], [box.right, y(plain)]], colors.plain, 2.2, [9, 5]);
  path(plot, [[left, y(nothing)], [box.right, y(nothing)]], colors.prior, 2, [2, 4]);
  write(plot, "knowing nothing", box.right, y(nothing) - 10 * unit, "right", look.ink);
  write(plot, "no noise", left + 4, y(plain) + 12 * unit, "left", colors.inWords.plain, 600);
  const at = x(Math.min(last, Math.max(first, now)));
  path(plot, [[at, top], [at, foot]], look.ink, 1.5, [4, 4]);
  ringed(plot, at, y(error), colors.private);
  const side = at + 80 * unit > box.right ? "right" : "left";
  write(plot, "this run", at + (side === "left" ? 14 : -14), y(error) - 12 * unit, side, colors.inWords.private, 600);
  path(plot, [[left, foot], [box.right, foot]], look.ink, 1.5);
  for (const budget of [0.05, 0.2, 1, 5]) write(plot, label(budget), x(budget), foot + 12 * unit, "center", look.ink);
  write(plot, "more private  ←  budget ε_total  →  less private", (left + box.right) / 2, foot + 29 * unit,
    "center", look.ink);
}
