/**
 * Horizontal bars as an HTML list, so that a screen reader can read them.
 *
 * @typedef {import("./types.d.ts").BarPlot} BarPlot
 * @typedef {import("./types.d.ts").Place} Place
 * @typedef {import("./types.d.ts").Range} Range
 */

import { element, plotFigure } from "./elements.js";
import { axisText } from "./quantity.js";

/** A place for one list of bars. */
export class BarPlace {
  /**
   * @param {HTMLElement} parent
   * @param {Place} place
   */
  constructor(parent, place) {
    this.list = element("ul", { class: "bars" });
    this.reserve(place.rows);
    parent.append(plotFigure(place, this.list));
  }

  /**
   * Reserve the height of a number of rows, so that nothing below them moves.
   *
   * @param {number} rows
   */
  reserve(rows) {
    this.list.style.setProperty("--rows", String(rows));
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
   * Draw bars that begin at 0.
   *
   * @param {BarPlot} plot
   */
  show({ kind, bars, most }) {
    const ranges = bars.map(({ name, value, strong }) => ({
      name,
      text: axisText(kind, value),
      from: 0,
      to: value,
      strong,
    }));
    this.showRanges(ranges, 0, most);
  }

  /**
   * Draw the ranges on one scale, from `least` to `most`.
   *
   * @param {Range[]} ranges
   * @param {number} least
   * @param {number} most
   */
  showRanges(ranges, least, most) {
    const share = (/** @type {number} */ value) => Math.min(1, Math.max(0, (value - least) / (most - least || 1)));
    this.list.replaceChildren(...ranges.map((range) => barRow(range, share(range.from), share(range.to))));
  }
}

/**
 * @param {Range} bar
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
