/**
 * Opens the page in a browser. Reads `{observe, url, …}` from standard input, and prints its observations for the tests
 * in Python. Prints `{skip}` if no browser starts.
 */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, platform } from "node:os";
import { text } from "node:stream/consumers";
import { chromium as driver } from "playwright-core";

const DESK = { width: 1280, height: 900 };
const PHONE = { width: 360, height: 740 };
/** GitHub shows a picture in a column of about 840 pixels. */
const COLUMN = { width: 830, height: 900 };
const WIDE = { width: 1120, height: 1400 };
const SHARP = 1.5;
/** Only what hangs takes longer; Python ends this process sooner. */
const PATIENCE_MILLISECONDS = 3_600_000;
/** Options of the locked browser that suit serverless functions, and switch off protections of a normal browser. */
const LOOSE =
  /^--(single-process|no-zygote|disable-web-security|allow-running-insecure-content|disable-site-isolation)/;
const require = createRequire(import.meta.url);

/** Start the browser that CHROME_PATH names, or the one from the lock file. */
async function startBrowser() {
  if (process.env.CHROME_PATH) return launch({ executablePath: process.env.CHROME_PATH, args: ["--no-sandbox"] });
  if (platform() !== "linux" || arch() !== "x64")
    throw new Error("the locked browser runs on linux-x64; set CHROME_PATH");
  const { default: locked } = await import("@sparticuz/chromium");
  const args = locked.args.filter((option) => !LOOSE.test(option));
  return launch({ executablePath: await locked.executablePath(), args });
}

function launch(options) {
  return driver.launch({ timeout: PATIENCE_MILLISECONDS, ...options });
}

async function newPage(browser, options) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(PATIENCE_MILLISECONDS);
  return page;
}

/** Open the page, and record its requests and the messages in its console. */
async function open(browser, url, options = {}) {
  const page = await newPage(browser, { viewport: DESK, ...options });
  page.seen = { requests: [], messages: [] };
  page.on("request", (request) => page.seen.requests.push(request.url()));
  page.on("console", (message) => page.seen.messages.push(message.text()));
  page.on("pageerror", (error) => page.seen.messages.push(String(error)));
  await page.goto(url);
  await shown(page);
  return page;
}

/** Open another state of the page from its address. */
async function goTo(page, url) {
  await page.goto("about:blank");
  await page.goto(url);
  await shown(page);
}

/** Return the name of each table, with whether its inputs are visible. */
function expanded(page) {
  return page.$$eval("#inputs details", (tables) =>
    tables.map((table) => [table.querySelector("summary").textContent, table.open]),
  );
}

/** Wait until the figures and the plots are those of the address, or a value is refused. */
function shown(page) {
  return page.waitForFunction(
    () => document.body.dataset.shown === location.hash || document.querySelector(".earlier"),
  );
}

function figures(page) {
  return page.evaluate(() => ({
    figures: Object.fromEntries(
      [...document.querySelectorAll(".card")].map((card) => [
        card.id.replace("figure-", ""),
        card.children[1].textContent,
      ]),
    ),
    isRefused: document.querySelector(".earlier") !== null,
    yaml: document.getElementById("yaml").textContent,
  }));
}

/** Type each state into the fields of one page, and return its figures, its file and the time until the headline. */
async function typed(page, states) {
  const observed = [];
  for (const values of states) {
    const milliseconds = await page.evaluate(async (wanted) => {
      const headline = document.getElementById("headline");
      const start = performance.now();
      for (const field of document.querySelectorAll("[name]")) {
        field.dataset.file ??= field.value;
        const value = wanted[field.name] ?? field.dataset.file;
        if (field.value === value) continue;
        field.value = value;
        for (const type of ["input", "change"]) field.dispatchEvent(new Event(type));
      }
      while (headline.hasAttribute("aria-busy")) await new Promise((resolve) => setTimeout(resolve));
      return performance.now() - start;
    }, values);
    await shown(page);
    observed.push({ milliseconds, ...(await figures(page)) });
  }
  return observed;
}

