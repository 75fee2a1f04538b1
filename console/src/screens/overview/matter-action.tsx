// What can be done at once about something that needs somebody: a budget is raised, a provider is drained. The dialogs are those of their pages.
import { type ComponentType, useState } from "react";
import type { Attention } from "../../api/types.ts";
import { loadedOnUse } from "../../components/loaded-on-use.tsx";
import { useScope } from "../../scope/scope-context.tsx";
import type { Scope } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";

interface Action {
  readonly label: string;
  readonly needs: string;
  /** Where it is done. */
  readonly place: (scope: Scope) => Scope;
  readonly Dialog: ComponentType<{ readonly id: string; readonly close: () => void }>;
}

const ACTIONS: Readonly<Partial<Record<Attention["kind"], Action>>> = {
  budget: {
    label: "Change the amount",
    needs: "replace*Budget",
    place: (scope) => scope,
    Dialog: loadedOnUse(async () => (await import("../limits/raise-limit.tsx")).RaiseDialog, null),
  },
  provider: {
    label: "Drain for a time",
    needs: "drain*Provider",
    place: ({ tenant }) => ({ tenant, project: null }),
    Dialog: loadedOnUse(async () => (await import("../providers/drain-provider.tsx")).DrainDialogOf, null),
  },
};

export function MatterAction({ kind, subject }: Pick<Attention, "kind" | "subject">) {
  const scope = useScope();
  const me = useMe();
  const [isOpen, setIsOpen] = useState(false);
  const action = ACTIONS[kind];
  // what the configuration file says is changed there
  if (action === undefined || subject.startsWith("file.") || !may(me, action.place(scope), action.needs)) return null;
  return (
    <>
      <button type="button" onClick={() => setIsOpen(true)}>
        {action.label}
      </button>
      {isOpen && <action.Dialog id={subject} close={() => setIsOpen(false)} />}
    </>
  );
}
