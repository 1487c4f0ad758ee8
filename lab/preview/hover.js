/**
 * Lets the pointer, a finger and the arrow keys read values off the graphs of a preview. Each figure contains its data.
 *
 * @typedef {{unit: string, most: number, series: Record<string, [number, number][]>}} Data
 */

const SVG = "http://www.w3.org/2000/svg";

/** @param {Element} figure */
function follow(figure) {
  const drawing = figure.querySelector("svg");
  const area = drawing?.querySelector("path.background");
  const readout = figure.querySelector(".readout");
  if (!drawing || !area || !readout) return;
  /** @type {Data} */
  const data = JSON.parse(figure.querySelector("script")?.textContent ?? "");
  const minutes = [...new Set(Object.values(data.series).flatMap((points) => points.map(([minute]) => minute)))];
  minutes.sort((one, other) => one - other);
  const cursor = drawnCursor(area);
  let current = -1;
  const move = (/** @type {number} */ index) => {
    current = Math.min(minutes.length - 1, Math.max(0, index));
    const minute = minutes[current] ?? 0;
    const x = (minute / data.most) * /** @type {SVGPathElement} */ (area).getBBox().width;
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(x));
    cursor.removeAttribute("visibility");
    readout.textContent = valuesAt(data, minute);
  };
  for (const type of /** @type {const} */ (["pointermove", "pointerdown"])) {
    drawing.addEventListener(type, ({ clientX }) => {
      const { left, width } = area.getBoundingClientRect();
      move(nearest(minutes, ((clientX - left) / width) * data.most));
    });
  }
  drawing.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -minutes.length, End: minutes.length }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(current + step);
  });
}

/**
 * Add a vertical line to the graph whose background is given; it is not visible yet.
 *
 * @param {Element} area
 */
function drawnCursor(area) {
  const cursor = document.createElementNS(SVG, "line");
  const height = /** @type {SVGPathElement} */ (area).getBBox().height;
  const attributes = { class: "cursor", y1: "0", y2: String(height), stroke: "currentColor", visibility: "hidden" };
  for (const [name, value] of Object.entries(attributes)) cursor.setAttribute(name, value);
  area.parentElement?.append(cursor);
  return cursor;
}

/**
 * Return the values of all curves at a minute, as text.
 *
 * @param {Data} data
 * @param {number} minute
 */
function valuesAt({ unit, series }, minute) {
  const values = Object.entries(series).flatMap(([name, points]) => {
    const point = points.find(([other]) => other === minute);
    return point ? [`${name} ${point[1].toLocaleString("en-US", { maximumSignificantDigits: 4 })}`] : [];
  });
  return `Minute ${minute}, ${unit}: ${values.join(", ")}`;
}

/**
 * Return the index of the minute that is nearest to a value.
 *
 * @param {number[]} minutes
 * @param {number} value
 */
function nearest(minutes, value) {
  const distances = minutes.map((minute) => Math.abs(minute - value));
  return distances.indexOf(Math.min(...distances));
}

for (const figure of document.querySelectorAll("figure")) follow(figure);
