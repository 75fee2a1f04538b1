// The form of a route: its targets in order, the strategy, retries, fallbacks and time limits.
import { ChoiceField, NumberField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";
import { RouteEntries } from "./route-entries.tsx";

const STRATEGIES = ["priority", "weighted", "least_latency", "least_cost", "least_busy"];
const CLOCKS = [
  ["connect_ms", "Connect (ms)"],
  ["first_byte_ms", "First byte (ms)"],
  ["first_token_ms", "First token (ms)"],
  ["between_chunks_ms", "Between chunks (ms)"],
  ["total_ms", "Whole call (ms)"],
] as const;

export function RouteForm(props: FormProps) {
  const { fields } = props;
  return (
    <div className="object-form">
      <RouteEntries {...props} list="targets" />
      <div className="form-row">
        <ChoiceField
          {...props}
          label="Strategy"
          path={typeof fields["strategy"] === "object" ? ["strategy", "type"] : ["strategy"]}
          choices={STRATEGIES}
          unset="priority, the default"
        />
        <NumberField {...props} label="Retries at the same target" path={["retries"]} />
      </div>
      <RouteEntries {...props} list="fallbacks" />
      <fieldset>
        <legend>Mirror: another target that gets a copy of calls, if one is named</legend>
        <div className="form-row">
          <TextField {...props} label="Target of the mirror" path={["mirror", "target"]} />
          <NumberField {...props} label="Share of the calls in percent" path={["mirror", "share"]} />
          <TextField {...props} label="Condition of the mirror" path={["mirror", "when"]} />
        </div>
      </fieldset>
      <fieldset>
        <legend>Time limits; those that are empty are inherited</legend>
        <div className="form-row">
          {CLOCKS.map(([name, label]) => (
            <NumberField key={name} {...props} label={label} path={["timeouts", name]} />
          ))}
        </div>
      </fieldset>
    </div>
  );
}
