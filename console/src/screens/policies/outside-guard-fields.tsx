// The service that judges texts for a guard. Its headers may hold secrets, and are written in the YAML.
import { ChoiceField, LinesField, NumberField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";
import { valueAt } from "../../configured/yaml-text.ts";
import { FIELDS, LISTS, NUMBERS, SERVICE_TYPES, type SpecialField } from "./outside-guard-types.ts";

const SERVICE = ["guard", "service"] as const;

export function GuardServiceFields(props: FormProps) {
  const type = valueAt(props.fields, [...SERVICE, "type"]);
  const ofType: readonly string[] = SERVICE_TYPES[typeof type === "string" ? type : ""] ?? [];
  // a field of another type is shown as long as the document has it
  const shownOf = <Name extends SpecialField>(labels: Readonly<Record<Name, string>>) =>
    (Object.entries(labels) as [Name, string][]).filter(
      ([name]) => ofType.includes(name) || valueAt(props.fields, [...SERVICE, name]) !== undefined,
    );
  return (
    <fieldset>
      <legend>Service</legend>
      <div className="form-row">
        <ChoiceField
          {...props}
          label="Type"
          path={[...SERVICE, "type"]}
          choices={Object.keys(SERVICE_TYPES)}
          unset="choose one"
          {...(ofType.includes("url") && { hint: "Headers are written in the YAML." })}
        />
        {shownOf(FIELDS).map(([name, label]) => (
          <TextField key={name} {...props} label={label} path={[...SERVICE, name]} />
        ))}
        {shownOf(NUMBERS).map(([name, label]) => (
          <NumberField key={name} {...props} label={label} path={[...SERVICE, name]} />
        ))}
      </div>
      {shownOf(LISTS).map(([name, label]) => (
        <LinesField key={name} {...props} label={label} path={[...SERVICE, name]} />
      ))}
      <div className="form-row">
        <NumberField {...props} label="Time limit (s)" path={[...SERVICE, "timeout_s"]} />
        <NumberField {...props} label="Requests at the same time" path={[...SERVICE, "max_concurrent"]} />
        <NumberField {...props} label="Window of a stream (characters)" path={[...SERVICE, "window_characters"]} />
        <NumberField {...props} label="Overlap (characters)" path={[...SERVICE, "overlap_characters"]} />
        <ChoiceField
          {...props}
          label="Without a verdict"
          path={["guard", "on_error"]}
          choices={["block", "allow"]}
          unset="block, the default"
        />
      </div>
    </fieldset>
  );
}
