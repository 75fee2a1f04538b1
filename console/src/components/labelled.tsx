// A control under its label, with a hint below it.
import { type ReactNode, useId } from "react";

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
