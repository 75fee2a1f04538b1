// The tab of a route with a mirror: the calls that were copied beside their copies.
import type { ReactNode } from "react";
import type { RouteComparison } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { MoneyText } from "../../components/money-text.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";

export function RouteComparisonTab({ path }: { readonly path: string }) {
  const asked = `${path}/compare`;
  const { data, error, refetch } = useRead<RouteComparison>(asked);
  return (
    <section className="panel" aria-label="Calls and their copies">
      <h2>
        Calls and their copies <AsCode path={asked} />
      </h2>
      <div className="panel-body">
        {data === undefined && <Unread what="The comparison" lines={8} of={{ data, error, refetch }} />}
        {data !== undefined && <Comparison compared={data} />}
      </div>
    </section>
  );
}

function Comparison({
  compared: { pairs, from, to, calls, copies, examples },
}: {
  readonly compared: RouteComparison;
}) {
  if (pairs === 0 || from === null || to === null)
    return <p className="hint">No call has been copied yet, or no copy has ended.</p>;
  return (
    <>
      <p className="hint">
        {pairs === 1 ? "The newest call" : `The newest ${wholeCount(pairs)} calls`} with a copy, from{" "}
        <TimeText at={from} /> to <TimeText at={to} />.
      </p>
      <DataTable
        label="Calls and their copies"
        rows={ROWS}
        keyOf={([title]) => title}
        columns={[
          { head: "Figure", render: ([title]) => title },
          { head: "Calls", render: ([, of]) => of(calls) },
          { head: "Copies", render: ([, of]) => of(copies) },
        ]}
      />
      <p>
        Some pairs:{" "}
        {examples.slice(0, SHOWN_EXAMPLES).map(({ call, copy }, index) => (
          <span key={call}>
            {index > 0 && "; "}
            <ScopedLink to={`/calls/${call}`}>call {call.slice(0, 12)}</ScopedLink> and{" "}
            <ScopedLink to={`/calls/${copy}`}>its copy</ScopedLink>
          </span>
        ))}
      </p>
    </>
  );
}

const SHOWN_EXAMPLES = 5;

type ComparedCalls = RouteComparison["calls"];
type Percentiles = ComparedCalls["total_ms"];
const percentiles = ({ p50, p95 }: Percentiles, unit: string): string =>
  p50 === null || p95 === null ? "–" : `p50 ${wholeCount(p50)}${unit}, p95 ${wholeCount(p95)}${unit}`;

const counts = (counted: Readonly<Record<string, number>>): string =>
  Object.entries(counted)
    .map(([name, calls]) => `${visibleText(name)}: ${wholeCount(calls)}`)
    .join(", ") || "–";

const ROWS: readonly (readonly [title: string, of: (side: ComparedCalls) => ReactNode])[] = [
  ["Targets", (side) => counts(side.targets)],
  ["Errors", (side) => wholeCount(side.errors)],
  ["Error codes", (side) => counts(side.codes)],
  ["Finish reasons", (side) => counts(side.finish_reasons)],
  ["Cost", (side) => <MoneyText usd={side.cost_usd} />],
  ["Calls without a price", (side) => wholeCount(side.unpriced)],
  ["Prompt tokens", (side) => wholeCount(side.prompt_tokens)],
  ["Completion tokens", (side) => wholeCount(side.completion_tokens)],
  ["Completion tokens of an answer", (side) => percentiles(side.completion_tokens_each, "")],
  ["Time to the first content", (side) => percentiles(side.first_content_ms, " ms")],
  ["Time to the end of the answer", (side) => percentiles(side.total_ms, " ms")],
];
