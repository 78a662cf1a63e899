// A question of a live poll on a telephone, as ui/poll/phone.py asks for it. The value that is typed stays here: what
// is sent are a ticket (ask) and then the place of a word that is drawn at random (answer).

const CHANCES = 2n ** 32n;
const AGAIN = 4000; // milliseconds until what was not acknowledged is sent again

// What a person typed as a number: digits with a point or a comma, and no other notation.
const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/;

// What a person agreed to by pressing: as it was on the screen then.
const TERMS = ["code", "text", "unit", "low", "high", "epsilon"];

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".poll");
  root.poll ??= create(root);
  Object.assign(root.poll, { data, send: setTriggerValue });
  follow(root.poll);
}

function create(root) {
  const find = (selector) => root.querySelector(selector);
  const parts = ["question", "terms", "asks", "said", "sum"].map((name) => [name, find(`.${name}`)]);
  const poll = { ...Object.fromEntries(parts), input: find("input"), button: find("button"), pressed: undefined };
  poll.input.addEventListener("input", () => preview(poll));
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    press(poll);
  });
  return poll;
}

// What this telephone keeps of a poll: its ticket and, once it is drawn, its word.
const kept = (code) => JSON.parse(localStorage.getItem(`poll-${code}`) ?? "{}");
const keep = (code, what) => localStorage.setItem(`poll-${code}`, JSON.stringify(what));

const clip = (value, { low, high }) => Math.min(Math.max(value, low), high);

function typed(poll) {
  const text = poll.input.value.trim();
  return NUMBER.test(text) ? Number(text.replace(",", ".")) : NaN;
}

// Said before the press only: later, a clipped value would be told apart from the others.
function preview(poll) {
  const value = typed(poll);
  const counted = clip(value, poll.data);
  poll.said.textContent = Number.isNaN(value) || counted === value ? "" : `It will count as ${counted}.`;
}

function press(poll) {
  const value = typed(poll);
  if (!Number.isFinite(value)) {
    poll.said.textContent = "Type a number, such as 7.5.";
    return;
  }
  const terms = Object.fromEntries(TERMS.map((name) => [name, poll.data[name]]));
  poll.pressed = { ...terms, value: clip(value, terms) };
  poll.input.value = "";
  poll.button.disabled = poll.input.disabled = true;
  poll.said.textContent = "Fetching the question …";
  // The ticket is kept before anything is sent: a telephone has one, however often it tries.
  const mine = kept(terms.code);
  mine.ticket ??= ticket();
  keep(terms.code, mine);
  poll.sent = undefined;
  send(poll, "ask", { ticket: mine.ticket });
}

function ticket() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function follow(poll) {
  const { code, text, unit, low, high, epsilon, open, asked, taken, problem } = poll.data;
  poll.question.textContent = text;
  poll.terms.textContent = `From ${low} to ${high}${unit && ` ${unit}`} · ε = ${epsilon}, spent once`;
  const changed = poll.pressed && TERMS.find((name) => poll.data[name] !== poll.pressed[name]);
  if (changed) refuse(poll, CHANGED[changed]);
  let mine = kept(code);
  if (mine.word === undefined && poll.pressed && asked && asked.ticket === mine.ticket) {
    answer(poll);
    mine = kept(code);
  }
  const done = mine.word !== undefined;
  poll.asks.hidden = done || !open;
  if (done) {
    tell(poll, mine);
    if (taken !== mine.ticket && open) send(poll, "answer", { ticket: mine.ticket, word: mine.word });
  } else if (problem || !open) {
    poll.said.textContent = problem || "This poll is closed.";
    poll.button.disabled = poll.input.disabled = false;
  } else if (poll.pressed) {
    send(poll, "ask", { ticket: mine.ticket });
  }
  total(poll);
}

const CHANGED = {
  code: "This is another poll.",
  text: "The question changed after you pressed the button.",
  unit: "The unit changed after you pressed the button.",
  low: "The lowest value changed after you pressed the button.",
  high: "The highest value changed after you pressed the button.",
  epsilon: "ε, the budget that you agreed to, changed after you pressed the button.",
};

function refuse(poll, why) {
  poll.pressed = undefined;
  poll.button.disabled = poll.input.disabled = false;
  poll.said.textContent = `${why} Nothing was sent. To answer, type your value again.`;
}

function answer(poll) {
  const { asked } = poll.data;
  const { code, epsilon, value } = poll.pressed;
  if (!isOrdered(asked)) return refuse(poll, "The edges of this question are not two numbers in order.");
  if (!asked.chances.every(Number.isSafeInteger) || !isPromised(epsilon, ...asked.chances.map(BigInt))) {
    return refuse(poll, "This question reveals more than it promises.");
  }
  const [wrong] = asked.chances;
  const word = draw(cell(value, asked), BigInt(wrong));
  // Kept before it is sent: a word that was seen is never drawn again.
  keep(code, { ...kept(code), word, epsilon, words: words(asked)[word], wrong });
  poll.pressed = undefined;
}

const isOrdered = ({ lower, upper }) => Number.isFinite(lower) && Number.isFinite(upper) && lower < upper;

const cell = (value, { lower, upper }) => Number(value >= lower) + Number(value >= upper);

const words = ({ lower, upper }) => [`less than ${lower}`, `${lower} or more, less than ${upper}`, `${upper} or more`];

// Whether no value makes a word more than e^ε times as likely as another value does.
export function isPromised(epsilon, wrong, right) {
  const digits = 2 ** 40;
  const below = BigInt(Math.floor(Math.exp(epsilon) * (1 - 1e-12) * digits));
  return wrong > 0n && right >= wrong && right + 2n * wrong === CHANCES && right * BigInt(digits) <= wrong * below;
}

export function draw(truth, wrong, random = () => crypto.getRandomValues(new Uint32Array(1))[0]) {
  const place = BigInt(random());
  if (place >= 2n * wrong) return truth;
  return [0, 1, 2].filter((word) => word !== truth)[place < wrong ? 0 : 1];
}

function send(poll, name, what) {
  const now = performance.now();
  if (poll.sent?.name === name && now - poll.sent.at < AGAIN) return;
  poll.sent = { name, at: now };
  poll.send(name, what);
  setTimeout(() => follow(poll), AGAIN + 100);
}

function tell(poll, mine) {
  const least = Math.floor((mine.wrong * 1000) / Number(CHANCES)) / 10;
  const word = Object.assign(document.createElement("b"), { textContent: mine.words });
  poll.said.replaceChildren(
    "Sent: ",
    word,
    `. It need not be true: whatever you typed, each word had a chance of at least ${least} in 100.`,
  );
}

function total(poll) {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith("poll-"));
  const spent = keys.map((key) => JSON.parse(localStorage.getItem(key)).epsilon).filter((each) => each !== undefined);
  const all = Math.round(spent.reduce((sum, each) => sum + each, 0) * 1e6) / 1e6;
  poll.sum.textContent =
    spent.length > 1 ? `On this telephone you have answered ${spent.length} questions: ε = ${all} in all.` : "";
}
