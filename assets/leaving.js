// Keeps what was released, saves it at a press whatever becomes of the server, and has the browser
// ask before the program is left while a release is made or was not saved, as ui/own_data.py asks
// for it: also from another page, which a release outlives.

const KEY = /\bst-key-own-json-(\d+)\b/;

let session = "", made = 0, making = false, copies = {};
const saved = new Set();

addEventListener("beforeunload", (event) => {
  if (making || saved.size < made) event.preventDefault();
});

// Before Streamlit hears of the click: its server may be gone, or another than before.
document.addEventListener("click", (event) => {
  const around = event.target.closest("button")?.closest("[class*=st-key-own-json-]");
  if (!around) return;
  const number = Number(KEY.exec(around.className)[1]);
  if (copies[number] !== undefined) {
    event.preventDefault();
    event.stopPropagation();
    save(number);
  }
  saved.add(number);
}, true);

// Streamlit takes its buttons back where it has lost its server: they hear of no click then.
document.addEventListener("pointerup", (event) => {
  const around = event.target.closest("[class*=st-key-own-json-]");
  if (!around?.querySelector("button:disabled")) return;
  const number = Number(KEY.exec(around.className)[1]);
  if (copies[number] === undefined) return;
  save(number);
  saved.add(number);
}, true);

function save(number) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([copies[number]], { type: "application/json" }));
  link.download = `release-${number}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// For a page that is loaded again as the server forgot it: how many were saved now.
globalThis.abcdpSaveReleases = () => {
  const numbers = Object.keys(copies).map(Number).filter((number) => !saved.has(number));
  numbers.forEach(save);
  made = 0;
  making = false;
  return numbers.length;
};

export default function ({ data }) {
  if (data.session !== session) {
    // The server forgot the one before.
    session = data.session;
    copies = {};
    saved.clear();
  }
  made = data.releases;
  making = data.making;
  // Each comes once.
  Object.assign(copies, data.copies);
}
