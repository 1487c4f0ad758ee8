/**
 * The marks of a line plot, each with a label beside it that touches no line, no mark and no other label.
 *
 * @typedef {{x: number, y: number, label: string}} Mark
 * @typedef {{left: number, right: number, top: number, bottom: number}} Area
 * @typedef {Area & {x: number, anchor: string}} Place
 * @typedef {[number, number]} Point
 */

import { shape } from "./elements.js";

const RADIUS = 4.5;
const BOLD_LETTER_PIXELS = 7;
const ROW_PIXELS = 15;
/** The height of capital letters above the base line, and of the tails of letters below it. */
const ASCENT = 11;
const DESCENT = 4;
/** The gaps between a mark and the base line of the first row of its label below it, or of the last row above it. */
const GAPS = [18, -9, 33, -24, 48, 63, 78, 93, 108, 123];
/** The gaps between a mark and the side of its label. */
const SIDES = [8, 38, 68, 98];
/** A label this far from its mark gets a leader line. */
const FAR_PIXELS = 30;
/** The preference for each earlier one of the places, which decides between places at about the same distance. */
const ORDER_PIXELS = 0.2;
/** A label that covers another one is worst, and any collision is worse than any distance. */
const COVERED_LABEL_PIXELS = 4000;
const COVERED_LINE_PIXELS = 2000;
const CROSSED_LABEL_PIXELS = 1000;
const SAMPLE_PIXELS = 3;

/**
 * Return the points of the marks with their labels. All places are in pixels.
 *
 * @param {Mark[]} marks
 * @param {Point[][]} lines
 * @param {Area} box
 * @returns {SVGElement[]}
 */
export function markShapes(marks, lines, box) {
  const points = lines.flatMap(sampled);
  const occupied = marks.map(({ x, y }) => around(x, y, RADIUS + 1));
  return marks.flatMap((mark) => {
    const rows = rowsOf(mark.label, box);
    const place = bestPlace(mark, rows, box, points, occupied);
    occupied.push(place);
    const circle = shape("circle", { class: "mark", cx: mark.x, cy: mark.y, r: RADIUS });
    return [...leader(mark, place), circle, labelText(rows, place)];
  });
}

/**
 * Return the rows of a label: two if one row would be wider than half of the plot.
 *
 * @param {string} label
 * @param {Area} box
 */
function rowsOf(label, { left, right }) {
  const end = label.indexOf(", ") + 2;
  const isWide = label.length * BOLD_LETTER_PIXELS > (right - left) / 2;
  return isWide && end > 1 ? [label.slice(0, end - 1), label.slice(end)] : [label];
}

/**
 * Return the points along a line, so close to each other that no label lies between two of them.
 *
 * @param {Point[]} line
 * @returns {Point[]}
 */
function sampled(line) {
  return line.flatMap(([x, y], index) => {
    const [nextX, nextY] = line[index + 1] ?? [x, y];
    const count = Math.max(1, Math.ceil(Math.hypot(nextX - x, nextY - y) / SAMPLE_PIXELS));
    return Array.from({ length: count }, (_, step) => {
      const share = step / count;
      return /** @type {Point} */ ([x + share * (nextX - x), y + share * (nextY - y)]);
    });
  });
}

/**
 * Return the place of a label with the fewest collisions; of those, the nearest to its mark.
 *
 * @param {Mark} mark
 * @param {string[]} rows
 * @param {Area} box
 * @param {Point[]} points
 * @param {Area[]} occupied
 * @returns {Place}
 */
