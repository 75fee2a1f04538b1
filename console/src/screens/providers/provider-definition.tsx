// The definition and the history of a provider of the configuration. One that a variable of the environment enables has neither.
import { Empty } from "../../components/empty.tsx";
import { ObjectTab } from "../../configured/object-tab.tsx";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { PROVIDER_NOUN } from "./provider-noun.tsx";

export function ProviderDefinition({ id, tab }: { readonly id: string; readonly tab: "edit" | "history" }) {
  const me = useMe();
  const scope = useScope();
  if (!may(me, scope, "read*Provider"))
    return (
      <Empty title="You may not see the definition of providers">
        <p>Providers belong to the tenant. Those who have a role in the whole tenant see how they are defined.</p>
      </Empty>
    );
  return (
    <ObjectTab
      noun={PROVIDER_NOUN}
      id={id}
      tab={tab}
      missing={
        <Empty title="It is not defined in the configuration">
          <p>
            It is built in, or the key of a variable of the environment enables it. A provider of the same name that you
            add here takes its place in this tenant.
          </p>
        </Empty>
      }
    />
  );
}