/**
 * Move each slider to some of its places and back to the file, and return the times until the headline. Between two
 * sliders, the page has begun to request the plots that need many plans.
 */
function slid(page) {
  return page.evaluate(async () => {
    const headline = document.getElementById("headline");
    const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const changed = async (field, value) => {
      const start = performance.now();
      field.value = value;
      field.dispatchEvent(new Event("input"));
      while (headline.hasAttribute("aria-busy")) await pause();
      return performance.now() - start;
    };
    const times = [];
    for (const slider of document.querySelectorAll("[type=range]:enabled")) {
      const field = document.getElementById(slider.id.replace("-slider", ""));
      const file = field.value;
      for (const share of [0.25, 0.5, 0.75, 0.6]) {
        times.push(await changed(slider, String(share * Number(slider.max))));
        await pause(50);
      }
      await changed(field, file);
      field.dispatchEvent(new Event("change"));
      await pause(600);
    }
    return times;
  });
}

/** Return the id of the field of an input. */
function fieldOf(key) {
  return `input-${key}`;
}

/** Return the selector of an element by its id, which may have any characters. */
function selectorOf(id) {
  return `[id="${id}"]`;
}

/**
 * Drag a slider, and wait for the headline at every fourth place. Return the layout shifts and the number of prices
 * shown there, and the figures before the move, after it and after Undo.
 */
async function dragged(page, key) {
  const before = await figures(page);
  const prices = await page.evaluate(async (id) => {
    const [headline, price] = ["#headline", "#figure-price .text"].map((found) => document.querySelector(found));
    const prices = new Set();
    globalThis.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) globalThis.shifts += entry.value;
    }).observe({ type: "layout-shift", buffered: false });
    const slider = document.getElementById(`${id}-slider`);
    for (let place = 60; place <= 140; place += 4) {
      slider.value = String(place);
      slider.dispatchEvent(new Event("input"));
      if (place % 16 !== 60 % 16) continue;
      while (headline.hasAttribute("aria-busy")) await new Promise((resolve) => setTimeout(resolve));
      prices.add(price.textContent);
    }
    slider.dispatchEvent(new Event("change"));
    return prices.size;
  }, fieldOf(key));
  await shown(page);
  await drawn(page);
  const shifts = await page.evaluate(() => globalThis.shifts);
  const [after, hash] = [await figures(page), await page.evaluate(() => location.hash)];
  await page.click("#undo");
  await page.waitForFunction(() => location.hash === "");
  await shown(page);
  return { shifts, prices, before, after, hash, undone: await figures(page) };
}

/**
 * State a compression ratio, choose no codec, a codec, and no codec again, and go back twice. Return the address, the
 * fields of the ratio, its message and the file after each step.
 */
async function compressed(page, compression) {
  const [codec, ratio] = [fieldOf(`${compression}codec`), fieldOf(`${compression}ratio`)];
  const choose = (choice) => () => page.selectOption(selectorOf(codec), choice);
  const back = async () => {
    const hash = await page.evaluate(() => location.hash);
    await page.click("#undo");
    await page.waitForFunction((before) => location.hash !== before, hash);
  };
  await page.selectOption(selectorOf(codec), "zstd");
  await page.fill(selectorOf(ratio), "2.5");
  await page.press(selectorOf(ratio), "Enter");
  await shown(page);
  const steps = [];
  for (const act of [choose("none"), choose("lz4"), choose("none"), back, back]) {
    await act();
    await shown(page);
    const step = await page.evaluate((id) => {
      const [text, slider] = [document.getElementById(id), document.getElementById(`${id}-slider`)];
      const message = document.getElementById(`${id}-message`).textContent;
      return { hash: location.hash, value: text.value, disabled: [text.disabled, slider.disabled], message };
    }, ratio);
    steps.push({ ...step, ...(await figures(page)) });
  }
  return steps;
}

/** State a budget that no cluster meets, and return each verdict that the page then shows, and whether it is busy. */
async function verdicts(page) {
  await page.evaluate(() => {
    const [verdict, headline] = ["verdict", "headline"].map((id) => document.getElementById(id));
    globalThis.verdicts = [];
    const add = () => globalThis.verdicts.push([verdict.textContent, headline.hasAttribute("aria-busy")]);
    new MutationObserver(add).observe(verdict, { childList: true });
  });
  await page.fill('[name$="budget_usd_per_month"]', "10");
  await shown(page);
  return page.evaluate(() => globalThis.verdicts);
}

