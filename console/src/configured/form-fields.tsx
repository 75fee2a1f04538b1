// Fields of the forms of configured objects. An empty field is not set: it is removed from the document.
import { type ReactNode, useId } from "react";
import { visibleText } from "../format/visible-text.ts";
import type { FormProps } from "./noun.ts";
import { type Path, withValue } from "./yaml-text.ts";

interface FieldProps extends FormProps {
  readonly label: string;
  readonly path: Path;
  readonly hint?: string;
}

const at = (fields: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (value, part) =>
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[part] : undefined,
    fields,
  );

function Field({
  label,
  hint,
  children,
}: {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly children: (id: string) => ReactNode;
}) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children(id)}
      {hint !== undefined && <p className="hint">{hint}</p>}
    </div>
  );
}

/** A value of another kind, such as a mapping, is named and left alone. */
function Other({ value }: { readonly value: unknown }) {
  return (
    <p className="hint">
      Written out in the YAML: <code>{visibleText(JSON.stringify(value).slice(0, 80))}</code>
    </p>
  );
}

export function TextField({
  label,
  path,
  hint,
  fields,
  edit,
  isReadOnly,
  lines = 1,
}: FieldProps & { readonly lines?: number }) {
  const value = at(fields, path);
  return (
    <Field label={label} hint={hint}>
      {(id) => {
        if (value != null && typeof value !== "string") return <Other value={value} />;
        const shared = {
          id,
          value: value ?? "",
          readOnly: isReadOnly,
          spellCheck: false,
          onChange: (event: { readonly target: { readonly value: string } }) => {
            const { value: text } = event.target;
            edit((yaml) => withValue(yaml, path, text === "" ? undefined : text));
          },
        };
        return lines === 1 ? (
          <input {...shared} autoComplete="off" />
        ) : (
          <textarea {...shared} rows={lines} className="mono" />
        );
      }}
    </Field>
  );
}

/** What is typed is not shown, and the gateway never sends it back: it stands for a mask of what is stored. */
export function SecretField({ label, path, hint, fields, edit, isReadOnly }: FieldProps) {
  const value = at(fields, path);
  return (
    <Field label={label} hint={hint}>
      {(id) =>
        value != null && typeof value !== "string" ? (
          <Other value={value} />
        ) : (
          <input
            id={id}
            type="password"
            autoComplete="new-password"
            value={value ?? ""}
            readOnly={isReadOnly}
            onChange={({ target: { value: text } }) =>
              edit((yaml) => withValue(yaml, path, text === "" ? undefined : text))
            }
          />
        )
      }
    </Field>
  );
}

export function NumberField({ label, path, hint, fields, edit, isReadOnly }: FieldProps) {
  const value = at(fields, path);
  return (
    <Field label={label} hint={hint}>
      {(id) =>
        value != null && typeof value !== "number" ? (
          <Other value={value} />
        ) : (
          <input
            id={id}
            type="number"
            value={value ?? ""}
            readOnly={isReadOnly}
            onChange={({ target: { value: text, valueAsNumber } }) =>
              edit((yaml) =>
                withValue(yaml, path, text === "" || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber),
              )
            }
          />
        )
      }
    </Field>
  );
}

interface ChoiceProps extends FieldProps {
  readonly choices: readonly string[];
  /** What holds where nothing is chosen. */
  readonly unset: string;
}

export function ChoiceField({ label, path, hint, fields, edit, isReadOnly, choices, unset }: ChoiceProps) {
  const value = at(fields, path);
  return (
    <Field label={label} hint={hint}>
      {(id) =>
        value != null && typeof value !== "string" ? (
          <Other value={value} />
        ) : (
          <select
            id={id}
            value={value ?? ""}
            disabled={isReadOnly}
            onChange={({ target: { value: chosen } }) =>
              edit((yaml) => withValue(yaml, path, chosen === "" ? undefined : chosen))
            }
          >
            <option value="">{unset}</option>
            {[...new Set([...choices, ...(value == null ? [] : [value])])].map((choice) => (
              <option key={choice}>{choice}</option>
            ))}
          </select>
        )
      }
    </Field>
  );
}

/** A list of texts, one in each line. */
export function LinesField({ label, path, hint, fields, edit, isReadOnly }: FieldProps) {
  const value = at(fields, path);
  return (
    <Field label={label} hint={hint}>
      {(id) =>
        value != null && !(Array.isArray(value) && value.every((entry) => typeof entry === "string")) ? (
          <Other value={value} />
        ) : (
          <textarea
            id={id}
            className="mono"
            rows={Math.max(2, ((value as readonly string[] | undefined) ?? []).length + 1)}
            value={((value as readonly string[] | undefined) ?? []).join("\n")}
            readOnly={isReadOnly}
            spellCheck={false}
            onChange={({ target: { value: text } }) =>
              edit((yaml) => withValue(yaml, path, text === "" ? undefined : text.split("\n")))
            }
          />
        )
      }
    </Field>
  );
}
