// What requests and responses show of a configured object: its document, and the fields beside it.
import { z } from "zod";
import type { TenantOrProject } from "../../../auth/grants.ts";
import { type Configured, UNSTORED_ETAG } from "../../../core/configured/configured.ts";
import { GatewayError } from "../../../core/errors.ts";
import { ROLES } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Resource } from "../../../store/records.ts";
import type { DocumentRule } from "./document-rule.ts";
import type { AdminCall, Answer } from "../operation.ts";
import { etagField, etagOf, time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

/** The settings of a place are one document, which has no name of its own. */
export const SETTINGS_NAME = "settings";

const HEAD_SHAPE = {
  id: z.string(),
  name: z.string().nullable(),
  tenant_id: z
    .string()
    .nullable()
    .meta({ description: "Null if it applies to all tenants, which is possible only in the configuration file." }),
  project_id: z.string().nullable(),
  origin: z.enum(["file", "store"]).meta({ description: "`file`: from the configuration file, and read-only here." }),
  set_by: z.enum(ROLES).nullable().meta({
    description: "The role of its last author; lower roles cannot change it. Null if it comes from the file.",
  }),
  version: z.int(),
  etag: etagField.nullable(),
  created_at: time.nullable(),
  updated_at: time.nullable(),
};
const HEAD = z.strictObject(HEAD_SHAPE);
const READ_ONLY_FIELDS = z.array(z.string()).meta({
  description:
    "Fields that the configuration file sets. Their values from the file are shown here and can be changed only there.",
});
const GUARD_COST = z
  .strictObject({
    steps_per_character: z
      .int()
      .meta({ description: "The most steps that its patterns and classes take for each character of a text." }),
    worst_ms_per_1000_characters: z
      .number()
      .meta({ description: "Approximate CPU time for 1,000 characters of the most expensive text." }),
    a_tenth_of_a_second_from_characters: z
      .int()
      .meta({ description: "Length of the shortest text that could take 0.1 s." }),
  })
  .optional()
  .meta({
    id: "GuardCost",
    description: "What a guard may cost. Present when a single policy with a guard is created, changed or read.",
  });
export const HEAD_FIELDS = new Set([...Object.keys(HEAD_SHAPE), "read_only_fields", "guard_cost"]);
/** Fields that responses show beside the document. A client may send them back. */
export const sentHead = z
  .object({ ...HEAD_SHAPE, read_only_fields: z.array(z.string()), guard_cost: z.unknown() })
  .partial();

export const shownResource = (kept: Resource): JsonObject => ({
  ...shownAs(HEAD, { ...kept, origin: "store", etag: etagOf(kept) }),
  ...withoutHead(kept.document),
});

/** What is not in the database has no versions. */
const NO_VERSION = { setBy: null, version: 0, createdAtMs: null, updatedAtMs: null };

export const shownFromFile = (filed: Configured<JsonObject>): JsonObject => ({
  ...shownAs(HEAD, { ...filed, ...NO_VERSION, origin: "file", etag: null }),
  ...withoutHead(filed.document),
});

function withoutHead(document: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(document).filter(([key]) => !HEAD_FIELDS.has(key)));
}

export const resourceAnswer = (resource: Resource, status: 200 | 201): Answer => ({
  status,
  body: shownResource(resource),
  etag: etagOf(resource),
});

export function withDerived(answered: Answer, { document }: Resource, { derive }: DocumentRule): Answer {
  return derive === undefined || answered.body === null
    ? answered
    : { ...answered, body: { ...answered.body, ...derive(document) } };
}

/** Adds the fields that are shown only once: neither a dry run nor a repeated request shows them. */
export function withShown(answered: Answer, shown: JsonObject, { dryRun }: AdminCall): Answer {
  if (Object.keys(shown).length === 0 || answered.body === null) return answered;
  return { ...answered, body: dryRun ? answered.body : { ...answered.body, ...shown }, repeated: answered.body };
}

export function unstoredSettings(place: TenantOrProject, filed: JsonObject): JsonObject {
  const origin = Object.keys(filed).length > 0 ? "file" : "store";
  const head = {
    id: SETTINGS_NAME,
    name: SETTINGS_NAME,
    ...place,
    ...NO_VERSION,
    origin,
    etag: UNSTORED_ETAG,
  } as const;
  return { ...shownAs(HEAD, head), read_only_fields: Object.keys(filed), ...filed };
}

export function settingsAnswer(stored: Resource, filed: JsonObject): Answer {
  return { body: { ...shownResource(stored), read_only_fields: Object.keys(filed), ...filed }, etag: etagOf(stored) };
}

/** Fields from the file may be sent back as they were shown. Throws `read_only` when they differ. */
export function withoutFiled(document: JsonObject, filed: JsonObject): JsonObject {
  for (const [field, value] of Object.entries(filed))
    if (document[field] !== undefined && JSON.stringify(document[field]) !== JSON.stringify(value))
      throw new GatewayError(
        "read_only",
        `${field}: set in the configuration file, which takes precedence; change it there.`,
        { param: field },
      );
  return Object.fromEntries(Object.entries(document).filter(([field]) => !Object.hasOwn(filed, field)));
}

/** The document's own fields and the name. Checks that concern several fields at once do not appear in the form. */
export function formOf({ schema }: DocumentRule, named: Readonly<Record<string, z.ZodType>>): z.ZodType {
  const inner = schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodObject ? z.strictObject({ ...inner.shape, ...named }) : z.looseObject(named);
}

/** The schema of a document in a response: secrets are masked, and values need not satisfy the input checks. */
export function answerOf({ schema, named, derive }: DocumentRule): z.ZodType {
  const inner = schema instanceof z.ZodPrefault || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  const fields =
    inner instanceof z.ZodObject
      ? Object.fromEntries(
          Object.entries(inner.shape as Readonly<Record<string, z.ZodType>>).map(([name, field]) => [
            name,
            optionalField(field),
          ]),
        )
      : {};
  return z.looseObject({
    ...fields,
    ...HEAD_SHAPE,
    ...(named === "singleton" && { read_only_fields: READ_ONLY_FIELDS }),
    ...(derive !== undefined && { guard_cost: GUARD_COST }),
  });
}

function optionalField(field: z.ZodType): z.ZodType {
  return field.optional().meta({ description: field.meta()?.description ?? "" });
}
