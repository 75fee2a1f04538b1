// The sessions of the console in a tenant: who is logged in, from where, and a way to end each.
import { useRead } from "../../api/use-api.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { zoneName } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { usePreferences } from "../../preferences-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { type Page, PAGE, type Session } from "./people-api.ts";
import { useWrite } from "../../api/use-write.ts";

export function SessionList({ tenant }: { readonly tenant: string }) {
  const me = useMe();
  const { preferences } = usePreferences();
  const scope = { tenant, project: null };
  const path = adminPath(scope, "/sessions");
  const { data, error, refetch } = useRead<Page<Session>>(path + PAGE);
  const { isBusy, failure, send } = useWrite();
  if (error !== null)
    return <Problem what="The sessions could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The list of sessions" />;
  if (data.data.length === 0) return <Empty title="Nobody is logged in" />;
  return (
    <>
      {failure !== null && <Problem what="The session was not ended." error={failure} />}
      <TableBox label="Sessions">
        <table>
          <caption className="unseen">Sessions of the console</caption>
          <thead>
            <tr>
              <th scope="col">Who</th>
              <th scope="col">Logged in by</th>
              <th scope="col">From</th>
              <th scope="col">Browser</th>
              <th scope="col">Since ({zoneName(preferences.zone)})</th>
              <th scope="col">Last used</th>
              <th scope="col">Ends</th>
              <th scope="col">
                <span className="unseen">End</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {data.data.map((session) => (
              <tr key={session.id}>
                <th scope="row">
                  {visibleText(session.user_id ?? `token ${session.token_id}`)}{" "}
                  {session.current && <span className="badge">this one</span>}
                </th>
                <td>{session.login}</td>
                <td>{visibleText(session.address ?? "–")}</td>
                <td>
                  <span className="cut">{visibleText(session.browser ?? "–")}</span>
                </td>
                <td>
                  <TimeText at={session.started_at} />
                </td>
                <td>
                  <TimeText at={session.seen_at} />
                </td>
                <td>
                  <TimeText at={session.ends_at} />
                </td>
                <td>
                  {!session.current && may(me, scope, "end*Session") && (
                    <button
                      type="button"
                      className="quiet"
                      disabled={isBusy}
                      onClick={() => void send("DELETE", `${path}/${encodeURIComponent(session.id)}`)}
                    >
                      End<span className="unseen"> the session of {session.user_id ?? session.token_id}</span>
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableBox>
    </>
  );
}
