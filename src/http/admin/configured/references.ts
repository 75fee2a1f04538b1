// References within a tenant: routes name providers and other routes, budgets name what they degrade to, and policies the
// provider whose service judges texts. A change that would leave a reference dangling is rejected with an error that names
// the referring resources.
import type { ConfiguredKind } from "../../../core/configured/configured.ts";
import type { JsonObject } from "../../../core/json.ts";
import { memoizeBounded } from "../../../core/memoization.ts";
import { conflict } from "../../../core/refusals.ts";
import { digestOf } from "../../../core/text/digest.ts";
import { type BudgetDocument, budgetSchema } from "../../../admission/settings.ts";
import { NO_PROVIDER, serviceProvider } from "../../../policies/policy-settings.ts";
import { formatPath } from "../../../config/problem.ts";
import type { RouteScope } from "../../../routing/compile-routes.ts";
import { degradeProblems } from "../../../routing/lost-names.ts";
import { routeProblems } from "../../../routing/route-problems.ts";
import { type RouteEntry, routeSchema } from "../../../routing/settings.ts";
import { everyRow, type Reader } from "../../../store/reader.ts";
import type { Resource } from "../../../store/records.ts";
import type { DocumentDependencies } from "./document-rule.ts";

const MAX_LISTED = 20;

/** All resources of a tenant that refer to others or are referred to. */
export interface Naming {
  readonly tenantId: string;
  readonly routes: readonly Resource[];
  readonly providers: readonly Resource[];
  readonly budgets: readonly Resource[];
  readonly policies: readonly Resource[];
}

export async function readNaming(reader: Reader, tenantId: string): Promise<Naming> {
  return {
    tenantId,
    routes: await allOf(reader, "route", tenantId),
    providers: await allOf(reader, "provider", tenantId),
    budgets: await allOf(reader, "budget", tenantId),
    policies: await allOf(reader, "policy", tenantId),
  };
}

export async function allOf(reader: Reader, kind: ConfiguredKind, tenantId: string): Promise<readonly Resource[]> {
  return await Array.fromAsync(everyRow((page) => reader.listResources(page, { kind, tenantId })));
}

/** The provider ids that may precede a model name in the tenant. */
export function providerIds(dependencies: DocumentDependencies, providers: readonly Resource[]): ReadonlySet<string> {
  return sameNames([
    ...dependencies.families.map(({ id }) => id),
    ...dependencies.configuration().providers.entries.keys(),
    ...providers.flatMap(({ name }) => name ?? []),
  ]);
}

const MOST_SETS = 100;
/** Returns the same object for the same names, so that what was judged with them is known. */
export const sameNames = memoizeBounded(
  MOST_SETS,
  (names: readonly string[]): ReadonlySet<string> => new Set(names),
  JSON.stringify,
);

/** The routes of one place. Those in the file take precedence. */
export function routesOfPlace(
  dependencies: DocumentDependencies,
  stored: readonly Resource[],
  { tenantId, projectId }: { readonly tenantId: string; readonly projectId: string | null },
): RouteScope {
  const file = dependencies.configuration();
  const filed = projectId === null ? file.tenants.get(tenantId) : file.projects.get(projectId);
  const own = stored.flatMap((one): readonly (readonly [string, RouteEntry])[] => {
    const entry = one.projectId === projectId && one.name !== null ? routeIn(one.document) : null;
    return entry === null ? [] : [[one.name!, entry]];
  });
  return { routes: { ...Object.fromEntries(own), ...filed?.routes }, defaults: filed?.defaults ?? {} };
}

const MAX_READ = 10_000;

/**
 * Null when another version of the gateway wrote the document and this one cannot read it. Each change of a route reads
 * all routes of the tenant, most of which are as before.
 */
const routeIn = memoizeBounded(
  MAX_READ,
  (document: JsonObject): RouteEntry | null => {
    const parsed = routeSchema.safeParse(document);
    return parsed.success ? parsed.data : null;
  },
  digestOf,
);

/** A reference to something that does not exist, or a reference that forms a cycle. */
export interface Dangling {
  readonly kind: "route" | "route_defaults" | "budget" | "policy";
  readonly name: string | null;
  readonly projectId: string | null;
  readonly param: string;
  readonly message: string;
}

