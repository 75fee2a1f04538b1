// Chooses the project, where the scope of the page does not.
import { InlineSelect } from "../../components/controls/labelled.tsx";
import { useUrlState } from "../../url-state.ts";
import type { PayingProject } from "./paying-project.ts";

interface ProjectChoiceProps {
  readonly project: PayingProject;
  readonly label: string;
}

export function ProjectChoice({ project: { id, choices, isFixed }, label }: ProjectChoiceProps) {
  const state = useUrlState();
  if (isFixed || choices.length === 0) return null;
  const projects = choices.map(({ id: project, name, tenantId }) => {
    const shown = name === project ? project : `${name} (${project})`;
    return [project, `${shown} of ${tenantId}`] as const;
  });
  return (
    <InlineSelect
      label={label}
      value={id ?? ""}
      choices={id === null ? [["", "Choose a project"], ...projects] : projects}
      change={(project) => state.set({ project }, { replace: true })}
    />
  );
}
