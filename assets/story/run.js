// The private step on real distances: what a run keeps, how far off its estimate is, what a spy learns from it.
//
// A setting has epsilonTotal, epsilonAbc, c, redrawn (whether each kept guess gets another threshold) and delta, the most
// that one person moves a distance. A run has kept (guesses, counted from 0), stop (how many were looked at) and
// thresholds (by how many were kept before).

// Scales of the Laplace noise for a budget (MATH S2).
export function scales({ epsilonTotal, c, redrawn, delta }) {
  const share = redrawn ? 0.5 : 1 / (c + 1), redraws = redrawn ? c : 1;
  return {
    threshold: (redraws * delta) / (share * epsilonTotal),
    query: (2 * c * delta) / ((1 - share) * epsilonTotal),
  };
}

// Keep guesses whose distance with its noise is at most the threshold with its own, up to c (MATH S1).
// Noise of scale 1: one number for each distance, then those of thresholds; without any, distances decide (MATH S5).
export function runOf(rho, setting, noise = null) {
  const { epsilonAbc, c, redrawn } = setting, kept = [];
  const scale = noise ? scales(setting) : { threshold: 0, query: 0 };
  const threshold = (many) =>
    epsilonAbc + (noise ? scale.threshold * noise[rho.length + (redrawn ? many : 0)] : 0);
  const thresholds = [threshold(0)];
  let limit = thresholds[0], t = 0;
  for (; t < rho.length && kept.length < c; t++) {
    if (rho[t] + (noise ? scale.query * noise[t] : 0) > limit) continue;
    kept.push(t);
    if (kept.length < c) thresholds.push((limit = threshold(kept.length)));
  }
  return { kept, stop: t, thresholds };
}

// How many were kept only because of noise.
export const wrongOf = (rho, { epsilonAbc }, { kept }) => kept.filter((t) => rho[t] > epsilonAbc).length;

// The mean of the kept guesses (5,); that of the prior if there are none. Guesses are rows of five shares.
export function estimateOf(theta, kept) {
  const mean = Array(5).fill(kept.length ? 0 : 0.2);
  for (const t of kept) for (let i = 0; i < 5; i++) mean[i] += theta[5 * t + i] / kept.length;
  return mean;
}

// Root mean squared error of an estimate.
export const errorOf = (mean, truth) =>
  Math.sqrt(mean.reduce((sum, value, i) => sum + (value - truth[i]) ** 2, 0) / mean.length);

// The most and the least that a spy can believe of 100, who gave you 50 before.
export const promise = (epsilonTotal) => [
  Math.floor(100 / (1 + Math.exp(epsilonTotal)) + 1e-9),
  Math.ceil(100 / (1 + Math.exp(-epsilonTotal)) - 1e-9),
];

const NODES = 61;

// What a spy who gave both of your answers 50 of 100 believes of the first, after a run with one threshold.
// The threshold's noise is unknown to the spy: the average over its distribution, at NODES equally likely values.
export function belief(rho, other, setting, run) {
  const { threshold, query } = scales(setting), logs = [[], []], isKept = new Set(run.kept);
  for (let node = 0; node < NODES; node++) {
    const part = (node + 0.5) / NODES;
    const noise = part < 0.5 ? Math.log(2 * part) : -Math.log(2 - 2 * part);
    const limit = setting.epsilonAbc + threshold * noise;
    [rho, other].forEach((distances, which) => {
      let log = 0, product = 1;
      for (let t = 0; t < run.stop; t++) {
        const far = (distances[t] - limit) / query, tail = Math.exp(-Math.abs(far)) / 2;
        // Kept if the noise reaches below the limit: likely on the near side, a tail on the far one.
        if (isKept.has(t) === far < 0) product *= 1 - tail;
        else log -= Math.abs(far) + Math.LN2;
        if (product < 1e-200) { log += Math.log(product); product = 1; }
      }
      logs[which].push(log + Math.log(product));
    });
  }
  const top = Math.max(...logs.flat());
  const [mine, others] = logs.map((each) => each.reduce((sum, log) => sum + Math.exp(log - top), 0));
  return (100 * mine) / (mine + others);
}

// Value below which a share of sorted numbers lies, as numpy's quantile has it.
export function quantile(sorted, share) {
  const place = share * (sorted.length - 1), below = Math.floor(place);
  return sorted[below] + (place - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
}
