// Bars of the calls of each part of a range, and of those that failed, over which one can drag; and the same as a table.
import { type PointerEvent, useRef, useState } from "react";
import type { CallBucket, CallHistogram } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { wholeCount } from "../../format/count.ts";
import { dayAndMinute, duration } from "../../format/time.ts";
import { useZone } from "../../use-zone.ts";

const HEIGHT = 56;

interface CallBarsProps {
  readonly histogram: CallHistogram;
  /** A range that was dragged, as times in UTC. */
  readonly choose: (from: string, to: string) => void;
}

export function CallBars({ histogram, choose }: CallBarsProps) {
  const { data: buckets } = histogram;
  const zone = useZone();
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
    choose(buckets[first]!.at, endOf(histogram, last));
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
        <span>{dayAndMinute(Date.parse(buckets[0]?.at ?? histogram.to), zone)}</span>
        <span className="bar-note">
          {shown !== undefined &&
            `${dayAndMinute(Date.parse(shown.at), zone)}: ${wholeCount(shown.calls)} calls, ${wholeCount(shown.errors)} failed`}
        </span>
        <span>{dayAndMinute(Date.parse(histogram.to), zone)}</span>
      </div>
    </div>
  );
}

function endOf({ data, to }: CallHistogram, index: number): string {
  return data[index + 1]?.at ?? to;
}

/** The same figures for those who do not see bars. */
export function CallBarsTable({ buckets }: { readonly buckets: readonly CallBucket[] }) {
  const zone = useZone();
  return (
    <details>
      <summary>The chart as a table</summary>
      <TableBox label="Calls over time">
        <table>
          <caption className="unseen">Calls over time</caption>
          <thead>
            <tr>
              <th scope="col">From ({zone})</th>
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
                  <th scope="row">{dayAndMinute(Date.parse(bucket.at), zone)}</th>
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
