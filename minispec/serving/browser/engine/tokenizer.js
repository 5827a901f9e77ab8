/**
 * Beside stop 6 of docs/reading.md: byte-level BPE, as minispec/engine/tokenizer.py has it from a library. A text is cut into pieces, a piece
 * is its bytes, and the pair of neighbours that was learnt first is merged until no pair is known.
 */

// JavaScript's own \s lacks U+0085 and has U+FEFF; the library's is Unicode's white space.
const PIECES = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

/** The printable stand-in for each byte: printable Latin-1 as itself, the other bytes from U+0100 upwards. */
function byteAlphabet() {
  const isPrintable = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let others = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : others++));
}

export class Tokenizer {
  /** @param {object} file  what tokenizer.json holds */
  constructor({ model, added_tokens: added }) {
    this.symbols = byteAlphabet();
    this.ids = new Map(Object.entries(model.vocab));
    this.ranks = new Map(model.merges.map((pair, rank) => [Array.isArray(pair) ? pair.join(" ") : pair, rank]));
    this.special = new Map(added.filter(({ special }) => special).map(({ id, content }) => [content, id]));
    const byteOf = new Map(this.symbols.map((symbol, byte) => [symbol, byte]));
    this.bytes = []; // by token
    for (const [text, id] of this.ids) this.bytes[id] = this.special.has(text) ? new Uint8Array() : Uint8Array.from(text, (symbol) => byteOf.get(symbol));
    this.longest = Math.max(...this.bytes.map(({ length }) => length), ...[...this.special.keys()].map(({ length }) => length));
    this.known = new Map();
  }

  /** The ids of a text; special tokens that are written out in it are recognised. */
  encode(text) {
    const ids = [];
    for (let from = 0; from < text.length; ) {
      const found = [...this.special].map(([content, id]) => ({ content, id, at: text.indexOf(content, from) })).filter(({ at }) => at >= 0);
      const next = found.sort((a, b) => a.at - b.at)[0] ?? { content: "", at: text.length };
      for (const [piece] of text.slice(from, next.at).matchAll(PIECES)) ids.push(...this.#merge(piece));
      if (next.content) ids.push(next.id);
      from = next.at + next.content.length;
    }
    return ids;
  }

  #merge(piece) {
    if (this.known.has(piece)) return this.known.get(piece);
    const parts = Array.from(new TextEncoder().encode(piece), (byte) => this.symbols[byte]);
    for (;;) {
      let [best, at] = [Infinity, -1];
      for (let i = 0; i + 1 < parts.length; i++) {
        const rank = this.ranks.get(`${parts[i]} ${parts[i + 1]}`);
        if (rank < best) [best, at] = [rank, i];
      }
      if (at < 0) break;
      parts.splice(at, 2, parts[at] + parts[at + 1]);
    }
    const ids = parts.map((part) => this.ids.get(part));
    this.known.set(piece, ids);
    return ids;
  }

  /** How OpenAI's interface writes a token: its text, its bytes where they are parts of characters, a special one as it is written. */
  name(token) {
    for (const [content, id] of this.special) if (id === token) return content;
    try {
      return new TextDecoder("utf-8", { ignoreBOM: true, fatal: true }).decode(this.bytes[token]);
    } catch {
      return `bytes:${Array.from(this.bytes[token], (byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("")}`;
    }
  }

  /** The text of tokens without special ones; a character that is not complete becomes U+FFFD, or waits if `open`. */
  decode(tokens, { open = false } = {}) {
    const all = tokens.map((token) => this.bytes[token]);
    const joined = new Uint8Array(all.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const bytes of all) {
      joined.set(bytes, at);
      at += bytes.length;
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(joined, { stream: open });
  }
}
