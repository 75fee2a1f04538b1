// Lists the claim links that have not been used, with a button that revokes each of them.
import type { Claim, TenantClaimList } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { useWrite } from "../api/use-write.ts";
import { visibleText } from "../format/visible-text.ts";
import { adminPath, type Scope } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { ActionsAsCode } from "./as-code.tsx";
import { DataTable } from "./data-table.tsx";
import { Problem } from "./problem.tsx";
import { TimeText } from "./time-text.tsx";

const MOST = 1000;

/** Nothing where there are none, because most scopes never have any. */
export function OpenClaims({ scope }: { readonly scope: Scope }) {
  const me = useMe();
  const path = adminPath(scope, "/claims");
  const isAllowed = scope.tenant !== null && may(me, scope, "list*Claims");
  const { data, error, refetch } = useRead<TenantClaimList>(isAllowed ? `${path}?limit=${MOST}` : null);
  const open = data?.data.filter(({ state }) => state === "open") ?? [];
  if (error !== null)
    return <Problem what="The open links could not be read." error={error} retry={() => void refetch()} />;
  if (open.length === 0) return null;
  return (
    <section className="call-page open-claims">
      <h2>Open links</h2>
      <DataTable
        label="Open links"
        caption="Links that give a token and have not been used"
        rows={open}
        keyOf={({ id }) => id}
        columns={[
          {
            head: "For the token",
            render: ({ id, name }) => (
              <>
                {visibleText(name)} <small>{id}</small>
              </>
            ),
          },
          { head: "Made by", render: (claim) => visibleText(claim.created_by) },
          { head: "Made", render: (claim) => <TimeText at={claim.created_at} form="day" /> },
          { head: "Works until", render: (claim) => <TimeText at={claim.expires_at} form="day" /> },
          {
            head: "Revoke",
            hidesHead: true,
            render: (claim) => (
              <RevokeClaim
                claim={claim}
                path={`${path}/${encodeURIComponent(claim.id)}`}
                mayRevoke={may(me, scope, "revoke*Claim")}
              />
            ),
          },
        ]}
      />
    </section>
  );
}

interface RevokeClaimProps {
  readonly claim: Claim;
  readonly path: string;
  readonly mayRevoke: boolean;
}

function RevokeClaim({ claim, path, mayRevoke }: RevokeClaimProps) {
  const { ask, isBusy, failure } = useWrite();
  const request = { method: "DELETE", path } as const;
  return (
    <>
      {mayRevoke && (
        <>
          <button type="button" className="quiet" disabled={isBusy} onClick={() => void ask(request)}>
            Revoke<span className="unseen"> the link for {visibleText(claim.name)}</span>
          </button>
          <ActionsAsCode of={`of revoking the link for ${claim.name}`} actions={{ "Revoke the link": request }} />
        </>
      )}
      {failure !== null && <Problem what="The link was not revoked." error={failure} />}
    </>
  );
}
