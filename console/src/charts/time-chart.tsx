// The chart of the console: values over time as bars, with axes, units, a legend that shows the values under the pointer, and a range that can be chosen
// by dragging. What draws is loaded with the first chart. A page with a chart has the same figures as a table.
import { useState } from "react";
import { loadedOnUse } from "../components/loaded-on-use.tsx";
import { dayAndMinute } from "../format/time.ts";
import { useZone } from "../use-zone.ts";
import type { TimeChartProps } from "./charted.ts";

const DrawnChart = loadedOnUse(async () => (await import("./drawn-chart.tsx")).DrawnChart, null);

export function TimeChart(props: TimeChartProps) {
  const { title, series, format, startsMs, endMs } = props;
  const zone = useZone();
  const [at, setAt] = useState<number | null>(null);
  const startMs = at === null ? undefined : startsMs[at];
  return (
    <figure className="chart">
      <figcaption>
        <span>{title}</span>
        {series.map(({ name, tone, values }) => (
          <span key={name} className="legend">
            <i className={`swatch ${tone}`} aria-hidden="true" />
            {name}
            {startMs !== undefined && <b>{format(values[at!] ?? 0)}</b>}
          </span>
        ))}
        {startMs !== undefined && (
          <span className="chart-at">
            {dayAndMinute(startMs, zone)} – {dayAndMinute(startsMs[at! + 1] ?? endMs, zone)}
          </span>
        )}
      </figcaption>
      <div className="plot" aria-hidden="true">
        <DrawnChart {...props} zone={zone} point={setAt} />
      </div>
    </figure>
  );
}
