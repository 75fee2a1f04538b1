// Controls under their labels, with a hint below each.
import { type ComponentProps, type ReactNode, useId } from "react";

interface LabelledProps {
  readonly label: string;
  readonly hint?: string | undefined;
  /** Makes the control, which takes this id. */
  readonly children: (id: string) => ReactNode;
}

export function Labelled({ label, hint, children }: LabelledProps) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <p className="hint">{hint}</p>}
    </div>
  );
}

interface TextInputProps extends Omit<ComponentProps<"input">, "id" | "value" | "onChange"> {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly value: string;
  readonly change: (value: string) => void;
}

export function TextInput({ label, hint, change, ...input }: TextInputProps) {
  return (
    <Labelled label={label} hint={hint}>
      {(id) => <input id={id} autoComplete="off" {...input} onChange={({ target }) => change(target.value)} />}
    </Labelled>
  );
}

interface SelectProps {
  readonly label: string;
  readonly value: string;
  /** What is sent of each, and what is shown of it. */
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly change: (value: string) => void;
}

export function Select({ label, value, choices, change }: SelectProps) {
  return (
    <Labelled label={label}>
      {(id) => (
        <select id={id} value={value} onChange={({ target }) => change(target.value)}>
          {choices.map(([choice, text]) => (
            <option key={choice} value={choice}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  );
}
