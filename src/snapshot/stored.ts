// Reads the documents of the store into the form of the file's entries, with the same schemas. What cannot be used is
// reported and left out, so that one invalid document affects nothing else. A secret that cannot be decrypted makes its
// provider unusable, and never lets another provider take its place.
import type { z } from "zod";
import { compilePrices, priceSchema } from "../accounting/price-settings.ts";
import { compileLimits } from "../admission/compile-limits.ts";
import { budgetSchema, limitSchema } from "../admission/settings.ts";
import { compilePolicies } from "../policies/compile-policies.ts";
import { type PolicyDocument, policySchema, unreadablePolicy } from "../policies/policy-settings.ts";
import { placeText } from "../auth/grants.ts";
import { scopeSettings, toScopeSettings } from "../auth/settings/scope-settings.ts";
import type { Configured } from "../core/configured/configured.ts";
import type { ProviderSettings, ScopeSettings } from "../core/snapshot.ts";
import { isObject } from "../core/json.ts";
import { memoizePerObject } from "../core/memoization.ts";
import { lentByMachine } from "../providers/credentials/credential-settings.ts";
import {
  type ProviderFamily,
  providerEntrySchema,
  providerProblem,
  runsInside,
  toProviderEntry,
} from "../providers/settings.ts";
import { type ToolServerDocument, toolServerSchema } from "../mcp/settings.ts";
import { compileToolServer } from "../mcp/compile-servers.ts";
import { compileWebhooks, webhookSchema } from "../observe/webhooks/webhook-settings.ts";
import { routesSeen } from "../routing/compile-routes.ts";
import { type RouteEntry, routeName, routeSchema } from "../routing/settings.ts";
import type { Contents, OpenedResource } from "../store/configuration/contents.ts";
import type { Memoize } from "./memoize.ts";
import { entrySettings } from "./provider-table.ts";
import type { Steps } from "../core/concurrency/steps.ts";
import { messageOf } from "../core/thrown.ts";

export type Stored = ReturnType<typeof readStored>;

/** The value of a document, or the problem with it, the value used instead, and the effect of that value. */
type Reading<T> =
  | { readonly value: T }
  | { readonly problem: string; readonly instead: T | null; readonly does?: string };
type Read<T> = (resource: OpenedResource) => Reading<T>;

interface Known {
  /** `null` when the document is left out. */
  readonly one: Configured<unknown> | null;
  readonly problem: string | null;
}

/** By resource, which is a new object whenever it has changed. */
type Readings = WeakMap<OpenedResource, Known>;

function readingsOf(families: readonly ProviderFamily[], memoize: Memoize): Readings {
  return memoize("stored readings", [families], () => new WeakMap<OpenedResource, Known>());
}

const readersOf = memoizePerObject((families: readonly ProviderFamily[]) => ({
  price: unlessThrown(bySchema(priceSchema), (price) => compilePrices([price])),
  limit: unlessThrown(bySchema(limitSchema), (limit) =>
    compileLimits({ limits: [limit], budgets: [] }).forCaller(limit.tenantId!, limit.projectId ?? "", ""),
  ),
  budget: unlessThrown(bySchema(budgetSchema), (budget) =>
    compileLimits({ limits: [], budgets: [budget] }).forCaller(budget.tenantId!, budget.projectId ?? "", ""),
  ),
  policy: unlessThrown(readPolicy, (policy) => compilePolicies([policy]), unreadable),
  route: unlessThrown(readRoute, ({ name, document }) => routesSeen([{ routes: { [name!]: document }, defaults: {} }])),
  setting: unlessThrown(readSettings, () => {}),
  provider: unlessThrown(
    providerReader(families),
    () => {},
    (resource) => ({ instead: switchedOff(resource, families) }),
  ),
  tool_server: unlessThrown(
    readToolServer,
    (server) => compileToolServer(server),
    () => SWITCHED_OFF_SERVER,
  ),
  webhook: unlessThrown(bySchema(webhookSchema), (webhook) => compileWebhooks([webhook])),
}));
type Readers = ReturnType<typeof readersOf>;
type DocumentOf<Kind extends keyof Readers> = Readers[Kind] extends Read<infer T> ? T : never;

/**
 * A document that passes its schema but cannot be compiled, or makes its reader throw, is treated like an invalid one:
 * no document affects another.
 */
