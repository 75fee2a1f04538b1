// How many calls there were over time, and how many of them failed. Dragging over the bars chooses a range; `[` and `]` move it.
import { useMemo } from "react";
import type { CallHistogram } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CallChart } from "../../charts/call-charts.tsx";
import { ChartTable } from "../../charts/chart-table.tsx";
import { Narrowed, useNarrowing } from "../../charts/narrowed.tsx";
import { WholeUntil } from "../../components/whole-until.tsx";
import { Problem } from "../../components/problem.tsx";
import { counted, wholeCount } from "../../format/count.ts";
import { dayAndTime } from "../../format/time.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { useZone } from "../../use-zone.ts";
import { useUrlState } from "../../url-state.ts";
import type { TimeRange } from "./range.ts";

interface VolumeChartProps {
  /** With the filter and the range. */
  readonly path: string;
  readonly range: TimeRange;
}

export function VolumeChart({ path, range }: VolumeChartProps) {
  const zone = useZone();
  const state = useUrlState();
  const { data, error, refetch, isPlaceholderData } = useRead<CallHistogram>(
    `${path}&timezone=${encodeURIComponent(zone)}${useNarrowing()}`,
  );
  useWindowKeys(data, range.fromMs);
  if (error !== null && data === undefined)
    return <Problem what="The chart could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div className="volume" />;
  return (
    <div className={`volume ${isPlaceholderData ? "old" : ""}`}>
      <CallChart
        histogram={data}
        choose={(from, to) => state.set({ from, to, range: null, open: null, whole: null })}
      />
      <p className="hint">
        <Totals histogram={data} range={range} />
        <Narrowed histogram={data} fromMs={range.fromMs} />
      </p>
      <ChartTable buckets={data.data} />
    </div>
  );
}

function Totals({ histogram, range }: { readonly histogram: CallHistogram; readonly range: TimeRange }) {
  const zone = useZone();
  const calls = histogram.data.reduce((sum, bucket) => sum + bucket.calls, 0);
  const errors = histogram.data.reduce((sum, bucket) => sum + bucket.errors, 0);
  return (
    <>
      {counted(calls, "call")}, {wholeCount(errors)} failed
      {histogram.looked_to !== null && `, counted back to ${dayAndTime(Date.parse(histogram.looked_to), zone)} only`}
      {range.toMs === null && `, as of ${dayAndTime(Date.parse(histogram.as_of), zone)}`}.
      {calls > 0 && " Drag over the bars to choose a range."}
      <WholeUntil at={histogram.whole_until} />
    </>
  );
}

function useWindowKeys(histogram: CallHistogram | undefined, fromMs: number): void {
  const state = useUrlState();
  const bindings = useMemo<readonly Binding[]>(() => {
    const move = (share: number): void => {
      if (histogram === undefined || histogram.data.length === 0) return;
      const toMs = Date.parse(histogram.to);
      const byMs = Math.round((toMs - fromMs) * share);
      state.set({
        from: new Date(fromMs + byMs).toISOString(),
        to: new Date(toMs + byMs).toISOString(),
        range: null,
        open: null,
      });
    };
    return [
      { keys: "[", label: "Earlier range of time", run: () => move(-0.5) },
      { keys: "]", label: "Later range of time", run: () => move(0.5) },
    ];
  }, [histogram, fromMs, state]);
  useKeys(bindings);
}
