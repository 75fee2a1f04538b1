// The rows of the audit log that match the filter, the newest first, each with what was before and after.
import { useState } from "react";
import type { AuditRow, TenantAuditList } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { usePages } from "../../api/use-pages.ts";
import { Empty } from "../../components/empty.tsx";
import { TextFacts } from "../../components/facts.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { actorText } from "../../configured/audit-row.ts";
import { AuditedChange } from "../../configured/change-view.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useUrlState } from "../../url-state.ts";
import { AuditFilter, FILTER_NAMES } from "./audit-filter.tsx";
import { Status } from "../../components/status-mark.tsx";
import { Unread } from "../../components/unread.tsx";

const PAGE_ROWS = 50;
const LOOK_MS = 10_000;

export function AuditEntries() {
  const state = useUrlState();
  const path = `${adminPath(useScope(), "/audit")}?${state.only(FILTER_NAMES).toString()}`;
  const query = usePages<TenantAuditList>(path, { rows: PAGE_ROWS });
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];
  const chosen = FILTER_NAMES.filter((name) => state.get(name) !== null);
  return (
    <>
      <AuditFilter state={state} />
      <Unread what="The audit log" lines={8} of={query} />
      {query.isSuccess && rows.length === 0 && (
        <Empty title={chosen.length === 0 ? "Nothing has been changed yet" : "No entry matches this filter"}>
          {chosen.length > 0 && (
            <button type="button" onClick={() => state.set(Object.fromEntries(chosen.map((name) => [name, null])))}>
              Show all entries
            </button>
          )}
        </Empty>
      )}
      {query.isSuccess && <NewEntries path={path} newest={rows[0]?.id ?? null} show={() => void query.refetch()} />}
      <ol className={`history ${query.isPlaceholderData ? "old" : ""}`}>
        {rows.map((row) => (
          <Entry key={row.id} row={row} />
        ))}
      </ol>
      {query.hasNextPage && (
        <p className="after-table">
          <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading…" : "Show older entries"}
          </button>
        </p>
      )}
    </>
  );
}

interface NewEntriesProps {
  readonly path: string;
  readonly newest: string | null;
  readonly show: () => void;
}

/** New rows never move what somebody reads: they are shown when asked for. */
function NewEntries({ path, newest, show }: NewEntriesProps) {
  const { data } = useRead<TenantAuditList>(`${path}&limit=1`, { everyMs: LOOK_MS, keepsPrevious: false });
  const [first] = data?.data ?? [];
  const areThere = first !== undefined && first.id !== newest;
  return (
    <p role="status" className={areThere ? "" : "unseen"}>
      {areThere && (
        <button type="button" onClick={show}>
          Show new entries
        </button>
      )}
    </p>
  );
}

function Entry({ row }: { readonly row: AuditRow }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <TimeText at={row.at} form="day" /> {row.outcome === "refused" && <Status tone="warn">refused</Status>}{" "}
          <b>{visibleText(`${row.action} ${row.kind}`.replaceAll("_", " "))}</b>{" "}
          {visibleText(row.target_name ?? row.target_id ?? "")} <small>by {visibleText(actorText(row))}</small>
        </summary>
        {isOpen && <EntryFacts row={row} />}
      </details>
    </li>
  );
}

function EntryFacts({ row }: { readonly row: AuditRow }) {
  const facts: readonly (readonly [string, string | null])[] = [
    ["Object", row.target_id],
    ["Tenant", row.tenant_id],
    ["Project", row.project_id],
    ["Role", row.actor.role],
    ["Token", row.actor.token_id],
    ["Session", row.session_id],
    ["Version", row.version === null ? null : String(row.version)],
    ["Note", row.note],
    ["Place in the chain", `${row.sequence} ${row.hash}`],
  ];
  return (
    <>
      <dl className="facts">
        <TextFacts facts={facts} />
      </dl>
      <AuditedChange before={row.before} after={row.after} />
    </>
  );
}
