/** One step in full: its drafts as a row or a tree, their probabilities, and what else the target thought likely. */

import { draw, figure, make, milliseconds, visible } from "./dom.js";
import { describe } from "./lane.js";
import { isFirst } from "./run.js";

const [COLUMN, ROW] = [92, 26];
const MARKS = { accepted: "✓", rejected: "✗", unseen: "–", drafted: "", recovered: "↻", bonus: "+", plain: "" };

/**
 * Show a step.
 * @param {Element} box
 * @param {object} step
 * @param {object?} chosen  the token of it that is looked at
 */
export function showStep(box, step, chosen = null) {
  const times = step.drafts.length
    ? [`drafting ${milliseconds(step.draftTo - step.draftFrom)}`, ...(step.verifyTo === undefined ? [] : [`verifying ${milliseconds(step.verifyTo - step.verifyFrom)}`])]
    : [milliseconds(step.verifyTo - step.verifyFrom)];
  const parts = [make("p", {}, `${[describe(step), ...(isFirst(step) ? [] : [times.join(", ")])].join("; ")}.`)];
  if (step.isTree) parts.push(make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "The tree of drafts" }, tree(step)));
  const rows = make("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Drafts and their probabilities" }, table(step, chosen));
  parts.push(step.isTree ? folded(box, rows) : rows);
  const own = chosen?.detail ? chosen : step.tokens.at(-1);
  if (own?.detail?.top?.length) parts.push(...likely(own));
  box.replaceChildren(...parts);
  box.style.minHeight = `${Math.max(box.offsetHeight, parseFloat(box.style.minHeight) || 0)}px`; // steps differ: do not jump
}

/** A tree's table is long: it opens on demand, and stays open from step to step. */
function folded(box, rows) {
  const open = box.querySelector("details")?.open ?? false;
  return make("details", { open: open ? "" : null }, make("summary", {}, "Every draft"), rows);
}

function table(step, chosen) {
  const rows = step.drafts.map((draft) => row(draft.text, draft.fate, draft.q, draft.p, draft.accept ?? acceptOf(step, draft)));
  const last = step.tokens.at(-1);
  if (last && last.source !== "accepted") rows.push(row(last.text, last.source, null, last.detail?.target_prob, null));
  if (chosen) {
    const at = chosen.source === "accepted" ? step.drafts.findIndex((draft) => draft.fate === "accepted" && draft.depth === step.tokens.indexOf(chosen)) : rows.length - 1;
    rows[at]?.classList.add("chosen");
  }
  const head = make("tr", {}, ...["token", "became", "q, draft", "p, target", "acceptance"].map((name, i) => make("th", { scope: "col", class: i < 2 ? null : "number" }, name)));
  return make("table", { class: "drafts" }, make("thead", {}, head), make("tbody", {}, ...rows));
}

/** In a tree the rule's figures are in its own order; those of accepted tokens are known by their place. */
function acceptOf(step, draft) {
  return draft.fate === "accepted" ? step.tokens[draft.depth]?.detail?.accept_prob : null;
}

function row(text, fate, q, p, accept) {
  const cells = [figure(q), figure(p), figure(accept)].map((value) => make("td", { class: "number" }, value));
  return make("tr", {}, make("th", { scope: "row", class: "piece" }, make("span", { class: fate }, visible(text))), make("td", {}, `${MARKS[fate]} ${fate}`), ...cells);
}

/** What the target thought likely where this token stands, after temperature and top-p. */
function likely(token) {
  const { top, target_prob: own } = token.detail;
  const listed = top.some(({ token: id }) => id === token.id) ? top : [...top, { token: token.id, text: token.text, target_prob: own }];
  const rows = listed.map(({ text, token: id, target_prob }) => {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${100 * target_prob}%`;
    return make("tr", { class: id === token.id ? "chosen" : null }, make("th", { scope: "row", class: "piece" }, visible(text)), make("td", { class: "number" }, figure(target_prob)), make("td", { class: "bars" }, bar));
  });
  const caption = make("caption", {}, "The target's likeliest tokens where it wrote ", make("b", { class: token.source }, visible(token.text)));
  const head = make("tr", { class: "hidden" }, ...["token", "p", "p as a bar"].map((name) => make("th", { scope: "col" }, name)));
  return [make("table", { class: "likely" }, caption, make("thead", {}, head), make("tbody", {}, ...rows))];
}

/** A tree from left to right: a line for each leaf, a parent in the middle of its children. */
function tree(step) {
  const { drafts } = step;
  const y = new Array(drafts.length);
  let leaves = 0;
  for (let i = drafts.length - 1; i >= 0; i--) {
    // children come after their parent, so from the end every child has its place
    const children = drafts.flatMap((draft, j) => (draft.parent === i ? [y[j]] : []));
    y[i] = children.length ? (children[0] + children.at(-1)) / 2 : leaves++;
  }
  const flip = (value) => (leaves - 1 - value + 0.5) * ROW;
  const x = (depth) => 16 + depth * COLUMN;
  const tops = drafts.flatMap((draft, i) => (draft.parent < 0 ? [flip(y[i])] : []));
  const root = { x: 6, y: (Math.min(...tops) + Math.max(...tops)) / 2 };
  const depth = Math.max(...drafts.map((draft) => draft.depth));
  const svg = draw("svg", { class: "tree", width: x(depth + 1), height: leaves * ROW, role: "img", "aria-label": `A tree of ${drafts.length} drafts, ${depth + 1} deep; ${describe(step)}. The table below lists them.` });
  drafts.forEach((draft, i) => {
    const from = draft.parent < 0 ? root : { x: x(drafts[draft.parent].depth) + COLUMN - 22, y: flip(y[draft.parent]) };
    svg.append(draw("path", { class: `edge ${draft.fate}`, d: `M${from.x} ${from.y} C${from.x + 12} ${from.y} ${x(draft.depth) - 12} ${flip(y[i])} ${x(draft.depth) - 2} ${flip(y[i])}` }));
  });
  svg.append(draw("circle", { class: "root", cx: root.x, cy: root.y, r: 4 }));
  drafts.forEach((draft, i) => {
    const word = visible(draft.text);
    const shown = word.length > 8 ? `${word.slice(0, 7)}…` : word;
    svg.append(draw("text", { class: draft.fate, x: x(draft.depth) + 2, y: flip(y[i]) + 4 }, `${MARKS[draft.fate]}${shown}`));
  });
  return svg;
}
