// The shapes of the data that Python sends to the page; the keys of a plan are those of `warmbase plan --output json`.

export type Values = Record<string, string>;
export type Kind = "size" | "count" | "share" | "time" | "usd" | "ratio" | "multiple" | "skew" | "choice";

export interface Input {
  key: string;
  /** The name of the table that the input belongs to; empty for all other inputs. */
  table: string;
  section: string;
  title: string;
  kind: Kind;
  least: number;
  most: number;
  choices: string[];
  optional: boolean;
  text: string;
  description: string;
  /** The key of the input without which this one means nothing; empty if it always means something. */
  needs: string;
  /** The value while it means nothing. */
  without: string;
}

export interface Figure {
  id: string;
  title: string;
  text: string;
  note: string;
}

export interface Price {
  usd_per_month: number | null;
}

/** The place of a plot: lines or bars of the plan, or further plans as lines of prices or as a tornado. */
export interface Place {
  id: string;
  kind: "lines" | "bars" | "prices" | "tornado";
  title: string;
  advice: string;
  /** The number of rows that bars or the sentences below lines reserve. */
  rows: number;
  /** The label of the horizontal axis of prices. */
  x: string;
  /** The reason why there are no further plans. */
  missing: string;
  /** Whether the plot has a row of its own. */
  is_wide: boolean;
}

/** One plan of a plot: `series` names its line or bar, and `x` is the amount of data or the factor of the input. */
export interface Step {
  plot: string;
  series: string;
  x: number;
  label: string;
  values: Values;
  /** The column of `warmbase compare` that has the plan; empty for a plan of the page's own cluster. */
  column: string;
  price?: Price;
}

/** A problem of the input `where`, or of none of them. */
export interface Problem {
  where: string;
  text: string;
}

export interface Answer {
  figures: Figure[];
  /** The engine or storage mode with its release. */
  platform: string;
  verdict: string;
  decides: string;
  usd_per_month: number;
  warnings: string[];
  plots: { lines: Record<string, LinePlot | null>; bars: Record<string, BarPlot> };
  /** The middle of each range, for which the plan is made; empty without ranges. */
  middle: string;
  yaml: string;
  command: string;
  steps: Step[];
  problems?: Problem[];
}

/** The cluster that suits all values of the ranges: rows of a label and a text. A row without a label continues. */
export interface Decision {
  rows?: [string, string][];
  problems?: Problem[];
}

export interface Advice {
  advice?: string[];
  problems?: Problem[];
}

export interface Subject {
  name: string;
  cluster: string;
  file: string;
  /** Whether options of the command replace values of the file. */
  sets: boolean;
  inputs: Input[];
  places: Place[];
}

/** Plans side by side: each row has a figure's name, and its text in each column. */
export interface ColumnTable {
  title: string;
  names: string[];
  rows: string[][];
  summaries: string[];
}

/** The plans of a page without a server: the plan of the file, and one for each value at which a slider stops. */
export interface Report {
  base: Answer;
  advice: string[];
  rows: [string, string][];
  columns: ColumnTable | null;
  variants: Record<string, { text: string; answer: Answer }[]>;
  note: string;
}

/** The source of the page's plans. */
export interface Plans {
  /** Whether there is a plan for these values; a server has one for all. */
  has(values: Values): boolean;
  /** The plan; only its verdict if no cluster meets the targets, and the nearest one takes a further search. */
  quick(values: Values, signal: AbortSignal): Promise<Answer | { pending: string }>;
  plan(values: Values, signal: AbortSignal): Promise<Answer>;
  price(step: Step, signal: AbortSignal): Promise<Price>;
  advice(values: Values, signal: AbortSignal): Promise<Advice>;
  ranges(values: Values, signal: AbortSignal): Promise<Decision>;
}

export interface State {
  values: Values;
  kept: Values | null;
}

export interface Axis {
  label: string;
  least: number;
  most: number;
  kind: "size" | "share" | "hours" | "usd" | "rate";
  /** Points of (value, dollars): the axis shows the dollars below its values. */
  usd: [number, number][];
}

export interface Series {
  name: string;
  points: [number, number][];
  style: 1 | 2 | 3;
}

export interface Mark {
  x: number;
  y: number;
  label: string;
  /** Whether the label also names the value on the horizontal axis. */
  names_x: boolean;
}

export interface LinePlot {
  title: string;
  description: string;
  x: Axis;
  y: Axis;
  series: Series[];
  marks: Mark[];
  /** Sentences below the plot. */
  events: string[];
}

export interface BarPlot {
  kind: Axis["kind"];
  bars: { name: string; value: number; strong: boolean }[];
  most: number;
}

/** One bar from a value to another. */
export interface Range {
  name: string;
  text: string;
  from: number;
  to: number;
  strong: boolean;
}
