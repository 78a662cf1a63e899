// Draws what ui/player.py sends: people answer one after the other, the clouds concentrate.
// Called again with every update; where it stands is kept on the element.

const LOOKS = {
  fixed: { color: "#0072B2", dash: [7, 4], fill: 0.06, band: 0.14, mark: 0.9 },
  adaptive: { color: "#D55E00", dash: [], fill: 0.14, band: 0.3, mark: 0.6 },
};
const TRUTH = "#009E73";
const GREY = "#7F7F7F";
const FRAMES_A_SECOND = 8;
const POINTS = 300; // drawn at most of a line, about one in two pixels
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".player");
  root.player ??= create(root);
  update(root.player, data);
  // Nothing to return for the end: Streamlit also calls that when one update overtakes another.
}

// ---------------------------------------------------------------- state and controls

// The place is a person, not a frame number: frames are spread anew while a run grows.
// Modes: paused, playing, live (at the newest person, following).
function create(root) {
  const find = (selector) => root.querySelector(selector);
  const player = {
    root, ids: {}, place: 1, mode: "paused", clock: 0, request: 0, said: 0,
    play: find("[data-do=play]"), range: find("input"), speed: find("select"),
    state: find(".state"), now: find(".now"), panels: find(".panels"), status: find(".said"),
    asked: find(".asked"), spread: find(".spread"), cloud: find(".cloud"),
  };
  const doing = {
    play: () => (player.mode === "paused" ? play(player) : (player.mode = "paused")),
    // Between two frames: to the former one.
    back: () => seek(player, frameAt(player) - (between(player) ? 0 : 1)),
    forward: () => seek(player, frameAt(player) + 1),
    reset: () => { seek(player, 0); player.mode = "paused"; },
  };
  for (const button of root.querySelectorAll("button")) {
    button.onclick = () => { doing[button.dataset.do](); wake(player); };
  }
  player.range.oninput = () => { seek(player, Number(player.range.value)); wake(player); };
  new ResizeObserver(() => wake(player)).observe(player.panels);
  return player;
}

function update(player, data) {
  const differs = ([name, id]) => (player.ids[name] ?? id) !== id;
  const isNew = !player.data || Object.entries(data.ids).some(differs);
  player.ids = isNew ? data.ids : { ...player.ids, ...data.ids };
  player.data = data;
  player.runs = Object.keys(LOOKS).filter((name) => name in data.runs)
    .map((name) => ({ name, ...LOOKS[name], ...unpacked(data.runs[name]) }));
  player.range.max = data.times.length - 1;
  player.panels.setAttribute("aria-label", data.summary);
  const style = getComputedStyle(player.root);
  player.ink = style.getPropertyValue("--st-text-color");
  player.paper = style.getPropertyValue("--st-background-color");
  player.font = style.getPropertyValue("--st-font");
  if (isNew) start(player);
  player.place = Math.min(player.place, last(player));
  wake(player);
}

function unpacked(run) {
  const numbers = (text) =>
    new Float32Array(Uint8Array.from(atob(text), (byte) => byte.charCodeAt(0)).buffer);
  const all = (parts) =>
    Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, numbers(text)]));
  return { times: run.times, ...all(run.series), clouds: all(run.clouds) };
}

function start(player) {
  const atEnd = player.data.running || STILL.matches;
  player.place = atEnd ? last(player) : player.data.times[0];
  player.mode = player.data.running ? "live" : STILL.matches ? "paused" : "playing";
}

const last = (player) => player.data.times.at(-1);
const frameAt = (player) => Math.max(0, atMost(player.data.times, player.place));

const between = (player) => player.place > player.data.times[frameAt(player)];

// Index of the last value that is not larger; -1 where there is none.
function atMost(values, limit) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function seek(player, frame) {
  const { times, running } = player.data;
  player.place = times[Math.min(Math.max(frame, 0), times.length - 1)];
  player.mode = running && player.place === last(player) ? "live" : "paused";
}

function play(player) {
  if (!player.data.running && player.place >= last(player)) player.place = player.data.times[0];
  player.mode = "playing";
}

function advance(player, seconds) {
  const end = last(player);
  if (player.mode === "live") {
    // Glide to the newest person; updates come twice a second.
    const share = STILL.matches ? 1 : 1 - Math.exp(-seconds / 0.2);
    player.place += (end - player.place) * share;
    if (end - player.place < 0.5) player.place = end;
  } else if (player.mode === "playing") {
    const frame = frameAt(player);
    const step = (player.data.times[frame + 1] ?? end) - player.data.times[frame];
    const speed = Number(player.speed.value) * FRAMES_A_SECOND;
    player.place = Math.min(end, player.place + seconds * speed * step);
  }
  if (player.mode !== "paused" && player.place >= end) {
    player.mode = player.data.running ? "live" : "paused";
  }
}

