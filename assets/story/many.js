// Two hundred runs at once, in a worker: they differ in nothing but their noise.

import { crc32, laplace, seedWords, sfc64 } from "./noise.js";
import { errorOf, estimateOf, quantile, runOf, scales, wrongOf } from "./run.js";

// Ask for runs with `(kind, setting, then)`; of two questions of a kind only the later is answered.
//
// runs: {wrong, kept, errors}, by number of the noise. curve: rows [budget, low, median, high] of the error.
export function manyRuns(draws, count) {
  const parts = [crc32, seedWords, sfc64, laplace, scales, runOf, estimateOf, quantile, serve];
  const arrows = { wrongOf, errorOf };
  const source = [
    ...parts.map(String),
    ...Object.entries(arrows).map(([name, made]) => `const ${name} = ${made};`),
    "serve();",
  ].join("\n");
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  const waiting = {};
  let number = 0;
  worker.postMessage({ draws, count });
  worker.onmessage = ({ data: { kind, asked, found } }) => {
    if (waiting[kind]?.asked === asked) waiting[kind].then(found);
  };
  return (kind, setting, then) => {
    waiting[kind] = { asked: ++number, then };
    worker.postMessage({ kind, asked: number, setting });
  };
}

// The worker's own program.
function serve() {
  const noises = [];
  let draws, count, latest = {};
  const once = (setting) => {
    const rho = draws.rho[setting.n], wrong = [], kept = [], errors = [];
    for (let number = 0; number < count; number++) {
      noises[number] ??= laplace(draws.seed, number, rho.length + draws.most);
      const run = runOf(rho, setting, noises[number]);
      wrong.push(wrongOf(rho, setting, run));
      kept.push(run.kept.length);
      errors.push(errorOf(estimateOf(draws.theta, run.kept), draws.truth));
    }
    return { wrong, kept, errors };
  };
  const answers = {
    runs: once,
    curve: (setting) => draws.budgets.map((epsilonTotal) => {
      const sorted = once({ ...setting, epsilonTotal }).errors.sort((a, b) => a - b);
      return [epsilonTotal, ...[0.1, 0.5, 0.9].map((share) => quantile(sorted, share))];
    }),
  };
  // Questions that came meanwhile are read first, so that only the last of them is answered.
  const answer = () => {
    const [[kind, { asked, setting }], ...rest] = Object.entries(latest);
    latest = Object.fromEntries(rest);
    postMessage({ kind, asked, found: answers[kind](setting) });
    if (rest.length) setTimeout(answer);
  };
  onmessage = ({ data }) => {
    if (data.draws) ({ draws, count } = data);
    else {
      if (!Object.keys(latest).length) setTimeout(answer);
      latest[data.kind] = data;
    }
  };
}
