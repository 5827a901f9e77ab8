/**
 * Beside stop 10 of docs/reading.md: the product of kernels.js in WebAssembly with vectors of four numbers, written byte by byte, as
 * minispec/engine/backends/panel writes LLVM IR. A function for one, two, three and four rows keeps its sums in vectors while it goes
 * through two panels (one, for three and four rows) from front to back: a weight that is read once serves all rows.
 */

import { LANES, linear } from "./kernels.js";

const [I32, V128, EMPTY] = [0x7f, 0x7b, 0x40];
const MOST = 4; // rows of a function
const WIDTH = 4 * LANES; // bytes of a panel's row

/** An unsigned, and a signed number as WebAssembly writes them. */
function leb(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
}
function signed(value) {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}

const list = (parts) => [...leb(parts.length), ...parts.flat()];
const section = (id, parts) => [id, ...sized(list(parts))];
const sized = (bytes) => [...leb(bytes.length), ...bytes];
const name = (text) => sized([...text].map((letter) => letter.charCodeAt(0)));

const get = (local) => [0x20, ...leb(local)];
const set = (local) => [0x21, ...leb(local)];
const constant = (value) => [0x41, ...signed(value)];
const plus = (a, b) => [...a, ...b, 0x6a];
const times = (a, b) => [...a, ...b, 0x6c];
const increase = (local, by) => [...plus(get(local), by), ...set(local)];
const load = (address, offset) => [...address, 0xfd, 0x00, 2, ...leb(offset)];
const splat = (address) => [...address, 0xfd, 0x09, 2, 0];
const store = (address, offset, value) => [...address, ...value, 0xfd, 0x0b, 2, ...leb(offset)];
const multiplyAdd = (sum, a, b) => [...sum, ...a, ...b, 0xfd, ...leb(0xe6), 0xfd, ...leb(0xe4)];
const loopWhileBelow = (a, b, body) => [0x03, EMPTY, ...body, ...get(a), ...get(b), 0x49, 0x0d, 0, 0x0b];

/** The body of tile(x, w, bias, y, K, N), all in bytes: K and N are four times the numbers of inputs and outputs. */
function tile(rows) {
  const panels = rows <= 2 ? 2 : 1;
  const vectors = (panels * LANES) / 4;
  const [X, W, BIAS, Y, K, N, XEND, BEND] = [0, 1, 2, 3, 4, 5, 6, 7];
  const input = (row) => 8 + row;
  const sum = (row, v) => 8 + rows + row * vectors + v;
  const weight = (v) => 8 + rows + rows * vectors + v;
  const all = Array.from({ length: vectors }, (_, v) => v);
  const each = Array.from({ length: rows }, (_, row) => row);
  const panelOf = (v) => (4 * v < LANES ? get(W) : plus(get(W), times(get(K), constant(LANES))));
  const inner = [
    ...all.flatMap((v) => [...load(panelOf(v), (16 * v) % WIDTH), ...set(weight(v))]),
    ...each.flatMap((row) => [
      ...splat(get(input(row))),
      ...set(weight(vectors)),
      ...all.flatMap((v) => [...multiplyAdd(get(sum(row, v)), get(weight(v)), get(weight(vectors))), ...set(sum(row, v))]),
      ...increase(input(row), constant(4)),
    ]),
    ...increase(W, constant(WIDTH)),
  ];
  const outer = [
    ...each.flatMap((row) => [...plus(get(X), times(get(K), constant(row))), ...set(input(row))]),
    ...each.flatMap((row) => all.flatMap((v) => [...load(get(BIAS), 16 * v), ...set(sum(row, v))])),
    ...loopWhileBelow(input(0), XEND, inner),
    ...each.flatMap((row) => all.flatMap((v) => store(plus(get(Y), times(get(N), constant(row))), 16 * v, get(sum(row, v))))),
    ...increase(W, times(get(K), constant(LANES * (panels - 1)))),
    ...increase(BIAS, constant(panels * WIDTH)),
    ...increase(Y, constant(panels * WIDTH)),
  ];
  const body = [...plus(get(X), get(K)), ...set(XEND), ...plus(get(BIAS), get(N)), ...set(BEND), ...loopWhileBelow(BIAS, BEND, outer), 0x0b];
  const locals = [[...leb(2 + rows), I32], [...leb(rows * vectors + vectors + 1), V128]];
  return sized([...list(locals), ...body]);
}

function moduleBytes() {
  const functions = Array.from({ length: MOST }, (_, i) => i + 1);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [[0x60, ...list(Array(6).fill([I32])), 0]]),
    ...section(2, [[...name("page"), ...name("memory"), 0x02, 0x00, 1]]),
    ...section(3, functions.map(() => [0])),
    ...section(7, functions.map((rows) => [...name(`tile${rows}`), 0x00, rows - 1])),
    ...section(10, functions.map(tile)),
  ]);
}

let compiled = null;

/** Memory for the numbers of one model, and the product on them. */
export class Memory {
  /**
   * @param {number} count  of float32
   * @param {boolean} simd  whether products run in WebAssembly, where the browser has vectors
   */
  constructor(count, simd) {
    const pages = Math.ceil((4 * count + 4096) / 65536);
    const memory = new WebAssembly.Memory({ initial: pages });
    this.buffer = memory.buffer;
    this.used = 16;
    this.linear = linear;
    if (!simd || !WebAssembly.validate((compiled ??= moduleBytes()))) return;
    const tiles = new WebAssembly.Instance(new WebAssembly.Module(compiled), { page: { memory } }).exports;
    this.linear = ({ packed, bias, K, N }, x, y, rows) => {
      for (let row = 0; row < rows; row += MOST) {
        const now = Math.min(MOST, rows - row);
        tiles[`tile${now}`](x.byteOffset + 4 * row * K, packed.byteOffset, bias.byteOffset, y.byteOffset + 4 * row * N, 4 * K, 4 * N);
      }
    };
  }

  /** Take room for some numbers. */
  take(count) {
    const taken = new Float32Array(this.buffer, this.used, count);
    this.used += Math.ceil(count / 4) * 16;
    return taken;
  }
}
