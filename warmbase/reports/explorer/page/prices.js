/**
 * The two plots that need many plans: the price by amount of data, and what moves the price.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").Place} Place
 * @typedef {import("./types.d.ts").Range} Range
 * @typedef {import("./types.d.ts").Step} Step
 * @typedef {import("./bars.js").BarPlace} BarPlace
 * @typedef {import("./plot.js").PlotPlace} PlotPlace
 */

import { axisText } from "./quantity.js";

const NO_CLUSTER = "No cluster meets the targets for any of the values in this plot.";
const WAITING = "The plans are being computed.";

/**
 * Show the prices by amount of data, with a line for each series.
 *
 * @param {PlotPlace} plot
 * @param {Place} place
 * @param {Step[]} steps
 * @param {Answer} answer
 */
export function showPricePlot(plot, { title, x, missing }, steps, answer) {
  const series = [...new Set(steps.map((step) => step.series))].map((name, index) => ({
    name,
    points: pricedPoints(steps.filter((step) => step.series === name)),
    style: /** @type {1 | 2 | 3} */ ((index % 3) + 1),
  }));
  const amounts = steps.map((step) => step.x);
  const prices = series.flatMap(({ points }) => points.map(([, usd]) => usd));
  if (prices.length === 0) {
    plot.explain(reasonOf(steps, missing));
    return;
  }
  const here = steps.find((step) => step.label === "here");
  plot.show({
    title,
    description: series
      .map(
        ({ name, points }) =>
          `${name}: ${points.map(([amount, usd]) => `${axisText("size", amount)} ${axisText("usd", usd)}`).join(", ")}`,
      )
      .join(". "),
    x: { label: x, least: Math.min(0, ...amounts), most: Math.max(...amounts), kind: "size", usd: [] },
    y: { label: "price per month", least: 0, most: Math.max(1, ...prices) * 1.08, kind: "usd", usd: [] },
    series,
    marks: here ? [{ x: here.x, y: answer.usd_per_month, label: "this plan", names_x: false }] : [],
    events: [],
  });
}

/**
 * Show the prices at both ends of each input, the widest range first.
 *
 * @param {BarPlace} bars
 * @param {Place} place
 * @param {Step[]} steps
 */
export function showTornado(bars, { missing, rows }, steps) {
  const names = [...new Set(steps.map((step) => step.series))];
  const ranges = names.flatMap((name) => priceRange(name, steps));
  bars.reserve(Math.max(rows, names.length));
  ranges.sort((one, other) => other.to - other.from - (one.to - one.from));
  if (ranges.length === 0) {
    bars.explain(reasonOf(steps, missing));
    return;
  }
  const ends = ranges.flatMap((range) => [range.from, range.to]);
  bars.showRanges(ranges, Math.min(...ends), Math.max(...ends));
}

/**
 * Return the reason why no price is known.
 *
 * @param {Step[]} steps
 * @param {string} missing
 */
function reasonOf(steps, missing) {
  if (steps.length === 0) return missing;
  return steps.every((step) => step.price) ? NO_CLUSTER : WAITING;
}

/**
 * Return the range of an input, from its lower to its higher price, or nothing until both prices are known.
 *
 * @param {string} name
 * @param {Step[]} steps
 * @returns {Range[]}
 */
function priceRange(name, steps) {
  const prices = steps.filter((step) => step.series === name).map((step) => step.price?.usd_per_month);
  const [low, high] = prices;
  if (low === undefined || high === undefined) return [];
  const known = [low, high].filter((usd) => usd !== null);
  if (known.length === 0) return [];
  const text = [low, high].map((usd) => (usd === null ? "no cluster" : axisText("usd", usd))).join(" to ");
  return [{ name, text, from: Math.min(...known), to: Math.max(...known), strong: false }];
}

/**
 * @param {Step[]} steps
 * @returns {[number, number][]}
 */
function pricedPoints(steps) {
  return steps.flatMap(({ x, price }) =>
    price?.usd_per_month ? [/** @type {[number, number]} */ ([x, price.usd_per_month])] : [],
  );
}
