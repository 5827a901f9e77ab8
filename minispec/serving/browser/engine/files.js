/** The folder's files: each is fetched once, told about while it comes, checked for its length, and kept by the browser. */

import { FileError } from "./weights.js";

const KEPT = "minispec-weights";

/**
 * @param {string} base  address of the folder
 * @param {Record<string, {bytes: number, sha256: string}>} listed  what `options.json` says of them
 * @param {(name: string, bytes: number, of: number) => void} tell
 */
export class Files {
  constructor(base, listed, tell) {
    Object.assign(this, { base, listed, tell });
  }

  async json(name) {
    return JSON.parse(new TextDecoder().decode(await this.read(name)));
  }

  /** @returns {Promise<ArrayBuffer>} */
  async read(name) {
    const { bytes: size, sha256 } = this.listed[name];
    const address = new URL(`${name}?${sha256.slice(0, 16)}`, this.base);
    const kept = await globalThis.caches?.open(KEPT).catch(() => null); // only where the address is https, or this machine
    const found = await kept?.match(address);
    const answer = found ?? (await this.#fetch(name, address));
    const content = await this.#drain(answer, name, size);
    if (content.byteLength !== size) throw new FileError(`${name} is cut short: ${content.byteLength} bytes came, and it has ${size}. Run again to fetch it anew`);
    if (!found && !(await isRight(content, sha256))) throw new FileError(`${name} is not the file that belongs to this page. Write the folder again with minispec page`);
    if (!found) await kept?.put(address, new Response(content)).catch(() => {}); // there may be no room
    return content;
  }

  async #fetch(name, address) {
    const answer = await fetch(address).catch(() => null);
    if (!answer) throw new FileError(`${name} cannot be fetched: the server does not answer. Run again once it does`);
    if (!answer.ok) throw new FileError(`${name} cannot be fetched: the server answered ${answer.status}. Write the folder again with minispec page`);
    return answer;
  }

  async #drain(answer, name, size) {
    const content = new Uint8Array(size);
    let at = 0;
    const reader = answer.body.getReader();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true })); // a connection that broke is a file cut short
      if (done) break;
      if (at + value.length <= size) content.set(value, at);
      at += value.length;
      this.tell(name, at, size);
    }
    return at === size ? content.buffer : content.buffer.slice(0, Math.min(at, size - 1));
  }
}

/** Whether a file has its hash; where the browser does not hash, nothing is kept, and the next load fetches it again. */
async function isRight(content, sha256) {
  if (!globalThis.crypto?.subtle) return true;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}
