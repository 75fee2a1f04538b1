// The figures of the charts of calls as a table, for those who do not see bars.
import type { CallBucket } from "../api/types.ts";
import { MoneyText } from "../components/money-text.tsx";
import { TableBox } from "../components/table-box.tsx";
import { wholeCount } from "../format/count.ts";
import { dayAndMinute, duration } from "../format/time.ts";
import { useZone } from "../use-zone.ts";

export function ChartTable({ buckets }: { readonly buckets: readonly CallBucket[] }) {
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
