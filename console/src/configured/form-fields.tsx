// Fields of the forms of configured objects. An empty field is not set: it is removed from the document.
import type { ReactNode } from "react";
import { Labelled } from "../components/controls/labelled.tsx";
import { visibleText } from "../format/visible-text.ts";
import type { FormProps } from "./noun.ts";
import { type Path, valueAt, withSecret, withValue } from "./yaml-text.ts";

interface FieldProps extends FormProps {
  readonly label: string;
  readonly path: Path;
  readonly hint?: string | undefined;
}

interface ControlProps<T> {
  readonly id: string;
  /** Undefined: it is not set. */
  readonly value: T | undefined;
  readonly set: (value: T | undefined) => void;
  readonly isReadOnly: boolean;
}

interface ValueFieldProps<T> extends FieldProps {
  readonly isOfKind: (value: unknown) => value is T;
  readonly children: (props: ControlProps<T>) => ReactNode;
}

/** The value at the path under its label. One of another kind, such as a mapping, is named and left alone. */
function ValueField<T>({ label, path, hint, fields, edit, isReadOnly, isOfKind, children }: ValueFieldProps<T>) {
  const value = valueAt(fields, path) ?? undefined;
  const set = (changed: T | undefined): void => edit((yaml) => withValue(yaml, path, changed));
  return (
    <Labelled label={label} hint={hint}>
      {(id) =>
        value === undefined || isOfKind(value) ? (
          children({ id, value, set, isReadOnly })
        ) : (
          <p className="hint">
            Written out in the YAML: <code>{visibleText(JSON.stringify(value).slice(0, 80))}</code>
          </p>
        )
      }
    </Labelled>
  );
}

const isSwitch = (value: unknown): value is boolean => typeof value === "boolean";
const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText);
const unlessEmpty = (text: string): string | undefined => (text === "" ? undefined : text);

export function TextField({ lines = 1, ...props }: FieldProps & { readonly lines?: number }) {
  return (
    <ValueField {...props} isOfKind={isText}>
      {({ id, value = "", set, isReadOnly }) => {
        const shared = {
          id,
          value,
          readOnly: isReadOnly,
          spellCheck: false,
          onChange: ({ target }: { readonly target: { readonly value: string } }) => set(unlessEmpty(target.value)),
        };
        return lines === 1 ? (
          <input {...shared} autoComplete="off" />
        ) : (
          <textarea {...shared} rows={lines} className="mono" />
        );
      }}
    </ValueField>
  );
}

/** What is typed is not shown, and the gateway never sends it back: it stands for a mask of what is stored. */
export function SecretField(props: FieldProps) {
  return (
    <ValueField {...props} isOfKind={isText}>
      {({ id, value = "", isReadOnly }) => (
        <input
          id={id}
          type="password"
          autoComplete="new-password"
          value={value}
          readOnly={isReadOnly}
          onChange={({ target }) => props.edit((yaml) => withSecret(yaml, props.path, unlessEmpty(target.value)))}
        />
      )}
    </ValueField>
  );
}

export function NumberField(props: FieldProps) {
  return (
    <ValueField {...props} isOfKind={isNumber}>
      {({ id, value = "", set, isReadOnly }) => (
        <input
          id={id}
          type="number"
          value={value}
          readOnly={isReadOnly}
          onChange={({ target }) => set(Number.isNaN(target.valueAsNumber) ? undefined : target.valueAsNumber)}
        />
      )}
    </ValueField>
  );
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly string[];
  /** What holds where nothing is chosen. */
  readonly unset: string;
}

export function ChoiceField({ choices, unset, ...props }: ChoiceProps) {
  return (
    <ValueField {...props} isOfKind={isText}>
      {({ id, value = "", set, isReadOnly }) => (
        <select id={id} value={value} disabled={isReadOnly} onChange={({ target }) => set(unlessEmpty(target.value))}>
          <option value="">{unset}</option>
          {[...new Set([...choices, ...(value === "" ? [] : [value])])].map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      )}
    </ValueField>
  );
}

interface SwitchProps extends FieldProps {
  /** What holds where nothing is chosen. */
  readonly unset: string;
}

/** Yes, no, or not set here. */
export function SwitchField({ unset, ...props }: SwitchProps) {
  return (
    <ValueField {...props} isOfKind={isSwitch}>
      {({ id, value, set, isReadOnly }) => (
        <select
          id={id}
          value={value === undefined ? "" : String(value)}
          disabled={isReadOnly}
          onChange={({ target }) => set(target.value === "" ? undefined : target.value === "true")}
        >
          <option value="">{unset}</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      )}
    </ValueField>
  );
}

/** A list of texts, one in each line. */
export function LinesField(props: FieldProps) {
  return (
    <ValueField {...props} isOfKind={isTexts}>
      {({ id, value = [], set, isReadOnly }) => (
        <textarea
          id={id}
          className="mono"
          rows={Math.max(2, value.length + 1)}
          value={value.join("\n")}
          readOnly={isReadOnly}
          spellCheck={false}
          onChange={({ target }) => set(target.value === "" ? undefined : target.value.split("\n"))}
        />
      )}
    </ValueField>
  );
}
