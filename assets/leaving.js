// Keeps what was released, saves it at a press whatever becomes of the server, and has the browser
// ask before the program is left while a release is made or was not saved, as ui/own_data.py asks
// for it: also from another page, which a release outlives.

const KEY = /\bst-key-own-json-(\d+)\b/;

let session = "", made = 0, making = false, copies = {};
const saved = new Set();

addEventListener("beforeunload", (event) => {
  if (making || saved.size < made) event.preventDefault();
});

// Which release an event is about, if any.
const around = (event) => event.target.closest("[class*=st-key-own-json-]");
const numberOf = (place) => Number(KEY.exec(place.className)[1]);

// Before Streamlit hears of the click: its server may be gone, or another than before.
document.addEventListener("click", (event) => {
  const place = around(event);
  if (!place || !event.target.closest("button")) return;
  const number = numberOf(place);
  if (copies[number] !== undefined) {
    event.preventDefault();
    event.stopPropagation();
    save(number);
  }
  saved.add(number);
}, true);

// Streamlit disables its buttons where it has lost its server: they hear of no click then.
document.addEventListener("pointerup", (event) => {
  const place = around(event);
  if (place?.querySelector("button:disabled") && copies[numberOf(place)] !== undefined) {
    save(numberOf(place));
  }
}, true);

function save(number) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([copies[number]], { type: "application/json" }));
  link.download = `release-${number}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  saved.add(number);
}

// For a page that is loaded again as the server forgot it (forgotten.js).
globalThis.abcdpReleases = {
  save,
  unsaved: () => Object.keys(copies).map(Number).filter((number) => !saved.has(number)),
  forget: () => {
    made = 0;
    making = false;
  },
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
