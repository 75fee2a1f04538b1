// What the configuration file says, in the form that the admin API shows: without credentials.
import type { Place } from "../../auth/grants.ts";
import type { Configured, ConfiguredKind } from "../../core/configured.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ProviderEntry } from "../../providers/settings.ts";
import type { Configuration } from "../../snapshot/configuration.ts";
import type { DocumentWorld } from "./document-rule.ts";

interface Section {
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly entries: readonly (readonly [name: string, document: JsonObject])[];
}

/** Those of the place itself, and those that hold for everybody. */
export function fileDocuments(world: DocumentWorld): (kind: ConfiguredKind, place: Place) => readonly Configured<JsonObject>[] {
  return (kind, { tenantId, projectId }) => {
    const own = { tenantId, projectId };
    const all = { tenantId: null, projectId: null };
    return sectionsOf(kind, world.configuration(), own, all).flatMap(({ entries, ...scope }) =>
      entries.map(([name, document]) => ({ id: name, name, ...scope, origin: "file" as const, setBy: null, version: 0, document })),
    );
  };
}

type Scope = Omit<Section, "entries">;

function sectionsOf(kind: ConfiguredKind, file: Configuration, own: Place, all: Scope): readonly Section[] {
  const scoped = own.projectId === null ? file.tenants.get(own.tenantId) : file.projects.get(own.projectId);
  if (kind === "route") return [{ ...own, entries: Object.entries(asJson(scoped?.routes ?? {})) }, { ...all, entries: Object.entries(asJson(file.routes)) }] as readonly Section[];
  if (kind === "price") return [{ ...own, entries: Object.entries(asJson(scoped?.prices ?? {})) }, { ...all, entries: Object.entries(asJson(file.prices)) }] as readonly Section[];
  if (kind === "provider" && own.projectId === null) return [{ ...all, entries: [...file.providers.entries].map(([id, entry]) => [id, shownProvider(entry)] as const) }];
  return [];
}

/** What a parser gave, without what it left undefined. */
function asJson(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value)) as JsonObject;
}

/** Its address and settings are the operator's own business; that it is there is not. */
function shownProvider({ family, enabled, models }: ProviderEntry): JsonObject {
  return { type: family, enabled, ...asJson({ models }) };
}
