// Calls and cost of the range over time, above the sums. A part that is chosen is the new range.
import type { CallHistogram } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CallTrends } from "../../charts/call-charts.tsx";
import { ChartTable } from "../../charts/chart-table.tsx";
import { Narrowed, useNarrowing } from "../../charts/narrowed.tsx";
import { Problem } from "../../components/problem.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { useZone } from "../../use-zone.ts";
import type { TimeRange } from "../calls/range.ts";

export function UsageCharts({ range }: { readonly range: TimeRange }) {
  const scope = useScope();
  const zone = useZone();
  const url = useUrlState();
  const query = new URLSearchParams({
    from: new Date(range.fromMs).toISOString(),
    ...(range.toMs !== null && { to: new Date(range.toMs).toISOString() }),
    timezone: zone,
  });
  const { data, error, refetch, isPlaceholderData } = useRead<CallHistogram>(
    `${adminPath(scope, "/calls/histogram")}?${query.toString()}${useNarrowing()}`,
  );
  if (error !== null && data === undefined)
    return <Problem what="The chart could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <div className="volume" />;
  return (
    <div className={`volume ${isPlaceholderData ? "old" : ""}`}>
      <CallTrends histogram={data} choose={(from, to) => url.set({ from, to, range: null, whole: null })} />
      <p className="hint">
        Drag over a chart to choose a range.
        <Narrowed histogram={data} fromMs={range.fromMs} />
      </p>
      <ChartTable buckets={data.data} />
    </div>
  );
}
