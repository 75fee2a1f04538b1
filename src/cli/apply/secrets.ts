// Secrets that documents need and the gateway does not have: of an export, because another gateway showed them masked,
// and of a webhook that is new. Each is read from a named variable before anything is changed.
import type { Variables } from "../../config/expansion.ts";
import type { Json } from "../../core/json.ts";
import { titleOf, type DesiredState } from "./documents.ts";
import { withoutMasks } from "../../store/configuration/secret-fields.ts";
import { type ActualState, presentIn, withMasks } from "./plan.ts";

export interface MissingSecret {
  /** Such as `provider theirs (tenant acme): api_key`. */
  readonly of: string;
  readonly variable: string;
  readonly from: string;
}

export function withSecrets(desired: readonly DesiredState[], actual: readonly ActualState[], variables: Variables) {
  const find = presentIn(actual);
  const missing: MissingSecret[] = [];
  const names = new Set<string>();
  const given = (one: DesiredState, path: string): string | undefined => {
    const variable = freeName(variableOf(one, path), names);
    const value = variables.get(variable);
    if (value === undefined || value === "") missing.push({ of: `${titleOf(one)}: ${path}`, variable, from: one.from });
    return value;
  };
  const filled = desired.map((one): DesiredState => {
    const present = find(one);
    const filledIn = (mask: string, stored: string | null, path: string): Json => {
      if (stored !== null) return mask;
      const value = given(one, path);
      return value === undefined ? null : withoutMasks(mask, value);
    };
    const spec = withMasks(one.spec, present?.spec, filledIn);
    // Without one, the gateway would make a secret and show it only once, in an answer that this command does not print.
    const isWithout = one.kind === "webhook" && present === undefined && (one.spec["secret"] ?? null) === null;
    return { ...one, spec: isWithout ? { ...spec, secret: given(one, "secret") ?? null } : spec };
  });
  return { desired: filled, missing };
}

/** Such as `SECRET_ACME_PROVIDER_THEIRS_API_KEY`. */
function variableOf({ kind, tenant, project, name }: DesiredState, path: string): string {
  return ["secret", project ?? tenant ?? "", kind, name, path]
    .filter((part) => part !== "")
    .join("_")
    .replaceAll(/[^A-Za-z0-9]+/g, "_")
    .replaceAll(/_+$/g, "")
    .toUpperCase();
}

/** Two secrets may have names that differ only in punctuation; the second gets a number. */
function freeName(name: string, used: Set<string>): string {
  let free = name;
  for (let next = 2; used.has(free); next++) free = `${name}_${next}`;
  used.add(free);
  return free;
}
