/**
 * The fields of the inputs: a label, then a slider and a text field, or a list, and a message if a value is refused.
 * The fields of a table are a section that the user can collapse.
 *
 * @typedef {import("./types.d.ts").Input} Input
 * @typedef {import("./types.d.ts").Problem} Problem
 * @typedef {import("./types.d.ts").Values} Values
 * @typedef {{input: Input, slider: HTMLInputElement | null, text: HTMLInputElement | HTMLSelectElement, message: HTMLElement}} Field
 */

import { isMeaningless } from "./edits.js";
import { element, setText } from "./elements.js";
import { parseQuantity, quantityText, sliderShare, sliderValue } from "./quantity.js";

const SLIDER_STEPS = 200;

/** All fields of the page. They call `onChange` with each new value, and with whether it is the last one of a move. */
export class Fields {
  /**
   * @param {HTMLElement} form
   * @param {Input[]} inputs
   * @param {Record<string, string[]> | null} stops the values at which each slider stops; null if they do not stop
   * @param {(key: string, text: string, isLast: boolean) => void} onChange
   */
  constructor(form, inputs, stops, onChange) {
    this.stops = stops;
    this.onChange = onChange;
    /** @type {Map<string, Field>} */
    this.fields = new Map();
    for (const table of new Set(inputs.map((input) => input.table))) {
      const groups = this.#groups(inputs.filter((input) => input.table === table));
      if (table) form.append(element("details", {}, element("summary", {}, table), ...groups));
      else form.append(...groups);
    }
    form.querySelector("details")?.setAttribute("open", "");
  }

  /**
   * Show these values, and the values of the file for all other inputs.
   *
   * @param {Values} values
   */
  show(values) {
    const inputs = [...this.fields.values()].map(({ input }) => input);
    for (const field of this.fields.values()) {
      const value = values[field.input.key];
      const isDisabled = isMeaningless(field.input, inputs, values);
      this.#set(field, isDisabled ? field.input.without : (value ?? field.input.text));
      if (field.input.needs) this.#disable(field, isDisabled);
      if (value !== undefined) expand(field);
    }
  }

  /** The titles and values of the inputs, for the printed page. The values of all tables follow one title. */
  get text() {
    const stated = [...this.fields.values()].filter(({ text }) => text.value !== "");
    const titles = [...new Set(stated.map(({ input }) => input.title))];
    return titles
      .map((title) => {
        const values = stated
          .filter(({ input }) => input.title === title)
          .map(({ input: { table }, text: { value } }) => (table ? `${table} ${value}` : value));
        return `${title}: ${values.join(", ")}`;
      })
      .join(" · ");
  }

  /**
   * Show each problem below its field, and return the problems that belong to no field.
   *
   * @param {Problem[]} problems
   * @returns {Problem[]}
   */
  showProblems(problems) {
    for (const field of this.fields.values()) {
      const own = problems.filter((problem) => problem.where === field.input.key);
      setText(field.message, own.map((problem) => problem.text).join(" ") || this.#reasonOf(field));
      field.text.setAttribute("aria-invalid", String(own.length > 0));
      if (own.length > 0) expand(field);
    }
    return problems.filter((problem) => !this.fields.has(problem.where));
  }

  /**
   * Disable a field whose value means nothing, or enable it.
   *
   * @param {Field} field
   * @param {boolean} isDisabled
   */
  #disable(field, isDisabled) {
    field.text.disabled = isDisabled;
    if (field.slider) field.slider.disabled = isDisabled || this.stops !== null;
    setText(field.message, this.#reasonOf(field));
  }

  /**
   * Return the reason why a field is disabled; empty if no other field is the reason.
   *
   * @param {Field} field
   */
  #reasonOf({ input: { needs }, text }) {
    const needed = this.fields.get(needs);
    return needed && text.disabled ? `${needed.input.title} is none.` : "";
  }

  /**
   * Return a group of fields for each section of the inputs.
   *
   * @param {Input[]} inputs
   */
  #groups(inputs) {
    return [...new Set(inputs.map(({ section }) => section))].map((section) => {
      const own = inputs.filter((input) => input.section === section);
      const table = own[0]?.table;
      return element(
        "fieldset",
        table ? { "aria-label": `${table}: ${section}` } : {},
        element("legend", {}, section),
        ...own.map((input) => this.#row(input)),
      );
    });
  }

