// The story as a part of the app: what is let go is told to the program's knobs.

import { begun } from "./story.js";

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".story");
  root.settled = (setting) => setTriggerValue("settled", setting);
  root.begun ??= begun(root, data);
  root.begun.then((story) => story.follow(data));
}
