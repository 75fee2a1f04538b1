// The form of a policy: a rule that denies calls, or a guard that searches their text or has a service judge it, and to
// which calls it applies.
import { useRef } from "react";
import { GuardServiceFields } from "./outside-guard-fields.tsx";
import { Segments } from "../../components/controls/segments.tsx";
import { ChoiceField, LinesField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";
import { valueAt, withValue } from "../../configured/yaml-text.ts";

const SCOPE = [
  ["route", "Route"],
  ["provider", "Provider"],
  ["model", "Model"],
  ["token", "Token"],
  ["user", "End user"],
] as const;

const KINDS = { rule: "Rule", guard: "Guard", service: "Guard with a service" } as const;
/** What the rule that a new policy begins with tells the caller; another kind of policy does not keep it. */
export const EXAMPLE_MESSAGE = "Functions that pay are not allowed here.";
/** What a guard of the kind begins with. */
const FIRST = { guard: { classes: ["secret"] }, service: { service: { type: "request" } } } as const;

export function PolicyForm(props: FormProps) {
  const { fields, edit, isReadOnly } = props;
  const isGuard = fields["guard"] !== undefined;
  /** What another kind had, so that it is there again when that kind is chosen again. */
  const left = useRef<Partial<Record<keyof typeof KINDS, unknown>>>({});
  const kind = !isGuard ? "rule" : valueAt(fields, ["guard", "service"]) === undefined ? "guard" : "service";
  const become = (chosen: keyof typeof KINDS): void => {
    left.current[kind] = isGuard ? fields["guard"] : fields["rule"];
    const earlier = left.current[chosen];
    edit((yaml) => {
      const next =
        chosen === "rule"
          ? withValue(withValue(yaml, ["guard"], undefined), ["rule"], earlier ?? "false")
          : withValue(withValue(yaml, ["rule"], undefined), ["guard"], earlier ?? { ...FIRST[chosen], action: "mask" });
      return fields["message"] === EXAMPLE_MESSAGE ? withValue(next, ["message"], undefined) : next;
    });
  };
  return (
    <div className="object-form">
      <Segments
        label="Kind of policy"
        choices={KINDS}
        chosen={kind}
        choose={(each) => each === kind || become(each)}
        isReadOnly={isReadOnly}
      />
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
          {kind === "service" ? (
            <GuardServiceFields {...props} />
          ) : (
            <>
              <LinesField
                {...props}
                label="Classes, one in each line"
                path={["guard", "classes"]}
                hint="email, phone, card, iban, national_id, secret"
              />
              <LinesField {...props} label="Patterns (RE2), one in each line" path={["guard", "patterns"]} />
            </>
          )}
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
