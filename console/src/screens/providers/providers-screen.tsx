// `/providers`: the providers that can be called in the scope, and how they have done since the beginning of the last hour.
import type { ProviderHealth, ProviderHealths } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { NameFilter, NoSuchName, useNameFilter } from "../../components/controls/name-filter.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { operationOf } from "../../configured/configured-operations.ts";
import { CreateLink } from "../../components/controls/create-link.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { PROVIDER_NOUN } from "./provider-noun.tsx";
import { aboutText, ProviderMark } from "./provider-words.tsx";

const EVERY_MS = 2000;
const MOST_ROUTES = 3;

export function ProvidersScreen() {
  const scope = useScope();
  const me = useMe();
  const isWanted = useNameFilter();
  const path = adminPath(scope, "/provider_health");
  const { data, error, refetch } = useRead<ProviderHealths>(path, { everyMs: EVERY_MS });
  const mayCreate = may(me, scope, operationOf("create", PROVIDER_NOUN));
  const shown = (data?.data ?? [])
    .filter(({ id }) => isWanted(id))
    .toSorted((a, b) => URGENCY.indexOf(a.status) - URGENCY.indexOf(b.status) || b.attempts - a.attempts);
  return (
    <>
      <div className="title-row">
        <h1>Providers</h1>
        {mayCreate && <CreateLink screen="/providers" label="Add a provider" />}
        <AsCode path={path} />
      </div>
      <Unread what="The providers" pending="The list of providers" lines={6} of={{ data, error, refetch }} />
      {data !== undefined && data.data.length === 0 && (
        <Empty title="No provider can be called">
          <p>A provider is enabled by its key: in the environment, in the configuration file, or here.</p>
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <>
          <p className="filter-row list-filter">
            <NameFilter what="providers" />
          </p>
          {shown.length === 0 ? <NoSuchName count={data.data.length} /> : <ProviderTable providers={shown} />}
          <p className="after-table">
            <span>
              Attempts since <TimeText at={data.from} />, as of <TimeText at={data.as_of} />. What fails is at the top.
            </span>
          </p>
        </>
      )}
    </>
  );
}

const URGENCY: readonly ProviderHealth["status"][] = ["down", "degraded", "ok", "unused"];

function ProviderTable({ providers }: { readonly providers: readonly ProviderHealth[] }) {
  return (
    <DataTable
      label="Providers"
      rows={providers}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          render: ({ id, type }) => (
            <>
              <ScopedLink to={`/providers/${encodeURIComponent(id)}`}>{visibleText(id)}</ScopedLink>
              {type !== id && <small> {visibleText(type)}</small>}
            </>
          ),
        },
        { head: "State", render: (provider) => <ProviderMark provider={provider} /> },
        { head: "Attempts", isNumber: true, render: ({ attempts }) => wholeCount(attempts) },
        { head: "Failed", isNumber: true, render: ({ errors }) => wholeCount(errors) },
        { head: "Median", isNumber: true, render: ({ p50_ms: ms }) => aboutText(ms) },
        { head: "95th percentile", isNumber: true, render: ({ p95_ms: ms }) => aboutText(ms) },
        {
          head: "Routes that use it",
          render: ({ routes }) => <span className="cut">{routesText(routes.map(({ name }) => name))}</span>,
        },
      ]}
    />
  );
}

function routesText(routes: readonly string[]): string {
  if (routes.length === 0) return "none";
  const more = routes.length - MOST_ROUTES;
  return routes.slice(0, MOST_ROUTES).map(visibleText).join(", ") + (more > 0 ? `, and ${more} more` : "");
}
