/**
 * The environment file with the values of the page, which the user can copy or save.
 */

import { byId, setText } from "./elements.js";

/** @param {string} text */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    setText(byId("done"), "The environment file is copied.");
  } catch {
    /** @type {HTMLDetailsElement} */ (byId("yaml-details")).open = true;
    setText(byId("done"), "The browser does not allow copying. The file is shown at the end of the page.");
  }
}

/**
 * @param {string} text
 * @param {string} file
 */
export function saveText(text, file) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/yaml" }));
  link.download = file;
  link.click();
  URL.revokeObjectURL(link.href);
  setText(byId("done"), `The browser is saving ${file}.`);
}
