/**
 * The sources of the page's plans: the server, or the plans that Python has put into the file.
 *
 * @typedef {import("./types.d.ts").Plans} Plans
 * @typedef {import("./types.d.ts").Report} Report
 * @typedef {import("./types.d.ts").Values} Values
 */

/**
 * Return the plans that the server computes. The number rises with each change of the values, so that the server can
 * skip superseded requests.
 *
 * @returns {Plans}
 */
export function serverPlans() {
  const page = crypto.randomUUID();
  let number = 0;
  /** @type {(kind: string, values: Values, column: string, signal: AbortSignal) => Promise<any>} */
  const request = async (kind, values, column, signal) => {
    const body = JSON.stringify({ page, number, values, column });
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(kind, { method: "POST", headers, body, signal });
    if (!response.ok) throw new Error(`the server answered ${response.status} ${response.statusText}`);
    return response.json();
  };
  return {
    has: () => true,
    quick: (values, signal) => {
      number += 1;
      return request("quick", values, "", signal);
    },
    plan: (values, signal) => request("plan", values, "", signal),
    price: (step, signal) => request("price", step.values, step.column, signal),
    advice: (values, signal) => request("advice", values, "", signal),
    ranges: (values, signal) => request("ranges", values, "", signal),
  };
}

/**
 * Return the plans in the file: the plan of the environment file, and the plans that change one of its inputs.
 *
 * @param {Report} report
 * @returns {Plans}
 */
export function filePlans(report) {
  const plan = async (/** @type {Values} */ values) => variantOf(report, values) ?? report.base;
  return {
    // Each plan of a report differs from the file in one value.
    has: (values) => {
      const changes = Object.keys(values).length;
      return changes === 0 || (changes === 1 && variantOf(report, values) !== undefined);
    },
    quick: plan,
    plan,
    price: async (step) => step.price ?? { usd_per_month: null },
    advice: async () => ({ advice: report.advice }),
    ranges: async () => ({ rows: report.rows }),
  };
}

/**
 * @param {Report} report
 * @param {Values} values
 */
function variantOf(report, values) {
  const [entry] = Object.entries(values);
  return entry && report.variants[entry[0]]?.find(({ text }) => text === entry[1])?.answer;
}

/**
 * Return the values at which each slider of a report stops: the value of the file is one of them.
 *
 * @param {Report} report
 */
export function stopsOf({ variants }) {
  return Object.fromEntries(Object.entries(variants).map(([key, plans]) => [key, plans.map(({ text }) => text)]));
}
