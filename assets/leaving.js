// Saves a release to the visitor's disk as soon as it is there, and has the browser ask before the
// program is left while a release is being made, from whichever page.

const state = (globalThis.abcdpReleases ??= { making: false, saved: new Set(), listens: false });

if (!state.listens) {
  addEventListener("beforeunload", (event) => {
    if (state.making) event.preventDefault();
  });
  state.listens = true;
}

export default function ({ data }) {
  state.making = data.making;
  const name = `${data.session} ${data.file}`;
  if (!data.text || state.saved.has(name)) return;
  state.saved.add(name);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([data.text], { type: "application/json" }));
  link.download = data.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
