// Secrets of an export that the gateway does not have, because another gateway showed them masked. Each is read from a
// named variable before anything is changed.
import type { Variables } from "../../config/expansion.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { titleOf, type DesiredState } from "./documents.ts";
import { withoutMasks } from "../../store/configuration/secret-fields.ts";
import { areMaskedAlike, isMasked, presentIn, type ActualState } from "./plan.ts";

export interface MissingSecret {
  /** Such as `provider theirs (tenant acme): api_key`. */
  readonly of: string;
  readonly variable: string;
  readonly from: string;
}

export interface Filled {
  readonly desired: readonly DesiredState[];
  readonly missing: readonly MissingSecret[];
}

export function withSecrets(
  desired: readonly DesiredState[],
  actual: readonly ActualState[],
  variables: Variables,
): Filled {
  const find = presentIn(actual);
  const missing: MissingSecret[] = [];
  const names = new Set<string>();
  const filled = desired.map((one): DesiredState => {
    const secret = (path: string): Json => {
      const variable = freeName(variableOf(one, path), names);
      const value = variables.get(variable);
      if (value === undefined || value === "")
        missing.push({ of: `${titleOf(one)}: ${path}`, variable, from: one.from });
      return value ?? null;
    };
    return { ...one, spec: filledIn(one.spec, find(one)?.spec, secret) as JsonObject };
  });
  return { desired: filled, missing };
}

function filledIn(
  value: Json | undefined,
  kept: Json | undefined,
  secret: (path: string) => Json,
  path = "",
): Json | undefined {
  if (isMasked(value)) {
    if (areMaskedAlike(value, kept)) return value;
    const given = secret(path);
    return typeof given === "string" ? withoutMasks(value, given) : given;
  }
  if (Array.isArray(value))
    return value.map(
      (one: Json, index) =>
        filledIn(one, Array.isArray(kept) ? (kept[index] as Json) : undefined, secret, `${path}[${index}]`) ?? null,
    );
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      filledIn(one, isObject(kept) ? kept[name] : undefined, secret, path === "" ? name : `${path}.${name}`),
    ]),
  );
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
