// Chooses the project, where the scope of the page does not.
import { useUrlState } from "../../url-state.ts";
import type { PayingProject } from "./paying-project.ts";

interface ProjectChoiceProps {
  readonly project: PayingProject;
  readonly label: string;
}

export function ProjectChoice({ project: { id, choices, isFixed }, label }: ProjectChoiceProps) {
  const state = useUrlState();
  if (isFixed || choices.length === 0) return null;
  return (
    <label>
      {label}
      <select value={id ?? ""} onChange={(event) => state.set({ project: event.target.value }, { replace: true })}>
        {id === null && <option value="">Choose a project</option>}
        {choices.map(({ id: project, name, tenantId }) => (
          <option key={project} value={project}>
            {name === project ? project : `${name} (${project})`} of {tenantId}
          </option>
        ))}
      </select>
    </label>
  );
}