function danglingIn(dependencies: DocumentDependencies, naming: Naming): readonly Dangling[] {
  const { tenantId, routes, providers, budgets, policies } = naming;
  const file = dependencies.configuration();
  const ids = providerIds(dependencies, providers);
  const byPlace = Map.groupBy(routes, ({ projectId }) => projectId);
  const tenants = new Map([[tenantId, routesOfPlace(dependencies, routes, { tenantId, projectId: null })]]);
  const projects = new Map(
    [...byPlace].flatMap(([projectId, own]) =>
      projectId === null ? [] : [[projectId, routesOfPlace(dependencies, own, { tenantId, projectId })] as const],
    ),
  );
  const ofRoutes = routeProblems(
    { global: { routes: file.routes, defaults: file.route_defaults }, tenants, projects },
    ids,
    sameNames(file.server.conditionHeaders),
  ).flatMap(({ path, message }): readonly Dangling[] => {
    const [section, id, part, name, ...rest] = path;
    if (section !== "tenants" && section !== "projects") return [];
    const projectId = section === "projects" ? String(id) : null;
    return part === "routes"
      ? [{ kind: "route", name: String(name), projectId, param: formatPath(rest), message }]
      : [{ kind: "route_defaults", name: null, projectId, param: formatPath(path.slice(2)), message }];
  });
  const ofBudgets = budgets.flatMap((budget) => {
    const { projectId } = budget;
    const seen = [
      file.routes,
      tenants.get(tenantId)!.routes,
      ...(projectId === null ? [] : [projects.get(projectId)?.routes ?? file.projects.get(projectId)?.routes ?? {}]),
    ];
    return degradeProblems(thresholdsOf(budget.document), ids, seen).map(({ path, message }): Dangling => ({
      kind: "budget",
      name: budget.name ?? budget.id,
      projectId,
      param: formatPath(path),
      message,
    }));
  });
  const ofPolicies = policies.flatMap(({ id, name, projectId, document }): readonly Dangling[] => {
    const provider = serviceProvider(document);
    return provider === undefined || ids.has(provider)
      ? []
      : [{ kind: "policy", name: name ?? id, projectId, param: "guard.service.provider", message: NO_PROVIDER }];
  });
  return [...ofRoutes, ...ofBudgets, ...ofPolicies];
}

/** None where another version of the gateway wrote the budget and this one cannot read it. */
export function thresholdsOf(document: JsonObject): BudgetDocument["thresholds"] {
  const parsed = budgetSchema.safeParse(document);
  return parsed.success ? parsed.data.thresholds : [];
}

const keyOf = ({ kind, name, projectId, param, message }: Dangling): string =>
  JSON.stringify([kind, name, projectId, param, message]);

/** The references that are dangling after a change and were not before. */
export function newlyDangling(dependencies: DocumentDependencies, before: Naming, after: Naming): readonly Dangling[] {
  const known = new Set(danglingIn(dependencies, before).map(keyOf));
  return danglingIn(dependencies, after).filter((one) => !known.has(keyOf(one)));
}

export function titleOf(
  { kind, name, projectId }: Pick<Dangling, "kind" | "name" | "projectId">,
  tenantId: string,
): string {
  const where = projectId === null ? `the tenant ${tenantId}` : `the project ${projectId}`;
  return kind === "route_defaults" ? `the route defaults of ${where}` : `the ${kind} ${name} of ${where}`;
}

/** Throws `conflict`, which names the resources that refer to the one to be removed. */
export async function requireUnreferenced(
  dependencies: DocumentDependencies,
  reader: Reader,
  { id, kind, name, tenantId }: Resource,
): Promise<void> {
  if (kind !== "route" && kind !== "provider") return;
  const before = await readNaming(reader, tenantId);
  const without = (all: readonly Resource[]): readonly Resource[] => all.filter((one) => one.id !== id);
  const dangling = newlyDangling(dependencies, before, {
    ...before,
    routes: without(before.routes),
    providers: without(before.providers),
  });
  if (dangling.length === 0) return;
  const who = [...new Set(dangling.map((one) => titleOf(one, tenantId)))];
  const more = who.length > 3 ? ` and ${who.length - 3} more` : "";
  throw conflict(
    `The ${kind} ${name ?? id} is in use by ${who.slice(0, 3).join(", ")}${more}: change or remove that first.`,
    {
      metadata: {
        referred_by: dangling.slice(0, MAX_LISTED).map((one) => ({
          kind: one.kind,
          name: one.name,
          tenant_id: tenantId,
          project_id: one.projectId,
          param: one.param,
        })),
      },
    },
  );
}