function unlessThrown<T>(
  read: Read<T>,
  compile: (one: Configured<T>) => unknown,
  instead: (resource: OpenedResource) => { readonly instead: T | null; readonly does?: string } = () => ({
    instead: null,
  }),
): Read<T> {
  return (resource) => {
    try {
      const reading = read(resource);
      if ("value" in reading) compile(configured(resource, reading.value));
      return reading;
    } catch (thrown) {
      return {
        problem: `it is invalid: ${messageOf(thrown)}`,
        ...instead(resource),
      };
    }
  };
}

export function readStored(resources: Contents["resources"], families: readonly ProviderFamily[], memoize: Memoize) {
  const readers = readersOf(families);
  const readings = readingsOf(families, memoize);
  const problems: string[] = [];
  const all = <Kind extends keyof Readers>(kind: Kind) => {
    const read = memoize(`stored ${kind}`, [resources[kind], families], () =>
      readKind(kind, resources[kind], readers[kind], readings),
    );
    problems.push(...read.problems);
    return read.all as readonly Configured<DocumentOf<Kind>>[];
  };
  return {
    prices: all("price"),
    limits: all("limit"),
    budgets: all("budget"),
    policies: all("policy"),
    webhooks: all("webhook"),
    routes: all("route"),
    settings: all("setting"),
    providers: all("provider"),
    toolServers: all("tool_server"),
    /** What is left out, and why, with one sentence for each. */
    problems: problems as readonly string[],
  };
}

function readKind(
  kind: keyof Readers,
  resources: readonly OpenedResource[],
  read: Read<unknown>,
  readings: Readings,
): { readonly all: readonly Configured<unknown>[]; readonly problems: readonly string[] } {
  const problems: string[] = [];
  const all = resources.toSorted(byName).flatMap((resource) => {
    const { one, problem } = readingOf(resource, read, readings);
    if (problem !== null)
      problems.push(
        `the stored ${kind.replace("_", " ")} ${resource.name ?? resource.id} of the ${placeText(resource)} ${problem}`,
      );
    return one ?? [];
  });
  return { all, problems };
}

function readingOf(resource: OpenedResource, read: Read<unknown>, readings: Readings): Known {
  const known = readings.get(resource);
  if (known !== undefined) return known;
  const reading = read(resource);
  const made: Known =
    "value" in reading
      ? { one: configured(resource, reading.value), problem: null }
      : {
          one: reading.instead === null ? null : configured(resource, reading.instead),
          problem: `${reading.instead === null ? "is ignored" : (reading.does ?? "is disabled")}: ${reading.problem}`,
        };
  readings.set(resource, made);
  return made;
}

/**
 * Reads new documents, which compiles rules and patterns, in steps: calls continue in between, and readStored() finds the
 * results.
 */
export function* readAhead(
  resources: Contents["resources"],
  families: readonly ProviderFamily[],
  memoize: Memoize,
): Steps<void> {
  const readers = readersOf(families);
  const readings = readingsOf(families, memoize);
  for (const kind of Object.keys(readers) as (keyof Readers)[])
    for (const resource of resources[kind]) {
      if (readings.has(resource)) continue;
      readingOf(resource, readers[kind], readings);
      yield;
    }
}

/** A policy that can no longer be read was meant to deny something unknown, so it denies everything. */
function readPolicy(resource: OpenedResource): Reading<PolicyDocument> {
  const reading = bySchema(policySchema)(resource);
  return "value" in reading ? reading : { ...reading, ...unreadable(resource) };
}

function unreadable({ document }: OpenedResource): { readonly instead: PolicyDocument; readonly does: string } {
  return {
    instead: unreadablePolicy(document["mode"] === "audit" ? "audit" : "enforce"),
    does: "denies all calls to which it may apply",
  };
}

const storedSettings = scopeSettings.transform(toScopeSettings);

/**
 * Settings that can no longer be read may have said that nothing is kept there, how content is redacted, and which
 * models are enabled.
 */
function readSettings(resource: OpenedResource): Reading<ScopeSettings> {
  const reading = bySchema(storedSettings)(resource);
  if ("value" in reading) return reading;
  const models = readableModels(resource.document);
  const does = `is ignored, no content of its calls is kept${models === undefined ? "" : models.length === 0 ? ", and no model is enabled" : ", and only the models that it names are enabled"}`;
  return {
    ...reading,
    instead: toScopeSettings({
      content_log: { enabled: false },
      cache_allowed: false,
      cache: false,
      ...(models !== undefined && { models: [...models] }),
    }),
    does,
  };
}

