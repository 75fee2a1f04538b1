// Computes the steps from the current state to the one that the documents describe, without side effects. A stored
// secret is shown masked and cannot be compared: it counts as equal to the document's secret, unless secrets are to be
// renewed.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { withoutMasks } from "../../store/configuration/secret-fields.ts";
import { type Kind, keyOf, KINDS, type DesiredState } from "./documents.ts";

/** A resource in the gateway's current state. */
export interface ActualState extends Pick<DesiredState, "kind" | "tenant" | "project" | "name"> {
  /** The last part of its path: for a member the id of the user, and not used for settings. */
  readonly id: string;
  readonly spec: JsonObject;
  readonly etag: string | null;
  readonly origin: "file" | "store";
}

export interface Difference {
  readonly path: string;
  /** Undefined when the field is absent. */
  readonly from: Json | undefined;
  readonly to: Json | undefined;
}

export interface Step {
  readonly action: "create" | "change" | "remove";
  readonly what: Pick<DesiredState, "kind" | "tenant" | "project" | "name">;
  readonly desired: DesiredState | null;
  readonly actual: ActualState | null;
  readonly differences: readonly Difference[];
}

export interface PlanOptions {
  /** Remove resources of the same kinds in the same places that no document describes. */
  readonly prune: boolean;
  /** Send secrets again even where the gateway has one already. */
  readonly renewSecrets: boolean;
}

export interface ApplyPlan {
  readonly steps: readonly Step[];
  readonly unchanged: number;
  /** Resources that differ from the configuration file, which takes precedence. */
  readonly readOnly: readonly DesiredState[];
}

/** Tenants, projects and users are changed by patches, which leave other fields as they are. */
const PATCHED: ReadonlySet<Kind> = new Set(["tenant", "project", "user"]);
/** Kinds that `prune` never removes. */
const NEVER_PRUNED: ReadonlySet<Kind> = new Set(["tenant", "project", "user", "member", "settings"]);
/** The gateway makes and changes these fields where a document does not contain them. */
const KEPT_SECRETS: ReadonlySet<string> = new Set(["secret", "previous_secret", "previous_secret_until"]);

export function planOf(
  desired: readonly DesiredState[],
  actual: readonly ActualState[],
  { prune, renewSecrets }: PlanOptions,
): ApplyPlan {
  const find = presentIn(actual);
  const steps: Step[] = [];
  const readOnly: DesiredState[] = [];
  let unchanged = 0;
  for (const one of inOrder(desired)) {
    const present = find(one);
    const differences = differencesOf(comparable(one, present), one.spec, {
      renewSecrets,
      known: masksIn(present?.spec),
    });
    if (present === undefined) steps.push({ action: "create", what: one, desired: one, actual: null, differences });
    else if (differences.length === 0) unchanged += 1;
    else if (present.origin === "file") readOnly.push(one);
    else steps.push({ action: "change", what: one, desired: one, actual: present, differences });
  }
  return { steps: [...steps, ...(prune ? removals(desired, actual) : [])], unchanged, readOnly };
}

/** Finds the current resource by its name or id. */
export function presentIn(actual: readonly ActualState[]): (desired: DesiredState) => ActualState | undefined {
  const known = new Map(actual.map((one) => [keyOf(one), one]));
  return (one) =>
    known.get(keyOf(one)) ??
    actual.find(
      (other) =>
        other.kind === one.kind &&
        other.tenant === one.tenant &&
        other.project === one.project &&
        other.id === one.name,
    );
}

/** For a resource that is patched and not replaced, only the fields that the document contains. */
function comparable({ kind, spec }: DesiredState, actual: ActualState | undefined): JsonObject {
  const own = actual?.spec ?? {};
  if (kind === "webhook" && spec["secret"] === undefined)
    return Object.fromEntries(
      Object.entries(own).filter(([name]) => !KEPT_SECRETS.has(name) || spec[name] !== undefined),
    );
  return PATCHED.has(kind)
    ? Object.fromEntries(Object.entries(own).filter(([name]) => Object.hasOwn(spec, name)))
    : own;
}

function removals(desired: readonly DesiredState[], actual: readonly ActualState[]): readonly Step[] {
  const named = new Set(desired.flatMap((one) => [keyOf(one)]));
  const covered = new Set(desired.map(({ kind, tenant, project }) => [kind, tenant, project].join(" ")));
  const surplus = actual.filter(
    (one) =>
      one.origin === "store" &&
      !NEVER_PRUNED.has(one.kind) &&
      covered.has([one.kind, one.tenant, one.project].join(" ")) &&
      !named.has(keyOf(one)) &&
      !named.has(keyOf({ ...one, name: one.id })),
  );
  // A resource is removed after those that refer to it.
  return inOrder(surplus)
    .toReversed()
    .map((one) => ({ action: "remove", what: one, desired: null, actual: one, differences: [] }));
}

