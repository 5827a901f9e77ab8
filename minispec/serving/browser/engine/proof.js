/**
 * Is it still the target's distribution? Draws the token at one place many times, plainly and speculatively. Both read the same rows, each
 * computed once behind a cache that is set back: only the noise is new each time. The rule, the drafting and the noise are those of every run.
 */

import { Coins, PhiloxNoise } from "./philox.js";
import { RULES, WRONG } from "./rules.js";
import { distribution } from "./sampling.js";
import { Session } from "./session.js";

/** The distributions behind a prompt, each computed when it is first asked for. */
class Rows {
  constructor(model, prompt, options) {
    this.session = new Session(model);
    Object.assign(this, { prompt, options, known: new Map() });
  }

  behind(tokens) {
    const key = tokens.join();
    if (!this.known.has(key)) {
      const text = [...this.prompt, ...tokens];
      this.session.lacks(text);
      this.session.rollback(text.length - 1);
      const logits = this.session.score(text.slice(this.session.length), 1);
      this.known.set(key, distribution(logits[0], this.options));
    }
    return this.known.get(key);
  }
}

/**
 * @param {{prompt: number[], place: number, rule: string, temperature: number, top_p: number, seed: number}} asked  place: from 1, behind the prompt
 * @param {{target: object, draft: object}} models
 * @yields {[number, number]}  a pair of tokens: plain, speculative
 */
export function* drawPairs({ prompt, place, rule, temperature, top_p, seed }, { target, draft }) {
  const [ps, qs] = [target, draft].map((model) => new Rows(model, prompt, { temperature, top_p }));
  const { verify, coupled = false } = RULES[rule] ?? { verify: WRONG[rule] };
  for (let number = 0; ; number++) {
    // Two seeds a pair: `match` and `gumbel` would draw the very tokens of plain sampling, and there would be nothing to compare.
    const [plain, own] = [0, 1].map((i) => new PhiloxNoise(BigInt(seed) * 2n ** 32n + BigInt(2 * number + i)));
    const text = [];
    while (text.length < place) text.push(new Coins(plain, prompt.length + text.length, 0).sample(0, ps.behind(text)));
    const emitted = [];
    for (let step = 1; emitted.length < place; step++) {
      const coins = new Coins(own, prompt.length + emitted.length, step);
      const drafts = { tokens: [], probs: [] };
      while (emitted.length + drafts.tokens.length < place) {
        drafts.probs.push(qs.behind([...emitted, ...drafts.tokens]));
        drafts.tokens.push((coupled ? coins.sample : coins.draft)(drafts.tokens.length, drafts.probs.at(-1)));
      }
      const rows = drafts.tokens.map((_, i) => ps.behind([...emitted, ...drafts.tokens.slice(0, i)]));
      rows.push(rows[0]); // of the place behind, at which nobody looks
      const { kept, next } = verify(drafts, rows, coins);
      emitted.push(...drafts.tokens.slice(0, kept), next);
    }
    yield [text.at(-1), emitted[place - 1]];
  }
}
