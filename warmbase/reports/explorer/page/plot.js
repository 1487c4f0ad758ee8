/**
 * Line plots as SVG, without a plotting library: the page must work with the light installation and as one file,
 * without Node and without a build step, and such a library would be larger than the whole page.
 *
 * @typedef {import("./types.d.ts").LinePlot} LinePlot
 * @typedef {import("./types.d.ts").Axis} Axis
 * @typedef {import("./types.d.ts").Mark} Mark
 * @typedef {import("./types.d.ts").Place} Place
 * @typedef {import("./types.d.ts").Series} Series
 * @typedef {{left: number, right: number, top: number, bottom: number}} Box
 */

import { element, plotFigure, setText, shape } from "./elements.js";
import { markShapes } from "./marks.js";
import { axisText, axisTicks } from "./quantity.js";

/** The height of .canvas in style.css, in pixels. */
const HEIGHT = 230;
const MARGIN = { left: 68, right: 16, top: 12, bottom: 44 };
const LETTER_PIXELS = 6.6;
const LINE_PIXELS = 16;
const FEWEST_PIXELS = 260;

/** A place for one plot. It keeps its height while it is empty, so that nothing below it moves. */
export class PlotPlace {
  /**
   * @param {HTMLElement} parent
   * @param {Place} place
   */
  constructor(parent, place) {
    this.id = `plot-${place.id}`;
    this.canvas = element("div", { class: "canvas" });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.legend = element("p", { class: "legend" });
    this.events = element("ol", { class: "events" });
    this.figure = plotFigure(place, this.legend, this.canvas, this.readout);
    if (place.rows > 0) this.figure.append(this.events);
    parent.append(this.figure);
    /** @type {LinePlot | null} */
    this.plot = null;
    new ResizeObserver(() => this.#draw()).observe(this.canvas);
  }

  /**
   * Show the reason why there is nothing to draw.
   *
   * @param {string} reason
   */
  explain(reason) {
    this.plot = null;
    this.legend.replaceChildren();
    setText(this.readout, "");
    this.canvas.replaceChildren(element("p", {}, reason));
  }

  /**
   * Show the plot; null leaves it out, because there is nothing to draw.
   *
   * @param {LinePlot | null} plot
   */
  show(plot) {
    this.figure.hidden = plot === null;
    this.plot = plot;
    this.events.replaceChildren(...(plot?.events ?? []).map((text) => element("li", {}, text)));
    this.#draw();
  }

  #draw() {
    const width = this.canvas.clientWidth;
    if (!this.plot || width < FEWEST_PIXELS / 2) return;
    const box = { ...MARGIN, right: width - MARGIN.right, bottom: bottomOf(this.plot) };
    const drawing = lineDrawing(this.plot, box, width, this.id);
    this.canvas.replaceChildren(drawing);
    this.legend.replaceChildren(...legendEntries(this.plot.series));
    this.#follow(drawing, this.plot, box);
  }

  /**
   * Let the pointer and the arrow keys read values off the plot.
   *
   * @param {SVGSVGElement} drawing
   * @param {LinePlot} plot
   * @param {Box} box
   */
  #follow(drawing, plot, box) {
    const places = [...new Set(plot.series.flatMap(({ points }) => points.map(([x]) => x)))].sort((a, b) => a - b);
    const cursor = shape("line", { class: "cursor", y1: box.top, y2: box.bottom, visibility: "hidden" });
    drawing.append(cursor);
    let current = -1;
    const move = (/** @type {number} */ index) => {
      current = Math.min(places.length - 1, Math.max(0, index));
      const place = places[current];
      if (place === undefined) return;
      const x = across(plot.x, box, place);
      for (const [name, value] of [
        ["x1", x],
        ["x2", x],
        ["visibility", "visible"],
      ])
        cursor.setAttribute(`${name}`, `${value}`);
      setText(this.readout, valuesAt(plot, place));
    };
    drawing.addEventListener("pointermove", (event) => move(nearest(places, valueAcross(plot.x, box, event.offsetX))));
    drawing.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -places.length, End: places.length }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      move(current + step);
    });
  }
}

/**
 * Return the drawing of a plot.
 *
 * @param {LinePlot} plot
 * @param {Box} box
 * @param {number} width
 * @param {string} id
 */
function lineDrawing(plot, box, width, id) {
  const names = { title: `${id}-title`, description: `${id}-description` };
  const lines = plot.series.map((series) => linePoints(plot, box, series));
  const marks = plot.marks.map((mark) => ({
    x: across(plot.x, box, mark.x),
    y: up(plot.y, box, mark.y),
    label: labelOf(plot, mark),
  }));
  const drawing = shape("svg", {
    viewBox: `0 0 ${width} ${HEIGHT}`,
    role: "img",
    tabindex: 0,
    "aria-labelledby": `${names.title} ${names.description}`,
  });
  drawing.append(
    shape("title", { id: names.title }, plot.title),
    shape("desc", { id: names.description }, plot.description),
    ...axisLines(plot, box),
    ...lines.map((line, index) => lineShape(line, plot.series[index]?.style ?? 1)),
    ...markShapes(marks, lines, { ...box, right: width }),
  );
  return drawing;
}