/** Use the keyboard alone: the first slider, a plot, and the comparison. */
async function keyed(page, key) {
  const focusTo = async (selector) => {
    for (let count = 0; count < 120; count += 1) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return true;
    }
    return false;
  };
  const reached = { keep: await focusTo("#keep") };
  await page.keyboard.press("Enter");
  await shown(page);
  reached.slider = await focusTo(selectorOf(`${fieldOf(key)}-slider`));
  for (let count = 0; count < 20; count += 1) await page.keyboard.press("ArrowRight");
  await shown(page);
  reached.plot = await focusTo("#plot-hits svg");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector("#compared tr.differs"));
  return page.evaluate(
    ([all, id]) => ({
      ...all,
      value: document.getElementById(id).value,
      readout: document.querySelector("#plot-hits .readout").textContent,
      compared: [...document.querySelectorAll("#compared tr:first-child td")].map((cell) => cell.textContent),
    }),
    [reached, fieldOf(key)],
  );
}

/** Return the violations that axe finds on the page. */
async function accessibility(page) {
  await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** Return the number of sheets that the printed page needs. */
async function sheets(page) {
  const file = (await page.pdf({ preferCSSPageSize: true })).toString("latin1");
  return file.match(/\/Type \/Page\b(?!s)/g).length;
}

/** Return the width of the page once its plots are drawn at the size of the window. */
async function width(page) {
  await drawn(page);
  return page.evaluate(() => document.documentElement.scrollWidth);
}

function drawn(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Return the labels of marks that touch a line, a mark or another label. */
async function touching(page) {
  await drawn(page);
  return page.$$eval("#plots figure:not([hidden]) .canvas svg", (drawings) =>
    drawings.flatMap((drawing) => {
      const boxes = (selector) => [...drawing.querySelectorAll(selector)].map((shape) => shape.getBBox());
      const lines = [...drawing.querySelectorAll("polyline")].filter((line) => line.points.length > 1);
      const points = lines.flatMap((line) =>
        Array.from({ length: Math.ceil(line.getTotalLength()) }, (_, pixel) => line.getPointAtLength(pixel)),
      );
      const labels = boxes(".mark-label");
      const occupied = [...labels, ...boxes(".mark"), ...points.map(({ x, y }) => ({ x, y, width: 0, height: 0 }))];
      const overlap = (one, other) =>
        one.x < other.x + other.width &&
        other.x < one.x + one.width &&
        one.y < other.y + other.height &&
        other.y < one.y + one.height;
      const texts = [...drawing.querySelectorAll(".mark-label")].map((label) => label.textContent);
      return texts.filter((_, index) => occupied.some((o) => o !== labels[index] && overlap(labels[index], o)));
    }),
  );
}

/** Observe what a change of the code is most likely to break. */
async function observeShortly(browser, { url, states, key, wide, compression }) {
  const page = await open(browser, url);
  const observed = { typed: await typed(page, states) };
  await goTo(page, `${url}#${new URLSearchParams({ [wide]: "2 MiB" })}`);
  const linked = await expanded(page);
  await goTo(page, url);
  observed.tables = [await expanded(page), linked];
  observed.dragged = await dragged(page, key);
  observed.axe = { light: await accessibility(page) };
  if (compression) {
    observed.compressed = await compressed(page, compression);
    await goTo(page, url);
  }
  observed.verdicts = await verdicts(page);
  await goTo(page, url);
  observed.day = await page.evaluate(() => [
    [...document.querySelectorAll("#plot-day .mark-label")].map((label) => label.textContent),
    [...document.querySelectorAll(".events li")].map((event) => event.textContent),
  ]);
  await page.setViewportSize(PHONE);
  observed.width = { explore: await width(page) };
  observed.touching = await touching(page);
  observed.messages = page.seen.messages;
  return observed;
}

/** Observe the rest: the keyboard, refused values, the dark page on a phone, printing, and the file of a report. */
async function observeWholly(browser, { url, report, comparison, key, range, wide, linked, refused, option }) {
  const page = await open(browser, url);
  const observed = { first: await figures(page), keyed: await keyed(page, key) };
  observed.refused = (await typed(page, [{ [key]: refused }]))[0];
  observed.message = await page.textContent(selectorOf(`${fieldOf(key)}-message`));
  observed.axe = { refused: await accessibility(page) };
  observed.ranged = await ranged(page, key, range);
  observed.axe.ranged = await accessibility(page);
  for (const name of await page.$$("#inputs details:not([open]) summary")) await name.click();
  await page.fill(selectorOf(fieldOf(wide)), "100.5 KiB..1.46 MiB");
  observed.cut = await page.$$eval("input.range", (fields) =>
    fields.filter((field) => field.scrollWidth > field.clientWidth).map((field) => field.value),
  );
  observed.sheets = { explore: await sheets(page) };
  const phone = await open(browser, `${url}#${new URLSearchParams({ [key]: linked })}`, {
    viewport: PHONE,
    colorScheme: "dark",
  });
  observed.axe.dark = await accessibility(phone);
  observed.linked = await figures(phone);
  const file = await open(browser, report, { viewport: PHONE });
  observed.axe.report = await accessibility(file);
  observed.width = { report: await width(file) };
  observed.sheets.report = await sheets(file);
  observed.report = await file.evaluate(() => JSON.parse(document.getElementById("plan").textContent));
  observed.stopped = (await stops(file, key)).figures;
  observed.compared = await comparedPlan(file, option);
  observed.plots = await file.$$eval("#plots figure", (plots) =>
    plots.filter((plot) => plot.hidden).map(({ id }) => id),
  );
  const modes = await open(browser, comparison, { viewport: PHONE });
  observed.axe.comparison = await accessibility(modes);
  observed.width.comparison = await width(modes);
  observed.sheets.comparison = await sheets(modes);
  observed.side = await texts(modes, "#columns tr");
  const unplanned = await open(browser, `${report}#${new URLSearchParams({ [key]: "1.5 GiB" })}`);
  observed.unplanned = [await unplanned.inputValue(selectorOf(fieldOf(key))), (await figures(unplanned)).figures];
  observed.requests = { explore: page.seen.requests, report: file.seen.requests };
  observed.messages = [page, phone, file, modes].flatMap((one) => one.seen.messages);
  return observed;
}

/** Observe how soon the headline follows: typed states, and the moves of all sliders. */
async function time(browser, { url, states }) {
  const page = await open(browser, url);
  const observed = { typed: await typed(page, states) };
  await page.close();
  return { ...observed, slid: await slid(await open(browser, url)) };
}

/**
 * Draw the pictures of the documentation for its size on GitHub: two states side by side, and the first day. Return the
 * texts that they show, and the places of their lines, marks and labels.
 */
async function draw(browser, { url, pictures }) {
  const page = await open(browser, `${url}#workload.stored=12+TiB&kept=`, { viewport: WIDE, deviceScaleFactor: SHARP });
  await page.waitForFunction(() => document.querySelector("#compared tr") && document.querySelector("#plot-hits svg"));
  const height = await page.$eval("#plot-hits", (plot) => Math.ceil(plot.getBoundingClientRect().bottom) + 6);
  await page.screenshot({ path: `${pictures}/explore.png`, clip: { x: 0, y: 0, width: WIDE.width, height } });
  const day = await open(browser, url, { viewport: COLUMN, deviceScaleFactor: SHARP });
  await day.locator("#plot-day").screenshot({ path: `${pictures}/first-day.png` });
  return {
    compared: await texts(page, "#compared :is(th, td)"),
    plot: await texts(page, "#plot-hits :is(h3, figcaption p, .label, .mark-label)"),
    day: await texts(day, "#plot-day :is(h3, figcaption p, .legend span, .label, .mark-label, li)"),
    places: [...(await places(page, "#plot-hits")), ...(await places(day, "#plot-day"))],
  };
}

/** Return the places of the lines, marks and labels of a plot in its drawing, as texts with numbers of pixels. */
function places(page, selector) {
  return page.$$eval(`${selector} .canvas :is(.line, .mark, .tick, .mark-label tspan)`, (shapes) => {
    const rounded = (text) => text.replace(/\d+\.\d+/g, (number) => Number(number).toFixed(1));
    return shapes.map((shape) => {
      const names = ["points", "cx", "cy", "x", "y"].filter((name) => shape.hasAttribute(name));
      const numbers = names.map((name) => rounded(shape.getAttribute(name))).join(" ");
      return `${shape.getAttribute("class") ?? "label"} ${numbers} ${shape.tagName === "text" ? shape.textContent : ""}`;
    });
  });
}

/**
 * Read values off the first graph of a preview of dashboards: with the pointer in its middle, with keys and with a
 * finger.
 */
async function preview(browser, { url, picture }) {
  const page = await newPage(browser, { viewport: DESK });
  const messages = [];
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(String(error)));
  await page.goto(url);
  const [first] = await page.$$("figure");
  const area = await (await first.$("path.background")).boundingBox();
  const readout = async () => (await first.$(".readout")).textContent();
  await page.mouse.move(area.x + area.width / 2, area.y + area.height / 2);
  const pointed = await readout();
  await (await first.$("svg")).focus();
  await page.keyboard.press("End");
  const last = await readout();
  await page.keyboard.press("ArrowLeft");
  const keyed = await readout();
  const line = await (await first.$("line.cursor")).boundingBox();
  if (picture) await page.screenshot({ path: picture });
  const axe = await accessibility(page);
  const phone = await newPage(browser, { viewport: PHONE, hasTouch: true, colorScheme: "dark" });
  await phone.goto(url);
  await phone.tap("figure svg");
  const touched = await phone.textContent("figure .readout");
  const cursors = await page.$$eval("figure svg line.cursor", (found) => found.length);
  return {
    ...{ pointed, last, keyed, touched, messages, cursors },
    place: (line.x - area.x) / area.width,
    axe: [...axe, ...(await accessibility(phone))],
    width: await width(phone),
  };
}

function texts(page, selector) {
  return page.$$eval(selector, (elements) => elements.map((element) => element.textContent.trim()));
}

/** Type a range into a field, and return the figures, the text about the middle, and the rows of the decision. */
async function ranged(page, key, range) {
  const [{ figures }] = await typed(page, [{ [key]: range }]);
  await page.waitForFunction(() => document.querySelector("#decision dd"));
  const place = await page.inputValue(selectorOf(`${fieldOf(key)}-slider`));
  return [figures.price, await page.textContent("#middle"), await page.textContent("#decision dd"), place];
}

/** Keep the plan of the file, choose from a list or move a slider to its last stop, and return the price of both. */
async function comparedPlan(page, [key, choice]) {
  await page.click("#reset");
  await page.click("#keep");
  if (choice) await page.selectOption(selectorOf(fieldOf(key)), choice);
  else await stops(page, key);
  await page.waitForFunction(() => document.querySelector("#compared tr.differs"));
  await shown(page);
  return page.$$eval("#compared tr:first-child td", (cells) => cells.map((cell) => cell.textContent));
}

/** Move a slider to its last stop. */
async function stops(page, key) {
  await page.focus(selectorOf(`${fieldOf(key)}-slider`));
  await page.keyboard.press("End");
  await shown(page);
  return figures(page);
}

// Nobody waits for the observations of a test that was killed.
const tests = process.ppid;
setInterval(() => process.ppid === tests || process.exit(1), 1000).unref();
const request = JSON.parse(await text(process.stdin));
let browser;
try {
  browser = await startBrowser();
} catch (error) {
  console.log(JSON.stringify({ skip: String(error) }));
  process.exit(0);
}
try {
  const observe = { shortly: observeShortly, wholly: observeWholly, time, draw, preview }[request.observe];
  console.log(JSON.stringify(await observe(browser, request)));
} finally {
  await browser.close();
}
