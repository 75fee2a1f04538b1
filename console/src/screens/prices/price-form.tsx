// The form of a price. Prices are texts, because a binary fraction would not be exact.
import { ChoiceField, TextField } from "../../configured/form-fields.tsx";
import type { FormProps } from "../../configured/noun.ts";

const KINDS = [
  ["prompt", "Input"],
  ["completion", "Output"],
  ["cache_read", "Input read from the cache"],
  ["cache_write", "Input written to the cache"],
  ["reasoning", "Reasoning"],
  ["request", "Each request"],
  ["search_unit", "Each search unit"],
] as const;

export function PriceForm(props: FormProps) {
  return (
    <div className="object-form">
      <TextField
        {...props}
        label="Model"
        path={["model"]}
        hint="<provider>:<model_name>, in which * stands for any text."
      />
      <ChoiceField
        {...props}
        label="US dollars for"
        path={["per"]}
        choices={["million_tokens", "token"]}
        unset="a million tokens, the default"
      />
      <div className="form-row">
        {KINDS.map(([name, label]) => (
          <TextField key={name} {...props} label={label} path={[name]} />
        ))}
      </div>
      <TextField {...props} label="Valid from (UTC)" path={["from"]} hint="A day or a time; empty means always." />
    </div>
  );
}
