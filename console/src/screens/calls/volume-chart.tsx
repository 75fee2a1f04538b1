// How many calls there were over time, and how many of them failed. Dragging over the bars chooses a range; `[` and `]` move it.
import { type PointerEvent, useMemo, useRef, useState } from "react";
import type { CallBucket, CallHistogram } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { MoneyText } from "../../components/money-text.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { wholeCount } from "../../format/count.ts";
import { dayAndTime, duration, zoneName } from "../../format/time.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { usePreferences } from "../../preferences-context.tsx";
import { useUrlState } from "../../url-state.ts";
import type { TimeRange } from "./range.ts";

const HEIGHT = 56;

interface VolumeChartProps {
  /** With the filter and the range. */
  readonly path: string;
  readonly range: TimeRange;
}

export function VolumeChart({ path, range }: VolumeChartProps) {
  const { preferences } = usePreferences();
  const zone = preferences.zone === "utc" ? "UTC" : zoneName("local");
  const { data, error, refetch, isPlaceholderData } = useRead<CallHistogram>(
    `${path}&timezone=${encodeURIComponent(zone)}`,
  );
  useWindowKeys(data);
  if (error !== null && data === undefined)
    return <Problem what="The chart could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div className="volume" />;
  return (
    <div className={`volume ${isPlaceholderData ? "old" : ""}`}>
      <Bars histogram={data} />
      <p className="hint">
        <Totals histogram={data} range={range} />
      </p>
      <Twin buckets={data.data} />
    </div>
  );
}

function Bars({ histogram }: { readonly histogram: CallHistogram }) {
  const { data: buckets } = histogram;
  const state = useUrlState();
  const { preferences } = usePreferences();
  const [brush, setBrush] = useState<{ readonly from: number; readonly to: number } | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const box = useRef<SVGSVGElement>(null);
  const most = Math.max(1, ...buckets.map(({ calls }) => calls));
  const indexOf = (event: PointerEvent): number => {
    const { left, width } = box.current!.getBoundingClientRect();
    return Math.min(buckets.length - 1, Math.max(0, Math.floor(((event.clientX - left) / width) * buckets.length)));
  };
  const finish = (): void => {
    if (brush === null) return;
    const [first, last] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
    setBrush(null);
    state.set({ from: buckets[first]!.at, to: endOf(histogram, last), range: null, open: null });
  };
  const shown = at === null ? undefined : buckets[at];
  return (
    <div className="bars">
      <svg
        ref={box}
        viewBox={`0 0 ${buckets.length} ${HEIGHT}`}
        preserveAspectRatio="none"
        height={HEIGHT}
        aria-hidden="true"
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          setBrush({ from: indexOf(event), to: indexOf(event) });
        }}
        onPointerMove={(event) => {
          setAt(indexOf(event));
          if (brush !== null) setBrush({ from: brush.from, to: indexOf(event) });
        }}
        onPointerLeave={() => setAt(null)}
        onPointerUp={finish}
        onPointerCancel={() => setBrush(null)}
      >
        {buckets.map(({ at: time, calls, errors }, index) => (
          <g key={time}>
            <rect
              className="calls"
              x={index + 0.08}
              width={0.84}
              y={HEIGHT - (calls / most) * HEIGHT}
              height={(calls / most) * HEIGHT}
            />
            <rect
              className="errors"
              x={index + 0.08}
              width={0.84}
              y={HEIGHT - (errors / most) * HEIGHT}
              height={(errors / most) * HEIGHT}
            />
          </g>
        ))}
        {brush !== null && (
          <rect
            className="brush"
            x={Math.min(brush.from, brush.to)}
            width={Math.abs(brush.to - brush.from) + 1}
            y={0}
            height={HEIGHT}
          />
        )}
      </svg>
      <div className="ticks">
        <span>{dayAndTime(Date.parse(buckets[0]?.at ?? histogram.to), preferences.zone)}</span>
        <span className="bar-note">
          {shown !== undefined &&
            `${dayAndTime(Date.parse(shown.at), preferences.zone)}: ${wholeCount(shown.calls)} calls, ${wholeCount(shown.errors)} failed`}
        </span>
        <span>{dayAndTime(Date.parse(histogram.to), preferences.zone)}</span>
      </div>
    </div>
  );
}

function endOf({ data, to }: CallHistogram, index: number): string {
  return data[index + 1]?.at ?? to;
}

function Totals({ histogram, range }: { readonly histogram: CallHistogram; readonly range: TimeRange }) {
  const { preferences } = usePreferences();
  const calls = histogram.data.reduce((sum, bucket) => sum + bucket.calls, 0);
  const errors = histogram.data.reduce((sum, bucket) => sum + bucket.errors, 0);
  return (
    <>
      {wholeCount(calls)} calls, {wholeCount(errors)} failed
      {histogram.looked_to !== null &&
        `, counted back to ${dayAndTime(Date.parse(histogram.looked_to), preferences.zone)} only`}
      {range.toMs === null && `, as of ${dayAndTime(Date.parse(histogram.as_of), preferences.zone)}`}. Drag over the
      bars to choose a range.
    </>
  );
}

/** The same figures for those who do not see bars. */
function Twin({ buckets }: { readonly buckets: readonly CallBucket[] }) {
  const { preferences } = usePreferences();
  return (
    <details>
      <summary>The chart as a table</summary>
      <TableBox label="Calls over time">
        <table>
          <caption className="unseen">Calls over time</caption>
          <thead>
            <tr>
              <th scope="col">From ({zoneName(preferences.zone)})</th>
              {["Calls", "Failed", "Cost", "Median"].map((head) => (
                <th key={head} scope="col" className="number">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {buckets
              .filter(({ calls }) => calls > 0)
              .map((bucket) => (
                <tr key={bucket.at}>
                  <th scope="row">{dayAndTime(Date.parse(bucket.at), preferences.zone)}</th>
                  <td className="number">{wholeCount(bucket.calls)}</td>
                  <td className="number">{wholeCount(bucket.errors)}</td>
                  <td className="number">
                    <MoneyText usd={bucket.cost_usd} />
                  </td>
                  <td className="number">{bucket.p50_ms === null ? "–" : `~${duration(bucket.p50_ms)}`}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </TableBox>
    </details>
  );
}

function useWindowKeys(histogram: CallHistogram | undefined): void {
  const state = useUrlState();
  const bindings = useMemo<readonly Binding[]>(() => {
    const move = (share: number): void => {
      if (histogram === undefined || histogram.data.length === 0) return;
      const [fromMs, toMs] = [Date.parse(histogram.data[0]!.at), Date.parse(histogram.to)];
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
  }, [histogram, state]);
  useKeys(bindings);
}
