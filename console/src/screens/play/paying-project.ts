// The project to which calls of the playground are charged: that of the scope, the only one, or the one that was chosen.
import { useScope } from "../../scope/scope-context.tsx";
import { useMe } from "../../session/session.tsx";
import { useUrlState } from "../../url-state.ts";

interface Choice {
  readonly id: string;
  readonly tenantId: string;
  readonly name: string;
}

export interface PayingProject {
  /** Null until one is chosen. */
  readonly id: string | null;
  readonly tenantId: string | null;
  readonly choices: readonly Choice[];
  /** The scope has decided. */
  readonly isFixed: boolean;
}

export function usePayingProject(): PayingProject {
  const me = useMe();
  const scope = useScope();
  const state = useUrlState();
  const choices = me.places.flatMap(({ tenant_id: tenantId, project_id: id, name }) =>
    id === null ||
    (scope.tenant !== null && tenantId !== scope.tenant) ||
    (scope.project !== null && id !== scope.project)
      ? []
      : [{ id, tenantId, name }],
  );
  const wanted = scope.project ?? state.get("project") ?? (choices.length === 1 ? choices[0]!.id : null);
  const chosen = choices.find(({ id }) => id === wanted);
  return {
    id: chosen?.id ?? scope.project,
    tenantId: chosen?.tenantId ?? scope.tenant,
    choices:
      choices.length === 0 && scope.project !== null
        ? [{ id: scope.project, tenantId: scope.tenant ?? "", name: scope.project }]
        : choices,
    isFixed: scope.project !== null,
  };
}
