/**
 * Stop 2 of docs/reading.md: which drafts stay. As minispec/engine/verifiers: `rejection` keeps the target's law whatever the draft; `match` and
 * `gumbel` draw the tokens of plain sampling with the same seed.
 *
 * A draft is {tokens, probs}: probs[i] is the distribution q that tokens[i] was drawn from. rows[i] is the target's distribution p of place i.
 */

import { sum } from "./sampling.js";

/** normalise(max(p - q, 0)), what a rejected token is replaced from; p where nothing can be rejected but by rounding. */
export function residual(p, q) {
  const positive = new Float64Array(p.length);
  for (let x = 0; x < p.length; x++) positive[x] = Math.max(p[x] - q[x], 0);
  const mass = sum(positive);
  if (!(mass > 0)) return p;
  for (let x = 0; x < p.length; x++) positive[x] /= mass;
  return positive;
}

/**
 * A rule that judges token by token: what a draft is kept with, and what replaces a rejected one.
 * @param {(p: Float64Array, q: Float64Array, token: number) => number} keep
 * @param {(p: Float64Array, q: Float64Array) => Float64Array} replace
 */
export function oneByOne(keep, replace) {
  return (draft, rows, coins) => {
    const acceptProbs = [];
    for (const [i, token] of draft.tokens.entries()) {
      const [p, q] = [rows[i], draft.probs[i]];
      acceptProbs.push(keep(p, q, token));
      if (!coins.accept(i, acceptProbs[i])) return { kept: i, next: coins.residual(i, replace(p, q)), source: "recovered", acceptProbs };
    }
    const end = draft.tokens.length;
    if (!end) return { kept: 0, next: coins.sample(0, rows[0]), source: "plain", acceptProbs };
    return { kept: end, next: coins.bonus(end, rows[end]), source: "bonus", acceptProbs };
  };
}

/** Keep a draft for as long as it is what the target samples: `how(p, q, token)` says how likely that was. */
function match(how) {
  return (draft, rows, coins) => {
    const acceptProbs = [];
    for (let kept = 0; ; kept++) {
      const next = coins.sample(kept, rows[kept]);
      const source = !draft.tokens.length ? "plain" : kept === draft.tokens.length ? "bonus" : "recovered";
      if (source !== "recovered") return { kept, next, source, acceptProbs };
      acceptProbs.push(how(rows[kept], draft.probs[kept], draft.tokens[kept]));
      if (draft.tokens[kept] !== next) return { kept, next, source, acceptProbs };
    }
  };
}

/** The probability that the target draws a token, given that a drafter with the same noise drew it. */
function matchProbability(p, q, token) {
  if (p[token] === 0) return 0;
  let total = 0;
  for (let y = 0; y < p.length; y++) total += Math.max(q[token] * (p[y] / p[token]), q[y]);
  return 1 / Math.max(1, total);
}

const ratio = (p, q, token) => Math.min(1, p[token] / q[token]);

/** By name: the rule, whether its drafts are drawn with the noise of plain sampling, and what its text is. */
export const RULES = {
  rejection: { verify: oneByOne(ratio, residual), coupled: false, sameSeed: false },
  match: { verify: match((p, q, token) => p[token]), coupled: false, sameSeed: true },
  gumbel: { verify: match(matchProbability), coupled: true, sameSeed: true },
};

/** Rules that are wrong, for the page to show what that does. */
export const WRONG = {
  "accept everything": oneByOne(() => 1, residual),
  "resample from p": oneByOne(ratio, (p) => p),
};
