// `/limits/<id>`: one limit or budget. How full it is and when it will be reached, who uses it, what it refused, its definition and its history.
import { useEffect } from "react";
import type { LimitDetail } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { Segments } from "../../components/controls/segments.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { Unread } from "../../components/unread.tsx";
import { NEW_NAME } from "../../configured/configured-operations.ts";
import { NewObject } from "../../configured/object-editor.tsx";
import { ObjectTab } from "../../configured/object-tab.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopeContext, ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useUrlState } from "../../url-state.ts";
import { LimitFill } from "./limit-fill.tsx";
import { LIMIT_NOUNS } from "./limit-nouns.tsx";
import { LimitRefusals } from "./limit-refusals.tsx";
import { LimitUse } from "./limit-use.tsx";
import { boundText, scopeText } from "./limit-words.ts";
import { ownScope, RaiseLimit } from "./raise-limit.tsx";

const EVERY_MS = 2000;
const KINDS = { budget: "Budget", limit: "Limit" } as const;
const TABS = [
  { name: "state", label: "State" },
  { name: "edit", label: "Definition" },
  { name: "history", label: "History" },
];

export function LimitScreen({ id }: { readonly id: string }) {
  return (
    <>
      <p>
        <ScopedLink to="/limits">Limits and budgets</ScopedLink>
      </p>
      {id === NEW_NAME ? <NewLimit /> : <OneLimit id={id} />}
    </>
  );
}

function NewLimit() {
  const url = useUrlState();
  const kind = url.get("kind") === "limit" ? "limit" : "budget";
  const choice = (
    <p>
      <Segments
        label="Kind"
        choices={KINDS}
        chosen={kind}
        choose={(name) => url.set({ kind: name === "budget" ? null : name }, { replace: true })}
      />
    </p>
  );
  return <NewObject key={kind} noun={LIMIT_NOUNS[kind]} choice={choice} />;
}

function OneLimit({ id }: { readonly id: string }) {
  const scope = useScope();
  const path = adminPath(scope, `/limit_states/${encodeURIComponent(id)}`);
  const { data: limit, error, refetch } = useRead<LimitDetail>(path, { everyMs: EVERY_MS, keepsPrevious: false });
  useEffect(() => {
    document.title = `${limit?.name ?? id} · Limits and budgets · Dragoman`;
  }, [limit?.name, id]);
  const [tab, choose] = useTab(TABS);
  return (
    <>
      <div className="title-row">
        <h1>{visibleText(limit?.name ?? id)}</h1>
        {limit !== undefined && (
          <>
            <span className="badge">{limit.kind}</span>
            {limit.mode === "audit" && <span className="badge">only reports</span>}
            <span>
              {boundText(limit)}, {scopeText(limit)}
              {limit.project_id !== null && ` of project ${limit.project_id}`}
            </span>
            <ScopeContext value={ownScope(scope, limit)}>
              <RaiseLimit limit={limit} />
            </ScopeContext>
          </>
        )}
        <AsCode path={path} />
      </div>
      {limit === undefined && <Unread what="The limit" lines={8} of={{ data: limit, error, refetch }} />}
      {limit !== undefined && (
        <Tabs label={`About ${limit.name}`} tabs={TABS} chosen={tab} choose={choose}>
          {tab === "state" && (
            <>
              <LimitFill limit={limit} />
              <LimitUse limit={limit} />
              <LimitRefusals limit={limit} />
            </>
          )}
          {(tab === "edit" || tab === "history") && (
            <ScopeContext value={ownScope(scope, limit)}>
              <ObjectTab noun={LIMIT_NOUNS[limit.kind]} id={limit.id} tab={tab} />
            </ScopeContext>
          )}
        </Tabs>
      )}
    </>
  );
}
