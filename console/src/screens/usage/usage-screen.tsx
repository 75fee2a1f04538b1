// `/usage`: what was used and what it cost, by one or two dimensions. Each figure leads to its calls, and the rows add up to the totals.
import { AsCode } from "../../components/as-code.tsx";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import type { Usage, UsageTotals } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { useClock } from "../../clock.ts";
import { Empty } from "../../components/empty.tsx";
import { MoneyText } from "../../components/money-text.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { WholeUntil } from "../../components/whole-until.tsx";
import { Unread } from "../../components/unread.tsx";
import { CONSOLE_PATH } from "../../console-path.ts";
import { counted, wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { useZone } from "../../use-zone.ts";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { CallsLink } from "../calls/calls-link.tsx";
import { summedPath, timeOfRange } from "../calls/calls-path.ts";
import { RangeLinks } from "../calls/range-links.tsx";
import { rangeOf, RANGES, type TimeRange } from "../calls/range.ts";
import { DIMENSIONS, dimensionsOf } from "./dimensions.ts";
import { UsageCharts } from "./usage-charts.tsx";
import { UsageTable } from "./usage-table.tsx";
import { Fact } from "../../components/facts.tsx";
import { InlineSelect } from "../../components/controls/labelled.tsx";

const ROWS = 200;

export function UsageScreen() {
  const scope = useScope();
  const url = useUrlState();
  const zone = useZone();
  const clock = useClock();
  const [nowMs] = useState(clock);
  const range = rangeOf(url.get, nowMs);
  const by = dimensionsOf(url.get("by"));
  const query = new URLSearchParams({
    from: new Date(range.fromMs).toISOString(),
    ...(range.toMs !== null && { to: new Date(range.toMs).toISOString() }),
    group_by: by.join(","),
    order: by.includes("day") ? "group" : "cost",
    timezone: zone,
    limit: String(ROWS),
  }).toString();
  const path = `${adminPath(scope, "/usage")}?${query}`;
  const { data, error, refetch, isPlaceholderData } = useRead<Usage>(path);
  return (
    <>
      <div className="title-row">
        <h1>Usage</h1>
        <RangeLinks range={range} />
        <AsCode path={path} />
      </div>
      <div className="filter-row usage-tools">
        <DimensionChoice by={by} at={0} label="By" />
        <DimensionChoice by={by} at={1} label="and by" />
        <a className="button" href={`${CONSOLE_PATH}/api${path}&format=csv`} download="usage.csv">
          Download as CSV
        </a>
      </div>
      <Unread what="The usage" lines={8} of={{ data, error, refetch }} />
      {data !== undefined && (
        <div className={isPlaceholderData ? "old" : ""}>
          {data.totals !== null && data.totals.calls > 0 && (
            <>
              <Totals totals={data.totals} range={range} />
              <UsageCharts range={range} />
            </>
          )}
          {data.data.length === 0 ? <NoUsage /> : <UsageTable by={by} usage={data} range={range} />}
          <p className="after-table">
            <span>
              As of <TimeText at={data.as_of} />.{" "}
              {data.next_cursor !== null && `The first ${ROWS} rows are shown; the CSV has the same.`}
              <WholeUntil at={data.whole_until} isByEndUser={by.includes("end_user")} />
            </span>
          </p>
        </div>
      )}
    </>
  );
}

interface DimensionChoiceProps {
  readonly by: readonly string[];
  readonly at: 0 | 1;
  readonly label: string;
}

function DimensionChoice({ by, at, label }: DimensionChoiceProps) {
  const url = useUrlState();
  const choose = (name: string): void => {
    const next = at === 0 ? [name, ...by.slice(1)] : [by[0]!, ...(name === "" ? [] : [name])];
    url.set({ by: [...new Set(next)].join(",") });
  };
  const dimensions = Object.entries(DIMENSIONS);
  const choices =
    at === 0 ? dimensions : [["", "nothing else"] as const, ...dimensions.filter(([name]) => name !== by[0])];
  return <InlineSelect label={label} value={by[at] ?? ""} choices={choices} change={choose} />;
}

function Totals({ totals, range }: { readonly totals: UsageTotals; readonly range: TimeRange }) {
  const time = timeOfRange(range);
  return (
    <dl className="figures usage-tools">
      <Fact name="Cost">
        <MoneyText usd={totals.cost_usd} />
        {totals.unpriced > 0 && (
          <small>without {counted(totals.unpriced, "call that has", "calls that have")} no price</small>
        )}
      </Fact>
      <Fact name="Calls">
        <CallsLink calls={totals.calls} to={summedPath([], time)} />
        <small>
          <CallsLink calls={totals.errors} to={summedPath(["outcome:failed"], time)} word=" failed" />
        </small>
      </Fact>
      <Fact name="Tokens in and out">
        {wholeCount(totals.prompt_tokens)} → {wholeCount(totals.completion_tokens)}
        {totals.estimated > 0 && <small>~ of {counted(totals.estimated, "call")} estimated</small>}
      </Fact>
      <Fact name="Median">
        {totals.p50_ms === null ? "–" : `~${duration(totals.p50_ms)}`}
        {totals.p95_ms !== null && <small>95th percentile ~{duration(totals.p95_ms)}</small>}
      </Fact>
    </dl>
  );
}

function NoUsage() {
  const url = useUrlState();
  const [path] = useLocation();
  return (
    <Empty title="There are no calls in this range">
      {url.get("range") !== "30d" && (
        <Link className="button" href={path + url.with({ range: "30d", from: null, to: null })}>
          Look at the last {RANGES["30d"]!.label}
        </Link>
      )}
    </Empty>
  );
}
