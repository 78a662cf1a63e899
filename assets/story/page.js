// The story as a page of its own, with its draws in it.

import { begun } from "./story.js";

const textOf = (id) => document.getElementById(id).textContent;
const bytes = Uint8Array.from(atob(textOf("draws")), (byte) => byte.charCodeAt(0));

begun(document.querySelector(".story"), { ...JSON.parse(textOf("said")), draws: new Blob([bytes]) });
