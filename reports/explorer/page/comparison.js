/**
 * Two states side by side, with the difference in dollars.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 */

import { byId, element } from "./elements.js";
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
 * @param {Answer} kept
 * @param {Answer} now
 */
function difference(kept, now) {
  return signedUsd(now.plan.cost.usd_per_month - kept.plan.cost.usd_per_month);
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
