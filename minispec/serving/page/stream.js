/** The wire: a completion as a stream of events (docs/http-api.md). */

/** A refusal by the server, in its own words, or a stream that broke off. */
export class Refusal extends Error {}

/**
 * Ask for a completion and yield its events as they arrive; leaving the loop, or the signal, cancels it.
 * @param {object} body  the request, without `stream`
 * @param {{signal?: AbortSignal, key?: string}} how
 * @yields {{event: string, data: object}}  an OpenAI chunk has the event "chunk"
 * @throws {Refusal}
 */
export async function* complete(body, { signal, key } = {}) {
  const headers = { "Content-Type": "application/json" };
  if (key) headers.Authorization = `Bearer ${key}`;
  let answer;
  try {
    answer = await fetch("v1/completions", { method: "POST", headers, body: JSON.stringify({ ...body, stream: true }), signal });
  } catch (error) {
    throw signal?.aborted ? error : new Refusal("The server does not answer. Is it still running?");
  }
  if (!answer.ok) throw await refusal(answer);
  for await (const { event, data } of blocks(answer.body, signal)) {
    if (data === "[DONE]") return;
    signal?.throwIfAborted(); // nothing comes after that, not even what is here already
    const told = JSON.parse(data);
    if (told.error) throw new Refusal(told.error.message);
    yield { event: event || "chunk", data: told };
  }
  throw new Refusal("The stream broke off before its end.");
}

/** What the server offers. */
export async function askOptions() {
  let answer;
  try {
    answer = await fetch("v1/options");
  } catch {
    throw new Refusal("The server does not answer. Is it still running?");
  }
  if (!answer.ok) throw await refusal(answer);
  return answer.json();
}

/** The server has its models ready before it answers. */
export async function warm() {}

async function refusal(answer) {
  const told = await answer.json().catch(() => null);
  return new Refusal(told?.error?.message ?? `The server answered ${answer.status}.`);
}

/** Yield the blocks of server-sent events; comments are skipped. */
async function* blocks(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest = (rest + value).replaceAll("\r\n", "\n");
      const parts = rest.split("\n\n");
      rest = parts.pop();
      yield* parts.map(block).filter((found) => found.data !== "");
    }
  } catch (error) {
    throw signal?.aborted ? error : new Refusal("The connection to the server was lost.");
  } finally {
    reader.cancel().catch(() => {}); // the caller left early: the server stops within a step
  }
}

function block(text) {
  const found = { event: "", data: [] };
  for (const line of text.split("\n")) {
    const [, name, value] = line.match(/^(event|data): ?(.*)$/) ?? [];
    if (name === "event") found.event = value;
    if (name === "data") found.data.push(value);
  }
  return { event: found.event, data: found.data.join("\n") };
}
