/** The wire where there is no server: the same events as those of an HTTP stream, from a worker in this browser. */

/** A refusal, or a file that is missing; the message is what the reader is told. */
export class Refusal extends Error {}

let worker = null;
let options = null;
let count = 0;
const mailboxes = new Map(); // by request
let tellProgress = () => {};

/** What this page offers; the worker begins. */
export async function askOptions() {
  const answer = await fetch("options.json").catch(() => null);
  if (!answer?.ok) throw new Refusal("options.json cannot be fetched. Is the whole folder there?");
  options = await answer.json().catch(() => null);
  if (!options) throw new Refusal("options.json is no JSON. Write the folder again with minispec page.");
  begin();
  return options;
}

function begin() {
  try {
    worker = new Worker(new URL("engine/worker.js", import.meta.url), { type: "module" });
  } catch {
    throw new Refusal("This browser does not run modules in workers. Use a newer one.");
  }
  worker.onmessage = ({ data }) => (data.progress ? tellProgress(data.progress) : mailboxes.get(data.id)?.(data));
  worker.onerror = (event) => {
    event.preventDefault();
    worker = null; // the next request begins another
    const lost = { event: "refused", data: { message: "The engine's files cannot be read, or this browser does not run modules in workers. Load the page again, or use a newer browser." } };
    for (const put of mailboxes.values()) put(lost);
  };
  worker.postMessage({ task: "begin", base: new URL(".", document.baseURI).href, options });
}

/** Give the worker something to do and yield what it tells; leaving the loop, or the signal, ends it. */
export async function* order(task, { signal } = {}) {
  if (!worker) begin();
  const id = count++;
  const told = [];
  let wake = () => {};
  mailboxes.set(id, (message) => {
    told.push(message);
    wake();
  });
  const leave = () => wake();
  signal?.addEventListener("abort", leave);
  worker.postMessage({ ...task, id });
  try {
    for (;;) {
      signal?.throwIfAborted();
      if (!told.length) await new Promise((resolve) => (wake = resolve));
      signal?.throwIfAborted();
      const message = told.shift();
      if (message?.event === "done") return;
      if (message?.event === "refused") throw new Refusal(message.data.message);
      if (message) yield { event: message.event, data: message.data };
    }
  } finally {
    signal?.removeEventListener("abort", leave);
    mailboxes.delete(id);
    worker?.postMessage({ task: "abort", id });
  }
}

/** Ask for a completion and yield its events as they come. */
export function complete(body, { signal } = {}) {
  return order({ task: "complete", body: { ...body, stream: true } }, { signal });
}

/** Fetch the models, and tell how far that is. */
export async function warm(draft, tell) {
  const seen = new Map();
  tellProgress = ({ name, bytes, of }) => {
    seen.set(name, [bytes, of]);
    const sum = (i) => [...seen.values()].reduce((total, pair) => total + pair[i], 0) / 1e6;
    tell(`Fetching the models: ${sum(0).toFixed(1)} of ${sum(1).toFixed(1)} MB.`);
  };
  for await (const told of order({ task: "load", draft })) void told;
}
