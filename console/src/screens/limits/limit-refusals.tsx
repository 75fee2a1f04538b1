// The last calls that a limit or budget refused, or in audit mode would have refused.
import type { LimitDetail, LogPage } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useNow } from "../../use-now.ts";
import { callsPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";

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
    <section className="panel" aria-labelledby="refusals">
      <h2 id="refusals">
        {title} <small>in the last {DAYS} days</small>
      </h2>
      <div className="panel-body">
        {error !== null && data === undefined && (
          <Problem what="The refused calls could not be read." error={error} retry={() => void refetch()} />
        )}
        {data === undefined && error === null && <Pending what="The refused calls" />}
        {data !== undefined && data.data.length === 0 && <p className="hint">No call.</p>}
        {data !== undefined && data.data.length > 0 && (
          <>
            <TableBox label={title}>
              <table>
                <caption className="unseen">{title}</caption>
                <thead>
                  <tr>
                    {["Time", "Answer", "Model", "Project", "End user"].map((head) => (
                      <th key={head} scope="col">
                        {head}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {data.data.map((call) => (
                    <tr key={call.trace_id}>
                      <th scope="row">
                        <ScopedLink to={`/calls/${call.trace_id}`}>
                          <TimeText at={call.at} />
                        </ScopedLink>
                      </th>
                      <td>
                        <StatusMark call={call} />
                      </td>
                      <td>
                        <span className="cut">{visibleText(call.model_asked ?? call.route ?? "–")}</span>
                      </td>
                      <td>{call.project_id ?? "–"}</td>
                      <td>
                        <span className="cut">{visibleText(call.end_user ?? "–")}</span>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableBox>
            <p>
              <ScopedLink to={all}>All of them among the calls</ScopedLink>
            </p>
          </>
        )}
      </div>
    </section>
  );
}
