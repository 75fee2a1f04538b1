// Converts between rows and resources, and says what a step of a resource changed.
import type { Selectable } from "kysely";
import { CONFIGURED_KINDS, type ConfiguredKind } from "../../core/configured/configured.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Change, Resource } from "../records.ts";
import { fromInteger, fromRole, type Schema, toInteger } from "../schema.ts";
import { StoreError } from "../store.ts";
import { maskedDocument } from "./secret-fields.ts";

type Row<Table extends keyof Schema> = Selectable<Schema[Table]>;

/** A resource as it is stored, with its secrets encrypted. */
export type StoredResource = Resource;

function kindOf(word: string): ConfiguredKind {
  const kind = CONFIGURED_KINDS.find((known) => known === word);
  if (kind === undefined)
    throw new StoreError(
      "unusable",
      `The database contains ${JSON.stringify(word)}, which this version does not know. Run the version that wrote it.`,
    );
  return kind;
}

export function resourceOf(row: Row<"resources">): StoredResource {
  return {
    kind: kindOf(row.kind),
    id: row.id,
    tenantId: row.tenant_id,
    projectId: row.project_id,
    name: row.name,
    document: JSON.parse(row.document) as JsonObject,
    setBy: fromRole(row.set_by),
    byOperator: row.by_operator !== 0n,
    version: fromInteger(row.version),
    createdAtMs: fromInteger(row.created_at_ms),
    updatedAtMs: fromInteger(row.updated_at_ms),
  };
}

export function resourceColumns(resource: StoredResource) {
  return {
    id: resource.id,
    kind: resource.kind,
    tenant_id: resource.tenantId,
    project_id: resource.projectId,
    name: resource.name,
    document: JSON.stringify(resource.document),
    set_by: resource.setBy,
    by_operator: resource.byOperator === true ? 1n : 0n,
    version: toInteger(resource.version),
    created_at_ms: toInteger(resource.createdAtMs),
    updated_at_ms: toInteger(resource.updatedAtMs),
  };
}

export const maskedResource = (resource: StoredResource): Resource => ({
  ...resource,
  document: maskedDocument(resource.kind, resource.document),
});

/** One step of a resource, with both of its states as they are stored. */
export interface ResourceStep {
  readonly before: StoredResource | null;
  readonly after: StoredResource | null;
}

export function stepOf(row: Row<"version_changes">): ResourceStep {
  const resource = (text: string | null): StoredResource | null =>
    text === null ? null : (JSON.parse(text) as StoredResource);
  return { before: resource(row.value_before), after: resource(row.value_after) };
}

/** Requires a step with at least one state. */
export function changeOf({ before, after }: ResourceStep): Change {
  const { kind, id, name, tenantId, projectId } = (after ?? before)!;
  const action = before === null ? "create" : after === null ? "remove" : "change";
  return {
    action,
    kind,
    id,
    name,
    tenantId,
    projectId,
    before: before === null ? null : maskedDocument(kind, before.document),
    after: after === null ? null : maskedDocument(kind, after.document),
  };
}
