// What has become of a thing: who changed what, when and from where, as the audit log has it.
import { useState } from "react";
import type { AuditRow, TenantAuditList } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { Empty } from "../components/empty.tsx";
import { TimeText } from "../components/time-text.tsx";
import { Unread } from "../components/unread.tsx";
import { wholeCount } from "../format/count.ts";
import { visibleText } from "../format/visible-text.ts";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { actorText } from "./audit-row.ts";
import { AuditedChange } from "./change-view.tsx";

const PAGE_ROWS = 50;

interface TargetHistoryProps {
  /** The kind and id by which the audit log knows it; several kinds may share an id. */
  readonly kind?: string;
  readonly targetId: string;
  /** Such as `token`. */
  readonly what: string;
  /** What an empty history says. */
  readonly none?: string;
}

export function TargetHistory({ kind, targetId, what, none = "No change is recorded" }: TargetHistoryProps) {
  const me = useMe();
  const scope = useScope();
  const isAllowed = may(me, scope, "list*Audit");
  const query = new URLSearchParams({
    ...(kind !== undefined && { kind }),
    target_id: targetId,
    outcome: "done",
    limit: String(PAGE_ROWS),
  });
  const path = `${adminPath(scope, "/audit")}?${query.toString()}`;
  const { data, error, refetch } = useRead<TenantAuditList>(isAllowed ? path : null, { keepsPrevious: false });
  if (!isAllowed)
    return (
      <Empty title={`You may not see the history of this ${what}`}>
        <p>Maintainers of a project and admins of a tenant see who has changed what.</p>
      </Empty>
    );
  if (error !== null || data === undefined) return <Unread what="The history" of={{ data, error, refetch }} />;
  if (data.data.length === 0) return <Empty title={none} />;
  return (
    <>
      <ol className="history">
        {data.data.map((row) => (
          <HistoryEntry key={row.id} row={row} />
        ))}
      </ol>
      {data.next_cursor !== null && <p className="hint">The last {wholeCount(PAGE_ROWS)} entries are shown.</p>}
    </>
  );
}

function HistoryEntry({ row }: { readonly row: AuditRow }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <TimeText at={row.at} form="day" /> <b>{visibleText(row.action)}</b> by {visibleText(actorText(row))}
          {row.note !== null && <small> {visibleText(row.note)}</small>}
          {row.version !== null && <small> version {row.version} of the configuration</small>}
        </summary>
        {isOpen && <AuditedChange before={row.before} after={row.after} />}
      </details>
    </li>
  );
}
