// The sessions of the console in a tenant: who is logged in, from where, and a way to end each.
import { useRead } from "../../api/use-api.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
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
  const mayEnd = may(me, scope, "end*Session");
  if (error !== null)
    return <Problem what="The sessions could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The list of sessions" />;
  if (data.data.length === 0) return <Empty title="Nobody is logged in" />;
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
          { head: `Since (${zoneName(preferences.zone)})`, render: ({ started_at: at }) => <TimeText at={at} /> },
          { head: "Last used", render: ({ seen_at: at }) => <TimeText at={at} /> },
          { head: "Ends", render: ({ ends_at: at }) => <TimeText at={at} /> },
          {
            head: "What can be done",
            hidesHead: true,
            render: (session) =>
              !session.current &&
              mayEnd && (
                <button
                  type="button"
                  className="quiet"
                  disabled={isBusy}
                  onClick={() => void send("DELETE", `${path}/${encodeURIComponent(session.id)}`)}
                >
                  End<span className="unseen"> the session of {whoOf(session)}</span>
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

const whoOf = ({ user_id: user, token_id: token }: Session): string => user ?? `token ${token}`;
