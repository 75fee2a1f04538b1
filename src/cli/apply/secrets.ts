// Secrets of an export that the gateway does not have, because another gateway showed them masked. Each is read from a
// named variable before anything is changed.
import type { Variables } from "../../config/expansion.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { titleOf, type DesiredState } from "./documents.ts";
import { withoutMasks } from "../../store/configuration/secret-fields.ts";
import { areMaskedAlike, entryAt, isMasked, masksIn, presentIn, type ActualState } from "./plan.ts";

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
    const kept = find(one)?.spec;
    return {
      ...one,
      spec: filledIn(one.spec, kept, { secret, known: masksIn(kept), named: masksIn(one.spec) }) as JsonObject,
    };
  });
  return { desired: filled, missing };
}

interface Filling {
  /** The secret at a path that the gateway does not have. */
  readonly secret: (path: string) => Json;
  /** The masked secrets of the current resource. */
  readonly known: ReadonlySet<string>;
  /** Those of the document. */
  readonly named: ReadonlySet<string>;
}

/** One of another gateway stands for the one at its place, unless the document names that one elsewhere. */
function isStored(masked: string, kept: Json | undefined, { known, named }: Filling): boolean {
  return known.has(masked) || (areMaskedAlike(masked, kept) && !named.has(kept as string));
}

function filledIn(value: Json | undefined, kept: Json | undefined, filling: Filling, path = ""): Json | undefined {
  if (isMasked(value)) {
    if (isStored(value, kept, filling)) return value;
    const given = filling.secret(path);
    return typeof given === "string" ? withoutMasks(value, given) : given;
  }
  if (Array.isArray(value))
    return value.map(
      (one: Json, index) => filledIn(one, entryAt(kept, index, value.length), filling, `${path}[${index}]`) ?? null,
    );
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      name,
      filledIn(one, isObject(kept) ? kept[name] : undefined, filling, path === "" ? name : `${path}.${name}`),
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
