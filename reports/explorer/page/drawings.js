/**
 * The plots of a plan: their data, their axes and their texts.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").Plan} Plan
 * @typedef {import("./types.d.ts").Step} Step
 * @typedef {import("./types.d.ts").Bar} Bar
 * @typedef {import("./types.d.ts").Mark} Mark
 * @typedef {import("./types.d.ts").Series} Series
 */

import { BarPlace } from "./bars.js";
import { DayPlace } from "./day.js";
import { HitsPlace } from "./hits.js";
import { PlotPlace } from "./plot.js";
import { axisText } from "./quantity.js";

const HOURS = 24;
const MOST_COST_LINES = 8;
const NO_WORKLOAD = "This plot is not available for several tables or for inspected data.";
const NO_CLUSTER = "No cluster meets the targets for any of the values in this plot.";
const WAITING = "The plans are being computed.";
/** @type {Record<string, string>} */
const PARTS = {
  system: "operating system",
  daemons: "EMR and Hadoop daemons",
  yarn: "YARN containers",
  heap: "RegionServer heap",
  jvm: "other JVM memory",
  direct: "direct buffers",
  page_cache: "page cache",
};

/** All plots of the page, each in its place. */
export class Drawings {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.hits = new HitsPlace(parent);
    this.cold = new PlotPlace(
      parent,
      "plot-cold",
      "After a start with cold caches",
      "How many reads per second the cluster serves while its caches fill (estimate).",
    );
    this.day = new DayPlace(parent);
    this.resources = new BarPlace(
      parent,
      "plot-resources",
      "Resource use by reads",
      "The share of each limit that the load uses. The resource with the longest bar limits the cluster.",
      6,
    );
    this.memory = new BarPlace(
      parent,
      "plot-memory",
      "Memory of a core node",
      "How warmbase divides the RAM. A BucketCache is on disk, and the page cache speeds up reads from it.",
      7,
    );
    this.cost = new BarPlace(
      parent,
      "plot-cost",
      "Cost per month",
      "The largest items on the bill.",
      MOST_COST_LINES + 1,
    );
    this.data = new PlotPlace(
      parent,
      "plot-data",
      "Price by amount of data, for each storage mode",
      "The lowest line is the cheapest mode that meets your targets. A line ends where no cluster meets them.",
    );
    this.inputs = new BarPlace(
      parent,
      "plot-inputs",
      "What moves the price",
      "The price if one input is 20 % smaller or larger, or at an end of its range. Measure the input with the longest " +
        "bar first.",
      8,
    );
  }

  /** @param {Answer} answer */
  show({ plan, day, cache_price }) {
    this.day.show(day);
    this.hits.show(plan, cache_price);
    this.#cold(plan);
    this.#resources(plan);
    this.#memory(plan);
    this.#cost(plan);
  }

  /**
   * Show the prices that are known so far.
   *
   * @param {Step[]} steps
   * @param {Plan} plan
   */
  showPrices(steps, plan) {
    this.#data(steps, plan);
    this.#inputs(steps);
  }

  /** @param {Plan} plan */
  #cold({ bad_hours, throughput }) {
    const course = bad_hours.cold?.course ?? [];
    if (course.length === 0) {
      this.cold.leaveOut();
      return;
    }
    const end = Math.min(HOURS, Math.max(0.05, course.at(-1)?.[0] ?? 0) * 1.1);
    const offered = throughput.offered_reads_per_second ?? throughput.reads_per_second;
    /** @type {[number, number][]} */
    const served = course.filter(([hours]) => hours <= end).map(([hours, , reads]) => [hours, reads]);
    const last = served.at(-1);
    if (last && last[0] < end) served.push([end, last[1]]);
    this.cold.show({
      title: "Reads served after a start with cold caches",
      description: `It starts at ${axisText("rate", served[0]?.[1] ?? 0)} and reaches ${axisText("rate", last?.[1] ?? 0)}.`,
      x: { label: "time after the start", least: 0, most: end, kind: "hours" },
      y: {
        label: "reads per second",
        least: 0,
        most: Math.max(offered, ...served.map(([, reads]) => reads)) * 1.08,
        kind: "rate",
      },
      series: [
        { name: "served", points: served, look: 1 },
        {
          name: throughput.offered_reads_per_second === null ? "when warm" : "offered",
          points: [
            [0, offered],
            [end, offered],
          ],
          look: 2,
        },
      ],
      marks: [],
    });
  }

  /** @param {Plan} plan */
  #resources({ throughput }) {
    const bars = throughput.resources.map(({ name, max_reads_per_second }) => {
      const share = max_reads_per_second ? throughput.reads_per_second / max_reads_per_second : 0;
      return { name, text: axisText("share", share), from: 0, to: share, strong: name === throughput.bottleneck };
    });
    this.resources.show(bars, 0, Math.max(1, ...bars.map((bar) => bar.to)));
  }

  /** @param {Plan} plan */
  #memory({ memory }) {
    const bars = Object.entries(memory.parts).map(([part, bytes]) => ({
      name: PARTS[part] ?? part,
      text: axisText("size", bytes),
      from: 0,
      to: bytes,
    }));
    this.memory.show(bars, 0, Math.max(...bars.map((bar) => bar.to)));
  }

  /** @param {Plan} plan */
  #cost({ cost }) {
    const lines = [...cost.lines].sort((one, other) => other.usd_per_month - one.usd_per_month);
    const others = lines.slice(MOST_COST_LINES).reduce((sum, { usd_per_month }) => sum + usd_per_month, 0);
    const shown = [...lines.slice(0, MOST_COST_LINES), { item: "all other items", usd_per_month: others }];
    const bars = shown.map(({ item, usd_per_month }) => ({
      name: item,
      text: axisText("usd", usd_per_month),
      from: 0,
      to: usd_per_month,
    }));
    this.cost.show(bars, 0, Math.max(...bars.map((bar) => bar.to)));
  }

  /**
   * @param {Step[]} steps
   * @param {Plan} plan
   */
  #data(steps, plan) {
    const data = steps.filter((step) => step.plot === "data");
    const series = [...new Set(data.map((step) => step.series))].map((name, index) => ({
      name,
      points: pricedPoints(data.filter((step) => step.series === name)),
      look: /** @type {1 | 2 | 3} */ ((index % 3) + 1),
    }));
    const places = data.map((step) => step.x);
    const prices = series.flatMap(({ points }) => points.map(([, usd]) => usd));
    if (prices.length === 0) {
      const isAsked = data.every((step) => step.price);
      this.data.explain(data.length === 0 ? NO_WORKLOAD : isAsked ? NO_CLUSTER : WAITING);
      return;
    }
    const here = data.find((step) => step.label === "here");
    this.data.show({
      title: "Price per month by amount of data, for each storage mode",
      description: series
        .map(
          ({ name, points }) =>
            `${name}: ${points.map(([x, usd]) => `${axisText("size", x)} ${axisText("usd", usd)}`).join(", ")}`,
        )
        .join(". "),
      x: { label: "stored data", least: Math.min(0, ...places), most: Math.max(...places), kind: "size" },
      y: { label: "price per month", least: 0, most: Math.max(1, ...prices) * 1.08, kind: "usd" },
      series,
      marks: here ? [{ x: here.x, y: plan.cost.usd_per_month, label: "this plan" }] : [],
    });
  }

  /** @param {Step[]} steps */
  #inputs(steps) {
    const inputs = steps.filter((step) => step.plot === "inputs");
    const bars = [...new Set(inputs.map((step) => step.series))].flatMap((name) => tornadoBar(name, inputs));
    bars.sort((one, other) => other.to - other.from - (one.to - one.from));
    if (bars.length === 0) {
      const isAsked = inputs.every((step) => step.price);
      this.inputs.explain(inputs.length === 0 ? NO_WORKLOAD : isAsked ? NO_CLUSTER : WAITING);
      return;
    }
    const ends = bars.flatMap((bar) => [bar.from, bar.to]);
    this.inputs.show(bars, Math.min(...ends), Math.max(...ends));
  }
}

/**
 * Return the bar of an input, from its lower to its higher price, or no bar until both prices are known.
 *
 * @param {string} name
 * @param {Step[]} steps
 * @returns {Bar[]}
 */
function tornadoBar(name, steps) {
  const prices = steps.filter((step) => step.series === name).map((step) => step.price?.usd_per_month);
  const [low, high] = prices;
  if (low === undefined || high === undefined) return [];
  const known = [low, high].filter((usd) => usd !== null);
  if (known.length === 0) return [];
  const text = [low, high].map((usd) => (usd === null ? "no cluster" : axisText("usd", usd))).join(" to ");
  return [{ name, text, from: Math.min(...known), to: Math.max(...known) }];
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
