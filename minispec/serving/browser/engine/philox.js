/**
 * Stop 12 of docs/reading.md: where randomness enters. As minispec/engine/noise: Philox4x64-10 (Salmon et al. 2011), keyed by the seed and
 * counted by an address, so that no draw can shift another; race.js has its rounds. `categorical` is the exponential race.
 */

import { begin, fill, lanes } from "./race.js";

const PURPOSES = { sample: 0, draft: 1, accept: 2, residual: 3, bonus: 4 };
const SLACK = 1 - 2 ** -50;

export class PhiloxNoise {
  /** @param {number|bigint} seed  from 0 to 2**64 - 1 */
  constructor(seed) {
    this.seed = BigInt(seed);
  }

  /** Begin to read at an address: every field has bits of its own. */
  #begin({ purpose, position, step = 0, level = 0, node = 0 }) {
    begin([this.seed, BigInt(PURPOSES[purpose]), BigInt(position), BigInt(step), (BigInt(level) << 32n) | BigInt(node)]);
  }

  /** The uniform on [0, 1) of one token at an address: token x reads lane x % 4 of block x // 4. */
  uniform(at, token = 0) {
    this.#begin(at);
    fill(Math.floor(token / 4));
    return lanes[token % 4];
  }

  /** True with probability min(1, prob). */
  bernoulli(prob, at) {
    return prob >= 1 || (prob > 0 && this.uniform(at) < prob);
  }

  /** The exponential race: the token x with the smallest -log(1 - u_x) / p_x. */
  categorical(probs, at) {
    this.#begin(at);
    let first = -1, earliest = Infinity, current = -1;
    for (let token = 0; token < probs.length; token++) {
      const prob = probs[token];
      if (!(prob > 0)) continue;
      if (token >> 2 !== current) fill((current = token >> 2));
      const u = lanes[token & 3];
      if (first >= 0 && u * SLACK >= earliest * prob) continue; // it loses without a logarithm
      const time = -Math.log1p(-u) / prob;
      if (first >= 0 && time >= earliest) continue;
      first = token;
      earliest = time;
    }
    return first;
  }
}

/** The noise of one step. Place i is the i-th token that the step may emit; `sample` noise does not depend on the step. */
export class Coins {
  constructor(noise, position, step) {
    const at = (purpose, i, count = step) => ({ purpose, position: position + i, step: count });
    this.accept = (i, prob) => noise.bernoulli(prob, at("accept", i));
    this.residual = (i, probs) => noise.categorical(probs, at("residual", i));
    this.bonus = (i, probs) => noise.categorical(probs, at("bonus", i));
    this.draft = (i, probs) => noise.categorical(probs, at("draft", i));
    this.sample = (i, probs) => noise.categorical(probs, at("sample", i, 0));
  }
}
