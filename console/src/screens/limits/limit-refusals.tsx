// The last calls that a limit or budget refused, or in audit mode would have refused.
import type { LimitDetail, LogPage } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useNow } from "../../use-now.ts";
import { callsPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { Panel } from "../../components/panel.tsx";

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
const DAYS = 7;
const MOST = 10;

export function LimitRefusals({ limit }: { readonly limit: LimitDetail }) {
  const scope = useScope();
  const nowMs = useNow(MINUTE_MS);
  const query = new URLSearchParams({
    limit_id: limit.id,
    // A call that another target answered was not refused, although the limit refused it one of the targets.
    ...(limit.mode === "enforce" && { outcome: "failed" }),
    from: new Date(nowMs - DAYS * DAY_MS).toISOString(),
    limit: String(MOST),
  });
  const { data, error, refetch } = useRead<LogPage>(adminPath(scope, `/logs?${query.toString()}`));
  const title = limit.mode === "audit" ? "Would have been refused" : "Refused";
  const all = callsPath([termText("limit", limit.id), ...(limit.mode === "audit" ? [] : ["outcome:failed"])], {
    range: "7d",
  });
  return (
    <Panel id="refusals" title={title} note={`in the last ${DAYS} days`}>
      {data === undefined && <Unread what="The refused calls" of={{ data, error, refetch }} />}
      {data !== undefined && data.data.length === 0 && <p className="hint">No call.</p>}
      {data !== undefined && data.data.length > 0 && (
        <>
          <DataTable
            label={title}
            rows={data.data}
            keyOf={(call) => call.trace_id}
            columns={[
              {
                head: "Time",
                render: (call) => (
                  <ScopedLink to={`/calls/${call.trace_id}`}>
                    <TimeText at={call.at} />
                  </ScopedLink>
                ),
              },
              { head: "Answer", render: (call) => <StatusMark call={call} /> },
              {
                head: "Model",
                render: (call) => <span className="cut">{visibleText(call.model_asked ?? call.route ?? "–")}</span>,
              },
              { head: "Project", render: (call) => call.project_id ?? "–" },
              {
                head: "End user",
                render: (call) => <span className="cut">{visibleText(call.end_user ?? "–")}</span>,
              },
            ]}
          />
          <p>
            <ScopedLink to={all}>All of them among the calls</ScopedLink>
          </p>
        </>
      )}
    </Panel>
  );
}
