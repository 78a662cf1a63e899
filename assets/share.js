// Copies the link that ui/widgets/share.py sends, says so, and shows its QR code: in a dialog that a button
// opens, or, where there is none, at once and again whenever the link changes.

const COPIED = "Copied. Whoever opens the link sees this view.";
const SELECTED = "This browser does not let the page copy. The link below is selected: copy it.";
const COPIED_FOR_CLASS = "Copied. This is the link for the class.";
const PRESS = "This is the link for the class: press Copy.";

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".share");
  if (root.classList.contains("inline")) {
    root.shared ??= listen(root);
    const changed = root.shared.link !== data.link;
    Object.assign(root.shared, data);
    if (changed) show(root);
  } else {
    root.shared ??= create(root);
    Object.assign(root.shared, data);
  }
}

function listen(root) {
  const shared = { link: "", code: "", note: "" };
  root.querySelector(".copy").addEventListener("click", async () => {
    const copied = copy(shared.link);
    root.querySelector(".link").focus();
    root.querySelector(".link").select();
    root.querySelector(".said").textContent = (await copied) ? COPIED_FOR_CLASS : SELECTED;
  });
  return shared;
}

async function show(root) {
  const { link, code, note } = root.shared;
  root.querySelector(".link").value = link;
  root.querySelector(".code").innerHTML = code;
  root.querySelector(".note").textContent = note;
  const copied = await copy(link);
  if (root.shared.link === link)
    root.querySelector(".said").textContent = copied ? COPIED_FOR_CLASS : PRESS;
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
