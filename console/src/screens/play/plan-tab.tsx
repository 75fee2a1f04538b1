// The plan of the request, which is asked for by a button or by keyboard.
import { ExplainedPlan } from "../../components/explained-plan.tsx";
import { NeedsDebug } from "../../components/needs-debug.tsx";
import { KeyCaps } from "../../keyboard/key-caps.tsx";
import type { PaneRequest } from "./pane-request.ts";

export function PlanTab({ request }: { readonly request: PaneRequest }) {
  const { body, projectId, explained, explain } = request;
  return (
    <NeedsDebug>
      <p className="actions">
        <button type="button" onClick={explain} disabled={body === null || projectId === null}>
          Explain this request <KeyCaps keys="mod+shift+enter" />
        </button>
        <span className="hint">Nothing is sent to a provider.</span>
      </p>
      {explained > 0 && body !== null && projectId !== null && (
        <ExplainedPlan key={explained} body={body} projectId={projectId} />
      )}
    </NeedsDebug>
  );
}
