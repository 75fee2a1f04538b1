// The forms of a limit and of a budget. Amounts of money are texts, because a binary fraction would not be exact.
import { ChoiceField, NumberField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";

export function LimitForm(props: FormProps) {
  return (
    <div className="object-form">
      <div className="form-row">
        <ChoiceField
          {...props}
          label="What is counted"
          path={["metric"]}
          choices={["requests", "tokens", "concurrency"]}
          unset="not chosen yet"
        />
        <NumberField {...props} label="At most" path={["limit"]} />
        <ChoiceField
          {...props}
          label="In any"
          path={["window"]}
          choices={["second", "minute", "hour", "day"]}
          unset="no window, for concurrency"
        />
      </div>
      <ScopeFields {...props} />
      <ModeField {...props} />
    </div>
  );
}

export function BudgetForm(props: FormProps) {
  return (
    <div className="object-form">
      <div className="form-row">
        <TextField {...props} label="US dollars" path={["usd"]} />
        <NumberField {...props} label="or tokens" path={["tokens"]} />
        <ChoiceField
          {...props}
          label="Per"
          path={["window"]}
          choices={["day", "week", "month", "total"]}
          unset="not chosen yet"
        />
      </div>
      <ScopeFields {...props} />
      <ChoiceField
        {...props}
        label="Models without a known price"
        path={["unpriced"]}
        choices={["deny", "allow"]}
        unset="deny, the default"
      />
      <ModeField {...props} />
      <p className="hint">
        Thresholds, and the cheaper model to which calls go from one on, are written in the YAML:{" "}
        <code>{'thresholds: [80, {percent: 95, degrade_to: "<provider>:<model>"}]'}</code>
      </p>
    </div>
  );
}

function ScopeFields(props: FormProps) {
  return (
    <fieldset>
      <legend>Only these calls; * counts each value by itself, and empty means all</legend>
      <div className="form-row">
        <TextField {...props} label="End user" path={["scope", "user"]} />
        <TextField {...props} label="Access token" path={["scope", "token"]} />
        <TextField {...props} label="Route" path={["scope", "route"]} />
        <TextField {...props} label="Provider" path={["scope", "provider"]} />
        <TextField {...props} label="Model" path={["scope", "model"]} />
      </div>
    </fieldset>
  );
}

function ModeField(props: FormProps) {
  return (
    <ChoiceField
      {...props}
      label="Mode"
      path={["mode"]}
      choices={["enforce", "audit"]}
      unset="enforce, the default"
      hint="audit refuses nothing, and only reports what would have been refused."
    />
  );
}
