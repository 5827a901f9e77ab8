/** The page: a run, or a race of two, from the form to the end. */

import { Controls } from "./controls.js";
import { eachFrame, figure, make, milliseconds, roving } from "./dom.js";
import { stepOf } from "./lane.js";
import { makeLink, takeLink } from "./link.js";
import { Player, slowness } from "./player.js";
import { Reader } from "./reader.js";
import { Show, fitting, tempo } from "./show.js";
import { showStep } from "./step.js";
import { Refusal, askOptions, complete, warm } from "./stream.js";
import { tokenOf } from "./text.js";

const field = (id) => document.getElementById(id);
const boxes = { texts: field("texts"), lanes: field("lanes"), counters: field("counters") };
const RETRY_MS = 1000;
const ROOM_PX = 110; // beside and behind a lane
const FIRST_STEPS = 5; // from which the pace is chosen

let controls = null;
let current = null; // {abort, players, shows}
let looking = false; // whether the reader looks at a step; else the latest is shown
let latest = null;

function say(text) {
  field("log").append(make("p", {}, text));
  while (field("log").children.length > 8) field("log").firstChild.remove();
}

function status(text) {
  field("status").textContent = text;
}

function fail(error) {
  field("error").textContent = error instanceof Refusal ? error.message : `The page failed: ${error.message}`;
  field("error").hidden = false;
  if (!(error instanceof Refusal)) throw error;
}

