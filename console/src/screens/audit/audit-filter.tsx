// The filter of the audit log: what is asked for most stands first, and the rest is opened. Its fields are parameters of the admin API, which are also
// their names in the address.
import { useState } from "react";
import type { UrlState } from "../../url-state.ts";

interface FilterField {
  readonly name: string;
  readonly label: string;
  /** Values to choose from; any text, if left out. */
  readonly values?: readonly string[];
  readonly isDay?: boolean;
}

const FIRST: readonly FilterField[] = [
  { name: "user_id", label: "User" },
  { name: "action", label: "Action" },
  { name: "kind", label: "Kind" },
  { name: "outcome", label: "Outcome", values: ["done", "refused"] },
];
const FURTHER: readonly FilterField[] = [
  { name: "via", label: "Asked", values: ["console", "cli", "api"] },
  { name: "target_id", label: "Id of the object" },
  { name: "session_id", label: "Session" },
  { name: "from", label: "From (UTC)", isDay: true },
  { name: "to", label: "Before (UTC)", isDay: true },
];

export const FILTER_NAMES: readonly string[] = [...FIRST, ...FURTHER].map(({ name }) => name);

export function AuditFilter({ state }: { readonly state: UrlState }) {
  const further = FURTHER.filter(({ name }) => state.get(name) !== null).length;
  const [isOpenAtFirst] = useState(further > 0);
  return (
    <div className="audit-filter">
      <Fields fields={FIRST} state={state} />
      <details open={isOpenAtFirst}>
        <summary>
          Further filters {further > 0 && <small>{further === 1 ? "1 is set" : `${further} are set`}</small>}
        </summary>
        <Fields fields={FURTHER} state={state} />
      </details>
    </div>
  );
}

function Fields({ fields, state }: { readonly fields: readonly FilterField[]; readonly state: UrlState }) {
  const choose = (name: string) => (event: { readonly target: { readonly value: string } }) =>
    state.set({ [name]: event.target.value }, { replace: true });
  return (
    <div className="form-row">
      {fields.map(({ name, label, values, isDay = false }) => (
        <label key={name} className="field">
          {label}
          {values === undefined ? (
            <input
              type={isDay ? "date" : "text"}
              value={state.get(name) ?? ""}
              spellCheck={false}
              autoComplete="off"
              onChange={choose(name)}
            />
          ) : (
            <select value={state.get(name) ?? ""} onChange={choose(name)}>
              <option value="">all</option>
              {values.map((value) => (
                <option key={value}>{value}</option>
              ))}
            </select>
          )}
        </label>
      ))}
    </div>
  );
}
