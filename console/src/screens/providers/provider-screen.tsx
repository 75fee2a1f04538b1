// `/providers/<name>`: one provider. How it does, what it supports, and its definition and history where it is configured.
import { useEffect } from "react";
import type { ProviderHealths } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { Tabs, useTab } from "../../components/tabs.tsx";
import { Unread } from "../../components/unread.tsx";
import { NEW_NAME } from "../../configured/configured-operations.ts";
import { NewObject } from "../../configured/object-editor.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { ScopeContext, ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { DrainButton, Drains } from "./drain-provider.tsx";
import { ProviderCapabilities } from "./provider-capabilities.tsx";
import { ProviderDefinition } from "./provider-definition.tsx";
import { PROVIDER_NOUN } from "./provider-noun.tsx";
import { ProviderState } from "./provider-state.tsx";
import { ProviderMark } from "./provider-words.tsx";
import { TestButton } from "./test-provider.tsx";

const EVERY_MS = 2000;
const TABS = [
  { name: "state", label: "State" },
  { name: "capabilities", label: "What it supports" },
  { name: "edit", label: "Definition" },
  { name: "history", label: "History" },
];

export function ProviderScreen({ id }: { readonly id: string }) {
  return (
    <>
      <p>
        <ScopedLink to="/providers">Providers</ScopedLink>
      </p>
      {id === NEW_NAME ? <NewObject noun={PROVIDER_NOUN} /> : <OneProvider id={id} />}
    </>
  );
}

function OneProvider({ id: key }: { readonly id: string }) {
  const scope = useScope();
  const path = adminPath(scope, "/provider_health");
  const { data, error, refetch } = useRead<ProviderHealths>(path, { everyMs: EVERY_MS });
  const provider = data?.data.find(({ id }) => id === key);
  useEffect(() => {
    document.title = `${key} · Providers · Dragoman`;
  }, [key]);
  const [tab, choose] = useTab(TABS);
  return (
    <>
      <div className="title-row">
        <h1>{visibleText(key)}</h1>
        {provider !== undefined && (
          <>
            <ProviderMark provider={provider} />
            {provider.type !== provider.id && <span className="badge">{visibleText(provider.type)}</span>}
            <TestButton provider={provider} />
            <DrainButton provider={provider} />
          </>
        )}
        <AsCode path={path} />
      </div>
      {data === undefined && <Unread what="The provider" lines={8} of={{ data, error, refetch }} />}
      {data !== undefined && provider !== undefined && (
        <Drains drains={provider.drains} asOfMs={Date.parse(data.as_of)} />
      )}
      {data !== undefined && (
        <Tabs label={`About ${key}`} tabs={TABS} chosen={tab} choose={choose}>
          {tab === "state" &&
            (provider === undefined ? <NotEnabled id={key} /> : <ProviderState provider={provider} counted={data} />)}
          {tab === "capabilities" && <ProviderCapabilities id={key} targets={provider?.targets ?? []} />}
          {(tab === "edit" || tab === "history") && (
            <ScopeContext value={{ tenant: scope.tenant, project: null }}>
              <ProviderDefinition id={key} tab={tab} />
            </ScopeContext>
          )}
        </Tabs>
      )}
    </>
  );
}

function NotEnabled({ id }: { readonly id: string }) {
  return (
    <Empty title={`${visibleText(id)} is not enabled here`}>
      <p>There is no provider of this name in this tenant or project, or it has no key and no calls.</p>
    </Empty>
  );
}
