// What has become of a configured object: who changed what, when and from where.
import { useState } from "react";
import { useRead } from "../api/use-api.tsx";
import { Empty } from "../components/empty.tsx";
import { Pending } from "../components/pending.tsx";
import { Problem } from "../components/problem.tsx";
import { TimeText } from "../components/time-text.tsx";
import { wholeCount } from "../format/count.ts";
import { visibleText } from "../format/visible-text.ts";
import { useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { actorText, type AuditPage, type AuditRow } from "./audit-row.ts";
import { ChangeView } from "./change-view.tsx";
import type { Fields } from "./fields.ts";
import type { ConfiguredObject, Noun } from "./noun.ts";

const PAGE_ROWS = 50;

export function ObjectHistory({ noun, object }: { readonly noun: Noun; readonly object: ConfiguredObject }) {
  const me = useMe();
  const scope = useScope();
  const isAllowed = may(me, scope, "list*Audit");
  const isFile = object.origin === "file";
  const path = `${adminPath(scope, "/audit")}?target_id=${encodeURIComponent(object.id)}&outcome=done&limit=${PAGE_ROWS}`;
  const { data, error, refetch } = useRead<AuditPage>(isAllowed && !isFile ? path : null, { keepsPrevious: false });
  if (isFile)
    return (
      <Empty title="The history is with the file">
        <p>The gateway reads the configuration file and keeps no versions of it.</p>
      </Empty>
    );
  if (!isAllowed)
    return (
      <Empty title={`You may not see the history of this ${noun.one}`}>
        <p>Maintainers of a project and admins of a tenant see who has changed what.</p>
      </Empty>
    );
  if (error !== null)
    return <Problem what="The history could not be read." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The history" />;
  if (data.data.length === 0) return <Empty title="No change is recorded" />;
  return (
    <>
      <ol className="history">
        {data.data.map((row) => (
          <HistoryEntry key={row.id} row={row} />
        ))}
      </ol>
      {data.next_cursor !== null && <p className="hint">The last {wholeCount(PAGE_ROWS)} changes are shown.</p>}
    </>
  );
}

function HistoryEntry({ row }: { readonly row: AuditRow }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <li>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <TimeText at={row.at} /> <b>{visibleText(row.action)}</b> by {visibleText(actorText(row))}
          {row.version !== null && <small> version {row.version} of the configuration</small>}
        </summary>
        {isOpen && <ChangeView before={(row.before ?? {}) as Fields} after={(row.after ?? {}) as Fields} />}
      </details>
    </li>
  );
}