/** The models that settings of another version still name; undefined when they name none. */
function readableModels(document: unknown): readonly string[] | undefined {
  if (!isObject(document)) return [];
  const models = document["models"];
  if (models === undefined || models === null) return undefined;
  return Array.isArray(models) && models.every((one) => typeof one === "string") ? models : [];
}

function byName(a: OpenedResource, b: OpenedResource): number {
  const [one, other] = [a.name ?? a.id, b.name ?? b.id];
  return one < other ? -1 : one > other ? 1 : a.id < b.id ? -1 : 1;
}

function configured<T>(
  { id, name, tenantId, projectId, setBy, byOperator = false, version }: OpenedResource,
  document: T,
): Configured<T> {
  return { id, name, tenantId, projectId, origin: "store", setBy, byOperator, version, document };
}

function bySchema<T>(schema: z.ZodType<T>): (resource: OpenedResource) => Reading<T> {
  return ({ document, fault }) => {
    const parsed = schema.safeParse(document);
    if (!parsed.success) return { problem: issuesOf(parsed.error), instead: null };
    return fault === null ? { value: parsed.data } : { problem: fault, instead: null };
  };
}

function issuesOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join(".")}: ${message}`))
    .join("; ");
}

/** A wider server of the same name is a different one, and must not be used instead. */
const SWITCHED_OFF_SERVER = { instead: { url: "https://switched-off.invalid", enabled: false } };

function readToolServer(resource: OpenedResource): Reading<ToolServerDocument> {
  const reading = bySchema(toolServerSchema)(resource);
  return "value" in reading ? reading : { ...reading, ...SWITCHED_OFF_SERVER };
}

function readRoute(resource: OpenedResource): Reading<RouteEntry> {
  const name = routeName.safeParse(resource.name);
  return name.success ? bySchema(routeSchema)(resource) : { problem: issuesOf(name.error), instead: null };
}

/** The provider belongs to its tenant or project, so that its name refers to no other provider there. */
function switchedOff(
  { name, id: own, tenantId, projectId }: OpenedResource,
  families: readonly ProviderFamily[],
): ProviderSettings {
  const id = name ?? own;
  const owner = projectId === null ? tenantId : `${tenantId}/${projectId}`;
  return {
    id,
    family: families.find((family) => family.id === id)?.id ?? families[0]!.id,
    baseUrl: null,
    credentials: [],
    settings: {},
    enabled: false,
    models: [],
    owner,
    guarded: true,
  };
}

function providerReader(families: readonly ProviderFamily[]): (resource: OpenedResource) => Reading<ProviderSettings> {
  const schema = providerEntrySchema(families);
  const known = new Map(families.map((family) => [family.id, family]));
  return (resource) => {
    const id = resource.name ?? resource.id;
    const off = switchedOff(resource, families);
    const parsed = schema.safeParse(resource.document);
    if (!parsed.success) return { problem: issuesOf(parsed.error), instead: off };
    if (resource.fault !== null) return { problem: resource.fault, instead: off };
    const problem = providerProblem(id, parsed.data, known);
    if (problem !== null)
      return { problem: [problem.path.join("."), problem.message].filter(Boolean).join(": "), instead: off };
    const operators = resource.byOperator === true;
    const entry = toProviderEntry(id, parsed.data, known);
    if (!operators && entry.tokenUrl !== null)
      return { problem: "token_url: only an operator of the gateway may set one", instead: off };
    // The variables, files and identities of the process belong to the operator.
    const notices: string[] = [];
    const settings = entrySettings(id, entry, known.get(entry.family)!, NO_VARIABLES, notices);
    if (!operators && settings.credentials.some(lentByMachine))
      return {
        problem:
          "it uses an identity or a file of the gateway's machine, which only an operator of the gateway may use",
        instead: off,
      };
    // A provider that runs inside the gateway calls no address. Even a vendor's own address may lead into the
    // operator's network, if names resolve that way there.
    return { value: { ...settings, owner: off.owner!, guarded: !operators && !runsInside(known.get(entry.family)!) } };
  };
}

const NO_VARIABLES = { get: () => undefined };
