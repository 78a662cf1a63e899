// Copies the link that ui/share.py sends, says so, and shows its QR code.

const COPIED = "Copied. Whoever opens the link sees this view.";
const SELECTED = "This browser does not let the page copy. The link below is selected: copy it.";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".share");
  root.shared ??= create(root);
  Object.assign(root.shared, data);
}

function create(root) {
  const find = (selector) => root.querySelector(selector);
  const shared = { link: "", code: "", note: "" };
  const dialog = find("dialog");
  find(".open").addEventListener("click", async () => {
    // At once: a browser allows it only as long as it takes the click for the wish to copy.
    const copied = copy(shared.link);
    find(".code").innerHTML = shared.code;
    find(".note").textContent = shared.note;
    find(".link").value = shared.link;
    find(".said").textContent = "";
    dialog.showModal();
    find(".link").focus();
    find(".link").select();
    find(".said").textContent = (await copied) ? COPIED : SELECTED;
  });
  find(".close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  return shared;
}

// Only a page from a secure address or from this machine has a clipboard.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
