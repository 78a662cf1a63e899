// Questions of a live poll on a telephone, as ui/poll/phone.py asks for them. The value that is typed stays here: what
// is sent are a ticket (ask) and then the place of a word that is drawn at random (answer).

const CHANCES = 2n ** 32n;
const AGAIN = 4000; // milliseconds until what was not acknowledged is sent again

// What a person typed as a number: digits with a point or a comma, and no other notation.
const NUMBER = /^[+-]?(\d+([.,]\d*)?|[.,]\d+)$/;

// What a person agreed to by pressing: as it was on the screen then.
const TERMS = ["code", "round", "text", "unit", "low", "high", "words", "epsilon"];

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".poll");
  root.poll ??= create(root);
  Object.assign(root.poll, { data: { ...data, ...drawn(data) }, send: setTriggerValue });
  follow(root.poll);
}

function create(root) {
  const find = (selector) => root.querySelector(selector);
  const names = ["question", "terms", "asks", "seat", "number", "words", "said", "sum"];
  const parts = names.map((name) => [name, find(`.${name}`)]);
  const poll = { ...Object.fromEntries(parts), input: find("#value"), code: find("#seat"), pressed: undefined };
  poll.input.addEventListener("input", () => preview(poll));
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    press(poll);
  });
  return poll;
}

// What this telephone keeps of a poll: the budget that it stated first, the question that it drew if each draws one, its
// seat code and, by round, its ticket and the word that it drew.
const kept = (code) => JSON.parse(localStorage.getItem(`poll-${code}`) ?? "{}");
const keep = (code, what) => localStorage.setItem(`poll-${code}`, JSON.stringify({ ...kept(code), ...what }));
const keptRound = ({ code, round }) => kept(code).rounds?.[round] ?? {};
const keepRound = ({ code, round }, what) =>
  keep(code, { rounds: { ...kept(code).rounds, [round]: { ...keptRound({ code, round }), ...what } } });

// The question of this telephone: one of several is drawn once, independently of all answers.
function drawn({ code, items }) {
  const { pick } = kept(code);
  if (items.length === 1 || items[pick]) return items[pick ?? 0] ?? items[0];
  const place = crypto.getRandomValues(new Uint32Array(1))[0] % items.length;
  keep(code, { pick: place });
  return items[place];
}

const sum = (rounds) => Math.round(rounds.reduce((all, { epsilon }) => all + (epsilon ?? 0), 0) * 1e6) / 1e6;

// Whether one more answer stays within the budget that was stated here first.
const isLeft = ({ code, budget, epsilon }) =>
  sum([...Object.values(kept(code).rounds ?? {}), { epsilon }]) <= (kept(code).budget ?? budget) + 1e-9;

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
  if (!isLeft(poll.data)) return follow(poll);
  poll.pressed = { ...terms, value: terms.words ? value : clip(value, terms) };
  poll.input.value = "";
  for (const each of poll.words.querySelectorAll("input")) each.checked = false;
  free(poll, false);
  poll.said.textContent = "Fetching the question …";
  // The ticket is kept before anything is sent: a telephone has one, however often it tries.
  const { budget } = poll.data, seat = poll.code.value.trim();
  keep(terms.code, { budget: kept(terms.code).budget ?? budget, ...(seat && { seat }) });
  keepRound(terms, { ticket: keptRound(terms).ticket ?? ticket() });
  poll.sent = undefined;
  ask(poll);
}

const ask = (poll) => {
  const { round } = poll.data;
  send(poll, "ask", { ticket: keptRound(poll.data).ticket, round, seat: kept(poll.data.code).seat ?? "" });
};

function free(poll, isFree) {
  for (const each of poll.asks.querySelectorAll("input, button")) each.disabled = !isFree;
}

function ticket() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function follow(poll) {
  const { code, round, text, unit, low, high, words, epsilon, budget, seats, open, asked, taken, problem } = poll.data;
  poll.question.textContent = text;
  const most = kept(code).budget ?? budget, all = most > epsilon ? ` of at most ${most} in all questions` : ", spent once";
  poll.terms.textContent = `${words ? "" : `From ${low} to ${high}${unit && ` ${unit}`} · `}ε = ${epsilon}${all}`;
  poll.number.hidden = Boolean(words);
  poll.seat.hidden = !seats || Boolean(kept(code).seat && !problem);
  choices(poll, words ?? []);
  const changed = poll.pressed && TERMS.find((name) => !same(poll.data[name], poll.pressed[name]));
  if (changed) refuse(poll, CHANGED[changed]);
  // Another question came after the one that was answered here.
  let mine = keptRound(poll.data);
  if (poll.shown !== `${code} ${round}` && !changed) {
    poll.said.textContent = mine.ticket && mine.word === undefined ? LOST : "";
    free(poll, true);
  }
  poll.shown = `${code} ${round}`;
  if (mine.word === undefined && poll.pressed && asked && asked.ticket === mine.ticket) {
    answer(poll);
    mine = keptRound(poll.data);
  }
  const done = mine.word !== undefined, isSpent = !done && !isLeft(poll.data);
  poll.asks.hidden = done || !open || isSpent;
  if (done) {
    if (taken === mine.ticket && !mine.received) {
      mine = { ...mine, received: true };
      keepRound(poll.data, mine);
    }
    tell(poll, mine, open);
    if (!mine.received && open) {
      send(poll, "answer", { ticket: mine.ticket, round, word: mine.word, number: mine.number });
    }
  } else if (problem || !open || (isSpent && !changed)) {
    poll.said.textContent = problem || (isSpent ? SPENT : "This question is closed.");
    free(poll, true);
  } else if (poll.pressed) {
    ask(poll);
  }
  total(poll);
}

const LOST = "The connection was lost before anything was sent. Answer once more.";
const SPENT = "This telephone has spent what it stated at the start, so it sits this question out.";

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
  round: "Another question came after you pressed the button.",
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
  const { epsilon, value, words } = poll.pressed, said = words ?? between(asked);
  if (!words && !isOrdered(asked)) return refuse(poll, "The edges of this question are not two numbers in order.");
  const isWhole = asked.chances.every(Number.isSafeInteger);
  if (!isWhole || !isPromised(epsilon, ...asked.chances.map(BigInt), said.length)) {
    return refuse(poll, "This question reveals more than it promises.");
  }
  const [wrong] = asked.chances;
  const word = draw(words ? value : cell(value, asked), BigInt(wrong), said.length);
  // Kept before it is sent: a word that was seen is never drawn again.
  keepRound(poll.pressed, { word, number: asked.number, epsilon, words: said[word], wrong });
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
    mine.received ? "Received: " : open ? "Sending … " : "The question was closed before this word arrived: ",
    word,
    `. It need not be true: whatever you answered, each word had a chance of at least ${least} in 100.`,
  );
}

function total(poll) {
  const polls = Object.keys(localStorage).filter((key) => key.startsWith("poll-"));
  const rounds = polls.flatMap((key) => Object.values(JSON.parse(localStorage.getItem(key)).rounds ?? {}));
  const spent = rounds.filter(({ epsilon }) => epsilon !== undefined);
  poll.sum.textContent =
    spent.length > 1 ? `On this telephone you have answered ${spent.length} questions: ε = ${sum(spent)} in all.` : "";
}
