// `/`: how the tenant or project does. Figures of the last day beside those of a week before, what needs somebody, what fails and costs most,
// and calls and cost over time.
// Where there never was a call, it is the page of the first call.
import { useState } from "react";
import { useLocation } from "wouter";
import type { CallHistogram, LogPage, Usage } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CallTrends } from "../../charts/call-charts.tsx";
import { ChartTable } from "../../charts/chart-table.tsx";
import { Narrowed, useNarrowing } from "../../charts/narrowed.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { loadedOnUse } from "../../components/loaded-on-use.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath, pathIn } from "../../scope/scope.ts";
import { useNow } from "../../use-now.ts";
import { useZone } from "../../use-zone.ts";
import { AttentionPanel } from "./attention-panel.tsx";
import { MostPanels } from "./most-panels.tsx";
import { WeekFigures } from "./week-figures.tsx";
import { Panel } from "../../components/panel.tsx";

const FirstCall = loadedOnUse(
  async () => (await import("../start/start-screen.tsx")).StartScreen,
  <Pending what="The page of the first call" />,
);

const EVERY_MS = 2000;
const MOST_VALUES = 5;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const WEEK_S = (7 * DAY_MS) / 1000;

export function OverviewScreen() {
  const scope = useScope();
  const nowMs = useNow(MINUTE_MS);
  const from = isoOf(nowMs - DAY_MS);
  const today = useRead<Usage>(adminPath(scope, `/usage?from=${from}&earlier_s=${WEEK_S}&limit=1`), {
    everyMs: EVERY_MS,
  });
  const isQuiet = today.data?.totals?.calls === 0;
  const any = useRead<LogPage>(isQuiet ? adminPath(scope, "/logs?limit=1") : null, { everyMs: EVERY_MS });
  const isNew = isQuiet && any.data?.data.length === 0 && any.data.next_cursor === null;
  // The first call is shown there when it has arrived, and the page is not taken away then.
  const [stays, setStays] = useState(false);
  if (isNew && !stays) setStays(true);
  if (isQuiet && any.data === undefined && any.error === null) return <Pending what="The overview" lines={8} />;
  if (isNew || stays) return <FirstCall />;
  return (
    <div className="call-page">
      <div className="title-row">
        <h1>Overview</h1>
        <AsCode
          path={scope.tenant === null && scope.project === null ? "/v1/admin/usage" : adminPath(scope, "/attention")}
        />
      </div>
      {today.error !== null && (
        <Problem
          what="The figures of the last day could not be read."
          error={today.error}
          retry={() => void today.refetch()}
        />
      )}
      {any.error !== null && (
        <Problem
          what="Whether there was a call before could not be read."
          error={any.error}
          retry={() => void any.refetch()}
        />
      )}
      {today.data === undefined && today.error === null && <Pending what="The figures of the last day" lines={2} />}
      {today.data?.totals != null && (
        <section aria-label="The last 24 hours">
          <WeekFigures
            today={today.data.totals}
            before={today.data.earlier}
            range={{ from: new Date(nowMs - DAY_MS).toISOString(), to: today.data.as_of }}
          />
          <p className="after-table">
            <span>
              The last 24 hours
              {today.data.earlier?.calls === 0
                ? "; there were no calls a week before"
                : ", beside the same hours a week before"}
              . As of <TimeText at={today.data.as_of} />.
            </span>
          </p>
        </section>
      )}
      <AttentionPanel everyMs={EVERY_MS} />
      {today.data?.totals != null && today.data.totals.calls > 0 && (
        <MostPanels
          path={adminPath(scope, `/calls/facets?from=${from}&order=cost&causes=true&limit=${MOST_VALUES}`)}
          totals={today.data.totals}
          time={{ from: new Date(nowMs - DAY_MS).toISOString(), to: today.data.as_of }}
        />
      )}
      <Trends nowMs={nowMs} />
    </div>
  );
}

function Trends({ nowMs }: { readonly nowMs: number }) {
  const scope = useScope();
  const zone = useZone();
  const [, navigate] = useLocation();
  const fromMs = nowMs - DAY_MS;
  const narrowing = useNarrowing();
  const query = `from=${isoOf(fromMs)}&timezone=${encodeURIComponent(zone)}${narrowing}`;
  const { data, error, refetch } = useRead<CallHistogram>(adminPath(scope, `/calls/histogram?${query}`), {
    everyMs: EVERY_MS,
  });
  const choose = (from: string, to: string): void =>
    navigate(pathIn(scope, `/calls?${new URLSearchParams({ from, to }).toString()}`));
  return (
    <Panel id="trends" title="Over time" note="in the last 24 hours">
      {data === undefined && <Unread what="The calls over time" of={{ data, error, refetch }} />}
      {data !== undefined && (
        <div className="volume">
          <CallTrends histogram={data} choose={choose} />
          <p className="hint">
            Drag over a chart to see its calls.
            <Narrowed histogram={data} fromMs={fromMs} />
          </p>
          <ChartTable buckets={data.data} />
        </div>
      )}
    </Panel>
  );
}

const isoOf = (timeMs: number): string => encodeURIComponent(new Date(timeMs).toISOString());
