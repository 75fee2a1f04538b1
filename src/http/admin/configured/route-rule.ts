// What a route has to satisfy in its place: its models and fallbacks exist, its fallbacks form no cycle, and below the
// role admin it names only models that the tenant has enabled and contains no addresses, credentials or headers of its
// own, and nothing that lives at a vendor (promises 2.11 and 12.15).

// Decides (records and configuration): May a change of a route be published? By: `routeRule`. Also:
// `tested-changes.ts` (`requireTested`); the tests: `simulation/route-tests.ts` (`testResults`). Rule: Its form
// and what it names, then its own tests, which an owner may override with a reason. The tests run before the
// transaction, and again where something else was changed meanwhile.
import { referencesInText } from "../../../engine/objects/vendor-references.ts";
import { parseChatRequest } from "../../../engine/request/parse.ts";
import { isEnabled } from "../../../auth/permitted-models.ts";
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { roleAtLeast } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import { insufficientRole } from "../../../core/refusals.ts";
import { snapshotSeenBy } from "../../../core/snapshot.ts";
import { PRIVILEGED_MEMBERS } from "../../../providers/native-forms.ts";
import { compileFallback, type RouteScope, splitName } from "../../../routing/compile-routes.ts";
import { routeProblems } from "../../../routing/route-problems.ts";
import { type RouteEntry, routeName, routeSchema } from "../../../routing/settings.ts";
import { simulatedConfiguration } from "../../../simulation/simulated-configuration.ts";
import type { Reader } from "../../../store/reader.ts";
import type { AdminCall } from "../operation.ts";
import type { DocumentRule, DocumentDependencies } from "./document-rule.ts";
import type { Finding } from "../../../config/problem.ts";
import { allOf, providerIds, routesOfPlace, sameNames } from "./references.ts";
import { projectsWithOwn, proposedRoute } from "./route-proposal.ts";

export function routeRule(dependencies: DocumentDependencies): DocumentRule {
  return {
    schema: routeSchema,
    named: "name",
    // in an address, these lead to another thing
    name: routeName.refine((name) => !/^\.{1,2}$/.test(name), "expected another name than . and .."),
    references: async ({ call, name, document, reader }) =>
      await misplaced(dependencies, call.place!, name!, routeSchema.parse(document), reader),
    problems: ({ call, document }) => {
      if (!roleAtLeast(call.role, "admin")) requirePermittedTargets(dependencies, call, routeSchema.parse(document));
      return [];
    },
    tests: async ({ call, name, document, reader }) => {
      const entry = routeSchema.parse(document);
      const { tests = [] } = entry;
      if (tests.length === 0) return null;
      const place = call.place!;
      const snapshot = dependencies.snapshot();
      const ownIn = await projectsWithOwn(dependencies, snapshot, place, name!, reader);
      return {
        configuration: simulatedConfiguration(snapshot, place),
        proposal: proposedRoute(dependencies, snapshot, call, { name: name!, entry, ownIn }),
        tests,
      };
    },
  };
}

async function misplaced(
  dependencies: DocumentDependencies,
  place: TenantOrProject,
  name: string,
  entry: RouteEntry,
  reader: Reader,
): Promise<readonly Finding[]> {
  const { tenantId, projectId } = place;
  const file = dependencies.configuration();
  const stored = await allOf(reader, "route", tenantId);
  const own = ({ routes, defaults }: RouteScope): RouteScope => ({ routes: { ...routes, [name]: entry }, defaults });
  const ofTenant = routesOfPlace(dependencies, stored, { tenantId, projectId: null });
  const tenants = new Map([[tenantId, projectId === null ? own(ofTenant) : ofTenant]]);
  const projects =
    projectId === null
      ? new Map<string, RouteScope>()
      : new Map([[projectId, own(routesOfPlace(dependencies, stored, place))]]);
  const base = projectId === null ? ["tenants", tenantId, "routes", name] : ["projects", projectId, "routes", name];
  return routeProblems(
    { global: { routes: file.routes, defaults: file.route_defaults }, tenants, projects },
    providerIds(dependencies, await allOf(reader, "provider", tenantId)),
    sameNames(file.server.conditionHeaders),
    name,
  )
    .filter(({ path }) => base.every((step, index) => path[index] === step))
    .map(({ path, message }) => ({ path: path.slice(base.length), message }));
}

interface Named {
  readonly path: readonly (string | number)[];
  readonly model: string | null;
  readonly params: Readonly<Record<string, unknown>>;
}

function namedIn({
  targets,
  mirror,
  fallbacks = [],
  content_policy_fallbacks: afterRefusal = [],
  context_window_fallbacks: windows = {},
}: RouteEntry): readonly Named[] {
  const list = (key: string, entries: NonNullable<RouteEntry["fallbacks"]>): readonly Named[] =>
    entries.map((entry, index) => {
      const { model, params } = compileFallback(entry);
      return { path: [key, index], model, params };
    });
  return [
    ...targets.map((target, index) =>
      typeof target === "string"
        ? { path: ["targets", index], model: target, params: {} }
        : { path: ["targets", index], model: target.model, params: target.params ?? {} },
    ),
    ...(mirror === undefined ? [] : [{ path: ["mirror"], model: mirror.target, params: mirror.params ?? {} }]),
    ...list("fallbacks", fallbacks),
    ...list("content_policy_fallbacks", afterRefusal),
    ...Object.entries(windows).map(([from, model]) => ({
      path: ["context_window_fallbacks", from],
      model,
      params: {},
    })),
  ];
}

/** Throws `insufficient_role`. */
function requirePermittedTargets(dependencies: DocumentDependencies, call: AdminCall, entry: RouteEntry): void {
  const place = call.place!;
  const snapshot = snapshotSeenBy(call.snapshot, place);
  for (const { path, model, params } of namedIn(entry)) {
    const split = model === null ? null : splitName(model);
    const providerId = split?.providerId ?? null;
    if (
      split !== null &&
      (snapshot.providers.get(split.providerId)?.enabled !== true ||
        !isEnabled(snapshot, place, `${split.providerId}:${split.model}`))
    )
      throw refused(path, "names a model that the tenant has not enabled");
    const family =
      providerId === null
        ? undefined
        : dependencies.providers.get(snapshot.providers.get(providerId)?.family ?? providerId);
    const widening = Object.keys(params).find(
      (name) => family?.privileged.has(name) === true || PRIVILEGED_MEMBERS.has(name) || name === "extra_body",
    );
    if (widening !== undefined)
      throw refused([...path, "params", widening], "selects further models or sets an address");
    const [reference] = referencesInText(JSON.stringify(params));
    if (reference !== undefined)
      throw refused([...path, "params", ...reference.path.split(".")], "names something that lives at the vendor");
    if (bringsItsOwn(params)) throw refused([...path, "params"], "sets an address, a credential or headers");
  }
}

function refused(path: readonly (string | number)[], what: string): GatewayError {
  const param = path
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${step}`))
    .join("")
    .slice(1);
  return insufficientRole(`${param}: it ${what}, which needs the role admin or owner.`, param);
}

/** Whether a request with these parameters would need a permission. */
function bringsItsOwn(params: Readonly<Record<string, unknown>>): boolean {
  try {
    return (
      parseChatRequest(
        JSON.stringify({ ...(params as JsonObject), model: "a:b", messages: [{ role: "user", content: "a" }] }),
      ).options.needs.size > 0
    );
  } catch {
    return true;
  }
}
