// Models that a tenant and a project have enabled (promise 1.4): where their settings list models, every other model is
// unknown there.
import { modelNotFound } from "../core/refusals.ts";
import { compileGlob } from "../core/text/glob.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { ScopeSettings, Snapshot } from "../core/snapshot.ts";
import { normalizedPattern } from "../core/target.ts";

type Settings = Pick<Snapshot, "tenantSettings" | "projectSettings">;

interface Place {
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

const globsOf = memoizePerObject((models: readonly string[]) =>
  models.map((pattern) => compileGlob(normalizedPattern(pattern))),
);

/** `name` is `provider:model`. */
export function isEnabled(
  { tenantSettings, projectSettings }: Settings,
  { tenantId, projectId }: Place,
  name: string,
): boolean {
  return (
    names(tenantId === null ? undefined : tenantSettings.get(tenantId), name) &&
    names(projectId === null ? undefined : projectSettings.get(projectId), name)
  );
}

/**
 * Throws `model_not_found`. `via` is the route by which the caller got to the model; `null` for one that the caller
 * named, which alone is named in the error.
 */
export function requireEnabled(settings: Settings, place: Place, name: string, via: string | null): void {
  if (!isEnabled(settings, place, name))
    throw modelNotFound(
      "model",
      via === null
        ? `The model ${JSON.stringify(name.slice(0, 300))} is not enabled here. GET /api/v1/models lists the enabled models.`
        : `The route ${JSON.stringify(via)} leads to a model that is not enabled here. GET /api/v1/models lists the enabled models.`,
    );
}

function names(settings: ScopeSettings | undefined, name: string): boolean {
  if (settings?.models === undefined) return true;
  return globsOf(settings.models).some((glob) => glob(name));
}