function wake(player) {
  player.request ||= requestAnimationFrame((now) => {
    player.request = 0;
    if (!player.root.isConnected) return; // the page is gone
    advance(player, player.clock ? Math.min(0.1, (now - player.clock) / 1000) : 0);
    draw(player);
    tell(player); // after drawing, which asks for sizes: writing first would cost a layout
    const moves = player.mode !== "paused" && player.place < last(player);
    player.clock = moves ? now : 0;
    if (moves) wake(player);
  });
}

// ---------------------------------------------------------------- words

function tell(player) {
  const { data, mode, place } = player;
  const person = `person ${Math.floor(place)} of ${data.n}`;
  const moving = mode !== "paused";
  player.play.dataset.moving = moving;
  set(player.play.querySelector("span"), moving ? "Pause" : "Play");
  set(player.state, {
    live: "Live: newest person", playing: "Playing",
    paused: place < last(player) ? "Paused" : data.running ? "Paused, more to come" : "At the end",
  }[mode]);
  player.state.className = `state ${mode}`;
  player.range.value = frameAt(player);
  player.range.setAttribute("aria-valuetext", person);
  const lines = [...player.runs].reverse().map((run) => [run, reading(data, run, place)]);
  const words = [person, ...lines.map(([run, parts]) => `${run.name}: ${parts.join("")}`)].join("; ");
  if (words === player.words) return;
  player.words = words;
  player.now.innerHTML = `<b>${person}</b>` + lines.map(([run, [text, ofSigma = ""]]) =>
    `<span><svg viewBox="0 0 40 14" aria-hidden="true"><path d="M0 7h40" stroke="${run.color}" `
    + `stroke-width="4" stroke-dasharray="${run.dash}"/></svg>`
    + `<b>${run.name}</b> ${text}`
    + `<span class="${isLearnt(data, run, rowAt(run, place)) ? "" : "dim"}">${ofSigma}</span></span>`).join("");
  // Only what stands is read aloud, not what runs past.
  clearTimeout(player.said);
  player.said = setTimeout(() => { if (player.mode === "paused") set(player.status, words); }, 800);
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// What is known, and about σ on its own: it may be said more quietly.
function reading(data, run, place) {
  const i = rowAt(run, place);
  if (i < 0) return ["not yet begun"];
  const late = place - run.t[i] > 1 && i === run.t.length - 1 ? `(at person ${run.t[i]}) ` : "";
  const width = run.right[i] - run.left[i];
  const estimate = (name, mean, sd) =>
    `${name}\u00a0${round(mean, sd, 1)}\u00a0±\u00a0${round(sd, sd, 1)}`;
  return [
    `${late}asked in [${round(run.left[i], width / 10)}, ${round(run.right[i], width / 10)}]; `
    + `${estimate("μ", run.mean_mu[i], run.sd_mu[i])}, `,
    data.known ? `σ\u00a0${round(run.mean_sigma[i], run.mean_sigma[i] / 100)} is known`
      : `${estimate("σ", run.mean_sigma[i], run.sd_sigma[i])}, ${narrower(data, run.narrower[i])}`,
  ];
}

const rowAt = (run, place) => atMost(run.t, place);

const isLearnt = (data, run, row) => row < 0 || data.known || run.narrower[row] >= data.learnt;

// As abcdp_core/online/learnt.py says it.
function narrower(data, gained) {
  const percent = Math.floor(100 * gained + 1e-4);
  if (percent < 1) return "not clearly narrower than its prior";
  return `${gained < data.learnt ? "only " : ""}${percent}\u00a0% narrower than its prior`;
}

// To the first digit of what is small at this place, or to `least` digits.
function round(value, small, least = 0) {
  if (Math.abs(value) > 1e30) return value < 0 ? "−∞" : "∞";
  const digits = Math.min(4, Math.max(least, Math.ceil(-Math.log10(small || 1))));
  return value.toFixed(digits).replace("-", "−");
}

// ---------------------------------------------------------------- drawing

function draw(player) {
  const { data, runs, place } = player;
  const people = [1, Math.max(2, data.n)];
  const layers = (plot, ...all) => {
    for (const layer of all) for (const run of runs) layer(plot, run, chosen(run, place));
  };
  inside(player, player.asked, "Where each person is asked", "person", people,
    "answer, μ", data.axes.answer, (plot) => {
      layers(plot, interval, answers, band("mu"), mean("mu"));
      level(plot, data.truth.mu);
      cursor(plot, place);
    });
  inside(player, player.spread, "Estimate of σ", "person", people,
    "σ", data.axes.spread, (plot) => {
      layers(plot, band("sigma"), mean("sigma"));
      level(plot, data.truth.sigma);
      cursor(plot, place);
    });
  const vague = runs.filter((run) => !isLearnt(data, run, rowAt(run, place)));
  const note = vague.length ? `; σ not clearly learnt: ${vague.map((run) => run.name).reverse().join(", ")}` : "";
  inside(player, player.cloud, `Particles${note}`, "μ", data.axes.mu, "σ", data.axes.sigma, (plot) => {
    for (const run of runs) particles(plot, run, atMost(run.times, place));
    cross(plot, data.truth.mu, data.truth.sigma);
  });
}

// Rows of the people up to this place, thinned to what can be told apart, with the last.
function chosen(run, place) {
  const end = atMost(run.t, place);
  const every = Math.ceil(run.t.length / POINTS);
  const rows = Array.from({ length: Math.ceil((end + 1) / every) }, (_, i) => i * every);
  if (rows.length && rows.at(-1) < end) rows.push(end);
  return rows;
}

// Title, axes and grid of a panel, then its content, clipped.
function inside(player, canvas, title, xName, [x0, x1], yName, [y0, y1], content) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = Math.max(1, devicePixelRatio);
  const size = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
  const ink = canvas.getContext("2d");
  ink.setTransform(scale, 0, 0, scale, 0, 0);
  ink.clearRect(0, 0, width, height);
  const box = { left: 62, top: 36, right: width - 14, bottom: height - 46 };
  // Held close to the box: long dashed lines that nobody sees take time.
  const held = (value, low, high) => Math.min(Math.max(value, low - 60), high + 60);
  const [across, up] = [(box.right - box.left) / (x1 - x0), (box.bottom - box.top) / (y1 - y0)];
  const x = (value) => held(box.left + (value - x0) * across, box.left, box.right);
  const y = (value) => held(box.bottom - (value - y0) * up, box.top, box.bottom);
  const plot = { ink, box, x, y, player };
  ink.fillStyle = ink.strokeStyle = player.ink;
  write(plot, title, 0, 12, "left", 600, 16);
  write(plot, xName, (box.left + box.right) / 2, height - 10, "center", 400, 15);
  ink.save();
  ink.translate(14, (box.top + box.bottom) / 2);
  if (yName.length > 1) ink.rotate(-Math.PI / 2);
  write(plot, yName, 0, 0, "center", 400, 15);
  ink.restore();
  for (const tick of ticks(x0, x1, (box.right - box.left) / 55)) {
    path(plot, [[x(tick), box.top], [x(tick), box.bottom]], player.ink, 1, [], 0.13);
    const reach = 4.2 * label(tick).length; // half its width: the last one must stay inside
    write(plot, label(tick), Math.min(x(tick), width - reach), box.bottom + 14, "center", 400, 14);
  }
  for (const tick of ticks(y0, y1, (box.bottom - box.top) / 36)) {
    path(plot, [[box.left, y(tick)], [box.right, y(tick)]], player.ink, 1, [], 0.13);
    write(plot, label(tick), box.left - 8, y(tick), "right", 400, 14);
  }
  ink.save();
  ink.beginPath();
  ink.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  ink.clip();
  content(plot);
  ink.restore();
  path(plot, [[box.left, box.top], [box.left, box.bottom], [box.right, box.bottom]], player.ink, 1);
  for (const note of plot.notes ?? []) note();
}

