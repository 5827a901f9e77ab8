/**
 * Beside stop 10 of docs/reading.md: the product of kernels.js in WebAssembly with vectors of four numbers, written byte by byte, as
 * minispec/engine/backends/panel writes LLVM IR. A function for one, two, three and four rows keeps its sums in vectors while it goes
 * through two panels (one, for three and four rows) from front to back: a weight that is read once serves all rows.
 */

import { I32, V128, assemble, constant, get, increase, leb, list, loopWhileBelow, plus, set, sized, times } from "./assemble.js";
import { LANES, linear } from "./kernels.js";

const MOST = 4; // rows of a function
const WIDTH = 4 * LANES; // bytes of a panel's row

const load = (address, offset) => [...address, 0xfd, 0x00, 2, ...leb(offset)];
const splat = (address) => [...address, 0xfd, 0x09, 2, 0];
const store = (address, offset, value) => [...address, ...value, 0xfd, 0x0b, 2, ...leb(offset)];
const multiplyAdd = (sum, a, b) => [...sum, ...a, ...b, 0xfd, ...leb(0xe6), 0xfd, ...leb(0xe4)];

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
    ...loopWhileBelow(input(0), get(XEND), inner),
    ...each.flatMap((row) => all.flatMap((v) => store(plus(get(Y), times(get(N), constant(row))), 16 * v, get(sum(row, v))))),
    ...increase(W, times(get(K), constant(LANES * (panels - 1)))),
    ...increase(BIAS, constant(panels * WIDTH)),
    ...increase(Y, constant(panels * WIDTH)),
  ];
  const body = [...plus(get(X), get(K)), ...set(XEND), ...plus(get(BIAS), get(N)), ...set(BEND), ...loopWhileBelow(BIAS, get(BEND), outer), 0x0b];
  const locals = [[...leb(2 + rows), I32], [...leb(rows * vectors + vectors + 1), V128]];
  return sized([...list(locals), ...body]);
}

const moduleBytes = () => assemble(6, Array.from({ length: MOST }, (_, i) => [`tile${i + 1}`, tile(i + 1)]));

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
