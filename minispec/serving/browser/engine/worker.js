/** The engine's thread: takes requests as the page posts them to a server, and answers with the events that the server streams. */

import { Files } from "./files.js";
import { Model } from "./forward.js";
import { drawPairs } from "./proof.js";
import { NGRAM, PLAIN, Refused, readPrompt, readRequest } from "./request.js";
import { run } from "./run.js";
import { Tokenizer } from "./tokenizer.js";
import { FileError, readTensors } from "./weights.js";

const BATCH = 50; // draws between two looks at the mailbox
const aborted = new Set();
const models = new Map(); // by name: a promise
let options = null;
let files = null;
let tokenizer = null;

/** Let messages come in. */
const breathe = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

/** What was asked for before, unless it failed: then it is tried again. */
function once(name, make) {
  if (!models.has(name)) models.set(name, make().catch((error) => {
    models.delete(name);
    throw error;
  }));
  return models.get(name);
}

const loadModel = (name) =>
  once(name, async () => {
    const [config, weights] = [await files.json(`weights/${name}/config.json`), `weights/${name}/model.safetensors`];
    return Object.assign(new Model(config, readTensors(await files.read(weights), weights)), { eos: config.eos_token_id });
  });

async function load(draft) {
  tokenizer = await once("tokenizer", async () => new Tokenizer(await files.json("weights/tokenizer.json")));
  const target = await loadModel(options.model);
  return { name: options.model, target, draft: draft === null || draft === NGRAM || draft === PLAIN ? null : await loadModel(draft), eos: target.eos, tokenizer };
}

async function complete({ body }, tell, goesOn) {
  const request = readRequest(body, { model: options.model, drafts: options.drafts.map(({ name }) => name) });
  const there = await load(request.speculative?.draft ?? null);
  const prompt = readPrompt(request.prompt, tokenizer, { name: options.model, context: options.context });
  for (const event of run(request, prompt, there)) {
    if (event && (event.event === "chunk" || event.event === "finished" || body.events || event.event === "provisional" || event.event === "settled")) tell(event);
    if (event && event.event !== "emitted") continue; // once a step is often enough
    await breathe();
    if (!goesOn()) return;
  }
}

async function prove({ asked }, tell, goesOn) {
  const { target, draft } = await load(asked.draft);
  const prompt = readPrompt(asked.prompt, tokenizer, { name: options.model, context: options.context }, asked.place);
  const pairs = drawPairs({ ...asked, prompt }, { target, draft });
  for (let made = 0; made < asked.count && goesOn(); ) {
    const drawn = [];
    for (; drawn.length < BATCH && made < asked.count; made++) drawn.push(pairs.next().value);
    const texts = Object.fromEntries(drawn.flat().map((token) => [token, tokenizer.decode([token])]));
    tell({ event: "drawn", data: { drawn, texts } });
    await breathe();
  }
}

const TASKS = { complete, prove, load: ({ draft }) => load(draft) };

onmessage = async ({ data }) => {
  if (data.task === "begin") {
    options = data.options;
    files = new Files(data.base, options.files, (name, bytes, of) => postMessage({ progress: { name, bytes, of } }));
    return;
  }
  const { id, task } = data;
  if (task === "abort") {
    aborted.add(id);
    return;
  }
  const tell = (event) => postMessage({ id, ...event });
  try {
    await TASKS[task](data, tell, () => !aborted.has(id));
    tell({ event: "done" });
  } catch (error) {
    const isOurs = error instanceof Refused || error instanceof FileError;
    tell({ event: "refused", data: { message: isOurs ? error.message : `The engine failed: ${error.message}. Load the page again` } });
  } finally {
    aborted.delete(id);
  }
};
