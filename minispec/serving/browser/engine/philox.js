/**
 * Stop 12 of docs/reading.md: where randomness enters. As minispec/engine/noise: Philox4x64-10 (Salmon et al. 2011), keyed by the seed and
 * counted by an address, so that no draw can shift another. JavaScript has no 64-bit product, so each word is two halves of 32 bits.
 */

const PURPOSES = { sample: 0, draft: 1, accept: 2, residual: 3, bonus: 4 };
const TWO32 = 2 ** 32;
const ROUNDS = 10;
const SLACK = 1 - 2 ** -50;
// Of each pair of halves, the upper one comes first.
const MULTIPLIERS = [0xd2e7470e, 0xe14c6c93, 0xca5a8263, 0x95121157];
const BUMPS = [0x9e3779b9, 0x7f4a7c15, 0xbb67ae85, 0x84caa73b];

/** The upper 32 bits of a product of two numbers of 32 bits: each partial product has 48 bits, which a float64 holds. */
function upper(a, b) {
  return Math.floor((a * (b >>> 16) + Math.floor((a * (b & 0xffff)) / 65536)) / 65536);
}

/** Write the 128 bits of a product of two words into `out`, the upper half first. */
function multiply(ah, al, bh, bl, out) {
  const middle = upper(al, bl) + (Math.imul(al, bh) >>> 0) + (Math.imul(ah, bl) >>> 0);
  const third = upper(al, bh) + upper(ah, bl) + (Math.imul(ah, bh) >>> 0) + Math.floor(middle / TWO32);
  out[0] = upper(ah, bh) + Math.floor(third / TWO32);
  out[1] = third;
  out[2] = middle;
  out[3] = Math.imul(al, bl);
}

const product0 = new Uint32Array(4);
const product1 = new Uint32Array(4);

/**
 * The four words of a block, as eight halves.
 * @param {Uint32Array} words  ten halves: the key's two words, then the counter's second to fourth
 * @param {number} block
 * @param {Uint32Array} out  eight halves
 */
export function philox(words, block, out) {
  let k0h = words[0], k0l = words[1], k1h = words[2], k1l = words[3];
  let ah = 0, al = block + 1, bh = words[4], bl = words[5], ch = words[6], cl = words[7], dh = words[8], dl = words[9];
  for (let round = 0; round < ROUNDS; round++) {
    multiply(MULTIPLIERS[0], MULTIPLIERS[1], ah, al, product0);
    multiply(MULTIPLIERS[2], MULTIPLIERS[3], ch, cl, product1);
    ah = (product1[0] ^ bh ^ k0h) >>> 0;
    al = (product1[1] ^ bl ^ k0l) >>> 0;
    ch = (product0[0] ^ dh ^ k1h) >>> 0;
    cl = (product0[1] ^ dl ^ k1l) >>> 0;
    bh = product1[2];
    bl = product1[3];
    dh = product0[2];
    dl = product0[3];
    const low0 = k0l + BUMPS[1], low1 = k1l + BUMPS[3];
    k0h = (k0h + BUMPS[0] + (low0 >= TWO32 ? 1 : 0)) >>> 0;
    k1h = (k1h + BUMPS[2] + (low1 >= TWO32 ? 1 : 0)) >>> 0;
    k0l = low0 >>> 0;
    k1l = low1 >>> 0;
  }
  out[0] = ah, out[1] = al, out[2] = bh, out[3] = bl;
  out[4] = ch, out[5] = cl, out[6] = dh, out[7] = dl;
}

/** A uniform on [0, 1) from the upper 53 bits of a block's word. */
const unit = (lanes, lane) => (lanes[2 * lane] * 2 ** 21 + (lanes[2 * lane + 1] >>> 11)) * 2 ** -53;

export class PhiloxNoise {
  /** @param {number|bigint} seed  from 0 to 2**64 - 1 */
  constructor(seed) {
    this.seed = BigInt(seed);
    this.lanes = new Uint32Array(8);
  }

  #words({ purpose, position, step = 0, level = 0, node = 0 }) {
    const words = [this.seed, BigInt(PURPOSES[purpose]), BigInt(position), BigInt(step), (BigInt(level) << 32n) | BigInt(node)];
    return Uint32Array.from(words.flatMap((word) => [Number(word >> 32n), Number(word & 0xffffffffn)]));
  }

  /** The uniform of one token at an address. */
  uniform(at, token = 0) {
    philox(this.#words(at), Math.floor(token / 4), this.lanes);
    return unit(this.lanes, token % 4);
  }

  /** True with probability min(1, prob). */
  bernoulli(prob, at) {
    return prob >= 1 || (prob > 0 && this.uniform(at) < prob);
  }

  /** The exponential race: the token x with the smallest -log(1 - u_x) / p_x. */
  categorical(probs, at) {
    const words = this.#words(at);
    let first = -1, earliest = Infinity, current = -1;
    for (let token = 0; token < probs.length; token++) {
      const prob = probs[token];
      if (!(prob > 0)) continue;
      if (token >> 2 !== current) philox(words, (current = token >> 2), this.lanes);
      const u = unit(this.lanes, token & 3);
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
