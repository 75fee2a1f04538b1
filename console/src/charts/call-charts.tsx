// The charts of a histogram of calls: how many there were and how many failed, and what they cost.
import { useMemo } from "react";
import type { CallHistogram } from "../api/types.ts";
import { shortCount, wholeCount } from "../format/count.ts";
import { nanoUsd, shortUsd } from "../format/money.ts";
import { BUCKET_WORDS } from "./chart-time.ts";
import { TimeChart } from "./time-chart.tsx";

interface CallChartsProps {
  readonly histogram: CallHistogram;
  /** A range that was chosen, as times in UTC. */
  readonly choose: (from: string, to: string) => void;
}

/** Values of both axes; amounts are rounded to what a number holds, and only drawn. */
function useCharted({ data, to }: CallHistogram) {
  return useMemo(
    () => ({
      startsMs: data.map(({ at }) => Date.parse(at)),
      endMs: Date.parse(to),
      calls: [
        { name: "calls", tone: "calls", values: data.map(({ calls }) => calls) },
        { name: "failed", tone: "errors", values: data.map(({ errors }) => errors) },
      ] as const,
      cost: [
        { name: "cost", tone: "cost", values: data.map(({ cost_usd: cost }) => Number(nanoUsd(cost) ?? 0n) / NANO) },
      ] as const,
    }),
    [data, to],
  );
}

const NANO = 1e9;

export function CallChart({ histogram, choose }: CallChartsProps) {
  const { startsMs, endMs, calls } = useCharted(histogram);
  return (
    <TimeChart
      title={`Calls per ${BUCKET_WORDS[histogram.bucket]}`}
      startsMs={startsMs}
      endMs={endMs}
      series={calls}
      format={countAtAxis}
      isCount
      choose={(first, last) => choose(...rangeOf(histogram, first, last))}
    />
  );
}

function CostChart({ histogram, choose }: CallChartsProps) {
  const { startsMs, endMs, cost } = useCharted(histogram);
  return (
    <TimeChart
      title={`Cost in US dollars per ${BUCKET_WORDS[histogram.bucket]}`}
      startsMs={startsMs}
      endMs={endMs}
      series={cost}
      format={dollars}
      isCount={false}
      choose={(first, last) => choose(...rangeOf(histogram, first, last))}
    />
  );
}

/** Both, beside each other. */
export function CallTrends(props: CallChartsProps) {
  return (
    <div className="trends">
      <CallChart {...props} />
      <CostChart {...props} />
    </div>
  );
}

const LONG = 100_000;
const countAtAxis = (value: number): string => (value < LONG ? wholeCount(value) : shortCount(value));
const dollars = (value: number): string => shortUsd(BigInt(Math.round(value * NANO)));

function rangeOf({ data, to }: CallHistogram, first: number, last: number): readonly [from: string, to: string] {
  return [data[first]!.at, data[last + 1]?.at ?? to];
}
