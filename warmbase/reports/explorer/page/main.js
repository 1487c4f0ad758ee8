/**
 * The page: each change of an input updates the address, and then the plan, the headline and the plots.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").Plans} Plans
 * @typedef {import("./types.d.ts").Report} Report
 * @typedef {import("./types.d.ts").State} State
 * @typedef {import("./types.d.ts").Subject} Subject
 * @typedef {import("./types.d.ts").Values} Values
 */

import { stateOf, undoDepth, writeAddress } from "./address.js";
import { showColumns, showComparison } from "./comparison.js";
import { Drawings } from "./drawings.js";
import { Edits } from "./edits.js";
import { byId, pageData, setText } from "./elements.js";
import { Fields } from "./fields.js";
import { copyText, saveText } from "./files.js";
import { showAdvice, showDecision, showHeadline, showProblems, showText } from "./headline.js";
import { filePlans, serverPlans, stopsOf } from "./plans.js";

/** The time from the last change until the page requests the many plans that two plots need. */
const IDLE_MILLISECONDS = 400;
/** The longest time that a change waits for the plan of an earlier one. Most plans take less. */
const PATIENCE_MILLISECONDS = 200;

/** The page with its state. */
class Page {
  /**
   * @param {Subject} subject
   * @param {Report | undefined} report
   */
  constructor(subject, report) {
    this.subject = subject;
    this.report = report;
    this.plans = report ? filePlans(report) : serverPlans();
    this.edits = new Edits(subject.inputs);
    this.state = this.#stateOfAddress();
    this.fields = new Fields(byId("inputs"), subject.inputs, report ? stopsOf(report) : null, (...change) =>
      this.#change(...change),
    );
    this.drawings = new Drawings(byId("plots"), subject.places);
    this.isMoving = false;
    this.asked = new AbortController();
    this.requested = new AbortController();
    /** @type {Promise<void>} */
    this.headline = Promise.resolve();
    /** @type {Answer | null} */
    this.answer = null;
    this.#describe();
    this.#listen();
  }

  /** Show the state of the page in its fields, and the plan for it. */
  show() {
    this.fields.show(this.state.values);
    this.#ask();
  }

