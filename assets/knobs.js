// Writes the values of sliders as they are read, 5,000; Streamlit writes what a link says, 5000.

const VALUES = "[data-testid=stSliderThumbValue] p";

export default function () {
  document.documentElement.dataset.knobs ??= watch();
}

function watch() {
  const write = () => {
    for (const { firstChild } of document.querySelectorAll(VALUES))
      if (/^\d{4,}$/.test(firstChild?.nodeValue))
        firstChild.nodeValue = Number(firstChild.nodeValue).toLocaleString("en-US");
  };
  new MutationObserver(write).observe(document.body, { characterData: true, childList: true, subtree: true });
  write();
  return true;
}
