// `/audit`: who has changed or tried to change what, when and from where, with the values before and after.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ApiError } from "../../api/api.ts";
import { useApi } from "../../api/use-api.tsx";
import { Empty } from "../../components/empty.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { actorText, type AuditPage, type AuditRow } from "../../configured/audit-row.ts";
import { ChangeView } from "../../configured/change-view.tsx";
import type { Fields } from "../../configured/fields.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useUrlState } from "../../url-state.ts";

const PAGE_ROWS = 50;
/** As parameters of the admin API, which are also their names in the address. */
const FILTERS = [
  ["user_id", "User"],
  ["action", "Action"],
  ["kind", "Kind"],
  ["target_id", "Id of the object"],
] as const;
const OUTCOMES = ["done", "refused"];

export function AuditScreen() {
  const scope = useScope();
  const api = useApi();
  const state = useUrlState();
  const chosen = [...FILTERS.map(([name]) => name), "outcome"].flatMap((name) => {
    const value = state.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const path = `${adminPath(scope, "/audit")}?${new URLSearchParams([...chosen.map(([name, value]) => [name, value]), ["limit", String(PAGE_ROWS)]]).toString()}`;
  const query = useInfiniteQuery<
    AuditPage,
    ApiError,
    { readonly pages: readonly AuditPage[] },
    readonly unknown[],
    string | null
  >({
    queryKey: ["read", path, "pages"],
    queryFn: ({ pageParam, signal }) =>
      api.send<AuditPage>("GET", `${path}${pageParam === null ? "" : `&cursor=${encodeURIComponent(pageParam)}`}`, {
        signal,
      }),
    initialPageParam: null,
    getNextPageParam: (last) => last.next_cursor,
  });
  const rows = query.data?.pages.flatMap(({ data }) => data) ?? [];
  return (
    <>
      <div className="title-row">
        <h1>Audit</h1>
      </div>
      <AuditFilter />
      {query.error !== null && (
        <Problem what="The audit log could not be read." error={query.error} retry={() => void query.refetch()} />
      )}
      {query.isPending && <Pending what="The audit log" lines={8} />}
      {query.isSuccess && rows.length === 0 && (
        <Empty title={chosen.length === 0 ? "Nothing has been changed yet" : "No entry matches this filter"}>
          {chosen.length > 0 && (
            <button type="button" onClick={() => state.set(Object.fromEntries(chosen.map(([name]) => [name, null])))}>
              Show all entries
            </button>
          )}
        </Empty>
      )}
      <ol className={`history ${query.isPlaceholderData ? "old" : ""}`}>
        {rows.map((row) => (
          <Entry key={row.id} row={row} />
        ))}
      </ol>
      {query.hasNextPage && (
        <p className="after-table">
          <button type="button" disabled={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            {query.isFetchingNextPage ? "Reading…" : "Show older entries"}
          </button>
        </p>
      )}
    </>
  );
}

function AuditFilter() {
  const state = useUrlState();
  return (
    <div className="form-row audit-filter">
      {FILTERS.map(([name, label]) => (
        <label key={name} className="field">
          {label}
          <input
            value={state.get(name) ?? ""}
            spellCheck={false}
            autoComplete="off"
            onChange={(event) => state.set({ [name]: event.target.value }, { replace: true })}
          />
        </label>
      ))}
      <label className="field">
        Outcome
        <select
          value={state.get("outcome") ?? ""}
          onChange={(event) => state.set({ outcome: event.target.value }, { replace: true })}
        >
          <option value="">all</option>
          {OUTCOMES.map((outcome) => (
            <option key={outcome}>{outcome}</option>
          ))}
        </select>
      </label>
    </div>
  );
}

function Entry({ row }: { readonly row: AuditRow }) {
  const [isOpen, setIsOpen] = useState(false);
  const isRefused = row.outcome === "refused";
  return (
    <li>
      <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
        <summary>
          <TimeText at={row.at} />{" "}
          {isRefused && (
            <span className="status warn" data-mark="!">
              refused
            </span>
          )}{" "}
          <b>
            {visibleText(row.action)} {visibleText(row.kind)}
          </b>{" "}
          {visibleText(row.target_name ?? row.target_id ?? "")} <small>by {visibleText(actorText(row))}</small>
        </summary>
        {isOpen && <EntryFacts row={row} />}
      </details>
    </li>
  );
}

function EntryFacts({ row }: { readonly row: AuditRow }) {
  const facts: readonly (readonly [string, string | null])[] = [
    ["Object", row.target_id],
    ["Tenant", row.tenant_id],
    ["Project", row.project_id],
    ["Role", row.actor.role],
    ["Token", row.actor.token_id],
    ["Version", row.version === null ? null : String(row.version)],
    ["Note", row.note],
  ];
  return (
    <>
      <dl className="facts">
        {facts.flatMap(([name, value]) =>
          value === null
            ? []
            : [
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{visibleText(value)}</dd>
                </div>,
              ],
        )}
      </dl>
      {(row.before !== null || row.after !== null) && (
        <ChangeView before={(row.before ?? {}) as Fields} after={(row.after ?? {}) as Fields} />
      )}
    </>
  );
}
