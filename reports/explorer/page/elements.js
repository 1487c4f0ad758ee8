/**
 * Elements of the page by their id, and new ones.
 */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Return an element that index.html has.
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
 * Return a new element with attributes and with text or other elements in it.
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
 * Return a new element of a drawing.
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
 * Set a text only if it differs: an unchanged live region stays silent, and nothing is laid out again.
 *
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Return the document that Python has put into the page; undefined if there is none.
 *
 * @param {string} id
 * @returns {any}
 */
export function pageData(id) {
  const block = document.getElementById(id);
  return block ? JSON.parse(block.textContent ?? "null") : undefined;
}
