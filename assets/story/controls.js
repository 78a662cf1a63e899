// Controls of a scene: each kind makes an element that follows what the scene says of it.

import { set } from "../draw.js";
import { comma } from "./panels.js";

const made = (tag, more) => Object.assign(document.createElement(tag), more);

function press(story) {
  const button = made("button", { type: "button" });
  button.follow = ({ text, on, primary }) => {
    set(button, text);
    button.className = primary ? "primary" : "";
    button.onclick = () => { on(story); story.wake(); };
  };
  return button;
}

function play(story) {
  const button = made("button", { type: "button", className: "primary", onclick: () => story.toggle() });
  button.follow = () => set(button, story.playing ? "Pause" : story.place >= story.run().stop ? "Again" : "Play");
  return button;
}

// A slider with its name and value; what it is let go at is settled.
function slide(story) {
  const label = made("label"), name = made("span"), input = made("input", { type: "range", step: 1 });
  label.append(name, input);
  label.follow = ({ name: words, from, to, value, shown, on, off, settles }) => {
    Object.assign(input, { min: from, max: to, disabled: Boolean(off) });
    if (Number(input.value) !== value) input.value = value;
    set(name, shown === undefined ? words : `${words} ${shown}`);
    input.setAttribute("aria-valuetext", shown ?? comma(value));
    input.oninput = () => { on(Number(input.value)); story.wake(); };
    input.onchange = () => { if (settles) story.settle(); };
  };
  return label;
}

function scrub(story) {
  const label = slide(story), { follow } = label;
  label.follow = ({ name }) => follow({
    name, from: 0, to: story.run().stop, value: Math.round(story.place),
    on: (place) => Object.assign(story, { place, playing: false, fallen: 1 }),
  });
  return label;
}

function choose(story) {
  const label = made("label", { className: "choose" }), name = made("span");
  const input = made("input", { type: "checkbox" });
  label.append(input, name);
  label.follow = ({ text, value, on }) => {
    set(name, text);
    input.checked = value;
    input.onchange = () => { on(input.checked); story.wake(); };
  };
  return label;
}

export const CONTROLS = { press, play, slide, scrub, choose };
