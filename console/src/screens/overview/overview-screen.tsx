// `/`: how the tenant or project does. Figures of the last day beside those of a week before, what needs somebody, and calls per minute.
// Where there never was a call, it is the page of the first call.
import { useState } from "react";
import { useLocation } from "wouter";
import type { CallHistogram, LogPage, Usage } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { loadedOnUse } from "../../components/loaded-on-use.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath, pathIn } from "../../scope/scope.ts";
import { useNow } from "../../use-now.ts";
import { CallBars, CallBarsTable } from "../calls/call-bars.tsx";
import { AttentionPanel } from "./attention-panel.tsx";
import { WeekFigures } from "./week-figures.tsx";

const FirstCall = loadedOnUse(
  async () => (await import("../start/start-screen.tsx")).StartScreen,
  <Pending what="The page of the first call" />,
);

const EVERY_MS = 2000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

export function OverviewScreen() {
  const scope = useScope();
  const nowMs = useNow(MINUTE_MS);
  const usage = (fromMs: number, toMs: number | null): string =>
    adminPath(scope, `/usage?from=${isoOf(fromMs)}${toMs === null ? "" : `&to=${isoOf(toMs)}`}&limit=1`);
  const today = useRead<Usage>(usage(nowMs - DAY_MS, null), { everyMs: EVERY_MS });
  const before = useRead<Usage>(usage(nowMs - DAY_MS - WEEK_MS, nowMs - WEEK_MS));
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
            before={before.data?.totals ?? null}
            range={{ from: new Date(nowMs - DAY_MS).toISOString(), to: today.data.as_of }}
          />
          <p className="after-table">
            <span>
              The last 24 hours, beside the same hours a week before. As of <TimeText at={today.data.as_of} />.
            </span>
          </p>
        </section>
      )}
      <AttentionPanel everyMs={EVERY_MS} />
      <CallsPerMinute nowMs={nowMs} />
    </div>
  );
}

function CallsPerMinute({ nowMs }: { readonly nowMs: number }) {
  const scope = useScope();
  const [, navigate] = useLocation();
  const path = adminPath(scope, `/calls/histogram?bucket=1m&from=${isoOf(nowMs - HOUR_MS)}`);
  const { data, error, refetch } = useRead<CallHistogram>(path, { everyMs: EVERY_MS });
  const calls = data?.data.reduce((sum, bucket) => sum + bucket.calls, 0) ?? 0;
  return (
    <section className="panel" aria-labelledby="per-minute">
      <h2 id="per-minute">
        Calls per minute <small>in the last hour</small>
      </h2>
      <div className="panel-body">
        {error !== null && data === undefined && (
          <Problem what="The calls of the last hour could not be read." error={error} retry={() => void refetch()} />
        )}
        {data === undefined && error === null && <Pending what="The calls of the last hour" />}
        {data !== undefined && (
          <div className="volume">
            <CallBars
              histogram={data}
              choose={(from, to) => navigate(pathIn(scope, `/calls?${new URLSearchParams({ from, to }).toString()}`))}
            />
            <p className="hint">{wholeCount(calls)} calls in the last hour. Drag over the bars to see those calls.</p>
            <CallBarsTable buckets={data.data} />
          </div>
        )}
      </div>
    </section>
  );
}

const isoOf = (timeMs: number): string => encodeURIComponent(new Date(timeMs).toISOString());
