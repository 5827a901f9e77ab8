/**
 * Stop 11 of docs/reading.md: from logits to the distribution that a token is drawn from, in the order of minispec/engine/sampling:
 * temperature, then top-p. All that is computed here is float64.
 */

/**
 * The distribution of one row.
 * @param {Float32Array} logits
 * @param {{temperature: number, top_p: number}} options
 * @returns {Float64Array}
 */
export function distribution(logits, { temperature, top_p: topP }) {
  const best = likeliest(logits, 1)[0];
  if (temperature === 0) return oneHot(best, logits.length);
  const probs = new Float64Array(logits.length);
  for (let i = 0; i < logits.length; i++) probs[i] = Math.exp((logits[i] - logits[best]) / temperature);
  if (topP < 1) keepNucleus(probs, topP);
  const total = sum(probs);
  for (let i = 0; i < probs.length; i++) probs[i] /= total;
  return probs;
}

/** Keep the smallest set of likeliest tokens whose mass reaches p, the crossing one included; of equals, the lowest ids come first. */
function keepNucleus(weights, p) {
  const total = sum(weights);
  for (let floor = total / 64; ; floor /= 64) {
    const order = []; // few are likely, and to sort all would take longer than a draft's forward
    for (let token = 0; token < weights.length; token++) if (weights[token] >= floor) order.push(token);
    order.sort((a, b) => weights[b] - weights[a] || a - b);
    let [mass, size] = [0, 0];
    while (size < order.length && mass < p * total) mass += weights[order[size++]];
    if (mass < p * total && order.length < weights.length) continue;
    const kept = order.slice(0, size).map((token) => weights[token]);
    weights.fill(0);
    kept.forEach((weight, i) => (weights[order[i]] = weight));
    return;
  }
}

export function sum(values) {
  let total = 0;
  for (let i = 0; i < values.length; i++) total += values[i];
  return total;
}

export function oneHot(token, size) {
  const probs = new Float64Array(size);
  probs[token] = 1;
  return probs;
}

/** The ids of the `count` largest values, the largest first; of equals, the lowest ids. */
export function likeliest(values, count) {
  const found = [];
  for (let i = 0; i < values.length; i++) {
    if (found.length === count && !(values[i] > values[found[count - 1]])) continue;
    let at = found.length;
    while (at > 0 && values[i] > values[found[at - 1]]) at--;
    found.splice(at, 0, i);
    found.length = Math.min(found.length, count);
  }
  return found;
}