/**
 * Return the place of the horizontal axis, above its ticks and its label.
 *
 * @param {LinePlot} plot
 */
function bottomOf({ x }) {
  return HEIGHT - MARGIN.bottom - (x.usd.length ? LINE_PIXELS : 0);
}

/**
 * Return the label of a mark, with its value on the horizontal axis if the mark names it.
 *
 * @param {LinePlot} plot
 * @param {Mark} mark
 */
function labelOf({ x: { kind, usd } }, { x, label, names_x }) {
  if (!names_x) return label;
  const price = usd.length ? `, ${axisText("usd", valueOn(usd, x))}` : "";
  return `${label}, ${axisText(kind, x)}${price}`;
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

/**
 * @param {LinePlot} plot
 * @param {Box} box
 * @returns {SVGElement[]}
 */
function axisLines(plot, box) {
  const { left, right, top, bottom } = box;
  const horizontal = axisTicks(plot.y).flatMap((tick) => {
    const y = up(plot.y, box, tick);
    const text = shape("text", { x: left - 6, y: y + 4, class: "tick end" }, axisText(plot.y.kind, tick));
    return [shape("line", { class: "grid", x1: left, x2: right, y1: y, y2: y }), text];
  });
  let end = 0;
  const vertical = axisTicks(plot.x).flatMap((tick) => {
    const text = axisText(plot.x.kind, tick);
    const half = (text.length * LETTER_PIXELS) / 2;
    // The last label stays inside the drawing, and no label touches the one before it.
    const x = Math.min(across(plot.x, box, tick), right + MARGIN.right - half);
    if (x - half < end) return [];
    end = x + half + LETTER_PIXELS;
    const second = plot.x.usd.length && tick > 0 ? axisText("usd", valueOn(plot.x.usd, tick)) : "";
    return [
      shape("text", { x, y: bottom + 16, class: "tick middle" }, text),
      ...(second ? [shape("text", { x, y: bottom + 16 + LINE_PIXELS, class: "tick middle" }, second)] : []),
    ];
  });
  return [
    ...horizontal,
    ...vertical,
    shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    shape("text", { x: (left + right) / 2, y: HEIGHT - 8, class: "label middle" }, plot.x.label),
    shape(
      "text",
      { transform: `translate(12 ${(top + bottom) / 2}) rotate(-90)`, class: "label middle" },
      plot.y.label,
    ),
  ];
}

/**
 * Return the points of a line, in pixels.
 *
 * @param {LinePlot} plot
 * @param {Box} box
 * @param {Series} series
 * @returns {[number, number][]}
 */
function linePoints(plot, box, { points }) {
  const inside = points.filter(([x]) => x >= plot.x.least && x <= plot.x.most);
  return inside.map(([x, y]) => [across(plot.x, box, x), up(plot.y, box, y)]);
}

/**
 * @param {[number, number][]} line
 * @param {Series["style"]} style
 */
function lineShape(line, style) {
  const points = line.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
  return shape("polyline", { class: `line look-${style}`, points: points.join(" ") });
}

/** @param {Series[]} series */
function legendEntries(series) {
  if (series.length < 2) return [];
  return series.map(({ name, style }) => {
    const sample = shape("svg", { viewBox: "0 0 24 8", class: "sample", "aria-hidden": "true" });
    sample.append(shape("line", { class: `line look-${style}`, x1: 0, x2: 24, y1: 4, y2: 4 }));
    return element("span", {}, sample, ` ${name}`);
  });
}

/**
 * Return the values of all series at a place, as text.
 *
 * @param {LinePlot} plot
 * @param {number} place
 */
function valuesAt(plot, place) {
  const values = plot.series.flatMap(({ name, points }) => {
    const point = points.find(([x]) => x === place);
    return point ? [`${name} ${axisText(plot.y.kind, point[1])}`] : [];
  });
  return `${axisText(plot.x.kind, place)}: ${values.join(", ")}`;
}

/**
 * @param {number[]} places
 * @param {number} value
 */
function nearest(places, value) {
  return places.reduce((best, place, index) => {
    const isNearer = Math.abs(place - value) < Math.abs((places[best] ?? Number.POSITIVE_INFINITY) - value);
    return isNearer ? index : best;
  }, 0);
}

/**
 * @param {Axis} axis
 * @param {Box} box
 * @param {number} value
 */
function across(axis, box, value) {
  return box.left + ((value - axis.least) / (axis.most - axis.least)) * (box.right - box.left);
}

/**
 * @param {Axis} axis
 * @param {Box} box
 * @param {number} pixels
 */
function valueAcross(axis, box, pixels) {
  return axis.least + ((pixels - box.left) / (box.right - box.left)) * (axis.most - axis.least);
}

/**
 * @param {Axis} axis
 * @param {Box} box
 * @param {number} value
 */
function up(axis, box, value) {
  return box.bottom - ((value - axis.least) / (axis.most - axis.least)) * (box.bottom - box.top);
}
