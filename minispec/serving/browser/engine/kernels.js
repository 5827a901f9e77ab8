/**
 * Stop 10 of docs/reading.md: the operations of a forward, as plain loops. Each output is summed in one order, whatever rows are computed with
 * it: a row has the same bits alone and in a block, so that greedy speculative text is the plain text.
 */

export const LANES = 8; // columns of a matrix that lie together

/** Lay a (K, N) matrix out in panels of LANES columns, so that a product reads it from front to back. */
export function packInto(packed, weight, K, N) {
  for (let n = 0; n < N; n++) {
    const panel = (n - (n % LANES)) * K + (n % LANES);
    for (let k = 0; k < K; k++) packed[panel + k * LANES] = weight[k * N + n];
  }
}

/** y = x W + b for `rows` rows of K numbers; simd.js has the same in WebAssembly. */
export function linear({ packed, bias, K, N }, x, y, rows) {
  for (let n = 0; n < N; n += LANES) {
    for (let r = 0; r < rows; r++) {
      let s0 = bias[n], s1 = bias[n + 1], s2 = bias[n + 2], s3 = bias[n + 3], s4 = bias[n + 4], s5 = bias[n + 5], s6 = bias[n + 6], s7 = bias[n + 7];
      for (let k = 0, w = n * K; k < K; k++, w += LANES) {
        const value = x[r * K + k];
        s0 += value * packed[w];
        s1 += value * packed[w + 1];
        s2 += value * packed[w + 2];
        s3 += value * packed[w + 3];
        s4 += value * packed[w + 4];
        s5 += value * packed[w + 5];
        s6 += value * packed[w + 6];
        s7 += value * packed[w + 7];
      }
      const at = r * N + n;
      y[at] = s0, y[at + 1] = s1, y[at + 2] = s2, y[at + 3] = s3;
      y[at + 4] = s4, y[at + 5] = s5, y[at + 6] = s6, y[at + 7] = s7;
    }
  }
}

/** Normalise each row of C numbers to mean 0 and variance 1, then scale and shift. */
export function layerNorm({ weight, bias }, x, y, rows, C, epsilon) {
  for (let at = 0; at < rows * C; at += C) {
    let mean = 0, variance = 0;
    for (let c = 0; c < C; c++) mean += x[at + c];
    mean /= C;
    for (let c = 0; c < C; c++) variance += (x[at + c] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / C + epsilon);
    for (let c = 0; c < C; c++) y[at + c] = (x[at + c] - mean) * scale * weight[c] + bias[c];
  }
}

/** GPT-2's activation, in place. */
export function gelu(x, count) {
  const scale = Math.sqrt(2 / Math.PI);
  for (let i = 0; i < count; i++) {
    const value = x[i];
    x[i] = 0.5 * value * (1 + Math.tanh(scale * (value + 0.044715 * value * value * value)));
  }
}

/** x += y. */
export function add(x, y, count) {
  for (let i = 0; i < count; i++) x[i] += y[i];
}

/** Attend from each token to the slots of the cache up to its own; qkv holds queries, keys and values side by side. */
export function attention(qkv, keys, values, out, rows, first, C, heads, scores) {
  const D = C / heads;
  const scale = 1 / Math.sqrt(D);
  out.fill(0, 0, rows * C);
  for (let r = 0; r < rows; r++) {
    const end = first + r + 1;
    for (let head = 0; head < C; head += D) {
      const query = r * 3 * C + head;
      let most = -Infinity, total = 0;
      for (let slot = 0; slot < end; slot++) {
        let score = 0;
        for (let d = 0, at = slot * C + head; d < D; d++) score += qkv[query + d] * keys[at + d];
        scores[slot] = score *= scale;
        if (score > most) most = score;
      }
      for (let slot = 0; slot < end; slot++) total += scores[slot] = Math.exp(scores[slot] - most);
      for (let slot = 0; slot < end; slot++) {
        const weight = scores[slot] / total;
        for (let d = 0, at = slot * C + head, to = r * C + head; d < D; d++) out[to + d] += weight * values[at + d];
      }
    }
  }
}
