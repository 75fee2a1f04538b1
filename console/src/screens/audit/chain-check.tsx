// Checks the chain of the audit log: whether a row was changed or removed since it was written.
import { useState } from "react";
import type { AuditChain, VerifiedAudit } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { Status } from "../../components/status.tsx";

export function ChainCheck() {
  const scope = useScope();
  const path = adminPath(scope, "/audit/verify");
  const [isAsked, setIsAsked] = useState(false);
  const { data, error, isFetching, refetch } = useRead<VerifiedAudit>(isAsked ? path : null, { keepsPrevious: false });
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
      <TableBox label="Chains">
        <table>
          <caption className="unseen">The chains of the audit log</caption>
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              <th scope="col">Rows</th>
              <th scope="col">Removed by age</th>
              <th scope="col">Head</th>
              <th scope="col">Found</th>
            </tr>
          </thead>
          <tbody>
            {chains.map((chain) => (
              <ChainRow key={chain.tenant_id ?? ""} chain={chain} />
            ))}
          </tbody>
        </table>
      </TableBox>
      <p className="hint">
        Exports are signed with the key <code>{key}</code>.
      </p>
    </>
  );
}

function ChainRow({ chain }: { readonly chain: AuditChain }) {
  const head = `${chain.head.sequence}:${chain.head.hash}`;
  return (
    <tr>
      <th scope="row">{chain.tenant_id === null ? "no tenant" : visibleText(chain.tenant_id)}</th>
      <td>{wholeCount(chain.rows)}</td>
      <td>
        {wholeCount(chain.removed)}
        {chain.newest_removed_at !== null && (
          <small>
            {" "}
            up to <TimeText at={chain.newest_removed_at} form="day" />
          </small>
        )}
      </td>
      <td>
        <code>{head.slice(0, head.indexOf(":") + 13)}…</code> <CopyButton label="Copy the head" text={head} />
      </td>
      <td>
        {chain.problems.length === 0 ? (
          "nothing"
        ) : (
          <ul>
            {chain.problems.map(({ problem, sequence, message }) => (
              <li key={`${problem} ${sequence}`}>{message}</li>
            ))}
          </ul>
        )}
      </td>
    </tr>
  );
}
