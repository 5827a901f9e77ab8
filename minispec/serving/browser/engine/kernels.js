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

/** GPT-2's activation, in place: v / 2 (1 + tanh z) = v / (1 + exp(-2 z)), since an exponential is three times as quick as a tanh. */
export function gelu(x, count) {
  const scale = 2 * Math.sqrt(2 / Math.PI);
  for (let i = 0; i < count; i++) {
    const value = x[i];
    x[i] = value / (1 + Math.exp(-scale * (value + 0.044715 * value * value * value)));
  }
}

/** x += y. */
export function add(x, y, count) {
  for (let i = 0; i < count; i++) x[i] += y[i];
}

/**
 * Attend from each token to the slots of the cache up to its own; qkv holds queries, keys and values side by side. Four sums at once,
 * because one would wait for each addition: D is a multiple of 4.
 */
export function attention(qkv, keys, values, out, rows, first, C, heads, scores) {
  const D = C / heads;
  const scale = 1 / Math.sqrt(D);
  for (let r = 0; r < rows; r++) {
    const end = first + r + 1;
    for (let head = 0; head < C; head += D) {
      const query = r * 3 * C + head;
      let most = -Infinity, total = 0;
      for (let slot = 0, at = head; slot < end; slot++, at += C) {
        let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (let d = 0; d < D; d += 4) {
          s0 += qkv[query + d] * keys[at + d];
          s1 += qkv[query + d + 1] * keys[at + d + 1];
          s2 += qkv[query + d + 2] * keys[at + d + 2];
          s3 += qkv[query + d + 3] * keys[at + d + 3];
        }
        scores[slot] = s0 = scale * (s0 + s1 + (s2 + s3));
        if (s0 > most) most = s0;
      }
      for (let slot = 0; slot < end; slot++) total += scores[slot] = Math.exp(scores[slot] - most);
      for (let d = head; d < head + D; d += 4) {
        let s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (let slot = 0, at = d; slot < end; slot++, at += C) {
          const weight = scores[slot];
          s0 += weight * values[at];
          s1 += weight * values[at + 1];
          s2 += weight * values[at + 2];
          s3 += weight * values[at + 3];
        }
        const to = r * C + d;
        out[to] = s0 / total, out[to + 1] = s1 / total, out[to + 2] = s2 / total, out[to + 3] = s3 / total;
      }
    }
  }
}
