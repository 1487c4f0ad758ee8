/**
 * The plots of the page. Python says which there are, and what they show.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").Place} Place
 * @typedef {import("./types.d.ts").Step} Step
 */

import { BarPlace } from "./bars.js";
import { PlotPlace } from "./plot.js";
import { showPricePlot, showTornado } from "./prices.js";

/** All plots of the page, each in its place. */
export class Drawings {
  /**
   * @param {HTMLElement} parent
   * @param {Place[]} places
   */
  constructor(parent, places) {
    this.places = places.map((place) => ({
      place,
      lines: place.kind === "lines" || place.kind === "prices" ? new PlotPlace(parent, place) : null,
      bars: place.kind === "bars" || place.kind === "tornado" ? new BarPlace(parent, place) : null,
    }));
  }

  /** @param {Answer} answer */
  show({ plots }) {
    for (const { place, lines, bars } of this.places) {
      if (place.kind === "lines") lines?.show(plots.lines[place.id] ?? null);
      const drawn = plots.bars[place.id];
      if (place.kind === "bars" && drawn) bars?.show(drawn);
    }
  }

  /**
   * Show the prices that are known so far.
   *
   * @param {Step[]} steps
   * @param {Answer} answer
   */
  showPrices(steps, answer) {
    for (const { place, lines, bars } of this.places) {
      const own = steps.filter(({ plot }) => plot === place.id);
      if (place.kind === "prices" && lines) showPricePlot(lines, place, own, answer);
      if (place.kind === "tornado" && bars) showTornado(bars, place, own);
    }
  }
}
