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
  /** Settings that the configuration file has, which takes precedence over the database. */
  readonly filed?: JsonObject;
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
  for (const written of inOrder(desired)) {
    const present = find(written);
    const one = present === undefined ? written : { ...written, spec: specToSend(written.spec, present.spec) };
    const differences = differencesOf(comparable(one, present), one.spec, renewSecrets);
    if (present === undefined) steps.push({ action: "create", what: one, desired: one, actual: null, differences });
    else if (differences.length === 0) unchanged += 1;
    else if (present.origin === "file") readOnly.push(one);
    else steps.push({ action: "change", what: one, desired: one, actual: present, differences });
  }
  return { steps: withNamesInTurn([...steps, ...(prune ? removals(desired, actual) : [])]), unchanged, readOnly };
}

/**
 * Names and aliases of the routes of a place are one space: what a route gives up has to be free before another takes it.
 * Aliases are given up first of all. The name of a route that is removed becomes the alias of another after the removal.
 */
function withNamesInTurn(steps: readonly Step[]): readonly Step[] {
  const routes = steps.filter(({ what }) => what.kind === "route");
  const taken = new Set(routes.flatMap((step) => namesTaken(step).map((name) => placed(step, name))));
  const isTaken = (step: Step, name: string): boolean => taken.has(placed(step, name));
  const removed = new Set(
    routes.filter(({ action }) => action === "remove").map((step) => placed(step, step.what.name)),
  );
  const first: Step[] = [];
  const last: Step[] = [];
  const others = steps.map((step): Step => {
    if (step.what.kind !== "route") return step;
    const { actual, desired } = step;
    const before = aliasesOf(actual);
    const after = aliasesOf(desired);
    const kept = before.filter((name) => after.includes(name) || !isTaken(step, name));
    const isGiving = actual !== null && kept.length < before.length;
    if (isGiving) first.push(aliasStep(step, actual.spec, before, kept, actual.etag));
    // what was changed by then has another ETag
    const now = isGiving ? { ...step, actual: { ...actual, etag: null } } : step;
    const free = after.filter((name) => !removed.has(placed(step, name)));
    if (desired === null || free.length === after.length) return now;
    last.push(aliasStep(step, desired.spec, free, after, null));
    return { ...now, desired: { ...desired, spec: withAliases(desired.spec, free) } };
  });
  return [...first, ...others, ...last];
}

/** The step in which a route with `spec` gets other aliases than it has by then. */
function aliasStep(
  { what, desired, actual }: Step,
  spec: JsonObject,
  from: readonly string[],
  to: readonly string[],
  etag: string | null,
): Step {
  return {
    action: "change",
    what,
    desired: { ...what, from: desired?.from ?? "no document", spec: withAliases(spec, to) },
    actual: actual === null ? null : { ...actual, etag },
    differences: [{ path: "aliases", from, to }],
  };
}

function withAliases(spec: JsonObject, aliases: readonly string[]): JsonObject {
  if (aliases.length > 0) return { ...spec, aliases };
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name !== "aliases"));
}

const placed = ({ what: { tenant, project } }: Step, name: string): string => [tenant, project, name].join(" ");

function namesTaken({ action, what, desired, actual }: Step): readonly string[] {
  const before = aliasesOf(actual);
  const aliases = aliasesOf(desired).filter((name) => !before.includes(name));
  return action === "create" ? [what.name, ...aliases] : aliases;
}

function aliasesOf(route: Pick<DesiredState, "spec"> | null): readonly string[] {
  const aliases = route?.spec["aliases"];
  return Array.isArray(aliases) ? (aliases as readonly Json[]).filter((one) => typeof one === "string") : [];
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

/** For a resource that is patched and not replaced, and of what the file sets, only the fields that the document contains. */
function comparable({ kind, spec }: DesiredState, actual: ActualState | undefined): JsonObject {
  const own = actual?.spec ?? {};
  if (kind === "webhook" && spec["secret"] === undefined)
    return Object.fromEntries(
      Object.entries(own).filter(([name]) => !KEPT_SECRETS.has(name) || spec[name] !== undefined),
    );
  const named = (fields: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(fields).filter(([name]) => Object.hasOwn(spec, name)));
  return PATCHED.has(kind) ? named(own) : { ...own, ...named(actual?.filed ?? {}) };
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

function isMasked(value: Json | undefined): value is string {
  return typeof value === "string" && shownPart(value) !== value;
}

/** Whether one masked secret may stand for the other: at another address it is another one. */
function areMaskedAlike(one: string, other: Json | undefined): other is string {
  return isMasked(other) && shownPart(one) === shownPart(other);
}

/** Whether a document says what the gateway shows masked. */
function mayBeMasked(text: string, masked: string): boolean {
  const shown = shownPart(masked);
  return text.length > shown.length && text.startsWith(shown);
}

function differencesOf(
  from: Json | undefined,
  to: Json | undefined,
  renewSecrets: boolean,
  path = "",
): readonly Difference[] {
  if (isObject(from) && isObject(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    // null means "not set" in every document.
    return names.flatMap((name) =>
      differencesOf(
        from[name] ?? undefined,
        to[name] ?? undefined,
        renewSecrets,
        path === "" ? name : `${path}.${name}`,
      ),
    );
  }
  if (Array.isArray(from) && Array.isArray(to) && from.length === to.length)
    return from.flatMap((one: Json, index) => differencesOf(one, to[index] as Json, renewSecrets, `${path}[${index}]`));
  if (isMasked(from) && typeof to === "string" && !isMasked(to) && mayBeMasked(to, from) && !renewSecrets) return [];
  return JSON.stringify(from) === JSON.stringify(to) ? [] : [{ path, from, to }];
}

/** The spec to send: each masked secret of a document is the stored one that it stands for. */
export function specToSend(desired: JsonObject | undefined, actual: JsonObject): JsonObject {
  return withMasks(desired ?? {}, actual, (mask, stored) => stored ?? mask);
}

/**
 * Returns the spec with something else in place of each masked secret. `stored` is the mask of the stored secret that it
 * stands for: the same one, wherever it is stored, or else that at its place, because another gateway shows another mask
 * and so does each encryption. It is `null` where there is none, where the document names the one at the place elsewhere,
 * and in a list that has become shorter, whose places say nothing.
 */
export function withMasks(
  desired: JsonObject,
  actual: JsonObject | undefined,
  replaced: (mask: string, stored: string | null, path: string) => Json,
): JsonObject {
  const known = new Set(masksIn(actual));
  const named = new Set(masksIn(desired));
  const storedFor = (mask: string, there: Json | undefined): string | null => {
    if (known.has(mask)) return mask;
    return areMaskedAlike(mask, there) && !named.has(there) ? there : null;
  };
  const walk = (value: Json | undefined, there: Json | undefined, path: string): Json | undefined => {
    if (isMasked(value)) return replaced(value, storedFor(value, there), path);
    if (Array.isArray(value)) {
      const list = Array.isArray(there) && there.length <= value.length ? there : [];
      return value.map((one: Json, index) => walk(one, list[index] as Json | undefined, `${path}[${index}]`) ?? null);
    }
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [
        name,
        walk(one, isObject(there) ? there[name] : undefined, path === "" ? name : `${path}.${name}`),
      ]),
    );
  };
  return walk(desired, actual, "") as JsonObject;
}

function masksIn(value: Json | undefined): readonly string[] {
  if (isMasked(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((one: Json) => masksIn(one));
  return isObject(value) ? Object.values(value).flatMap((one) => masksIn(one)) : [];
}
