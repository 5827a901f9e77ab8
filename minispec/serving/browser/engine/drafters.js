/** Stops 3 and 4 of docs/reading.md: where drafts come from. As minispec/engine/drafters/base.py, model.py and ngram.py. */

import { oneHot } from "./sampling.js";

export const NOTHING = { tokens: [], probs: [] };

/** A small model proposes, token by token. */
export class ModelDrafter {
  /**
   * @param {import("./session.js").Session} session  its own
   * @param {(logits: Float32Array) => Float64Array} sampler  the target's: what it would never draw would be rejected anyway
   * @param {boolean} coupled  whether to draw with the noise of plain sampling
   */
  constructor(session, sampler, coupled) {
    Object.assign(this, { session, sampler, coupled });
  }

  propose(tokens, gamma, coins) {
    const draft = { tokens: [], probs: [] };
    const draw = this.coupled ? coins.sample : coins.draft;
    const most = Math.min(gamma, this.session.model.S + 1 - tokens.length);
    while (draft.tokens.length < most) {
      const prefix = [...tokens, ...draft.tokens];
      const [logits] = this.session.score(prefix.slice(this.session.length), 1); // one token, or two after a full acceptance
      draft.probs.push(this.sampler(logits));
      draft.tokens.push(draw(draft.tokens.length, draft.probs.at(-1)));
    }
    return draft;
  }

  rollback(length) {
    this.session.rollback(length);
  }
}

/** What followed the most recent earlier occurrence of the last few tokens, the longest run of them that occurred. */
export class NgramDrafter {
  constructor(vocabSize) {
    this.vocabSize = vocabSize;
  }

  propose(tokens, gamma) {
    for (let n = Math.min(3, tokens.length); n >= 1; n--) {
      for (let end = tokens.length - 2; end >= n - 1; end--) {
        if (!Array.from({ length: n }, (_, i) => i).every((i) => tokens[end - i] === tokens.at(-1 - i))) continue;
        const period = tokens.slice(end + 1); // read on in what was just copied where the text ends
        const copied = Array.from({ length: Math.max(0, gamma) }, (_, i) => period[i % period.length]);
        return { tokens: copied, probs: copied.map((token) => oneHot(token, this.vocabSize)) };
      }
    }
    return NOTHING;
  }

  rollback() {}
}

/** Nothing is drafted: each forward gives one token. */
export class NoDrafter {
  propose() {
    return NOTHING;
  }

  rollback() {}
}