  /**
   * Return the state of the address, or that of the file where there is no plan for it.
   *
   * @returns {State}
   */
  #stateOfAddress() {
    const state = stateOf(location.hash, new Set(this.subject.inputs.map(({ key }) => key)));
    const isPlanned = this.plans.has(state.values) && this.plans.has(state.kept ?? {});
    return isPlanned ? state : { values: {}, kept: null };
  }

  #describe() {
    const { name, cluster, file, sets } = this.subject;
    document.title = `${name}: plan`;
    setText(byId("title"), `${name} / ${cluster}`);
    setText(byId("footer"), "All figures are those of warmbase plan. Latencies and times are estimates.");
    const start = sets ? `the values of ${file} and of --set` : `the values of ${file}`;
    const note = `The page starts with ${start}, and does not change that file.`;
    setText(byId("note"), this.report?.note ?? note);
    for (const id of ["copy", "save"]) byId(id).hidden = this.report !== undefined;
    byId("yaml-details").hidden = this.report !== undefined;
    if (this.report) this.#showFileOnly(this.report);
  }

  /**
   * Show the parts of a report that do not follow its sliders: two plots, the advice, and plans side by side.
   *
   * @param {Report} report
   */
  #showFileOnly({ base, advice, columns }) {
    if (columns) showColumns(columns);
    this.drawings.showPrices(base.steps, base);
    showAdvice(advice);
  }

  #listen() {
    addEventListener("popstate", () => {
      this.state = this.#stateOfAddress();
      this.show();
    });
    byId("inputs").addEventListener("submit", (event) => event.preventDefault());
    byId("undo").addEventListener("click", () => history.back());
    byId("reset").addEventListener("click", () => this.#go({ ...this.state, values: {} }));
    byId("keep").addEventListener("click", () => this.#go({ ...this.state, kept: this.state.values }));
    byId("drop").addEventListener("click", () => this.#go({ ...this.state, kept: null }));
    byId("swap").addEventListener("click", () => this.#go({ values: this.state.kept ?? {}, kept: this.state.values }));
    byId("copy").addEventListener("click", () => copyText(this.answer?.yaml ?? ""));
    byId("save").addEventListener("click", () => saveText(this.answer?.yaml ?? "", this.subject.file));
  }

  /**
   * Apply a new value of an input.
   *
   * @param {string} key
   * @param {string} text
   * @param {boolean} isLast whether the move of the slider, or the typing, has ended
   */
  #change(key, text, isLast) {
    const values = this.edits.after(this.report ? {} : this.state.values, key, text);
    const differs = JSON.stringify(values) !== JSON.stringify(this.state.values);
    if (differs) {
      this.state = { ...this.state, values };
      writeAddress(this.state, !this.isMoving);
      if (this.report || this.subject.inputs.some(({ needs }) => needs === key)) this.fields.show(values);
      this.#ask();
    }
    this.isMoving = !isLast && (this.isMoving || differs);
  }

  /** @param {State} state */
  #go(state) {
    this.state = state;
    writeAddress(state, true);
    this.show();
  }

  /**
   * Request the plan of the current state, and cancel what earlier states still request. The headline shows the plan of
   * an earlier state if it is ready soon, so that it follows a slider that moves; of the states that wait for it, only
   * the newest is requested.
   */
  async #ask() {
    this.asked.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    byId("headline").setAttribute("aria-busy", "true");
    /** @type {HTMLButtonElement} */ (byId("undo")).disabled = undoDepth() === 0;
    /** @type {HTMLButtonElement} */ (byId("reset")).disabled = Object.keys(this.state.values).length === 0;
    await Promise.race([this.headline, pause(PATIENCE_MILLISECONDS)]);
    if (signal.aborted) return;
    this.requested.abort();
    this.requested = new AbortController();
    this.headline = this.#request(signal, this.requested.signal);
  }

  /**
   * Show the headline of a state, or that no cluster meets its targets and that the nearest one is being computed.
   *
   * @param {AbortSignal} changed
   * @param {AbortSignal} replaced
   */
  async #request(changed, replaced) {
    const { values } = this.state;
    try {
      const answer = await this.plans.quick(values, replaced);
      if ("pending" in answer) this.#wait(answer.pending, this.plans.plan(values, replaced), changed, replaced);
      else this.#finish(answer, changed);
    } catch (error) {
      if (!replaced.aborted) this.#fail(error);
    }
  }

  /**
   * Show a verdict until the plan is ready.
   *
   * @param {string} verdict
   * @param {Promise<Answer>} plan
   * @param {AbortSignal} changed
   * @param {AbortSignal} replaced
   */
  async #wait(verdict, plan, changed, replaced) {
    this.fields.showProblems([]);
    showProblems([]);
    setText(byId("verdict"), verdict);
    try {
      this.#finish(await plan, changed);
    } catch (error) {
      if (!replaced.aborted) this.#fail(error);
    }
  }

  /**
   * Show the headline of an answer, and the rest of the page if the state has not changed by then.
   *
   * @param {Answer} answer
   * @param {AbortSignal} changed
   */
  #finish(answer, changed) {
    if (!answer.problems) this.#show(answer);
    if (changed.aborted) return;
    byId("headline").removeAttribute("aria-busy");
    if (answer.problems) this.#refuse(answer);
    else this.#complete(answer, changed);
  }

  /** @param {Answer} answer */
  #refuse({ problems }) {
    byId("headline").classList.add("earlier");
    showProblems(this.fields.showProblems(problems ?? []));
    const figures = this.answer ? "The figures are those of the last accepted values." : "Correct it to see a plan.";
    setText(byId("verdict"), `A value is refused. ${figures}`);
  }

  /** @param {unknown} error */
  #fail(error) {
    byId("headline").removeAttribute("aria-busy");
    byId("headline").classList.add("earlier");
    setText(
      byId("verdict"),
      `Could not get the plan: ${error instanceof Error ? error.message : error}. Is warmbase explore still running?`,
    );
  }

  /** @param {Answer} answer */
  #show(answer) {
    this.answer = answer;
    byId("headline").classList.remove("earlier");
    this.fields.showProblems([]);
    showHeadline(answer);
    setText(byId("values"), this.fields.text);
    setText(byId("platform"), answer.platform);
  }

  /**
   * Show the plots and the texts, the comparison, and what needs further plans, until the state changes.
   *
   * @param {Answer} answer
   * @param {AbortSignal} signal
   */
  async #complete(answer, signal) {
    try {
      await nextFrame();
      if (signal.aborted) return;
      this.drawings.show(answer);
      showText(answer);
      showDecision(this.#hasDecision(answer), null);
      document.body.dataset.shown = location.hash;
      await this.#compare(answer, signal);
      if (this.report) await this.#decide(answer, signal);
      else await this.#follow(answer, signal);
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  /**
   * @param {Answer} answer
   * @param {AbortSignal} signal
   */
  async #compare(answer, signal) {
    const { kept } = this.state;
    const before = kept && (await this.plans.plan(kept, signal));
    if (!signal.aborted) showComparison(before?.problems ? null : before, answer);
  }

  /**
   * Return whether there is a cluster for the ranges: a report has only that for the values of the file.
   *
   * @param {Answer} answer
   */
  #hasDecision({ middle }) {
    return middle !== "" && !(this.report && Object.keys(this.state.values).length > 0);
  }

  /**
   * Request the cluster for all values of the ranges, if there are ranges.
   *
   * @param {Answer} answer
   * @param {AbortSignal} signal
   */
  async #decide(answer, signal) {
    if (!this.#hasDecision(answer)) return;
    const decision = await this.plans.ranges(this.state.values, signal);
    if (!signal.aborted) showDecision(true, decision);
  }

  /**
   * Request one price after another, and then the advice, until a change cancels the requests.
   *
   * @param {Answer} answer
   * @param {AbortSignal} signal
   */
  async #follow(answer, signal) {
    await pause(IDLE_MILLISECONDS);
    if (signal.aborted) return;
    await this.#decide(answer, signal);
    const steps = answer.steps.map((step) => ({ ...step }));
    this.drawings.showPrices(steps, answer);
    for (const step of steps) {
      if (signal.aborted) return;
      step.price = await this.plans.price(step, signal);
      if (!signal.aborted) this.drawings.showPrices(steps, answer);
    }
    const { advice } = await this.plans.advice(this.state.values, signal);
    if (!signal.aborted) showAdvice(advice ?? []);
  }
}

/** Wait until the browser has painted the changes. */
function nextFrame() {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** @param {number} milliseconds */
function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

new Page(pageData("subject"), pageData("report")).show();
