// Has the browser ask before the program is left or loaded again while a release was not saved, as
// ui/own_data.py asks for it: also from another page, which a release outlives.

const KEY = /\bst-key-own-json-(\d+)\b/;

let made = 0;
const saved = new Set();

addEventListener("beforeunload", (event) => {
  if (saved.size < made) event.preventDefault();
});

// Before Streamlit hears of the click, which may take the button away.
const press = (event) => {
  const button = event.target.closest("button");
  const around = button?.closest("[class*=st-key-own-json-]");
  if (around) saved.add(KEY.exec(around.className)[1]);
};
document.addEventListener("click", press, true);

export default function ({ data }) {
  made = data.releases;
}