/** Sorts by kind, and routes so that the targets of fallbacks come first. */
function inOrder<Of extends Pick<DesiredState, "kind" | "name" | "spec">>(desired: readonly Of[]): readonly Of[] {
  return KINDS.flatMap((kind) => {
    const all = desired.filter((one) => one.kind === kind);
    return kind === "route" ? routesInOrder(all) : all;
  });
}

function routesInOrder<Of extends Pick<DesiredState, "name" | "spec">>(routes: readonly Of[]): readonly Of[] {
  const done = new Set<Of>();
  const visiting = new Set<Of>();
  const visit = (route: Of): void => {
    if (done.has(route)) return;
    const names = new Set(routesNamed(route.spec));
    visiting.add(route);
    for (const other of routes) if (names.has(other.name) && !visiting.has(other)) visit(other);
    done.add(route);
  };
  for (const route of routes) visit(route);
  return [...done];
}

function routesNamed(value: Json | undefined): readonly string[] {
  if (typeof value === "string") return value.startsWith("route:") ? [value.slice(6)] : [];
  if (Array.isArray(value)) return value.flatMap((one: Json) => routesNamed(one));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) =>
    name === "route" && typeof one === "string" ? [one] : routesNamed(one),
  );
}

/** What a text shows beside its masked secret, which is the whole text or the query of an address. */
const shownPart = (text: string): string => withoutMasks(text, "");

export function isMasked(value: Json | undefined): value is string {
  return typeof value === "string" && shownPart(value) !== value;
}

/** The masked secrets of a spec. The gateway finds a secret of its own by its mask, wherever that stands in the spec. */
export function masksIn(spec: Json | undefined): ReadonlySet<string> {
  const walk = (value: Json | undefined): readonly string[] => {
    if (isMasked(value)) return [value];
    if (Array.isArray(value)) return value.flatMap(walk);
    return isObject(value) ? Object.values(value).flatMap(walk) : [];
  };
  return new Set(walk(spec));
}

/**
 * The entry of a list that a masked secret of another gateway stands for: the one at its place. After one was removed, the
 * places say nothing.
 */
export function entryAt(kept: Json | undefined, index: number, length: number): Json | undefined {
  return Array.isArray(kept) && kept.length <= length ? (kept[index] as Json | undefined) : undefined;
}

/** Whether one masked secret stands for the other: at another address it is another one. */
export function areMaskedAlike(one: Json | undefined, other: Json | undefined): boolean {
  return isMasked(one) && isMasked(other) && shownPart(one) === shownPart(other);
}

/** Whether a document says what the gateway shows masked. */
function mayBeMasked(text: string, masked: string): boolean {
  const shown = shownPart(masked);
  return text.length > shown.length && text.startsWith(shown);
}

interface Comparison extends Pick<PlanOptions, "renewSecrets"> {
  /** The masked secrets of the current resource. */
  readonly known: ReadonlySet<string>;
}

/** Whether the text may be the secret that is shown masked: one of another gateway, or one that is not to be renewed. */
function isSecretKept(text: string, masked: string, { renewSecrets, known }: Comparison): boolean {
  if (!mayBeMasked(text, masked)) return false;
  return isMasked(text) ? !known.has(text) : !renewSecrets;
}

function differencesOf(
  from: Json | undefined,
  to: Json | undefined,
  comparison: Comparison,
  path = "",
): readonly Difference[] {
  if (isObject(from) && isObject(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    // null means "not set" in every document.
    return names.flatMap((name) =>
      differencesOf(from[name] ?? undefined, to[name] ?? undefined, comparison, path === "" ? name : `${path}.${name}`),
    );
  }
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length)
    return from.flatMap((one: Json, index) => differencesOf(one, to[index] as Json, comparison, `${path}[${index}]`));
  if (isMasked(from) && typeof to === "string" && isSecretKept(to, from, comparison)) return [];
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}

/**
 * The spec to send: a masked secret in a document stands for the stored one that it names, or else, if another gateway
 * exported it, for the one at its place.
 */
export function specToSend(
  desired: Json | undefined,
  actual: Json | undefined,
  known = masksIn(actual),
): Json | undefined {
  if (areMaskedAlike(desired, actual) && !known.has(desired as string)) return actual;
  if (Array.isArray(desired))
    return desired.map((one: Json, index) => specToSend(one, entryAt(actual, index, desired.length), known) ?? null);
  if (isObject(desired))
    return Object.fromEntries(
      Object.entries(desired).map(([name, one]) => [
        name,
        specToSend(one, isObject(actual) ? actual[name] : undefined, known),
      ]),
    );
  return desired;
}
