// The form of a route: its targets in order, the strategy, retries, fallbacks and time limits.
import type { KeyboardEvent } from "react";
import { ChoiceField, LinesField, NumberField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";
import { withMoved, withValue } from "../../configured/yaml-text.ts";
import { visibleText } from "../../format/visible-text.ts";
import { type RouteTarget, targetsOf } from "./route-targets.ts";

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
      <Targets {...props} />
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
      <LinesField
        {...props}
        label="Fallbacks, one in each line"
        path={["fallbacks"]}
        hint="Models, or route:<name>. They are tried when all targets have failed. Conditions and shares of fallbacks are set in the YAML."
      />
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

function Targets({ fields, edit, isReadOnly }: FormProps) {
  const targets = targetsOf(fields);
  const add = (): void =>
    edit((yaml) =>
      Array.isArray(fields["targets"])
        ? withValue(yaml, ["targets", targets.length], "sandbox:echo")
        : withValue(yaml, ["targets"], ["sandbox:echo"]),
    );
  return (
    <fieldset className="targets">
      <legend>
        Targets in order; <kbd>Alt</kbd> <kbd>↑</kbd> <kbd>↓</kbd> move one
      </legend>
      <ol>
        {targets.map((target, index) => (
          <TargetRow
            key={index}
            target={target}
            index={index}
            count={targets.length}
            isMapping={typeof (fields["targets"] as readonly unknown[])[index] === "object"}
            edit={edit}
            isReadOnly={isReadOnly}
          />
        ))}
      </ol>
      {!isReadOnly && (
        <button type="button" onClick={add}>
          Add a target
        </button>
      )}
    </fieldset>
  );
}

const NUMBERS = { weight: "Weight", order: "Order", share: "Share" } as const;

interface TargetRowProps extends Pick<FormProps, "edit" | "isReadOnly"> {
  readonly target: RouteTarget;
  readonly index: number;
  readonly count: number;
  readonly isMapping: boolean;
}

function TargetRow({ target, index, count, isMapping, edit, isReadOnly }: TargetRowProps) {
  const nth = index + 1;
  const move = (by: number): void => edit((yaml) => withMoved(yaml, ["targets"], index, index + by));
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (!event.altKey || by === 0 || isReadOnly || index + by < 0 || index + by >= count) return;
    event.preventDefault();
    move(by);
    const rows = event.currentTarget.closest("ol")!.children;
    rows[index + by]!.querySelector<HTMLInputElement>("input")?.focus();
  };
  const setModel = (model: string): void =>
    edit((yaml) => withValue(yaml, isMapping ? ["targets", index, "model"] : ["targets", index], model));
  const setMember = (name: "weight" | "order" | "share" | "when", value: number | string | undefined): void =>
    edit((yaml) => {
      if (isMapping) return withValue(yaml, ["targets", index, name], value);
      return value === undefined ? yaml : withValue(yaml, ["targets", index], { model: target.model, [name]: value });
    });
  return (
    <li>
      <input
        className="mono target-model"
        aria-label={`Model of target ${nth}`}
        value={target.model}
        readOnly={isReadOnly}
        spellCheck={false}
        autoComplete="off"
        onKeyDown={press}
        onChange={(event) => setModel(event.target.value)}
      />
      {(["weight", "order", "share"] as const).map((name) => (
        <label key={name} className="target-number">
          {name === "share" ? "share %" : name}
          <input
            type="number"
            step="any"
            aria-label={`${NUMBERS[name]} of target ${nth}`}
            value={target[name] ?? ""}
            readOnly={isReadOnly}
            onChange={({ target: { value, valueAsNumber } }) =>
              setMember(name, value === "" || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber)
            }
          />
        </label>
      ))}
      {!isReadOnly && (
        <span className="target-buttons">
          <button
            type="button"
            className="quiet"
            aria-label={`Move target ${nth} up`}
            disabled={index === 0}
            onClick={() => move(-1)}
          >
            ↑
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={`Move target ${nth} down`}
            disabled={index === count - 1}
            onClick={() => move(1)}
          >
            ↓
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={`Remove target ${nth}`}
            onClick={() => edit((yaml) => withValue(yaml, ["targets", index], undefined))}
          >
            Remove
          </button>
        </span>
      )}
      <label className="target-when">
        when
        <input
          className="mono"
          aria-label={`Condition of target ${nth}`}
          placeholder="all calls"
          value={target.when}
          readOnly={isReadOnly}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target: { value } }) => setMember("when", value === "" ? undefined : value)}
        />
      </label>
      {target.further.length > 0 && (
        <small className="target-further">also sets {target.further.map((name) => visibleText(name)).join(", ")}</small>
      )}
    </li>
  );
}