function ticks(low, high, count) {
  const raw = (high - low) / Math.max(2, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: many }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

const label = (tick) => String(tick).replace("-", "−");

function write({ ink, player }, text, x, y, align, weight, size) {
  ink.font = `${weight} ${size}px ${player.font}`;
  ink.textAlign = align;
  ink.textBaseline = "middle";
  ink.fillText(text, x, y);
}

function path({ ink }, points, color, width, dash = [], alpha = 1) {
  ink.beginPath();
  for (const [x, y] of points) ink.lineTo(x, y);
  ink.strokeStyle = color;
  ink.lineWidth = width;
  ink.globalAlpha = alpha;
  ink.setLineDash(dash);
  ink.stroke();
  ink.setLineDash([]);
  ink.globalAlpha = 1;
}

// Chosen people, each with a value, as points of the plot.
function along({ x, y }, run, rows, value) {
  return rows.map((i) => [x(run.t[i]), y(value(i))]);
}

function area({ ink }, upper, lower, color, alpha) {
  ink.beginPath();
  for (const [x, y] of upper) ink.lineTo(x, y);
  for (const [x, y] of lower.toReversed()) ink.lineTo(x, y);
  ink.globalAlpha = alpha;
  ink.fillStyle = color;
  ink.fill();
  ink.globalAlpha = 1;
}

function interval(plot, run, rows) {
  const upper = along(plot, run, rows, (i) => run.right[i]);
  const lower = along(plot, run, rows, (i) => run.left[i]);
  area(plot, upper, lower, run.color, run.fill);
  for (const edge of [upper, lower]) path(plot, edge, run.color, 1.2, run.dash);
}

const band = (name) => (plot, run, rows) => {
  for (const [part, color] of stretches(plot, run, rows, name)) {
    const [upper, lower] = [1.96, -1.96].map((k) =>
      along(plot, run, part, (i) => run[`mean_${name}`][i] + k * run[`sd_${name}`][i]));
    area(plot, upper, lower, color, run.band);
    for (const edge of [upper, lower]) path(plot, edge, color, 0.8);
  }
};

const mean = (name) => (plot, run, rows) => {
  for (const [part, color] of stretches(plot, run, rows, name)) {
    path(plot, along(plot, run, part, (i) => run[`mean_${name}`][i]), color, 2.5, run.dash);
  }
};

// Rows of one colour at a time, each with the first of the next; σ is grey while not learnt.
function stretches({ player }, run, rows, name) {
  const color = (row) => name === "mu" || isLearnt(player.data, run, row) ? run.color : GREY;
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

// Those outside stand at the border.
function answers({ ink, box, x, y }, run, rows) {
  ink.globalAlpha = 0.55;
  ink.fillStyle = run.color;
  for (const i of rows) {
    const at = Math.min(Math.max(y(run.response[i]), box.top + 2), box.bottom - 2);
    ink.fillRect(x(run.t[i]) - 1, at - 1, 2, 2);
  }
  ink.globalAlpha = 1;
}

function level(plot, value) {
  const at = plot.y(value);
  path(plot, [[plot.box.left, at], [plot.box.right, at]], TRUTH, 2.5, [12, 5, 2, 5]);
}

function cursor(plot, place) {
  const at = plot.x(place);
  path(plot, [[at, plot.box.top], [at, plot.box.bottom]], plot.player.ink, 1.5);
}

function cross(plot, mu, sigma) {
  const x = plot.x(mu), y = plot.y(sigma), r = 9;
  for (const [color, width] of [[plot.player.paper, 7], [TRUTH, 3.5]]) {
    path(plot, [[x - r, y - r], [x + r, y + r]], color, width);
    path(plot, [[x - r, y + r], [x + r, y - r]], color, width);
  }
}

function particles(plot, run, frame) {
  if (frame < 0) return;
  const { ink, box, x, y } = plot;
  const size = run.clouds.mu.length / run.times.length;
  const out = { "◀": 0, "▶": 0, "▲": 0, "▼": 0 };
  ink.fillStyle = ink.strokeStyle = run.color;
  ink.lineWidth = 1.5;
  ink.globalAlpha = run.mark;
  for (let i = frame * size; i < (frame + 1) * size; i++) {
    const px = x(run.clouds.mu[i]), py = y(run.clouds.sigma[i]);
    if (px < box.left) out["◀"]++;
    else if (px > box.right) out["▶"]++;
    else if (py < box.top) out["▲"]++;
    else if (py > box.bottom) out["▼"]++;
    else if (run.dash.length) ink.strokeRect(px - 2.5, py - 2.5, 5, 5);
    else { ink.beginPath(); ink.arc(px, py, 3, 0, 7); ink.fill(); }
  }
  ink.globalAlpha = 1;
  (plot.notes ??= []).push(() => outside(plot, run, out, size));
}

// How many particles lie beyond each side, in per cent.
function outside(plot, run, out, size) {
  const { ink, box, player } = plot;
  const dy = run.dash.length ? 11 : -11;
  const middle = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const spots = {
    "◀": [box.left + 6, middle[1] + dy], "▶": [box.right - 52, middle[1] + dy],
    "▲": [middle[0] - 23 + 3 * dy, box.top + 12], "▼": [middle[0] - 23 + 3 * dy, box.bottom - 12],
  };
  for (const [arrow, count] of Object.entries(out).filter(([, count]) => count)) {
    const [x, y] = spots[arrow];
    const share = `${Math.max(1, Math.round((100 * count) / size))} %`;
    ink.globalAlpha = 0.85;
    ink.fillStyle = player.paper;
    ink.fillRect(x - 3, y - 10, 22 + 8 * share.length, 20);
    ink.globalAlpha = 1;
    ink.fillStyle = run.color;
    write(plot, arrow, x, y, "left", 400, 14);
    ink.fillStyle = player.ink;
    write(plot, share, x + 17, y, "left", 400, 14);
  }
}
