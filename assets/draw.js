// Draws on a canvas what players share: sizes, axes, words and marks.
//
// A look says how: ink, paper and font as CSS has them, unit (pixels of a sixteenth of a rem), thick (of lines).

export const LETTERS = 13.5; // pixels where a rem has 16
export const HALL = 20; // pixels of the smallest letters on a projector

export function sized(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const scale = Math.max(1, devicePixelRatio);
  const wanted = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) [canvas.width, canvas.height] = wanted;
  const ink = canvas.getContext("2d");
  ink.setTransform(scale, 0, 0, scale, 0, 0);
  ink.clearRect(0, 0, width, height);
  return { ink, width, height };
}

export function isDark(color) {
  const ink = document.createElement("canvas").getContext("2d");
  ink.fillStyle = color;
  return Number.parseInt(ink.fillStyle.slice(1, 3), 16) < 128;
}

export function powers(low, high) {
  const found = [];
  for (let e = Math.ceil(Math.log10(low)); e <= Math.log10(high); e++) found.push(Number(`1e${e}`));
  return found;
}

export function ticks(low, high, count) {
  const raw = (high - low) / Math.max(2, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const first = Math.ceil(low / step - 1e-9);
  const many = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: many }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

export const label = (tick) => String(tick).replace("-", "−");

export function font({ unit, font: family }, weight) {
  return `${weight} ${LETTERS * unit}px ${family}`;
}

export function measured(ink, look, text, weight) {
  ink.font = font(look, weight);
  return ink.measureText(text).width;
}

export function write({ ink, look }, text, x, y, align, color, weight = 400) {
  ink.font = font(look, weight);
  ink.textAlign = align;
  ink.textBaseline = "middle";
  ink.lineWidth = 4;
  ink.lineJoin = "round";
  ink.strokeStyle = look.paper;
  ink.strokeText(text, x, y);
  ink.fillStyle = color;
  ink.fillText(text, x, y);
}

export function path({ ink, look }, points, color, width, dash = [], alpha = 1) {
  ink.beginPath();
  for (const [x, y] of points) ink.lineTo(x, y);
  ink.strokeStyle = color;
  ink.lineWidth = width * look.thick;
  ink.globalAlpha = alpha;
  ink.setLineDash(dash.map((part) => part * look.thick));
  ink.stroke();
  ink.setLineDash([]);
  ink.globalAlpha = 1;
}

export function disc({ ink, look }, x, y, radius, color) {
  ink.beginPath();
  ink.arc(x, y, radius * look.thick, 0, 7);
  ink.fillStyle = color;
  ink.fill();
}

export function diamond({ ink, look }, x, y, radius, color) {
  const r = radius * look.thick;
  ink.beginPath();
  for (const [dx, dy] of [[0, -r], [r, 0], [0, r], [-r, 0]]) ink.lineTo(x + dx, y + dy);
  ink.closePath();
  ink.fillStyle = color;
  ink.fill();
  ink.lineWidth = 1.5;
  ink.strokeStyle = look.paper;
  ink.stroke();
}

export function inside({ ink, box }, content) {
  ink.save();
  ink.beginPath();
  ink.rect(box.left, box.top, box.right - box.left, box.bottom - box.top);
  ink.clip();
  content();
  ink.restore();
}

// Index of the last value that is not larger; -1 where there is none.
export function atMost(values, limit) {
  let low = 0, high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

export function nearest(values, wanted) {
  const i = Math.max(0, atMost(values, wanted)), next = values[i + 1] ?? Infinity;
  return next - wanted < wanted - values[i] ? next : values[i];
}

// To the first digit of what is small at this place.
export function round(value, small) {
  if (Math.abs(value) > 1e9) return value.toExponential(1).replace("-", "−");
  const digits = Math.min(4, Math.max(0, Math.ceil(-Math.log10(small || 1))));
  const text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
}

// Two digits of a size.
export function size(value) {
  if (!(value > 1e-4 && value < 1e6)) return value === 0 ? "0" : value.toExponential(1);
  return value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));
}

export function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
