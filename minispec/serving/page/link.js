/** Links that carry what to decode and how: `#prompt=…&gamma=3&seed=7`. Their names are those of the form's fields. */

const FIELDS = ["prompt", "draft", "rule", "policy", "gamma", "temperature", "top_p", "max_tokens", "seed"];
const field = (id) => document.getElementById(id);

/** The address of this page with what its form holds. */
export function makeLink() {
  const held = FIELDS.map((name) => [name, field(name)]).filter(([name, { value, disabled }]) => name === "prompt" || (value !== "" && !disabled));
  const address = new URL(location.href);
  address.hash = new URLSearchParams(held.map(([name, { value }]) => [name, value])).toString();
  return address.href;
}

/**
 * Fill in the form as a link says.
 * @param {string} hash
 * @returns {string[]}  a line for each thing that the form does not take; its field keeps its value
 */
export function takeLink(hash) {
  const wrong = [];
  const asked = new URLSearchParams(hash.replace(/^#/, ""));
  for (const [name, value] of asked) {
    const problem = FIELDS.includes(name) ? fill(field(name), value) : `it has ${FIELDS.join(", ")}`;
    if (problem) wrong.push(`The link says ${name}=${value.slice(0, 40)}; ${problem}.`);
  }
  if (asked.has("gamma") && !asked.has("policy")) field("policy").value = "";
  field("form").dispatchEvent(new Event("input", { bubbles: true }));
  return wrong;
}

function fill(control, value) {
  const { tagName, type, min, max } = control;
  if (tagName === "SELECT") {
    const values = [...control.options].map((option) => option.value);
    if (!values.includes(value)) return `this page has ${values.filter(Boolean).join(", ")}`;
  }
  if (type === "range" || type === "number") {
    const number = value.trim() === "" ? NaN : Number(value);
    const most = max === "" ? Number.MAX_SAFE_INTEGER : Number(max);
    if (!(number >= Number(min) && number <= most) || (control.step === "1" && !Number.isInteger(number))) return `it must be ${control.step === "1" ? "a whole number " : ""}from ${min} to ${most}`;
  }
  control.value = value;
  return null;
}
