/** The shares of tokens in two samples, and the band in which the second must lie if both have one law. */

const ROWS = 12; // tokens that are shown; the rest are one row
const ALPHA = 0.05;

/**
 * @param {[Map<number, number>, Map<number, number>]} counts  by token: plain, ours
 * @param {Map<number, string>} texts
 * @param {number} made  draws of each
 */
export function histogram([plain, ours], texts, made) {
  const of = (token) => (plain.get(token) ?? 0) + (ours.get(token) ?? 0);
  const tokens = [...new Set([...plain.keys(), ...ours.keys()])].sort((a, b) => of(b) - of(a) || a - b);
  const rows = tokens.slice(0, ROWS).map((token) => ({ text: texts.get(token), a: plain.get(token) ?? 0, b: ours.get(token) ?? 0 }));
  const rest = rows.reduce(([a, b], row) => [a - row.a, b - row.b], [made, made]);
  if (tokens.length > ROWS) rows.push({ text: "all others", a: rest[0], b: rest[1] });
  const z = quantile(1 - ALPHA / rows.length / 2); // all rows together err in 5 of 100 tests
  return rows.map(({ text, a, b }) => {
    const pooled = (a + b) / (2 * made);
    const reach = z * Math.sqrt((2 * pooled * (1 - pooled)) / made) + 1 / made;
    const [share, mine] = [a / made, b / made];
    return { text, plain: share, ours: mine, low: Math.max(0, share - reach), high: Math.min(1, share + reach), outside: Math.abs(share - mine) > reach };
  });
}

/** The normal distribution's quantile, by halving; the integral by Simpson's rule. */
function quantile(p) {
  const density = (x) => Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  const below = (x) => {
    const n = 64;
    let total = density(0) + density(x);
    for (let i = 1; i < n; i++) total += (i % 2 ? 4 : 2) * density((x * i) / n);
    return 0.5 + (total * x) / n / 3;
  };
  let [low, high] = [0, 8];
  for (let i = 0; i < 50; i++) {
    const middle = (low + high) / 2;
    if (below(middle) < p) low = middle;
    else high = middle;
  }
  return low;
}