function bestPlace(mark, rows, box, points, occupied) {
  const all = placesOf(mark, rows);
  const inside = all.filter((place) => isInside(place, box));
  const places = inside.length > 0 ? inside : all;
  const costs = places.map((place, order) => {
    const [x, y] = nearestPoint(mark, place);
    const led = sampled([
      [mark.x, mark.y],
      [x, y],
    ]).filter((point) => !isCovered(point, around(mark.x, mark.y, 2 * RADIUS)));
    const crossed = occupied.filter((other) => led.some((point) => isCovered(point, other)));
    const hit = occupied.filter((other) => overlap(place, other));
    const covered = points.filter((point) => isCovered(point, place));
    const collisions =
      COVERED_LABEL_PIXELS * hit.length +
      CROSSED_LABEL_PIXELS * crossed.length +
      (covered.length > 0 ? COVERED_LINE_PIXELS + covered.length : 0);
    const distance = Math.hypot(x - mark.x, y - mark.y) + ORDER_PIXELS * order;
    return collisions + distance;
  });
  return /** @type {Place} */ (places[costs.indexOf(Math.min(...costs))]);
}

/**
 * Return the places of a label below and above its mark: on the right, on the left, and centred.
 *
 * @param {Mark} mark
 * @param {string[]} rows
 * @returns {Place[]}
 */
function placesOf({ x, y }, rows) {
  const wide = Math.max(...rows.map((row) => row.length)) * BOLD_LETTER_PIXELS;
  const further = (rows.length - 1) * ROW_PIXELS;
  return GAPS.flatMap((gap) => {
    const base = gap < 0 ? y + gap - further : y + gap;
    const rest = { top: base - ASCENT, bottom: base + further + DESCENT };
    const centred = { ...rest, x, anchor: " middle", left: x - wide / 2, right: x + wide / 2 };
    const beside = SIDES.flatMap((side) => [
      { ...rest, x: x + side, anchor: "", left: x + side, right: x + side + wide },
      { ...rest, x: x - side, anchor: " end", left: x - side - wide, right: x - side },
    ]);
    return [...beside, centred];
  });
}

/**
 * Return the point of a label that is nearest to its mark.
 *
 * @param {Mark} mark
 * @param {Area} label
 * @returns {Point}
 */
function nearestPoint({ x, y }, { left, right, top, bottom }) {
  return [Math.min(right, Math.max(left, x)), Math.min(bottom, Math.max(top, y))];
}

/**
 * Return a line from a mark to its label if that is far away.
 *
 * @param {Mark} mark
 * @param {Place} place
 */
function leader(mark, place) {
  const [x, y] = nearestPoint(mark, place);
  if (Math.hypot(x - mark.x, y - mark.y) < FAR_PIXELS) return [];
  return [shape("line", { class: "leader", x1: mark.x, y1: mark.y, x2: x, y2: y })];
}

/**
 * Return a label in rows. A blank separates the words of two rows for whoever copies or reads the label aloud. It is at
 * the end of a row, or before the next row if the rows are aligned at their ends.
 *
 * @param {string[]} rows
 * @param {Place} place
 */
function labelText(rows, { x, top, anchor }) {
  const spans = rows.map((row, index) => {
    const isLast = index === rows.length - 1;
    const text = anchor === " end" ? `${index > 0 ? " " : ""}${row}` : `${row}${isLast ? "" : " "}`;
    return shape("tspan", { x, y: top + ASCENT + index * ROW_PIXELS }, text);
  });
  return shape("text", { class: `mark-label${anchor}` }, ...spans);
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} distance
 * @returns {Area}
 */
function around(x, y, distance) {
  return { left: x - distance, right: x + distance, top: y - distance, bottom: y + distance };
}

/**
 * @param {Point} point
 * @param {Area} area
 */
function isCovered([x, y], { left, right, top, bottom }) {
  return x >= left && x <= right && y >= top && y <= bottom;
}

/**
 * @param {Area} inner
 * @param {Area} outer
 */
function isInside(inner, outer) {
  const isWithin = inner.left >= outer.left && inner.right <= outer.right;
  return isWithin && inner.top >= outer.top && inner.bottom <= outer.bottom;
}

/**
 * @param {Area} one
 * @param {Area} other
 */
function overlap(one, other) {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
