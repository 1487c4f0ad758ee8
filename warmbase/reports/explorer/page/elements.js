/**
 * Functions that find, create and change elements of the page.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return the element of index.html with this id.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/**
 * Return a new HTML element with attributes, and with text or other elements as its content.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} attributes
 * @param {...(string | Node)} content
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes, ...content) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...content);
  return made;
}

/**
 * Return a new SVG element with attributes, and with text or other elements as its content.
 *
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} attributes
 * @param {...(string | Node)} content
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function shape(tag, attributes, ...content) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...content);
  return made;
}

/**
 * Return a new figure for a plot, with its caption above its content.
 *
 * @param {import("./types.d.ts").Place} place
 * @param {...Node} content
 */
export function plotFigure({ id, title, advice, is_wide }, ...content) {
  const caption = element("figcaption", {}, element("h3", {}, title), element("p", {}, advice));
  return element("figure", { id: `plot-${id}`, ...(is_wide ? { class: "wide" } : {}) }, caption, ...content);
}

/**
 * Set a text only if it differs, so that no screen reader repeats it and the browser computes no layout again.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Return the JSON document that Python has put into the page, or undefined if there is none.
 *
 * @param {string} id
 * @returns {any}
 */
export function pageData(id) {
  const block = document.getElementById(id);
  return block ? JSON.parse(block.textContent ?? "null") : undefined;
}
