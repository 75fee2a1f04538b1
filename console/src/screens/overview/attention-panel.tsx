// What needs somebody, what happens first at the top. Each line leads to where it can be seen and changed.
import type { Attention, AttentionList } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { ageOf, inAllZones, dayAndClock } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { summedPath } from "../calls/calls-path.ts";
import { termText } from "../calls/filter.ts";
import { MatterAction } from "./matter-action.tsx";
import { Unread } from "../../components/unread.tsx";
import { Status } from "../../components/status-mark.tsx";
import { Panel } from "../../components/panel.tsx";

const MOST_TENANTS = 12;

export function AttentionPanel({ everyMs }: { readonly everyMs: number }) {
  const scope = useScope();
  const isOne = scope.tenant !== null || scope.project !== null;
  return (
    <Panel id="attention" title="What needs you">
      {isOne ? <Matters scope={scope} everyMs={everyMs} /> : <Tenants />}
    </Panel>
  );
}

function Matters({ scope, everyMs }: { readonly scope: Scope; readonly everyMs: number }) {
  const me = useMe();
  const { data, error, refetch } = useRead<AttentionList>(adminPath(scope, "/attention"), { everyMs });
  if (data === undefined) return <Unread what="What needs you" of={{ data, error, refetch }} />;
  if (data.data.length === 0)
    return (
      <p>
        <Status tone="good">Nothing</Status>{" "}
        <span className="hint">
          No budget will be used up before it resets, no limit refuses many calls, no provider, no route and no guard
          service fails often, {may(me, scope, "list*Tokens") && "no access token expires soon, "}and every model that
          was called has a price.
        </span>
      </p>
    );
  return (
    <ul className="matters">
      {data.data.map((matter) => (
        <Line key={`${matter.kind} ${matter.subject}`} matter={matter} asOfMs={Date.parse(data.as_of)} />
      ))}
    </ul>
  );
}

function Line({ matter, asOfMs }: { readonly matter: Attention; readonly asOfMs: number }) {
  const zone = useZone();
  const { kind, subject, text, at } = matter;
  const atMs = at === null ? null : Date.parse(at);
  return (
    <li>
      {atMs === null ? (
        <Status tone="bad" mark="!">
          now
        </Status>
      ) : (
        <Status tone="warn" title={inAllZones(atMs, zone)}>
          {dayAndClock(atMs, asOfMs, zone)}
        </Status>
      )}
      <ScopedLink to={LINKS[kind](subject)}>{visibleText(text)}</ScopedLink>
      {atMs !== null && <small>{ageOf(atMs, asOfMs)}</small>}
      <MatterAction kind={kind} subject={subject} />
    </li>
  );
}

const LINKS: Readonly<Record<Attention["kind"], (subject: string) => string>> = {
  budget: (id) => `/limits/${encodeURIComponent(id)}`,
  limit: (id) => `/limits/${encodeURIComponent(id)}`,
  provider: (id) => `/providers/${encodeURIComponent(id)}`,
  route: (name) => summedPath([termText("route", name), "outcome:failed"]),
  guard: (id) => `/policies/${encodeURIComponent(id)}`,
  token: (id) => `/tokens/${encodeURIComponent(id)}`,
  price: () => "/prices",
};

/** What needs somebody is told for one tenant or project. */
function Tenants() {
  const me = useMe();
  const tenants = me.places.filter(({ project_id: project }) => project === null).slice(0, MOST_TENANTS);
  return (
    <>
      <p className="hint">This is told for one tenant at a time. Look at:</p>
      <ul className="near">
        {tenants.map(({ tenant_id: tenant, name }) => (
          <li key={tenant}>
            <ScopedLink scope={{ tenant, project: null }} to="/">
              {name}
            </ScopedLink>
          </li>
        ))}
      </ul>
    </>
  );
}
