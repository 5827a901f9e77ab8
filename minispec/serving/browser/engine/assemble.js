/** Beside stop 10 of docs/reading.md: just enough to write WebAssembly byte by byte, for simd.js and race.js. */

export const [I32, I64, V128, EMPTY] = [0x7f, 0x7e, 0x7b, 0x40];

/** An unsigned, and a signed number as WebAssembly writes them. */
export function leb(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb(value >>> 7)];
}
export function signed(value) {
  return value >= -64 && value < 64 ? [value & 127] : [(value & 127) | 128, ...signed(value >> 7)];
}

export const list = (parts) => [...leb(parts.length), ...parts.flat()];
export const section = (id, parts) => [id, ...sized(list(parts))];
export const sized = (bytes) => [...leb(bytes.length), ...bytes];
export const name = (text) => sized([...text].map((letter) => letter.charCodeAt(0)));

export const get = (local) => [0x20, ...leb(local)];
export const set = (local) => [0x21, ...leb(local)];
export const constant = (value) => [0x41, ...signed(value)];
export const plus = (a, b) => [...a, ...b, 0x6a];
export const times = (a, b) => [...a, ...b, 0x6c];
export const increase = (local, by) => [...plus(get(local), by), ...set(local)];
export const loopWhileBelow = (a, b, body) => [0x03, EMPTY, ...body, ...get(a), ...b, 0x49, 0x0d, 0, 0x0b];

/** A module with one page's worth of memory from outside, and functions of so many i32 that return nothing. */
export function assemble(count, functions) {
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [[0x60, ...list(Array(count).fill([I32])), 0]]),
    ...section(2, [[...name("page"), ...name("memory"), 0x02, 0x00, 1]]),
    ...section(3, functions.map(() => [0])),
    ...section(7, functions.map(([called], i) => [...name(called), 0x00, i])),
    ...section(10, functions.map(([, body]) => body)),
  ]);
}
