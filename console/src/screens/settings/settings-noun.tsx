// What the console knows of the settings of a tenant or project.
import type { FormProps, Noun } from "../../configured/noun.ts";
import { SettingsForm } from "./settings-form.tsx";

interface SettingsKind {
  readonly isProject: boolean;
  /** The fields that the configuration file sets. */
  readonly filed: readonly string[];
}

export function settingsNoun({ isProject, filed }: SettingsKind): Noun {
  return {
    plural: "settings",
    screen: "/settings",
    one: "settings",
    many: "Settings",
    command: "settings",
    operation: "Settings",
    template: "",
    purpose: "How calls are treated, and what is kept of them.",
    columns: [],
    Form: (props: FormProps) => <SettingsForm {...props} isProject={isProject} filed={filed} />,
  };
}
