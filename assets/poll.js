// A question of a live poll on a telephone, as ui/poll/phone.py asks for it. The value that is typed stays here: what
// is sent are a ticket (ask) and then the place of a word that is drawn at random (answer).

const CHANCES = 2n ** 32n;
const AGAIN = 4000; // milliseconds until what was not acknowledged is sent again

// What a person typed as a number: digits with a point or a comma, and no other notation.
const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/;

// What a person agreed to by pressing: as it was on the screen then.
const TERMS = ["code", "text", "unit", "low", "high", "words", "epsilon"];

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".poll");
  root.poll ??= create(root);
  Object.assign(root.poll, { data, send: setTriggerValue });
  follow(root.poll);
}

function create(root) {
  const find = (selector) => root.querySelector(selector);
  const names = ["question", "terms", "asks", "number", "words", "said", "sum"];
  const parts = names.map((name) => [name, find(`.${name}`)]);
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

// Where there are words to choose from: the place of the chosen one.
function typed(poll) {
  if (poll.data.words) return Number(poll.words.querySelector(":checked")?.value ?? NaN);
  const text = poll.input.value.trim();
  return NUMBER.test(text) ? Number(text.replace(",", ".")) : NaN;
}

// Said before the press only: later, a clipped value would be told apart from the others.
function preview(poll) {
  const value = typed(poll);
  const counted = poll.data.words ? value : clip(value, poll.data);
  poll.said.textContent = Number.isNaN(value) || counted === value ? "" : `It will count as ${counted}.`;
}

function press(poll) {
  const value = typed(poll);
  if (!Number.isFinite(value)) {
    poll.said.textContent = poll.data.words ? "Choose one of the answers." : "Type a number, such as 7.5.";
    return;
  }
  const terms = Object.fromEntries(TERMS.map((name) => [name, poll.data[name]]));
  poll.pressed = { ...terms, value: terms.words ? value : clip(value, terms) };
  poll.input.value = "";
  for (const each of poll.words.querySelectorAll("input")) each.checked = false;
  free(poll, false);
  poll.said.textContent = "Fetching the question …";
  // The ticket is kept before anything is sent: a telephone has one, however often it tries.
  const mine = kept(terms.code);
  mine.ticket ??= ticket();
  keep(terms.code, mine);
  poll.sent = undefined;
  send(poll, "ask", { ticket: mine.ticket });
}

function free(poll, isFree) {
  for (const each of poll.asks.querySelectorAll("input, button")) each.disabled = !isFree;
}

function ticket() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function follow(poll) {
  const { code, text, unit, low, high, words, epsilon, open, asked, taken, problem } = poll.data;
  poll.question.textContent = text;
  poll.terms.textContent = `${words ? "" : `From ${low} to ${high}${unit && ` ${unit}`} · `}ε = ${epsilon}, spent once`;
  poll.number.hidden = Boolean(words);
  choices(poll, words ?? []);
  const changed = poll.pressed && TERMS.find((name) => !same(poll.data[name], poll.pressed[name]));
  if (changed) refuse(poll, CHANGED[changed]);
  // Another poll came after the one that was answered here.
  if (poll.code !== code && !changed) {
    poll.said.textContent = "";
    free(poll, true);
  }
  poll.code = code;
  let mine = kept(code);
  if (mine.word === undefined && poll.pressed && asked && asked.ticket === mine.ticket) {
    answer(poll);
    mine = kept(code);
  }
  const done = mine.word !== undefined;
  poll.asks.hidden = done || !open;
  if (done) {
    if (taken === mine.ticket && !mine.received) {
      mine = { ...mine, received: true };
      keep(code, mine);
    }
    tell(poll, mine, open);
    if (!mine.received && open) {
      send(poll, "answer", { ticket: mine.ticket, word: mine.word, number: mine.number });
    }
  } else if (problem || !open) {
    poll.said.textContent = problem || "This poll is closed.";
    free(poll, true);
  } else if (poll.pressed) {
    send(poll, "ask", { ticket: mine.ticket });
  }
  total(poll);
}

const same = (one, two) => JSON.stringify(one) === JSON.stringify(two);

// One circle for each word; what is chosen stays as long as the words are the same.
function choices(poll, words) {
  poll.words.hidden = !words.length;
  const shown = [...poll.words.querySelectorAll("span")].map((each) => each.textContent);
  if (same(shown, words)) return;
  poll.words.replaceChildren(poll.words.firstElementChild, ...words.map((word, place) => {
    const label = document.createElement("label"), text = document.createElement("span");
    text.textContent = word;
    label.append(Object.assign(document.createElement("input"), { type: "radio", name: "word", value: place }), text);
    return label;
  }));
}

const CHANGED = {
  code: "This is another poll.",
  text: "The question changed after you pressed the button.",
  unit: "The unit changed after you pressed the button.",
  low: "The lowest value changed after you pressed the button.",
  high: "The highest value changed after you pressed the button.",
  words: "The answers to choose from changed after you pressed the button.",
  epsilon: "ε, the budget that you agreed to, changed after you pressed the button.",
};

function refuse(poll, why) {
  const again = poll.pressed.words ? "choose" : "type your value";
  poll.pressed = undefined;
  free(poll, true);
  poll.said.textContent = `${why} Nothing was sent. To answer, ${again} again.`;
}

function answer(poll) {
  const { asked } = poll.data;
  const { code, epsilon, value, words } = poll.pressed, said = words ?? between(asked);
  if (!words && !isOrdered(asked)) return refuse(poll, "The edges of this question are not two numbers in order.");
  const isWhole = asked.chances.every(Number.isSafeInteger);
  if (!isWhole || !isPromised(epsilon, ...asked.chances.map(BigInt), said.length)) {
    return refuse(poll, "This question reveals more than it promises.");
  }
  const [wrong] = asked.chances;
  const word = draw(words ? value : cell(value, asked), BigInt(wrong), said.length);
  // Kept before it is sent: a word that was seen is never drawn again.
  keep(code, { ...kept(code), word, number: asked.number, epsilon, words: said[word], wrong });
  poll.pressed = undefined;
}

const isOrdered = ({ lower, upper }) => Number.isFinite(lower) && Number.isFinite(upper) && lower < upper;

const cell = (value, { lower, upper }) => Number(value >= lower) + Number(value >= upper);

const between = ({ lower, upper }) => [`less than ${lower}`, `${lower} or more, less than ${upper}`, `${upper} or more`];

// Whether no value makes a word more than e^ε times as likely as another value does.
export function isPromised(epsilon, wrong, right, many = 3) {
  const digits = 2 ** 40;
  const below = BigInt(Math.floor(Math.exp(epsilon) * (1 - 1e-12) * digits));
  return wrong > 0n && right >= wrong && right + BigInt(many - 1) * wrong === CHANCES && right * BigInt(digits) <= wrong * below;
}

// The true word, or one of the others: each has the same share of the outcomes of one random number.
export function draw(truth, wrong, many = 3) {
  const place = BigInt(crypto.getRandomValues(new Uint32Array(1))[0]);
  const other = Number(place / wrong);
  return other < many - 1 ? other + Number(other >= truth) : truth;
}

function send(poll, name, what) {
  const now = performance.now();
  if (poll.sent?.name === name && now - poll.sent.at < AGAIN) return;
  poll.sent = { name, at: now };
  poll.send(name, what);
  setTimeout(() => follow(poll), AGAIN + 100);
}

function tell(poll, mine, open) {
  const least = Math.floor((mine.wrong * 1000) / Number(CHANCES)) / 10;
  const word = Object.assign(document.createElement("b"), { textContent: mine.words });
  poll.said.replaceChildren(
    mine.received ? "Received: " : open ? "Sending … " : "The poll was closed before this word arrived: ",
    word,
    `. It need not be true: whatever you answered, each word had a chance of at least ${least} in 100.`,
  );
}

function total(poll) {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith("poll-"));
  const spent = keys.map((key) => JSON.parse(localStorage.getItem(key)).epsilon).filter((each) => each !== undefined);
  const all = Math.round(spent.reduce((sum, each) => sum + each, 0) * 1e6) / 1e6;
  poll.sum.textContent =
    spent.length > 1 ? `On this telephone you have answered ${spent.length} questions: ε = ${all} in all.` : "";
}
