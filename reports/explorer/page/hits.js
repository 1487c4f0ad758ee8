/**
 * The hit ratio by the size of the cache, with the knee, the plan, and the price of the cache volumes.
 *
 * @typedef {import("./types.d.ts").Plan} Plan
 */

import { PlotPlace } from "./plot.js";
import { axisText } from "./quantity.js";

const HITS_TITLE = "Hit ratio by cache size";
const MIB = 2 ** 20;

/** The place for the plot. */
export class HitsPlace {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.plot = new PlotPlace(
      parent,
      "plot-hits",
      HITS_TITLE,
      "Beyond the knee, more cache adds clearly fewer hits. The dollars are the price of EBS volumes for a cache of that " +
        "size on the nodes of this plan.",
    );
  }

  /**
   * @param {Plan} plan
   * @param {[number, number][]} prices
   */
  show({ hit_ratio, bucket_cache, core }, prices) {
    const { knee_bytes, predicted } = hit_ratio;
    const cache = bucket_cache ? bucket_cache.size_mib * MIB * core.count : null;
    const curve = reaching(hit_ratio.curve, cache ?? 0);
    const usd = (/** @type {number} */ bytes) => axisText("usd", valueOn(prices, bytes));
    const text = (/** @type {number} */ bytes) => axisText("size", bytes) + (prices.length ? `, ${usd(bytes)}` : "");
    const knee = { x: knee_bytes, y: valueOn(curve, knee_bytes), label: `knee, ${text(knee_bytes)}` };
    const here = cache === null ? [] : [{ x: cache, y: predicted, label: `this plan, ${text(cache)}` }];
    const size = cache === null ? "no cache on disk" : `a cache of ${text(cache)}`;
    const ratio = axisText("share", predicted);
    this.plot.show({
      title: HITS_TITLE,
      description: `The knee is at ${text(knee_bytes)}. This plan has ${size} and a hit ratio of ${ratio}.`,
      x: {
        label: prices.length ? "cache, and its price a month" : "cache of the whole cluster",
        least: 0,
        most: curve.at(-1)?.[0] || 1,
        kind: "size",
        ...(prices.length ? { second: (bytes) => (bytes > 0 ? usd(bytes) : "") } : {}),
      },
      y: { label: "hit ratio", least: 0, most: 1, kind: "share" },
      series: [{ name: "hit ratio", points: curve, look: 1 }],
      marks: knee_bytes > 0 ? [knee, ...here] : here,
    });
  }
}

/**
 * Return a curve that reaches a place: beyond its end, it is flat.
 *
 * @param {[number, number][]} curve
 * @param {number} place
 * @returns {[number, number][]}
 */
function reaching(curve, place) {
  const last = curve.at(-1);
  return last && last[0] < place ? [...curve, [place, last[1]]] : curve;
}

/**
 * Return the value of a curve at a place, by linear interpolation between its points.
 *
 * @param {[number, number][]} curve
 * @param {number} place
 */
function valueOn(curve, place) {
  const after = curve.findIndex(([x]) => x >= place);
  const [right, left] = [curve[after], curve[after - 1]];
  if (!right) return curve.at(-1)?.[1] ?? 0;
  if (!left) return right[1];
  return left[1] + ((place - left[0]) / (right[0] - left[0])) * (right[1] - left[1]);
}
