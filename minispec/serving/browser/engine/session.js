/**
 * Stops 7 and 8 of docs/reading.md: a cache and the tokens that are in it, as minispec/engine/model/session.py and cache.py. Feeding is giving
 * the cache what it lacks; going back is setting a length, and what lies beyond is never read.
 */

import { ROWS } from "./forward.js";

export class Session {
  /** @param {import("./forward.js").Model} model */
  constructor(model) {
    this.model = model;
    this.cache = model.newCache();
    this.tokens = [];
  }

  get length() {
    return this.tokens.length;
  }

  /** Feed tokens and return the logits after the last `count` of them; a long text goes in by blocks. */
  score(tokens, count = tokens.length) {
    let logits = [];
    for (let i = 0; i < tokens.length; i += ROWS) {
      const block = tokens.slice(i, i + ROWS);
      logits.push(...this.model.forward(block, this.cache, Math.max(0, Math.min(block.length, i + block.length - tokens.length + count))));
      this.tokens.push(...block);
    }
    return logits;
  }

  /** Keep at most the first `length` tokens. */
  rollback(length) {
    this.tokens.length = Math.min(this.tokens.length, length);
    this.cache.length = this.tokens.length;
  }

  /** Go back to what the cache shares with a text, and return the rest in blocks that are to be fed. */
  lacks(tokens) {
    let shared = 0;
    while (shared < this.length && this.tokens[shared] === tokens[shared]) shared++;
    this.rollback(shared);
    const blocks = [];
    for (let i = shared; i < tokens.length; i += ROWS) blocks.push(tokens.slice(i, i + ROWS));
    return blocks;
  }
}
