// Controls under their labels, with a hint below each.
import { type ComponentProps, type ReactNode, useId } from "react";

interface LabelledProps {
  readonly label: ReactNode;
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

interface ChoicesProps extends Omit<ComponentProps<"select">, "value" | "onChange"> {
  readonly value: string;
  /** What is sent of each, and what is shown of it. */
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly change: (value: string) => void;
}

export function Choices({ choices, change, ...select }: ChoicesProps) {
  return (
    <select {...select} onChange={({ target }) => change(target.value)}>
      {choices.map(([choice, text]) => (
        <option key={choice} value={choice}>
          {text}
        </option>
      ))}
    </select>
  );
}

export function Select({ label, ...choices }: ChoicesProps & { readonly label: string }) {
  return <Labelled label={label}>{(id) => <Choices id={id} {...choices} />}</Labelled>;
}

/** The label stands before the choices, in the same line. */
export function InlineSelect({ label, ...choices }: ChoicesProps & { readonly label: string }) {
  return (
    <label>
      {label}
      <Choices {...choices} />
    </label>
  );
}
