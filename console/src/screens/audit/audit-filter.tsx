// The filter of the audit log. Its fields are parameters of the admin API, which are also their names in the address.
import type { UrlState } from "../../url-state.ts";

const TEXTS = [
  ["user_id", "User"],
  ["action", "Action"],
  ["kind", "Kind"],
  ["target_id", "Id of the object"],
  ["session_id", "Session"],
] as const;
const CHOICES = [
  ["outcome", "Outcome", ["done", "refused"]],
  ["via", "Asked", ["console", "cli", "api"]],
] as const;
const DAYS = [
  ["from", "From"],
  ["to", "Before"],
] as const;

export const FILTER_NAMES: readonly string[] = [...TEXTS, ...CHOICES, ...DAYS].map(([name]) => name);

export function AuditFilter({ state }: { readonly state: UrlState }) {
  const choose = (name: string) => (event: { readonly target: { readonly value: string } }) =>
    state.set({ [name]: event.target.value }, { replace: true });
  return (
    <div className="form-row audit-filter">
      {TEXTS.map(([name, label]) => (
        <label key={name} className="field">
          {label}
          <input value={state.get(name) ?? ""} spellCheck={false} autoComplete="off" onChange={choose(name)} />
        </label>
      ))}
      {CHOICES.map(([name, label, values]) => (
        <label key={name} className="field">
          {label}
          <select value={state.get(name) ?? ""} onChange={choose(name)}>
            <option value="">all</option>
            {values.map((value) => (
              <option key={value}>{value}</option>
            ))}
          </select>
        </label>
      ))}
      {DAYS.map(([name, label]) => (
        <label key={name} className="field">
          {label} (UTC)
          <input type="date" value={state.get(name) ?? ""} onChange={choose(name)} />
        </label>
      ))}
    </div>
  );
}
