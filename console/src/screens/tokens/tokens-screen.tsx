// `/tokens`: the access tokens of the project, or of the tenant with the personal ones.
import { AsCode } from "../../components/as-code.tsx";
import { useMemo, useState } from "react";
import type { IssuedToken, NewClaim, ListedToken, ProjectTokenList } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { ClaimOnce } from "../../components/claim-once.tsx";
import { Empty } from "../../components/empty.tsx";
import { OpenClaims } from "../../components/open-claims.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Segments } from "../../components/controls/segments.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
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
        <Segments
          label="State"
          choices={STATES}
          chosen={state}
          choose={(one) => url.set({ state: one === "live" ? null : one, after: null })}
        />
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
      <Unread what="The tokens" pending="The list of tokens" lines={6} of={{ data, error, refetch }} />
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
    <DataTable
      label="Access tokens"
      caption="Access tokens, the newest first"
      rows={tokens}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          render: ({ id, name }) => (
            <>
              <ScopedLink to={`/tokens/${id}`}>{visibleText(name)}</ScopedLink> <small>{id}</small>
            </>
          ),
        },
        { head: "State", render: ({ state }) => <TokenState state={state} /> },
        { head: "Belongs to", render: belongsTo },
        { head: "May call", render: (token) => <span className="cut">{narrowingOf(token)}</span> },
        { head: "Permissions", render: ({ permissions }) => permissions.join(", ") || "none" },
        { head: "Last call", render: (token) => <LastCall token={token} /> },
        { head: `Expires (${zone})`, render: ({ expires_at: at }) => <TimeText at={at} form="day" /> },
        { head: "Made by", render: (token) => token.created_by ?? "–" },
      ]}
    />
  );
}
