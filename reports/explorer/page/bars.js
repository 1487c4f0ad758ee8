/**
 * Horizontal bars as an HTML list, so that a screen reader can read them.
 *
 * @typedef {import("./types.d.ts").Bar} Bar
 */

import { element } from "./elements.js";

/** A place for one list of bars. */
export class BarPlace {
  /**
   * @param {HTMLElement} parent
   * @param {string} id
   * @param {string} title
   * @param {string} advice what a reader should look for
   * @param {number} rows how many rows the place reserves
   */
  constructor(parent, id, title, advice, rows) {
    this.list = element("ul", { class: "bars" });
    this.list.style.setProperty("--rows", String(rows));
    const caption = element("figcaption", {}, element("h3", {}, title), element("p", {}, advice));
    parent.append(element("figure", { id }, caption, this.list));
  }

  /**
   * Show the reason why there is nothing to draw.
   *
   * @param {string} reason
   */
  explain(reason) {
    this.list.replaceChildren(element("li", { class: "reason" }, reason));
  }

  /**
   * Draw the bars on one scale, from `least` to `most`.
   *
   * @param {Bar[]} bars
   * @param {number} least
   * @param {number} most
   */
  show(bars, least, most) {
    const share = (/** @type {number} */ value) => Math.min(1, Math.max(0, (value - least) / (most - least || 1)));
    this.list.replaceChildren(...bars.map((bar) => barRow(bar, share(bar.from), share(bar.to))));
  }
}

/**
 * @param {Bar} bar
 * @param {number} from
 * @param {number} to
 */
function barRow(bar, from, to) {
  const fill = element("span", { class: "fill" });
  fill.style.marginInlineStart = `${100 * from}%`;
  fill.style.width = `max(2px, ${100 * (to - from)}%)`;
  const name = element("span", { class: "bar-name" }, bar.name);
  const track = element("span", { class: "track", "aria-hidden": "true" }, fill);
  const text = element("span", { class: "bar-text" }, bar.text);
  return element("li", bar.strong ? { class: "strong" } : {}, name, track, text);
}