/** Ask until the server is ready: it loads its models first. */
async function prepare() {
  for (;;) {
    try {
      controls = new Controls(await askOptions());
      break;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      status(`${error.message} Trying again.`);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  }
  field("model").textContent = controls.options.model;
  busy(false);
  followLink();
  try {
    await warm(field("draft").value, status);
  } catch (error) {
    fail(error); // a run asks again
  }
  if (!current) status("Ready.");
}

/** Fill in what the address says; what it says wrongly is told, and the rest stands. */
function followLink() {
  const wrong = takeLink(location.hash);
  if (wrong.length) fail(new Refusal(wrong.join(" ")));
}

/** Put the form into the address, and the address where it can be pasted from. */
async function copyLink() {
  const link = makeLink();
  history.replaceState(null, "", link);
  const copied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
  say(copied ? "The link is copied." : "The link is in the address bar.");
  if (!current) status(copied ? "The link is copied, and in the address bar." : "The link is in the address bar.");
}

function busy(is) {
  const stopped = !is && document.activeElement === field("stop");
  field("run").disabled = field("race").disabled = controls === null;
  field("stop").disabled = !is;
  if (stopped) field("run").focus(); // not nowhere
}

/** Begin something new: what goes on is stopped first. */
function begin(request) {
  stop();
  for (const box of Object.values(boxes)) box.replaceChildren();
  field("error").hidden = true;
  field("guarantee").textContent = "";
  looking = false;
  latest = null;
  field("step").replaceChildren();
  field("step").style.minHeight = "";
  current = { abort: new AbortController(), players: [], shows: [] };
  busy(true);
  say(`Started, seed ${request.seed}.`);
  return current;
}

/** Stop the current run; what is shown stays. */
function stop() {
  if (!current) return;
  const { abort, players, shows } = current;
  abort.abort();
  for (const player of players) player.stop();
  for (const show of shows) show.end();
  current = null;
  busy(false);
  const told = shows.length ? `Stopped after ${shows.map(({ run }) => run.tokens.length).join(" and ")} tokens.` : "Stopped.";
  status(told);
  say(told);
}

function events(request, abort) {
  const asked = { ...request, events: true };
  if (request.speculative !== false) asked.provisional = true;
  return complete(asked, { signal: abort.signal, key: controls.key });
}

/** Show one run while it arrives. */
async function run(request) {
  const now = begin(request);
  const reader = new Reader(say);
  const seen = (step, event) => {
    newest(step);
    if (event === "emitted") reader.take(step.pieces.map((piece) => piece.text).join(""));
  };
  const show = new Show(boxes, request.speculative === false ? "Plain decoding" : "Speculative decoding", request, controls.showsDrafts, seen);
  now.shows.push(show);
  status("Waiting for the first tokens.");
  const waiting = [];
  let player = null;
  const play = () => {
    const { tokensPerSecond, scale } = tempo(waiting);
    player = new Player(controls.pace ?? slowness(tokensPerSecond));
    now.players.push(player);
    show.drawLane(scale);
    status(`Decoding with seed ${request.seed}${slower(player)}.`);
    for (const told of waiting.splice(0)) show.plan(told, player);
  };
  await guarded(now, async () => {
    for await (const told of events(request, now.abort)) {
      if (player) show.plan(told, player);
      else waiting.push(told);
      if (!player && waiting.filter(({ event }) => event === "emitted").length > FIRST_STEPS) play(); // and the first token
    }
    if (!player) play();
    player.close();
    await player.over;
    if (now !== current) return;
    reader.end();
    finish(show.run, `${show.run.tokens.length} tokens, ${milliseconds(show.run.seconds)} of decoding behind the first`, player, request);
  });
}

/** Decode plainly, then with drafts, one after the other so that neither slows the other; show both on one clock. */
async function race(request) {
  const now = begin(request);
  const ways = [
    ["Plain decoding", { ...request, speculative: false }],
    ["Speculative decoding", request],
  ];
  const films = [];
  await guarded(now, async () => {
    for (const [title, asked] of ways) {
      const film = [];
      films.push(film);
      let tokens = 0;
      for await (const told of events(asked, now.abort)) {
        if (told.event !== "chunk") film.push(told);
        if (told.event === "emitted") tokens += told.data.token_ids.length;
        status(`${title} runs: ${tokens} tokens. Both are shown when they are done.`);
      }
    }
    const slow = controls.pace ?? slowness(tempo(films[0]).tokensPerSecond);
    const scale = fitting(films, boxes.lanes.clientWidth - ROOM_PX);
    const players = ways.map(([title, asked], i) => {
      const show = new Show(boxes, title, asked, controls.showsDrafts, i ? newest : () => {});
      now.shows.push(show);
      show.drawLane(scale);
      const player = new Player(slow);
      now.players.push(player);
      for (const told of films[i]) show.plan(told, player);
      player.close();
      return player;
    });
    status(`Both on one clock, seed ${request.seed}${slower(players[0])}.`);
    await Promise.all(players.map(({ over }) => over));
    if (now !== current) return;
    const [plain, fast] = now.shows.map((show) => show.run);
    const gain = figure(fast.tokensPerSecond / plain.tokensPerSecond);
    finish(fast, `Speculative decoding made ${figure(fast.tokensPerSecond)} tokens a second, plain decoding ${figure(plain.tokensPerSecond)}: ${gain} times as many, this once`, players[0], request);
  });
}

function slower({ slower: times }) {
  return times === 1 ? "" : `, shown ${times} times slower than it happened`;
}

/** Run something that may be refused or stopped. */
async function guarded(now, work) {
  try {
    await work();
  } catch (error) {
    if (now !== current) return; // stopped, or another run has begun
    stop();
    fail(error);
  }
}

function finish(made, told, player, request) {
  for (const show of current.shows) show.end();
  current = null;
  busy(false);
  const promise = made.end.guarantee;
  field("guarantee").textContent = `Guarantee: ${promise}; ${controls.options.guarantees[promise]}.`;
  status(`${told}; seed ${request.seed}${slower(player)}.`);
  say(`Finished: ${told}, ${figure(made.tau)} tokens per pass.`);
}

/** Follow a run step by step, unless the reader looks at one. */
function newest(step) {
  latest = step;
  follow();
}

const follow = eachFrame(() => {
  if (latest && !looking) showStep(field("step"), latest);
});

/** Show the step that the reader points at, and follow the run again once he does not. */
function look(box, selector, show) {
  roving(box, selector, (element) => {
    looking = true;
    show(element);
  });
  for (const leaving of ["pointerleave", "focusout"]) {
    box.addEventListener(leaving, () => setTimeout(() => (looking = box.contains(document.activeElement)), 0));
  }
}

look(boxes.texts, ".token", (element) => {
  const token = tokenOf.get(element);
  showStep(field("step"), token.step, token);
});
look(boxes.lanes, ".step", (element) => showStep(field("step"), stepOf.get(element)));

field("form").addEventListener("submit", (event) => {
  event.preventDefault();
  if (controls) start(run);
});
field("race").addEventListener("click", () => start(race));
field("stop").addEventListener("click", stop);
field("link").addEventListener("click", copyLink);
window.addEventListener("hashchange", () => {
  field("error").hidden = true;
  if (controls) followLink();
});

function start(work) {
  const request = controls.request();
  if (work === race && request.speculative === false) {
    begin(request);
    stop();
    fail(new Refusal("A race needs a draft: choose one."));
    return;
  }
  work(request).catch(fail);
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") stop();
  if (event.key === "Enter" && event.ctrlKey) field("form").requestSubmit();
});

field("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  setTheme(dark === "dark" ? "light" : "dark");
});

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  field("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

field("theme").setAttribute("aria-pressed", String(matchMedia("(prefers-color-scheme: dark)").matches));
if (matchMedia("(max-width: 62rem)").matches) field("options").open = false;
busy(false);
prepare().catch(fail);
