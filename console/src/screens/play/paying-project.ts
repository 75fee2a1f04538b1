// The project to which calls of the playground are charged: that of the scope, the only one, or the one that was chosen.
import { useScope } from "../../scope/scope-context.tsx";
import { useMe } from "../../session/session.tsx";
import { useUrlState } from "../../url-state.ts";

export type PayingProject = ReturnType<typeof usePayingProject>;

export function usePayingProject() {
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
    /** Null until one is chosen. */
    id: chosen?.id ?? scope.project,
    tenantId: chosen?.tenantId ?? scope.tenant,
    choices:
      choices.length === 0 && scope.project !== null
        ? [{ id: scope.project, tenantId: scope.tenant ?? "", name: scope.project }]
        : choices,
    /** The scope has decided. */
    isFixed: scope.project !== null,
  };
}
