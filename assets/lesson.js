// Says which step of a lesson is on, and brings the focus back to a button where what was pressed
// has gone, as ui/parts/lesson.py asks for it: with another page Streamlit draws all buttons anew.

const LONGEST = 3000; // milliseconds
const PAUSE = 50;

// The press that was seen to last: a panel is drawn many times.
let seen;

export default function ({ data, parentElement }) {
  const said = parentElement.querySelector("[role=status]");
  if (said.textContent !== data.place) said.textContent = data.place;
  if (seen === data.visit) return;
  seen = data.visit;
  if (data.buttons.length) keepFocus(data.buttons, document.activeElement);
}

// What was pressed may still be there and go later, and so may a button that has the focus again.
function keepFocus(keys, pressed, end = performance.now() + LONGEST) {
  const now = document.activeElement;
  const lost = !now || now === document.body;
  const buttons = keys.map((key) => document.querySelector(`.st-key-${key} button`));
  // Whoever has gone elsewhere meanwhile stays there.
  const elsewhere = !lost && now !== pressed && !buttons.includes(now);
  if (elsewhere || performance.now() > end) return;
  if (lost) buttons.find((each) => each && !each.disabled)?.focus();
  setTimeout(() => keepFocus(keys, pressed, end), PAUSE);
}
