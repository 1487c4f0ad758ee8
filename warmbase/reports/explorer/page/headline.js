/**
 * The headline figures, and the texts above and below the plots.
 *
 * @typedef {import("./types.d.ts").Answer} Answer
 * @typedef {import("./types.d.ts").Decision} Decision
 * @typedef {import("./types.d.ts").Figure} Figure
 * @typedef {import("./types.d.ts").Problem} Problem
 */

import { byId, element, setText } from "./elements.js";

/**
 * Show the headline of an answer.
 *
 * @param {Answer} answer
 */
export function showHeadline(answer) {
  const list = byId("figures");
  if (list.childElementCount !== answer.figures.length) list.replaceChildren(...answer.figures.map(card));
  answer.figures.forEach((figure, index) => {
    const [, text, note] = list.children[index]?.children ?? [];
    if (text && note) {
      setText(text, figure.text);
      setText(note, figure.note);
    }
  });
  setText(byId("verdict"), answer.verdict);
  setText(byId("decides"), answer.decides);
  setText(byId("middle"), answer.middle);
  setText(
    byId("strip"),
    answer.figures
      .slice(0, 3)
      .map(({ text }) => text)
      .join(" · "),
  );
  showProblems([]);
}

/** @param {Figure} figure */
function card({ id, title }) {
  const names = { class: "card", id: `figure-${id}` };
  return element(
    "div",
    names,
    element("dt", {}, title),
    element("dd", { class: "text" }),
    element("dd", { class: "note" }),
  );
}

/**
 * Show the problems that belong to no field.
 *
 * @param {Problem[]} problems
 */
export function showProblems(problems) {
  byId("problems").replaceChildren(...problems.map(({ text }) => element("li", {}, text)));
}

/**
 * Show the texts below the plots: the warnings, the environment file and the command.
 *
 * @param {Answer} answer
 */
export function showText({ warnings, yaml, command }) {
  const texts = warnings.length ? warnings : ["Nothing."];
  byId("warnings").replaceChildren(...texts.map((text) => element("li", {}, text)));
  setText(byId("yaml"), yaml);
  byId("file").hidden = command === "";
  setText(byId("command"), command);
}

/**
 * Show the cluster for all values of the ranges; null while it is being computed.
 *
 * @param {boolean} hasRanges
 * @param {Decision | null} decision
 */
export function showDecision(hasRanges, decision) {
  byId("ranges").hidden = !hasRanges;
  const problems = decision?.problems?.map(({ text }) => text).join(" ") ?? "";
  setText(byId("ranges-status"), decision ? problems : "The cluster is being computed, which takes a few seconds.");
  const rows = decision?.rows ?? [];
  byId("decision").replaceChildren(
    ...rows.flatMap(([label, text]) => [...(label ? [element("dt", {}, label)] : []), element("dd", {}, text)]),
  );
}

/** @param {string[]} advice */
export function showAdvice(advice) {
  byId("advice").replaceChildren(...advice.map((line) => element("li", {}, line)));
}
