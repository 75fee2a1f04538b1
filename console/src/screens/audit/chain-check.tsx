// Checks the chain of the audit log: whether a row was changed or removed since it was written.
import { useState } from "react";
import type { AuditChain, VerifiedAudit } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { Status } from "../../components/status-mark.tsx";

export function ChainCheck() {
  const scope = useScope();
  const path = adminPath(scope, "/audit/verify");
  const [isAsked, setIsAsked] = useState(false);
  const { data, error, isFetching, refetch } = useRead<VerifiedAudit>(isAsked ? path : null, {
    keepsPrevious: false,
    isLong: true,
  });
  const check = (): void => {
    if (isAsked) void refetch();
    else setIsAsked(true);
  };
  return (
    <div className="call-page">
      <p className="hint">
        Each row of the audit log has a hash that is made of the row and of the hash before it. The check reads all
        rows, and finds those that were changed or removed in the database. Whoever notes a head elsewhere also finds a
        log that was written anew: <code>dragoman audit verify --head</code> looks for it.
      </p>
      <p className="actions">
        <button type="button" className="primary" disabled={isFetching} onClick={check}>
          {isFetching ? "Checking…" : "Check all rows"}
        </button>
      </p>
      {error !== null && <Problem what="The check could not be made." error={error} />}
      {isAsked && data === undefined && error === null && <Pending what="The audit log" />}
      {data !== undefined && !isFetching && <Result verified={data} />}
    </div>
  );
}

function Result({ verified: { intact, chains, public_key: key } }: { readonly verified: VerifiedAudit }) {
  return (
    <>
      <p role="status" className="headline">
        <Status tone={intact ? "good" : "bad"}>
          {intact ? "No row was changed or removed" : "Rows were changed or removed"}
        </Status>
      </p>
      <DataTable
        label="Chains"
        caption="The chains of the audit log"
        rows={chains}
        keyOf={({ tenant_id: tenant }) => tenant ?? ""}
        columns={[
          { head: "Tenant", render: ({ tenant_id: id }) => (id === null ? "no tenant" : visibleText(id)) },
          { head: "Rows", render: ({ rows }) => wholeCount(rows) },
          {
            head: "Removed by age",
            render: ({ removed, newest_removed_at: newest }) => (
              <>
                {wholeCount(removed)}
                {newest !== null && (
                  <small>
                    {" "}
                    up to <TimeText at={newest} form="day" />
                  </small>
                )}
              </>
            ),
          },
          { head: "Head", render: ({ head: { sequence, hash } }) => <Head text={`${sequence}:${hash}`} /> },
          { head: "Found", render: ({ problems }) => <Problems problems={problems} /> },
        ]}
      />
      <p className="hint">
        Exports are signed with the key <code>{key}</code>.
      </p>
    </>
  );
}

function Head({ text }: { readonly text: string }) {
  return (
    <>
      <code>{text.slice(0, text.indexOf(":") + 13)}…</code> <CopyButton label="Copy the head" text={text} />
    </>
  );
}

function Problems({ problems }: Pick<AuditChain, "problems">) {
  if (problems.length === 0) return "nothing";
  return (
    <ul>
      {problems.map(({ problem, sequence, message }) => (
        <li key={`${problem} ${sequence}`}>{message}</li>
      ))}
    </ul>
  );
}
