/**
 * Beside stop 12 of docs/reading.md: the noise of philox.js in WebAssembly, which has products of 64 bits. At top-p 1 a draw reads the noise of
 * every token, and would take longer than a forward otherwise.
 */

import { I32, I64, assemble, constant, get, increase, leb, list, loopWhileBelow, plus, set, sized } from "./assemble.js";

const MULTIPLIERS = [0xd2e7470ee14c6c93n, 0xca5a826395121157n];
const BUMPS = [0x9e3779b97f4a7c15n, 0xbb67ae8584caa73bn];
const [WORDS, LANES] = [0, 64]; // where they lie, in bytes

function wide(value) {
  const bytes = [];
  for (let rest = BigInt.asIntN(64, value); ; rest >>= 7n) {
    if (rest >= -64n && rest < 64n) return [0x42, ...bytes, Number(rest & 127n)];
    bytes.push(Number(rest & 127n) | 128);
  }
}

const add = (a, b) => [...a, ...b, 0x7c];
const multiply = (a, b) => [...a, ...b, 0x7e];
const xor = (a, b) => [...a, ...b, 0x85];
const low = (a) => [...a, ...wide(0xffffffffn), 0x83];
const high = (a) => [...a, ...wide(32n), 0x88];
const load = (address, offset) => [...get(address), 0x29, 3, ...leb(offset)];

/** philox(words, block, lanes): four uniforms of a block, from the upper 53 bits of its words. */
function body() {
  const [IN, BLOCK, OUT, ROUND, A, B, C, D, K0, K1, H0, L0, H1, L1, T, U] = Array(16).keys();
  const upper = (multiplier, x, to) => {
    const [mh, ml] = [wide(multiplier >> 32n), wide(multiplier & 0xffffffffn)];
    const first = [...add(multiply(mh, low(get(x))), high(multiply(ml, low(get(x))))), ...set(T)];
    const second = [...add(multiply(ml, high(get(x))), low(get(T))), ...set(U)];
    return [...first, ...second, ...add(add(multiply(mh, high(get(x))), high(get(T))), high(get(U))), ...set(to)];
  };
  const round = [
    ...upper(MULTIPLIERS[0], A, H0), ...multiply(wide(MULTIPLIERS[0]), get(A)), ...set(L0),
    ...upper(MULTIPLIERS[1], C, H1), ...multiply(wide(MULTIPLIERS[1]), get(C)), ...set(L1),
    ...xor(xor(get(H1), get(B)), get(K0)), ...set(A), ...get(L1), ...set(B),
    ...xor(xor(get(H0), get(D)), get(K1)), ...set(C), ...get(L0), ...set(D),
    ...add(get(K0), wide(BUMPS[0])), ...set(K0), ...add(get(K1), wide(BUMPS[1])), ...set(K1),
    ...increase(ROUND, constant(1)),
  ];
  const scale = [0x44, ...new Uint8Array(new Float64Array([2 ** -53]).buffer)];
  const uniform = (word, lane) => [...get(OUT), ...get(word), ...wide(11n), 0x88, 0xba, ...scale, 0xa2, 0x39, 3, ...leb(8 * lane)];
  const loads = [[K0, 0], [K1, 8], [B, 16], [C, 24], [D, 32]].flatMap(([to, offset]) => [...load(IN, offset), ...set(to)]);
  const code = [
    ...plus(get(BLOCK), constant(1)), 0xad, ...set(A), ...loads,
    ...loopWhileBelow(ROUND, constant(10), round),
    ...[A, B, C, D].flatMap(uniform), 0x0b,
  ];
  return sized([...list([[1, I32], [12, I64]]), ...code]);
}

const memory = new WebAssembly.Memory({ initial: 1 });
const { philox } = new WebAssembly.Instance(new WebAssembly.Module(assemble(3, [["philox", body()]])), { page: { memory } }).exports;
const words = new BigUint64Array(memory.buffer, WORDS, 5);

/** The four uniforms of a block; the next call overwrites them. */
export const lanes = new Float64Array(memory.buffer, LANES, 4);

/** @param {bigint[]} address  the key's two words, then the counter's second to fourth */
export function begin(address) {
  words.set(address);
}

/** Fill `lanes` with the uniforms of a block at the address that was begun. */
export const fill = (block) => philox(WORDS, block, LANES);
