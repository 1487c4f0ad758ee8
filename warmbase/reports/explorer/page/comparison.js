/**
 * Two states side by side, with the difference in dollars.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").ColumnTable} ColumnTable
 */

import { byId, element, setText } from "./elements.js";
import { signedUsd } from "./quantity.js";

/**
 * Show the kept answer beside the current one; null hides the comparison.
 *
 * @param {Answer | null} kept
 * @param {Answer} now
 */
export function showComparison(kept, now) {
  byId("comparison").hidden = kept === null;
  if (kept === null) return;
  const rows = now.figures.map((figure, index) => {
    const before = kept.figures[index];
    const text = figure.id === "price" ? `${figure.text} (${difference(kept, now)})` : figure.text;
    return comparedRow(figure.title, before?.text ?? "", text, before?.text !== figure.text);
  });
  byId("compared").replaceChildren(...rows);
}

/**
 * Show plans side by side.
 *
 * @param {ColumnTable} table
 */
export function showColumns({ title, names, rows, summaries }) {
  byId("columns").hidden = false;
  setText(byId("columns-title"), title);
  const head = element("tr", {}, ...["figure", ...names].map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map(([name = "", ...texts]) => {
    const cells = texts.map((text) => element("td", {}, text));
    return element("tr", {}, element("th", { scope: "row" }, name), ...cells);
  });
  byId("columns")
    .querySelector("table")
    ?.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  byId("summaries").replaceChildren(...summaries.map((text) => element("li", {}, text)));
}

/**
 * @param {Answer} kept
 * @param {Answer} now
 */
function difference(kept, now) {
  return signedUsd(now.usd_per_month - kept.usd_per_month);
}

/**
 * @param {string} title
 * @param {string} before
 * @param {string} after
 * @param {boolean} differs
 */
function comparedRow(title, before, after, differs) {
  const head = element("th", { scope: "row" }, title);
  return element("tr", differs ? { class: "differs" } : {}, head, element("td", {}, before), element("td", {}, after));
}