  /** @param {Input} input */
  #row(input) {
    // The name of a table may have any of the characters . - _ : /, so none of them can replace another.
    const id = `input-${input.key}`;
    const message = element("p", { class: "message", id: `${id}-message` });
    const text = this.#text(input, id, message.id);
    const slider = this.#slider(input, id);
    this.fields.set(input.key, { input, slider, text, message });
    const label = element("label", { for: id, title: `${input.key}: ${input.description}` }, input.title);
    return element("div", { class: "field" }, label, ...(slider ? [slider] : []), text, message);
  }

  /**
   * @param {Input} input
   * @param {string} id
   * @param {string} messageId
   */
  #text(input, id, messageId) {
    const attributes = { id, "aria-describedby": messageId, name: input.key };
    if (input.kind === "choice") {
      const stops = this.stops?.[input.key];
      const options = (stops ?? input.choices).map((choice) => element("option", { value: choice }, choice));
      const select = element("select", attributes, ...options);
      select.disabled = this.stops !== null && !stops;
      select.addEventListener("change", () => this.onChange(input.key, select.value, true));
      return select;
    }
    const text = element("input", { ...attributes, type: "text", spellcheck: "false", placeholder: "not stated" });
    text.readOnly = this.stops !== null;
    text.addEventListener("input", () => this.onChange(input.key, text.value, false));
    text.addEventListener("change", () => this.onChange(input.key, text.value, true));
    text.addEventListener("input", () => {
      markRange(text);
      this.#place(input.key);
    });
    return text;
  }

  /**
   * @param {Input} input
   * @param {string} id
   * @returns {HTMLInputElement | null}
   */
  #slider(input, id) {
    if (input.kind === "choice") return null;
    const stops = this.stops && (this.stops[input.key] ?? []);
    const most = stops ? stops.length - 1 : isCount(input) ? input.most - input.least : SLIDER_STEPS;
    const attributes = { type: "range", min: "0", max: String(Math.max(0, most)), id: `${id}-slider` };
    const slider = element("input", { ...attributes, "aria-label": `${nameOf(input)}, slider` });
    slider.disabled = stops?.length === 0;
    const moved = (/** @type {boolean} */ isLast) => {
      const text = stops ? (stops[slider.valueAsNumber] ?? input.text) : this.#sliderText(input, slider);
      this.#write(input.key, text);
      this.onChange(input.key, text, isLast);
    };
    slider.addEventListener("input", () => moved(false));
    slider.addEventListener("change", () => moved(true));
    return slider;
  }

  /**
   * @param {Input} input
   * @param {HTMLInputElement} slider
   */
  #sliderText(input, slider) {
    const share = slider.valueAsNumber / Number(slider.max);
    return quantityText(input.kind, sliderValue(input, share));
  }

  /**
   * @param {Field} field
   * @param {string} text
   */
  #set({ input, text: shown }, text) {
    // Setting the same text again would move the cursor of a user who is typing.
    if (shown.value !== text) shown.value = text;
    markRange(shown);
    this.#place(input.key);
  }

  /**
   * @param {string} key
   * @param {string} text
   */
  #write(key, text) {
    const field = this.fields.get(key);
    if (!field) return;
    field.text.value = text;
    markRange(field.text);
    field.slider?.setAttribute("aria-valuetext", text);
  }

  /**
   * Move a slider to the value in its text field; it does not move if the text is not a value.
   *
   * @param {string} key
   */
  #place(key) {
    const field = this.fields.get(key);
    if (!field?.slider) return;
    const { input, slider, text } = field;
    const stops = this.stops && (this.stops[key] ?? []);
    const value = text.value === "" ? input.most : parseQuantity(input.kind, text.value);
    if (stops) slider.value = String(Math.max(0, stops.indexOf(text.value)));
    else if (value !== null) slider.value = String(Math.round(sliderShare(input, value) * Number(slider.max)));
    slider.setAttribute("aria-valuetext", text.value || "not stated");
  }
}

/**
 * Return the title of an input, with the name of its table.
 *
 * @param {Input} input
 */
function nameOf({ table, title }) {
  return table ? `${table}: ${title}` : title;
}

/**
 * Expand the section of a field, so that its value is visible.
 *
 * @param {Field} field
 */
function expand({ text }) {
  text.closest("details")?.setAttribute("open", "");
}

/**
 * Mark a field that contains a range, which is set in a smaller font so that it fits.
 *
 * @param {HTMLElement & {value: string}} text
 */
function markRange(text) {
  text.classList.toggle("range", text.value.includes(".."));
}

/**
 * Return whether the slider has one step for each whole number.
 *
 * @param {Input} input
 */
function isCount(input) {
  return input.kind === "count" && input.most - input.least < SLIDER_STEPS;
}
