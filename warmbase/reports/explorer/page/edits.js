/**
 * The values that differ from the file, after a change of one of them.
 *
 * @typedef {import("./types.d.ts").Input} Input
 * @typedef {import("./types.d.ts").Values} Values
 */

const NONE = "none";

/**
 * Return whether the value of an input means nothing: a compression ratio without a codec.
 *
 * @param {Input} input
 * @param {Input[]} inputs
 * @param {Values} values
 */
export function isMeaningless({ needs }, inputs, values) {
  const needed = inputs.find(({ key }) => key === needs);
  return needed !== undefined && (values[needs] ?? needed.text) === NONE;
}

/** The changes of the user. */
export class Edits {
  /** @param {Input[]} inputs */
  constructor(inputs) {
    this.inputs = inputs;
    /**
     * The values that the page has left out, because they mean nothing at present.
     *
     * @type {Values}
     */
    this.omitted = {};
  }

  /**
   * Return the values after a change. A value that means nothing from now on is left out, until it has a meaning again.
   *
   * @param {Values} before
   * @param {string} key
   * @param {string} text
   * @returns {Values}
   */
  after(before, key, text) {
    const values = this.#with(before, key, text);
    for (const input of this.inputs.filter(({ needs }) => needs === key)) {
      const [was, is] = [before, values].map((one) => isMeaningless(input, this.inputs, one));
      if (is && !was) {
        this.omitted[input.key] = values[input.key] ?? input.text;
        delete values[input.key];
      }
      if (was && !is) Object.assign(values, this.#with({}, input.key, this.omitted[input.key] ?? input.text));
    }
    return values;
  }

  /**
   * Return the values with another one, without a value that is that of the file.
   *
   * @param {Values} before
   * @param {string} key
   * @param {string} text
   * @returns {Values}
   */
  #with(before, key, text) {
    const values = { ...before };
    if (this.inputs.some((input) => input.key === key && input.text === text)) delete values[key];
    else values[key] = text;
    return values;
  }
}
