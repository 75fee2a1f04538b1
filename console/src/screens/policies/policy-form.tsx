// The form of a policy: a rule that denies calls, or a guard that searches their text, and to which calls it applies.
import { ChoiceField, LinesField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";
import { withValue } from "../../configured/yaml-text.ts";

const SCOPE = [
  ["route", "Route"],
  ["provider", "Provider"],
  ["model", "Model"],
  ["token", "Token"],
  ["user", "End user"],
] as const;

export function PolicyForm(props: FormProps) {
  const { fields, edit, isReadOnly } = props;
  const isGuard = fields["guard"] !== undefined;
  const become = (kind: "rule" | "guard"): void =>
    edit((yaml) =>
      kind === "guard"
        ? withValue(withValue(yaml, ["rule"], undefined), ["guard"], { classes: ["secret"], action: "mask" })
        : withValue(withValue(yaml, ["guard"], undefined), ["rule"], "false"),
    );
  return (
    <div className="object-form">
      <span className="segments" role="group" aria-label="Kind of policy">
        <button type="button" aria-pressed={!isGuard} disabled={isReadOnly} onClick={() => isGuard && become("rule")}>
          Rule
        </button>
        <button type="button" aria-pressed={isGuard} disabled={isReadOnly} onClick={() => isGuard || become("guard")}>
          Guard
        </button>
      </span>
      {isGuard ? (
        <>
          <div className="form-row">
            <ChoiceField
              {...props}
              label="Searches"
              path={["guard", "on"]}
              choices={["input", "output", "both"]}
              unset="both, the default"
            />
            <ChoiceField
              {...props}
              label="On a match"
              path={["guard", "action"]}
              choices={["mask", "block"]}
              unset="choose one"
            />
          </div>
          <LinesField
            {...props}
            label="Classes, one in each line"
            path={["guard", "classes"]}
            hint="email, phone, card, iban, national_id, secret"
          />
          <LinesField {...props} label="Patterns (RE2), one in each line" path={["guard", "patterns"]} />
        </>
      ) : (
        <TextField
          {...props}
          label="Deny a call where this holds (CEL)"
          path={["rule"]}
          lines={4}
          hint="It reads request, target, token, tenant, project, client and now. Where it cannot be evaluated, the call is denied too."
        />
      )}
      <TextField {...props} label="What the caller is told" path={["message"]} />
      <ChoiceField
        {...props}
        label="Mode"
        path={["mode"]}
        choices={["enforce", "audit"]}
        unset="enforce, the default"
        hint="audit denies and masks nothing, and records what it would have done."
      />
      <fieldset>
        <legend>Only calls of; empty means all, * stands for any text</legend>
        <div className="form-row">
          {SCOPE.map(([name, label]) => (
            <TextField key={name} {...props} label={label} path={["scope", name]} />
          ))}
        </div>
      </fieldset>
    </div>
  );
}
