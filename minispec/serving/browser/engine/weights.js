/**
 * Beside stop 9 of docs/reading.md: from a safetensors file to float32, as minispec/engine/loading does it. The file is a length, a JSON table
 * of names, shapes and places, and the numbers, here float16.
 */

/** A file that is not what it must be; the message says which and what to do. */
export class FileError extends Error {}

let halves = null; // the float32 of each of the 65,536 float16s

function halfTable() {
  return Float32Array.from({ length: 1 << 16 }, (_, bits) => {
    const [sign, exponent, fraction] = [bits >> 15 ? -1 : 1, (bits >> 10) & 31, bits & 1023];
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  });
}

/**
 * Read a safetensors file.
 * @param {ArrayBuffer} buffer
 * @param {string} name  for messages
 * @returns {(name: string, ...shape: number[]) => Float32Array}  a tensor by name
 */
export function readTensors(buffer, name) {
  const broken = (why) => new FileError(`${name} ${why}. Load the page again; if that does not help, write the folder again with minispec page`);
  const size = buffer.byteLength < 8 ? Infinity : Number(new DataView(buffer).getBigUint64(0, true));
  if (8 + size > buffer.byteLength) throw broken("is cut short or no safetensors file");
  let table;
  try {
    table = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  } catch {
    throw broken("has no readable table");
  }
  halves ??= halfTable();
  return (tensor, ...shape) => {
    const entry = table[tensor] ?? table[`transformer.${tensor}`];
    if (!entry) throw broken(`lacks the tensor ${tensor}`);
    const [begin, end] = entry.data_offsets;
    if (entry.dtype !== "F16" || String(entry.shape) !== String(shape)) throw broken(`has ${tensor} as ${entry.dtype} of shape ${entry.shape}, not as F16 of ${shape}`);
    if (8 + size + end > buffer.byteLength) throw broken(`is cut short: it ends within ${tensor}`);
    const bits = new Uint16Array(buffer.slice(8 + size + begin, 8 + size + end));
    const values = new Float32Array(bits.length);
    for (let i = 0; i < bits.length; i++) values[i] = halves[bits[i]];
    return values;
  };
}
