// The form of the settings of a tenant or project. What it does not show is written in the YAML beside it.
import { ChoiceField, LinesField, NumberField, SwitchField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";

interface SettingsFormProps extends FormProps {
  readonly isProject: boolean;
  /** The fields that the configuration file sets. */
  readonly filed: readonly string[];
}

export function SettingsForm({ isProject, filed, ...form }: SettingsFormProps) {
  /** What a field of this setting gets: it is read-only where the file sets it. */
  const of = (name: string): FormProps => ({ ...form, isReadOnly: form.isReadOnly || filed.includes(name) });
  const content = of("content_log");
  /** What an empty field of the content log means. */
  const otherwise = (value: string): string => (isProject ? "As the tenant says if empty." : `${value} if empty.`);
  return (
    <div className="object-form">
      {!isProject && (
        <TextField
          {...of("timezone")}
          label="Time zone of reports"
          path={["timezone"]}
          hint="Such as Europe/Berlin. Empty means that of the gateway, which is UTC unless the configuration file says otherwise. Days of usage begin at its midnight where a request names no other zone. Budgets follow UTC."
        />
      )}
      <fieldset>
        <legend>Prompts and answers</legend>
        <SwitchField
          {...content}
          label="Keep them"
          path={["content_log", "enabled"]}
          unset={isProject ? "as the tenant says" : "no"}
          hint={
            isProject
              ? "A project can only turn it off. Choose yes where it sets one of the next four fields."
              : undefined
          }
        />
        <div className="form-row">
          <NumberField {...content} label="For days" path={["content_log", "retention_days"]} hint={otherwise("30")} />
          <NumberField
            {...content}
            label="Share of calls"
            path={["content_log", "sample"]}
            hint={`0 to 1. ${otherwise("All")}`}
          />
          <NumberField
            {...content}
            label="Characters of a call"
            path={["content_log", "max_characters"]}
            hint={otherwise("65,536")}
          />
        </div>
        <ChoiceField
          {...content}
          label="Where"
          path={["content_log", "keep_in"]}
          choices={["store", "integrations"]}
          unset={isProject ? "as the tenant says" : "in the database, encrypted"}
        />
        {!isProject && (
          <LinesField
            {...content}
            label="Only of these projects, one in each line"
            path={["content_log", "projects"]}
            hint="Empty means all projects."
          />
        )}
      </fieldset>
      <div className="form-row">
        <ChoiceField
          {...of("responses")}
          label="Keep responses for later calls"
          path={["responses", "store"]}
          choices={["off", "ephemeral", "on"]}
          unset="inherited"
        />
        {!isProject && (
          <SwitchField {...of("cache_allowed")} label="Allow the response cache" path={["cache_allowed"]} unset="no" />
        )}
        <SwitchField
          {...of("drop_params")}
          label="Drop unsupported parameters"
          path={["drop_params"]}
          unset="inherited"
        />
      </div>
      <LinesField
        {...of("models")}
        label="Enabled models, one in each line"
        path={["models"]}
        hint={`As provider:model, with * for any text. Empty means all${isProject ? " that the tenant enables" : ""}.`}
      />
    </div>
  );
}
