/** Stops 5 and 6 of docs/reading.md: what is committed, and where it ends. As minispec/engine/generation/transcript.py and stopping.py. */

import { likeliest } from "./sampling.js";

export class Text {
  /**
   * @param {number[]} prompt  tokens
   * @param {{maxTokens: number, context: number, eos: number}} limits
   * @param {import("./tokenizer.js").Tokenizer} tokenizer
   */
  constructor(prompt, { maxTokens, context, eos }, tokenizer) {
    Object.assign(this, { prompt, maxTokens, eos, tokenizer });
    this.most = Math.min(maxTokens, context - prompt.length);
    this.tokens = [...prompt];
    this.steps = [];
    this.released = ""; // whole characters
    this.finish = this.most > 0 ? null : this.#spent();
  }

  get emitted() {
    return this.tokens.slice(this.prompt.length);
  }

  get room() {
    return this.most - (this.tokens.length - this.prompt.length);
  }

  #spent() {
    return this.tokens.length - this.prompt.length >= this.maxTokens ? "length" : "context";
  }

  /** Cut what a step emits where the text ends, and record it. */
  commit(draft, verdict, logits, rows) {
    const position = this.tokens.length;
    const emitted = [...draft.tokens.slice(0, verdict.kept), verdict.next];
    const step = { index: this.steps.length, position, draft, verdict, tokens: [], sources: [], pieces: [], details: [] };
    step.targetProbs = draft.tokens.map((token, i) => rows[i][token]);
    for (const [i, token] of emitted.entries()) {
      const isDraft = i < verdict.kept;
      const source = isDraft ? "accepted" : verdict.source;
      this.tokens.push(token);
      step.tokens.push(token);
      step.sources.push(source);
      step.details.push(this.#describe(logits[i], rows[i], token, isDraft ? draft.probs[i][token] : null, isDraft ? verdict.acceptProbs[i] : null));
      if (token === this.eos) this.finish = "eos";
      else if (this.room <= 0) this.finish = this.#spent();
      const text = this.tokenizer.decode(this.emitted, { open: this.finish === null });
      if (text.length > this.released.length) step.pieces.push({ text: text.slice(this.released.length), source });
      this.released = text;
      if (this.finish !== null) break;
    }
    this.steps.push(step);
    return step;
  }

  /** What target and draft thought of a token; logarithms are before temperature and top-p, p is after them. */
  #describe(logits, probs, token, q, acceptProb) {
    const top = likeliest(logits, 5);
    const most = logits[top[0]];
    let total = 0;
    for (let i = 0; i < logits.length; i++) total += Math.exp(logits[i] - most);
    const logprob = (id) => logits[id] - most - Math.log(total);
    return {
      logprob: logprob(token),
      processed_logprob: probs[token] > 0 ? Math.log(probs[token]) : null,
      target_prob: probs[token],
      draft_prob: q,
      accept_prob: acceptProb,
      top: top.map((id) => ({ token: id, logprob: logprob(id), target_prob: probs[id], text: this.tokenizer.decode([id]) })),
    };
  }
}
