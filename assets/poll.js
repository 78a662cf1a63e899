// A question of a live poll on a telephone, as ui/poll/phone.py asks for it. The value that is typed stays here: what
// is sent are a ticket (ask) and then the place of a word that is drawn at random (answer).

const CHANCES = 2n ** 32n;
const AGAIN = 4000; // milliseconds until what was not acknowledged is sent again

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".poll");
  root.poll ??= create(root);
  Object.assign(root.poll, { data, send: setTriggerValue });
  follow(root.poll);
}

function create(root) {
  const find = (selector) => root.querySelector(selector);
  const parts = ["question", "terms", "asks", "said", "sum"].map((name) => [name, find(`.${name}`)]);
  const poll = { ...Object.fromEntries(parts), input: find("input"), button: find("button"), value: undefined };
  root.addEventListener("submit", (event) => {
    event.preventDefault();
    press(poll);
  });
  return poll;
}

// What this telephone keeps of a poll: its ticket and, once it is drawn, its word.
const kept = (code) => JSON.parse(localStorage.getItem(`poll-${code}`) ?? "{}");
const keep = (code, what) => localStorage.setItem(`poll-${code}`, JSON.stringify(what));

function press(poll) {
  const { code, low, high } = poll.data;
  const typed = poll.input.value.trim().replace(",", ".");
  const value = typed === "" ? NaN : Number(typed);
  if (!Number.isFinite(value)) {
    poll.said.textContent = "Type a number, such as 7.5.";
    return;
  }
  poll.value = Math.min(Math.max(value, low), high);
  poll.note = poll.value === value ? "" : ` ${value} was clipped to ${poll.value}.`;
  poll.button.disabled = poll.input.disabled = true;
  poll.said.textContent = "Fetching the question …";
  // The ticket is kept before anything is sent: a telephone has one, however often it tries.
  const mine = kept(code);
  mine.ticket ??= ticket();
  keep(code, mine);
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
  let mine = kept(code);
  if (mine.word === undefined && poll.value !== undefined && asked && asked.ticket === mine.ticket) {
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
  } else if (poll.value !== undefined) {
    send(poll, "ask", { ticket: mine.ticket });
  }
  total(poll);
}

function answer(poll) {
  const { code, epsilon, asked } = poll.data;
  const [wrong, right] = asked.chances.map(BigInt);
  if (!isPromised(epsilon, wrong, right)) {
    poll.said.textContent = "This question reveals more than it promises. Nothing was sent.";
    poll.value = undefined;
    return;
  }
  const word = draw(cell(poll.value, asked), wrong);
  // Kept before it is sent: a word that was seen is never drawn again.
  keep(code, { ...kept(code), word, epsilon, words: words(asked)[word], wrong: Number(wrong), note: poll.note });
  poll.value = undefined;
  poll.input.value = "";
}

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
    `. It need not be true: whatever you typed, each word had a chance of at least ${least} in 100.${mine.note ?? ""}`,
  );
}

function total(poll) {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith("poll-"));
  const spent = keys.map((key) => JSON.parse(localStorage.getItem(key)).epsilon).filter((each) => each !== undefined);
  const all = Math.round(spent.reduce((sum, each) => sum + each, 0) * 1e6) / 1e6;
  poll.sum.textContent =
    spent.length > 1 ? `On this telephone you have answered ${spent.length} questions: ε = ${all} in all.` : "";
}
