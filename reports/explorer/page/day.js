/**
 * The first 24 hours of a cluster: a plot of the hit ratio with a mark for each event, and the events as sentences.
 *
 * @typedef {import("./types.d.ts").Day} Day
 */

import { element } from "./elements.js";
import { PlotPlace } from "./plot.js";

const DAY_TITLE = "The first 24 hours";

/** The place for the plot and its events. */
export class DayPlace {
  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.plot = new PlotPlace(
      parent,
      "plot-day",
      DAY_TITLE,
      "The hit ratio after a start with cold caches. The hours of the restart and of the loss are examples; all other " +
        "times and figures are estimates.",
    );
    this.events = element("ol", { class: "events" });
    this.plot.figure.append(this.events);
  }

  /** @param {Day | null} day */
  show(day) {
    this.events.replaceChildren(...(day?.events ?? []).map(({ text }) => element("li", {}, text)));
    if (!day) {
      this.plot.leaveOut();
      return;
    }
    const { hours, course, events } = day;
    this.plot.show({
      title: DAY_TITLE,
      description: events.map(({ text }) => text).join(" "),
      x: { label: "time after the start", least: 0, most: hours, kind: "hours" },
      y: { label: "hit ratio", least: 0, most: 1, kind: "share" },
      series: [
        { name: "under the load", points: course, look: /** @type {const} */ (1) },
        { name: "fill without reads", points: day.fill, look: /** @type {const} */ (2) },
        { name: "fill without reads, boosted", points: day.boosted, look: /** @type {const} */ (3) },
      ].filter(({ points }) => points.length > 0),
      marks: events.flatMap(({ hours: x, hit_ratio: y, label }) =>
        x === null || y === null || x > hours ? [] : [{ x, y, label }],
      ),
    });
  }
}
