/** Small helpers for elements. */

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes, then children (elements or text). */
export function make(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** The same in SVG. */
export function draw(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) if (value !== null) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** Text that a reader can see: line ends, spaces at the edge and what has no form as signs. */
export function visible(text) {
  const signs = { "\n": "↵", "\t": "⇥" };
  const code = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return text.replace(/^ | $/g, "␣").replace(/(?! )[\p{C}\p{Z}]/gu, (character) => signs[character] ?? code(character)) || "∅";
}

/** A number of three significant digits, a small one by its power. */
export function figure(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(digits)));
}

/** A share, in per cent. */
export function percent(part, whole) {
  return whole ? `${Math.round((100 * part) / whole)} %` : "–";
}

/** Seconds in milliseconds. */
export function milliseconds(seconds) {
  return `${figure(1000 * seconds)} ms`;
}

/** Do something at most once a frame, however often it is asked for: a fast model makes many steps in one. */
export function eachFrame(work) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      work();
    });
  };
}

/**
 * One tab stop for many things: arrow keys, Home and End go from one to the next.
 * @param {Element} box  what holds them
 * @param {string} selector
 * @param {(element: Element) => void} chosen  told of what is pointed at or focused
 */
export function roving(box, selector, chosen) {
  const enter = (element) => {
    for (const other of box.querySelectorAll(`${selector}[tabindex="0"]`)) other.tabIndex = -1;
    element.tabIndex = 0;
    chosen(element);
  };
  box.addEventListener("focusin", (event) => {
    const element = event.target.closest(selector);
    if (element) enter(element);
  });
  box.addEventListener("pointerover", (event) => {
    const element = event.target.closest(selector);
    if (element) chosen(element);
  });
  box.addEventListener("click", (event) => event.target.closest(selector)?.focus());
  box.addEventListener("keydown", (event) => {
    const all = [...box.querySelectorAll(selector)];
    const at = all.indexOf(document.activeElement);
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || to === undefined) return;
    event.preventDefault();
    all[Math.max(0, Math.min(all.length - 1, to))].focus();
  });
}
