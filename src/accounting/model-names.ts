// Names of models that are configured or in the catalogue, as opposed to names that a caller made up. Only the former
// may become metric labels.
import { BoundedCache } from "../core/bounded-cache.ts";
import { DIRECT_ROUTE, type Route } from "../core/configured/route.ts";
import { type Snapshot, snapshotSeenBy } from "../core/snapshot.ts";
import { normalizedName } from "../core/target.ts";
import type { ModelLabel, MeteredModel } from "../observe/metrics/call-meters.ts";
import { type KnowledgeSource, modelKnowledge } from "./model-catalogue.ts";

export interface NameSources {
  readonly providers: ReadonlyMap<string, KnowledgeSource>;
  /** Models that need no configuration, by provider family. */
  readonly builtIn: ReadonlyMap<string, readonly { readonly id: string }[]>;
}

/** The number of names in the cache, so that most calls need one lookup. Callers choose the names. */
const MAX_REMEMBERED = 2000;

export function openModelNames(snapshot: () => Snapshot, sources: NameSources) {
  let seen: Snapshot | null = null;
  let routed: ReadonlySet<string> = new Set();
  const remembered = new BoundedCache<string, MeteredModel | null>(MAX_REMEMBERED);

  const nameOf: ModelLabel = ({ tenantId, projectId, provider, model }) => {
    if (provider === null || model === null) return null;
    const now = snapshot();
    if (now !== seen) {
      if (
        seen?.routes !== now.routes ||
        seen.tenantRoutes !== now.tenantRoutes ||
        seen.projectRoutes !== now.projectRoutes
      )
        routed = namesInRoutes(now);
      seen = now;
      remembered.clear();
    }
    // without providers of single tenants or projects, a name means the same everywhere
    const key =
      now.tenantProviders.size === 0 && now.projectProviders.size === 0
        ? `${provider}:${model}`
        : `${tenantId}/${projectId}/${provider}:${model}`;
    return remembered.getOrMake(key, () =>
      routed.has(`${provider}:${model}`)
        ? { name: model, isConfigured: true }
        : listedName(tenantId === null ? now : snapshotSeenBy(now, { tenantId, projectId }), sources, provider, model),
    );
  };

  return {
    nameOf,
    /** Judges `<provider>:<model>`. */
    isNamed(target: string): boolean {
      const at = target.indexOf(":");
      return (
        nameOf({ tenantId: null, projectId: null, provider: target.slice(0, at), model: target.slice(at + 1) }) !== null
      );
    },
  };
}

function listedName(
  { providers }: Snapshot,
  sources: NameSources,
  providerId: string,
  model: string,
): MeteredModel | null {
  const settings = providers.get(providerId);
  const source = settings === undefined ? undefined : sources.providers.get(settings.family);
  // with a key of its own, a caller could otherwise ask a disabled provider for every model of the catalogue
  if (settings?.enabled !== true || source === undefined) return null;
  if (
    settings.models.some(({ id }) => id === model) ||
    sources.builtIn.get(settings.family)?.some(({ id }) => id === model) === true
  )
    return { name: model, isConfigured: true };
  const { catalogueId } = modelKnowledge(settings, source, model);
  return catalogueId === null ? null : { name: catalogueId, isConfigured: false };
}

function namesInRoutes({ routes, tenantRoutes, projectRoutes }: Snapshot): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (all: ReadonlyMap<string, Route>): void => {
    for (const { name, targets, mirror, fallbacks, contentPolicyFallbacks, contextWindowFallbacks } of all.values()) {
      if (name === DIRECT_ROUTE) continue;
      for (const target of mirror === undefined ? targets : [...targets, mirror.target]) names.add(target.name);
      const others = [...fallbacks, ...contentPolicyFallbacks].flatMap(({ model }) => model ?? []);
      for (const model of [...others, ...contextWindowFallbacks.values()]) names.add(normalizedName(model));
    }
  };
  add(routes);
  for (const all of [...tenantRoutes.values(), ...projectRoutes.values()]) add(all);
  return names;
}
