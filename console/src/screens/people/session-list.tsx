// Sessions of the console, of a tenant, a user or the reader: who is logged in, from where, and a way to end each.
import { useRead } from "../../api/use-api.tsx";
import { ActionsAsCode } from "../../components/as-code.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import type { Session, TenantSessionList } from "../../api/types.ts";
import { PAGE } from "./people-api.ts";
import { useWrite } from "../../api/use-write.ts";
import type { ShownRequest } from "../../api/command-of.ts";

interface SessionListProps {
  /** Of the sessions in the admin API. */
  readonly path: string;
  /** Absent for the sessions of everybody whom the path is about. */
  readonly userId?: string;
  readonly mayEnd: boolean;
  /** What an empty list says. */
  readonly none: string;
}

export function SessionList({ path, userId, mayEnd, none }: SessionListProps) {
  const zone = useZone();
  const ofUser = userId === undefined ? "" : `&user_id=${encodeURIComponent(userId)}`;
  const { data, error, refetch } = useRead<TenantSessionList>(path + PAGE + ofUser);
  const { isBusy, failure, ask } = useWrite();
  const ending = ({ id }: Session): ShownRequest => ({ method: "DELETE", path: `${path}/${encodeURIComponent(id)}` });
  if (error !== null || data === undefined)
    return <Unread what="The sessions" pending="The list of sessions" of={{ data, error, refetch }} />;
  if (data.data.length === 0) return <Empty title={none} />;
  return (
    <>
      {failure !== null && <Problem what="The session was not ended." error={failure} />}
      <DataTable
        label="Sessions"
        caption="Sessions of the console"
        rows={data.data}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "Who",
            render: (session) => (
              <>
                {visibleText(whoOf(session))} {session.current && <span className="badge">this one</span>}
              </>
            ),
          },
          { head: "Logged in by", render: ({ login }) => login },
          { head: "From", render: ({ address }) => visibleText(address ?? "–") },
          { head: "Browser", render: ({ browser }) => <span className="cut">{visibleText(browser ?? "–")}</span> },
          { head: `Since (${zone})`, render: ({ started_at: at }) => <TimeText at={at} /> },
          { head: "Last used", render: ({ seen_at: at }) => <TimeText at={at} /> },
          { head: "Ends", render: ({ ends_at: at }) => <TimeText at={at} /> },
          {
            head: "What can be done",
            hidesHead: true,
            render: (session) =>
              !session.current &&
              mayEnd && (
                <>
                  <button type="button" className="quiet" disabled={isBusy} onClick={() => void ask(ending(session))}>
                    End<span className="unseen"> the session of {whoOf(session)}</span>
                  </button>
                  <ActionsAsCode
                    of={`of ending the session of ${whoOf(session)}`}
                    actions={{ "End the session": ending(session) }}
                  />
                </>
              ),
          },
        ]}
      />
      {data.next_cursor !== null && <p className="hint">The first 1,000 sessions are shown.</p>}
    </>
  );
}

const whoOf = ({ user_id: user, token_id: token }: Session): string => user ?? `token ${token}`;
