// The shapes of the data that Python sends to the page; the keys of a plan are those of `warmbase plan --output json`.

export type Values = Record<string, string>;
export type Kind = "size" | "count" | "share" | "time" | "usd" | "ratio" | "skew" | "choice";

export interface Input {
  key: string;
  section: string;
  title: string;
  kind: Kind;
  least: number;
  most: number;
  choices: string[];
  optional: boolean;
  text: string;
  description: string;
}

export interface Figure {
  id: string;
  title: string;
  text: string;
  note: string;
}

export interface Price {
  usd_per_month: number | null;
  p99_ms: number | null;
}

/** One plan of a plot: `series` names its line or bar, and `x` is the amount of data or the factor of the input. */
export interface Step {
  plot: "data" | "inputs";
  series: string;
  x: number;
  label: string;
  values: Values;
  free: boolean;
  price?: Price;
}

export interface Resource {
  name: string;
  max_reads_per_second: number | null;
}

export interface Plan {
  environment: string;
  cluster: string;
  release: string;
  mode: string;
  core: { instance_type: string; count: number };
  memory: { ram_bytes: number; parts: Record<string, number> };
  bucket_cache: { size_mib: number } | null;
  hit_ratio: { predicted: number; curve: [number, number][]; knee_bytes: number };
  throughput: {
    reads_per_second: number;
    offered_reads_per_second: number | null;
    bottleneck: string;
    resources: Resource[];
  };
  bad_hours: { cold: { course: [number, number, number][] } | null };
  cost: { usd_per_month: number; lines: { item: string; usd_per_month: number }[] };
  warnings: { severity: string; message: string; fix: string }[];
}

/** A problem of the input `where`, or of none of them. */
export interface Problem {
  where: string;
  text: string;
}

/** An event of the first day; without `hours` and `hit_ratio`, it has no mark in the plot. */
export interface DayEvent {
  hours: number | null;
  hit_ratio: number | null;
  label: string;
  text: string;
}

/** The first hours of a cluster: each course has points of (hours, hit ratio). */
export interface Day {
  hours: number;
  course: [number, number][];
  fill: [number, number][];
  boosted: [number, number][];
  events: DayEvent[];
}

export interface Answer {
  figures: Figure[];
  verdict: string;
  decides: string;
  /** The middle of each range, for which the plan is made; empty without ranges. */
  middle: string;
  plan: Plan;
  day: Day | null;
  /** Points of (bytes of cache, dollars a month); empty without a cache on EBS volumes. */
  cache_price: [number, number][];
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
}

/** The storage modes side by side: each row has a figure's name, and its text for each mode. */
export interface ModeTable {
  names: string[];
  rows: string[][];
  summaries: string[];
}

/** The plans of a page without a server: the plan of the file, and one for each value at which a slider stops. */
export interface Report {
  base: Answer;
  advice: string[];
  rows: [string, string][];
  modes: ModeTable | null;
  variants: Record<string, { text: string; answer: Answer }[]>;
  written: string;
}

/** The source of the page's plans. */
export interface Plans {
  /** Whether there is a plan for these values; a server has one for all. */
  has(values: Values): boolean;
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
  /** A second text for each tick of a horizontal axis. */
  second?: (value: number) => string;
}

export interface Series {
  name: string;
  points: [number, number][];
  look: 1 | 2 | 3;
}

export interface Mark {
  x: number;
  y: number;
  label: string;
}

export interface LinePlot {
  title: string;
  description: string;
  x: Axis;
  y: Axis;
  series: Series[];
  marks: Mark[];
}

export interface Bar {
  name: string;
  text: string;
  from: number;
  to: number;
  strong?: boolean;
}
