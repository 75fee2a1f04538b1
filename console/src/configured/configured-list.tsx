// The list of the configured objects of one kind in the scope, with a way to make another.
import { AsCode } from "../components/as-code.tsx";
import type { DraftList } from "../api/types.ts";
import { useRead } from "../api/use-api.tsx";
import { Empty } from "../components/empty.tsx";
import { NameFilter, NoSuchName, useNameFilter } from "../components/controls/name-filter.tsx";
import { Problem } from "../components/problem.tsx";
import { DataTable } from "../components/data-table.tsx";
import { TimeText } from "../components/time-text.tsx";
import { Unread } from "../components/unread.tsx";
import { wholeCount } from "../format/count.ts";
import { visibleText } from "../format/visible-text.ts";
import { ScopedLink, useScope } from "../scope/scope-context.tsx";
import { adminPath } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import { operationOf } from "./configured-operations.ts";
import { CreateLink } from "../components/controls/create-link.tsx";
import type { ConfiguredObject, Noun } from "./noun.ts";
import { ProjectObjects } from "./project-objects.tsx";

interface Page {
  readonly data: readonly ConfiguredObject[];
  readonly next_cursor: string | null;
}

const PAGE_ROWS = 1000;

export function ConfiguredList({ noun }: { readonly noun: Noun }) {
  const scope = useScope();
  const me = useMe();
  const isWanted = useNameFilter();
  const { data, error, refetch } = useRead<Page>(adminPath(scope, `/${noun.plural}?limit=${PAGE_ROWS}`));
  const mayDraft = noun.isVersioned === true && may(me, scope, `list*Drafts`);
  const drafts = useRead<DraftList>(mayDraft ? adminPath(scope, "/drafts") : null);
  const drafted = new Set((drafts.data?.data ?? []).filter(({ kind }) => kind === noun.one).map(({ name }) => name));
  const mayCreate = may(me, scope, operationOf("create", noun));
  const shown = data?.data.filter(({ name }) => isWanted(name)) ?? [];
  return (
    <>
      <div className="title-row">
        <h1>{noun.many}</h1>
        {mayCreate && <CreateLink screen={noun.screen} label={`Create a ${noun.one}`} />}
        <AsCode path={adminPath(scope, `/${noun.plural}`)} />
      </div>
      {drafts.error !== null && (
        <Problem what="Your drafts could not be read." error={drafts.error} retry={() => void drafts.refetch()} />
      )}
      <Unread
        what={`The ${noun.many.toLowerCase()}`}
        pending={`The list of ${noun.many.toLowerCase()}`}
        lines={6}
        of={{ data, error, refetch }}
      />
      {data !== undefined && data.data.length === 0 && (
        <Empty
          title={
            scope.tenant !== null && scope.project === null
              ? `The tenant itself has no ${noun.one} yet`
              : `There is no ${noun.one} yet`
          }
        >
          <p>{noun.purpose}</p>
          {!mayCreate && <p>Someone with a higher role in this tenant or project can make one.</p>}
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && (
        <>
          <p className="filter-row list-filter">
            <NameFilter what={noun.many.toLowerCase()} />
          </p>
          {shown.length === 0 ? (
            <NoSuchName count={data.data.length} />
          ) : (
            <ObjectTable noun={noun} objects={shown} drafted={drafted} />
          )}
          {data.next_cursor !== null && (
            <p className="hint">
              The first {wholeCount(PAGE_ROWS)} are shown. The others can be opened by their address.
            </p>
          )}
        </>
      )}
      <ProjectObjects noun={noun} />
    </>
  );
}

interface ObjectTableProps {
  readonly noun: Noun;
  readonly objects: readonly ConfiguredObject[];
  /** Names of the objects of which the reader has a draft. */
  readonly drafted: ReadonlySet<string>;
}

function ObjectTable({ noun, objects, drafted }: ObjectTableProps) {
  return (
    <DataTable
      label={noun.many}
      rows={objects}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Name",
          render: ({ id, name }) => (
            <>
              <ScopedLink to={`${noun.screen}/${encodeURIComponent(id)}`}>{visibleText(name)}</ScopedLink>
              {drafted.has(name) && <small className="badge"> ● your draft</small>}
            </>
          ),
        },
        ...noun.columns,
        {
          head: "Kept in",
          render: (object) => (
            <>
              {object.origin === "file" ? "file" : "database"}
              {object.project_id === null && <small> of {object.tenant_id ?? "all tenants"}</small>}
            </>
          ),
        },
        { head: "Changed", render: ({ updated_at: at }) => (at === null ? "–" : <TimeText at={at} />) },
      ]}
    />
  );
}
