// Loads a page again that the server forgot. A release that was not saved is saved before; of
// several a browser takes one by itself, so there is a button for each.

const WHILE_SAVED = 1500;

export default function ({ parentElement }) {
  if (parentElement.querySelector("button")) return;
  const kept = globalThis.abcdpReleases;
  const unsaved = kept?.unsaved() ?? [];
  // The browser asks before it leaves what is not saved yet.
  const load = () => {
    if (!kept?.unsaved().length) kept?.forget();
    location.reload();
  };
  if (unsaved.length < 2) {
    unsaved.forEach((number) => kept.save(number));
    setTimeout(load, unsaved.length ? WHILE_SAVED : 0);
    return;
  }
  const words = document.createElement("p");
  words.textContent = "These releases were not saved, and only this browser has them. Save each, then load the page.";
  const buttons = unsaved.map((number) =>
    button(`Release ${number} as JSON`, (event) => {
      kept.save(number);
      event.target.classList.add("saved");
    }));
  parentElement.querySelector("div").append(words, ...buttons, button("Load the page again", load));
}

function button(text, onClick) {
  const made = document.createElement("button");
  made.textContent = text;
  made.addEventListener("click", onClick);
  return made;
}
