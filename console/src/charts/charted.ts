// What a chart is made of: values over time, and how they are drawn and told.
import type { ChartTime } from "./chart-time.ts";

/** The colours are in the style sheet. */
export type Tone = "calls" | "errors" | "cost";

export interface ChartSeries {
  readonly name: string;
  readonly tone: Tone;
  /** One for each bucket. */
  readonly values: readonly number[];
}

export interface TimeChartProps extends ChartTime {
  /** What is shown, with its unit, such as `Calls per hour`. */
  readonly title: string;
  /** Drawn over each other, so that a part of the first one comes later. */
  readonly series: readonly ChartSeries[];
  readonly format: (value: number) => string;
  /** Only whole numbers stand at the axis. */
  readonly isCount: boolean;
  /** The first and the last bucket that were chosen. */
  readonly choose: (first: number, last: number) => void;
}
