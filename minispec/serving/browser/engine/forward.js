/**
 * Stop 9 of docs/reading.md: GPT-2 (Radford et al. 2019), from tokens to logits, as minispec/engine/model/forward.py. T tokens, C channels,
 * H heads, V words; a tied model keeps one table for embedding and head.
 */

import { LANES, add, attention, gelu, layerNorm, packInto } from "./kernels.js";
import { Memory } from "./simd.js";

export const ROWS = 64; // of one forward, at most

export class Model {
  /**
   * @param {object} config  config.json
   * @param {(name: string, ...shape: number[]) => Float32Array} tensor  see weights.js
   * @param {boolean} simd  whether products run in WebAssembly; else in kernels.js
   */
  constructor(config, tensor, simd = true) {
    const { n_embd: C, n_layer: L, n_head: H, vocab_size: V, n_positions: S } = config;
    if (C % (4 * H)) throw new Error(`${C} channels in ${H} heads; a head must have a multiple of 4`);
    const inner = config.n_inner ?? 4 * C;
    Object.assign(this, { C, L, H, V, S, inner, epsilon: config.layer_norm_epsilon });
    const sizes = [[C, 3 * C], [C, C], [C, inner], [inner, C]];
    const count = [...Array(L).fill(sizes).flat(), [C, V]].reduce((sum, [K, N]) => sum + (K + 1) * N, 0);
    const memory = new Memory(count + ROWS * (9 * C + inner + V), simd);
    const norm = (name) => ({ weight: tensor(`${name}.weight`, C), bias: tensor(`${name}.bias`, C) });
    const matrix = (name, K, N) => this.#pack(memory, tensor(`${name}.weight`, K, N), tensor(`${name}.bias`, N), K, N);
    this.blocks = Array.from({ length: L }, (_, i) => ({
      ln1: norm(`h.${i}.ln_1`),
      qkv: matrix(`h.${i}.attn.c_attn`, C, 3 * C),
      proj: matrix(`h.${i}.attn.c_proj`, C, C),
      ln2: norm(`h.${i}.ln_2`),
      fc: matrix(`h.${i}.mlp.c_fc`, C, inner),
      out: matrix(`h.${i}.mlp.c_proj`, inner, C),
    }));
    this.lnf = norm("ln_f");
    this.wpe = tensor("wpe.weight", S, C);
    this.head = this.#pack(memory, transpose(tensor("wte.weight", V, C), V, C), new Float32Array(V), C, V);
    this.linear = memory.linear;
    const rows = (width) => memory.take(ROWS * width);
    this.buffers = { x: rows(C), normed: rows(C), qkv: rows(3 * C), heads: rows(C), hidden: rows(inner), change: rows(C), logits: rows(V) };
    this.scores = new Float32Array(S);
  }

  #pack(memory, weight, bias, K, N) {
    if (N % (2 * LANES)) throw new Error(`a matrix has ${N} columns; they must be a multiple of ${2 * LANES}`);
    const [packed, shift] = [memory.take(K * N), memory.take(N)];
    packInto(packed, weight, K, N);
    shift.set(bias);
    return { packed, bias: shift, K, N };
  }

  newCache() {
    const layers = () => Array.from({ length: this.L }, () => new Float32Array(this.S * this.C));
    return { keys: layers(), values: layers(), length: 0 };
  }

  /**
   * Feed up to ROWS tokens to a cache and return the logits after the last `count` of them, a Float32Array each.
   * @param {(layer: number, x: Float32Array) => void} [watch]  is shown the residual stream behind each layer
   */
  forward(tokens, cache, count, watch) {
    const { C, H, V, inner, epsilon, linear } = this;
    const { x, normed, qkv, heads, hidden, change, logits } = this.buffers;
    const [T, first] = [tokens.length, cache.length];
    tokens.forEach((token, t) => this.#embed(token, first + t, x.subarray(t * C, (t + 1) * C)));
    this.blocks.forEach((block, layer) => {
      // x = x + attention(norm(x))
      layerNorm(block.ln1, x, normed, T, C, epsilon);
      linear(block.qkv, normed, qkv, T);
      const [keys, values] = [cache.keys[layer], cache.values[layer]];
      for (let t = 0, slot = first * C; t < T; t++, slot += C) {
        keys.set(qkv.subarray((3 * t + 1) * C, (3 * t + 2) * C), slot);
        values.set(qkv.subarray((3 * t + 2) * C, (3 * t + 3) * C), slot);
      }
      attention(qkv, keys, values, heads, T, first, C, H, this.scores);
      linear(block.proj, heads, change, T);
      add(x, change, T * C);

      // x = x + mlp(norm(x))
      layerNorm(block.ln2, x, normed, T, C, epsilon);
      linear(block.fc, normed, hidden, T);
      gelu(hidden, T * inner);
      linear(block.out, hidden, change, T);
      add(x, change, T * C);
      watch?.(layer, x.slice(0, T * C));
    });
    cache.length = first + T; // only now: a forward that was interrupted has not happened
    if (!count) return [];
    layerNorm(this.lnf, x.subarray((T - count) * C), normed, count, C, epsilon);
    linear(this.head, normed, logits, count);
    return Array.from({ length: count }, (_, i) => logits.slice(i * V, (i + 1) * V));
  }

  /** Token plus position; a token's embedding is its column of the head. */
  #embed(token, position, x) {
    const column = (token - (token % LANES)) * this.C + (token % LANES);
    for (let c = 0; c < this.C; c++) x[c] = this.head.packed[column + c * LANES] + this.wpe[position * this.C + c];
  }
}

function transpose(matrix, rows, columns) {
  const turned = new Float32Array(rows * columns);
  for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) turned[c * rows + r] = matrix[r * columns + c];
  return turned;
}
