/**
 * Quantities with their units, as an environment file states them and as an axis shows them.
 *
 * @typedef {import("./types.d.ts").Input} Input
 * @typedef {import("./types.d.ts").Kind} Kind
 */

const SIZES = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40, PiB: 2 ** 50 };
const TIMES = { ms: 0.001, s: 1, min: 60, h: 3600 };
/** @type {Partial<Record<Kind, Record<string, number>>>} */
const UNITS = { size: SIZES, time: TIMES, share: { "": 1, "%": 0.01 }, multiple: { x: 1 } };
const QUANTITY = /^\s*([\d_]*\.?\d+(?:e\d+)?)\s*([A-Za-z%]*)\s*$/;
const UNIFORM = "uniform";
/** A slider is logarithmic if the ratio of its ends is at least this. */
const WIDE = 30;
/** The logarithm of a range is uniform if the ratio of its ends is at least this. */
const DECADE = 10;
const TICKS = 5;

/**
 * Return the quantity in a text, in bytes, seconds or plain numbers: of a range, the middle; null if the text is neither.
 *
 * @param {Kind} kind
 * @param {string} text
 * @returns {number | null}
 */
export function parseQuantity(kind, text) {
  if (kind === "skew" && text.trim() === UNIFORM) return 0;
  if (text.includes("..")) return parseMiddle(kind, text);
  const match = QUANTITY.exec(text);
  if (!match) return null;
  const number = Number((match[1] ?? "").replaceAll("_", ""));
  const factor = unitFactor(kind, match[2] ?? "");
  return factor === null ? null : number * factor;
}

/**
 * Return the middle of a range such as `3..12 TiB`, by its logarithm if the ends differ tenfold, as a plan samples it.
 *
 * @param {Kind} kind
 * @param {string} text
 * @returns {number | null}
 */
function parseMiddle(kind, text) {
  const [first = "", last = ""] = text.split("..");
  const high = parseQuantity(kind, last);
  const low = parseQuantity(kind, /[A-Za-z%]/.test(first) ? first : first + (QUANTITY.exec(last)?.[2] ?? ""));
  if (low === null || high === null) return null;
  return low > 0 && high / low >= DECADE ? Math.sqrt(low * high) : (low + high) / 2;
}

/**
 * @param {Kind} kind
 * @param {string} unit
 * @returns {number | null}
 */
function unitFactor(kind, unit) {
  const units = UNITS[kind] ?? { "": 1 };
  return units[unit] ?? null;
}

/**
 * Return a quantity as the environment file states it, with as many digits as a slider distinguishes.
 *
 * @param {Kind} kind
 * @param {number} value
 * @returns {string}
 */
export function quantityText(kind, value) {
  if (kind === "size") return withUnit(SIZES, value);
  if (kind === "time") return withUnit(TIMES, value);
  if (kind === "skew") return value < 0.005 ? UNIFORM : String(Math.round(value * 100) / 100);
  if (kind === "share") return String(Math.round(value * 1000) / 1000);
  if (kind === "multiple") return `${Math.round(value * 10) / 10}x`;
  if (kind === "ratio") return String(Math.round(value * 10) / 10);
  return String(Math.round(significant(value, 3)));
}

/**
 * @param {Record<string, number>} units
 * @param {number} value
 * @returns {string}
 */
function withUnit(units, value) {
  const [unit, factor] = largestUnit(units, value);
  return `${significant(value / factor, 3)} ${unit}`;
}

/**
 * Return the largest unit that is not larger than the value, with its factor.
 *
 * @param {Record<string, number>} units
 * @param {number} value
 * @returns {[string, number]}
 */
function largestUnit(units, value) {
  const entries = Object.entries(units);
  const fitting = entries.filter(([, factor]) => significant(value, 3) >= factor);
  return /** @type {[string, number]} */ (fitting.at(-1) ?? entries[0]);
}

/**
 * @param {number} value
 * @param {number} digits
 * @returns {number}
 */
function significant(value, digits) {
  return Number(value.toPrecision(digits));
}

/**
 * Return the place of a value on its slider, from 0 to 1.
 *
 * @param {Input} input
 * @param {number} value
 * @returns {number}
 */
export function sliderShare(input, value) {
  const [least, most] = [scaled(input, input.least), scaled(input, input.most)];
  return Math.min(1, Math.max(0, (scaled(input, value) - least) / (most - least)));
}

/**
 * Return the value at a place on the slider, from 0 to 1.
 *
 * @param {Input} input
 * @param {number} share
 * @returns {number}
 */
export function sliderValue(input, share) {
  const [least, most] = [scaled(input, input.least), scaled(input, input.most)];
  return unscaled(input, least + share * (most - least));
}

/**
 * Return a value on the scale of its slider: logarithmic if the slider covers a wide range, and logarithmic in the
 * misses if the value is a hit ratio.
 *
 * @param {Input} input
 * @param {number} value
 * @returns {number}
 */
function scaled(input, value) {
  if (input.kind === "share") return -Math.log(Math.max(1e-4, 1 - value));
  return isWide(input) ? Math.log(Math.max(input.least, value)) : value;
}

/**
 * @param {Input} input
 * @param {number} value
 * @returns {number}
 */
function unscaled(input, value) {
  if (input.kind === "share") return 1 - Math.exp(-value);
  return isWide(input) ? Math.exp(value) : value;
}

/** @param {Input} input */
function isWide(input) {
  return input.least > 0 && input.most / input.least >= WIDE;
}

/**
 * Return a value of an axis as text.
 *
 * @param {import("./types.d.ts").Axis["kind"]} kind
 * @param {number} value
 * @returns {string}
 */
export function axisText(kind, value) {
  if (kind === "size") return value === 0 ? "0" : withUnit(SIZES, value);
  if (kind === "share") return `${significant(100 * value, 3)} %`;
  if (kind === "hours") return hoursText(value);
  const number = value.toLocaleString("en-US", { maximumFractionDigits: 0 });
  return kind === "usd" ? `$${number}` : `${number}/s`;
}

/**
 * @param {number} hours
 * @returns {string}
 */
function hoursText(hours) {
  return hours === 0 ? "0" : withUnit(TIMES, hours * TIMES.h);
}

/**
 * Return about five round values between the ends of an axis.
 *
 * @param {import("./types.d.ts").Axis} axis
 * @returns {number[]}
 */
export function axisTicks({ kind, least, most }) {
  // Up to two of a unit, steps of the smaller unit are rounder: 200 GiB instead of 0.2 TiB.
  const unit = kind === "size" ? largestUnit(SIZES, most / 2)[1] : 1;
  const step = roundStep((most - least) / unit / TICKS) * unit;
  const first = Math.ceil(least / step - 1e-9);
  const count = Math.floor(most / step + 1e-6) - first + 1;
  // Adding 0 turns -0 into 0.
  return Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * step + 0);
}

/**
 * Return a round step near the wanted one: 1, 2 or 5 times a power of ten.
 *
 * @param {number} step
 * @returns {number}
 */
function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  const factor = [1, 2, 5, 10].find((round) => round * power >= step * 0.7) ?? 10;
  return factor * power;
}

/**
 * Return an amount in dollars with its sign, without cents if it is $100 or more.
 *
 * @param {number} usd
 * @returns {string}
 */
export function signedUsd(usd) {
  const digits = Math.abs(usd) >= 100 ? 0 : 2;
  const text = Math.abs(usd).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${usd < 0 ? "-" : "+"}$${text}`;
}
