// The figures of the charts of calls as a table, for those who do not see bars.
import type { CallBucket } from "../api/types.ts";
import { MoneyText } from "../components/money-text.tsx";
import { DataTable } from "../components/data-table.tsx";
import { wholeCount } from "../format/count.ts";
import { dayAndMinute, duration } from "../format/time.ts";
import { useZone } from "../use-zone.ts";

export function ChartTable({ buckets }: { readonly buckets: readonly CallBucket[] }) {
  const zone = useZone();
  return (
    <details>
      <summary>The chart as a table</summary>
      <DataTable
        label="Calls over time"
        rows={buckets.filter(({ calls }) => calls > 0)}
        keyOf={({ at }) => at}
        columns={[
          { head: `From (${zone})`, render: ({ at }) => dayAndMinute(Date.parse(at), zone) },
          { head: "Calls", isNumber: true, render: ({ calls }) => wholeCount(calls) },
          { head: "Failed", isNumber: true, render: ({ errors }) => wholeCount(errors) },
          { head: "Cost", isNumber: true, render: ({ cost_usd: cost }) => <MoneyText usd={cost} /> },
          { head: "Median", isNumber: true, render: ({ p50_ms: ms }) => (ms === null ? "–" : `~${duration(ms)}`) },
        ]}
      />
    </details>
  );
}
