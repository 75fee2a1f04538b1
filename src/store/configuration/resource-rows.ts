// Converts between rows and resources, and says what a step of a resource changed.
import type { Selectable } from "kysely";
import { CONFIGURED_KINDS, type ConfiguredKind } from "../../core/configured/configured.ts";
import type { Change, Resource } from "../records.ts";
import { keptIn, rowOf, type RowOf } from "../database/columns.ts";
import { RESOURCE, type Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";
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
  const kept = keptIn(RESOURCE, row);
  return { ...kept, kind: kindOf(kept.kind) };
}

export const resourceColumns = (resource: StoredResource): RowOf<typeof RESOURCE> =>
  rowOf(RESOURCE, { ...resource, byOperator: resource.byOperator === true });

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

export const actionOf = ({ before, after }: { readonly before: unknown; readonly after: unknown }): Change["action"] =>
  before === null ? "create" : after === null ? "remove" : "change";

/** Requires a step with at least one state. */
export function changeOf({ before, after }: ResourceStep): Change {
  const { kind, id, name, tenantId, projectId } = (after ?? before)!;
  return {
    action: actionOf({ before, after }),
    kind,
    id,
    name,
    tenantId,
    projectId,
    before: before === null ? null : maskedDocument(kind, before.document),
    after: after === null ? null : maskedDocument(kind, after.document),
  };
}
