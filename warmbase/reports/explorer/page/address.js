/**
 * The state of the page in its address, so that a link, a bookmark and the Back button restore it.
 *
 * @typedef {import("./types.d.ts").State} State
 * @typedef {import("./types.d.ts").Values} Values
 */

const KEPT = "kept";

/**
 * Return the state that the address describes, without keys that are not inputs of this page.
 *
 * @param {string} hash
 * @param {Set<string>} keys
 * @returns {State}
 */
export function stateOf(hash, keys) {
  const parameters = new URLSearchParams(hash.replace(/^#/, ""));
  const kept = parameters.get(KEPT);
  return {
    values: knownValues(parameters, keys),
    kept: kept === null ? null : knownValues(new URLSearchParams(kept), keys),
  };
}

/**
 * @param {URLSearchParams} parameters
 * @param {Set<string>} keys
 * @returns {Values}
 */
function knownValues(parameters, keys) {
  return Object.fromEntries([...parameters].filter(([key]) => keys.has(key)));
}

/**
 * Return the fragment of the address, from its `#`, that describes a state.
 *
 * @param {State} state
 * @returns {string}
 */
export function hashOf({ values, kept }) {
  const parameters = new URLSearchParams(values);
  if (kept) parameters.set(KEPT, new URLSearchParams(kept).toString());
  return `#${parameters}`;
}

/** Return the number of changes that led to this state; Undo can revert this many. */
export function undoDepth() {
  return Number(history.state?.depth ?? 0);
}

/**
 * Write a state into the address. While a slider moves, its states replace each other, and only the first one adds an
 * entry to the history, so that going back once undoes the whole move.
 *
 * @param {State} state
 * @param {boolean} isNew
 */
export function writeAddress(state, isNew) {
  if (isNew) history.pushState({ depth: undoDepth() + 1 }, "", hashOf(state));
  else history.replaceState(history.state, "", hashOf(state));
}
