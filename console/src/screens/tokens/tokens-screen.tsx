// `/tokens`: the access tokens of the project, or of the tenant with the personal ones.
import { AsCode } from "../../components/as-code.tsx";
import { useMemo, useState } from "react";
import type { IssuedToken, NewClaim, ListedToken, ProjectTokenList } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { ClaimOnce } from "../../components/claim-once.tsx";
import { Empty } from "../../components/empty.tsx";
import { OpenClaims } from "../../components/open-claims.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { useZone } from "../../use-zone.ts";
import { adminPath, titleOf } from "../../scope/scope.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { useUrlState } from "../../url-state.ts";
import { NewToken } from "./new-token.tsx";
import { SecretOnce } from "./secret-once.tsx";
import { belongsTo, LastCall, narrowingOf, TokenState } from "./token-facts.tsx";

const STATES = { live: "Live", expired: "Expired", revoked: "Revoked", all: "All" } as const;

export function TokensScreen() {
  const scope = useScope();
  const me = useMe();
  const url = useUrlState();
  const state = url.get("state") ?? "live";
  const search = url.get("search") ?? "";
  const cursor = url.get("after");
  const [secret, setSecret] = useState<IssuedToken | null>(null);
  const [claim, setClaim] = useState<NewClaim | null>(null);
  const query = new URLSearchParams({
    limit: "100",
    ...(state !== "all" && { state }),
    ...(search !== "" && { search }),
    ...(cursor !== null && { cursor }),
  });
  const path = `${adminPath(scope, "/tokens")}?${query.toString()}`;
  const { data, error, refetch, isPlaceholderData } = useRead<ProjectTokenList>(path);
  const mayMake = may(me, scope, "create*Token");
  const isMaking = mayMake && url.get("new") !== null;
  const stopMaking = (): void => url.set({ new: null }, { replace: true });
  const bindings = useMemo<readonly Binding[]>(
    () => (mayMake ? [{ keys: "c", label: "Make a token", run: () => url.set({ new: "1" }) }] : []),
    [mayMake, url],
  );
  useKeys(bindings);
  return (
    <>
      <div className="title-row">
        <h1>Tokens</h1>
        <span className="segments" role="group" aria-label="State">
          {Object.entries(STATES).map(([one, label]) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === state}
              onClick={() => url.set({ state: one === "live" ? null : one, after: null })}
            >
              {label}
            </button>
          ))}
        </span>
        <input
          type="search"
          aria-label="Search by name or id"
          placeholder="Search by name or id"
          value={search}
          onChange={(event) => url.set({ search: event.target.value, after: null }, { replace: true })}
        />
        <button
          type="button"
          className="primary"
          disabled={!mayMake}
          title={mayMake ? "c" : "Making tokens needs the role maintainer in the project, or admin in the tenant."}
          onClick={() => url.set({ new: "1" })}
        >
          New token
        </button>
        <AsCode path={path} />
      </div>
      {error !== null && <Problem what="The tokens could not be read." error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <Pending what="The list of tokens" lines={6} />}
      {data !== undefined && data.data.length > 0 && (
        <div className={isPlaceholderData ? "old" : ""}>
          <TokenTable tokens={data.data} />
        </div>
      )}
      {data?.data.length === 0 && (
        <Empty
          title={
            search === ""
              ? `There are no ${state === "all" ? "" : `${state} `}tokens of ${titleOf(scope)}`
              : `No token matches ${search}`
          }
        >
          <p>Programs and people call the gateway with an access token.</p>
        </Empty>
      )}
      {data != null && data.next_cursor !== null && (
        <div className="after-table">
          <button type="button" onClick={() => url.set({ after: data.next_cursor })}>
            Next page
          </button>
        </div>
      )}
      {isMaking && (
        <NewToken
          close={stopMaking}
          made={(token) => {
            stopMaking();
            setSecret(token);
          }}
          linked={(made) => {
            stopMaking();
            setClaim(made);
          }}
        />
      )}
      <OpenClaims scope={scope} />
      {claim !== null && <ClaimOnce claim={claim} close={() => setClaim(null)} />}
      {secret?.token != null && <SecretOnce name={secret.name} secret={secret.token} close={() => setSecret(null)} />}
    </>
  );
}

function TokenTable({ tokens }: { readonly tokens: readonly ListedToken[] }) {
  const zone = useZone();
  return (
    <TableBox label="Access tokens">
      <table>
        <caption className="unseen">Access tokens, the newest first</caption>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">State</th>
            <th scope="col">Belongs to</th>
            <th scope="col">May call</th>
            <th scope="col">Permissions</th>
            <th scope="col">Last call</th>
            <th scope="col">Expires ({zone})</th>
            <th scope="col">Made by</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((token) => (
            <tr key={token.id}>
              <th scope="row">
                <ScopedLink to={`/tokens/${token.id}`}>{visibleText(token.name)}</ScopedLink> <small>{token.id}</small>
              </th>
              <td>
                <TokenState state={token.state} />
              </td>
              <td>{belongsTo(token)}</td>
              <td>
                <span className="cut">{narrowingOf(token)}</span>
              </td>
              <td>{token.permissions.join(", ") || "none"}</td>
              <td>
                <LastCall token={token} />
              </td>
              <td>
                <TimeText at={token.expires_at} form="day" />
              </td>
              <td>{token.created_by ?? "–"}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}
