// The document that a request asks for: its form, the fields that cannot change, and the rules of its noun.
import { z } from "zod";
import type { Finding } from "../../../config/problem.ts";
import { requireConfigures } from "../../../auth/tokens/restriction-grants.ts";
import { isObject, type Json, type JsonObject, withTexts } from "../../../core/json.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import type { Resource } from "../../../store/records.ts";
import type { Reader } from "../../../store/reader.ts";
import type { Writer } from "../../../store/writer.ts";
import { withoutMasks } from "../../../store/configuration/secret-fields.ts";
import { checked, problemsError } from "../input.ts";
import type { DocumentChange, DocumentRule } from "./document-rule.ts";
import type { AdminCall } from "../operation.ts";
import { chosenId } from "../schemas.ts";
import { SETTINGS_NAME, HEAD_FIELDS, sentHead } from "./configured-shapes.ts";

export interface Desired {
  readonly name: string | null;
  readonly document: JsonObject;
}

export function completed(
  { name, document }: Desired,
  rule: DocumentRule,
  before: Resource | null,
): { readonly becomes: Desired; readonly shown: JsonObject } {
  const { document: whole, shown } = rule.completed?.(document, before?.document ?? null) ?? { document, shown: {} };
  return { becomes: { name, document: whole }, shown };
}

/**
 * The name and the document that the body asks for. Fields that responses show beside the document may be sent back
 * with it.
 */
export function desiredOf(body: unknown, rule: DocumentRule, before: Resource | null): Desired {
  const { name, ...rest } = body as JsonObject;
  if (before !== null) requireSamePlace(rest, before);
  if (before !== null || rule.named === "singleton")
    checked(
      sentHead,
      Object.fromEntries(Object.entries(rest).filter(([key, value]) => value !== null && HEAD_FIELDS.has(key))),
    );
  const sent = Object.fromEntries(
    Object.entries(rest).filter(
      ([key, value]) =>
        value !== null &&
        value !== undefined &&
        !((before !== null || rule.named === "singleton") && HEAD_FIELDS.has(key)),
    ),
  );
  const given = name ?? before?.name ?? null;
  if (rule.named === "singleton") return { name: SETTINGS_NAME, document: checkedDocument(rule, sent, before) };
  const checkedName =
    given === null ? null : checked(z.strictObject({ name: rule.name ?? chosenId }), { name: given }).name;
  if (checkedName === null && rule.named === "name") throw invalidRequest("name", "name: is missing");
  if (before !== null && rule.named === "name" && checkedName !== before.name)
    throw invalidRequest("name", "name: it cannot be changed, because others refer to it; create a new one instead");
  return { name: checkedName, document: checkedDocument(rule, sent, before) };
}

/** Fields that a response showed may be sent back unchanged; a different value is rejected. */
function requireSamePlace(sent: JsonObject, before: Resource): void {
  const stays: JsonObject = {
    id: before.id,
    tenant_id: before.tenantId,
    project_id: before.projectId,
    origin: "store",
  };
  for (const [key, value] of Object.entries(stays))
    if (sent[key] !== undefined && sent[key] !== value)
      throw invalidRequest(key, `${key}: it cannot be changed; create a new one instead`);
}

/** Throws `invalid_request` for a document that does not have the form of its noun. */
export function checkedDocument(
  { schema, kept = "kept" }: DocumentRule,
  sent: JsonObject,
  before: Resource | null,
): JsonObject {
  // A masked secret is checked as a placeholder: it stands for the stored secret.
  checked(schema, before === null ? sent : withTexts(sent, (text) => withoutMasks(text, kept)));
  return sent;
}

/** Applies a JSON merge patch (RFC 7396). */
export function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map<string, Json>(isObject(target) ? (Object.entries(target) as [string, Json][]) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

async function problemsOf(rule: DocumentRule, judged: DocumentChange): Promise<readonly Finding[]> {
  const dangling = (await rule.references?.(judged)) ?? [];
  return dangling.length > 0 ? dangling : await rule.problems(judged);
}

/** Throws `insufficient_role`, or `invalid_request` with all problems that the rule of the noun finds. */
export async function requireValid(
  call: AdminCall,
  rule: DocumentRule,
  { name, document }: Desired,
  writer: Writer,
): Promise<void> {
  requireConfigures(call.caller.token);
  const problems = await problemsOf(rule, { call, name, document, reader: writer });
  if (problems.length > 0) throw problemsError(problems);
}

/** Throws `invalid_request` for a document that the body has in this field, and that could not be stored. */
export async function requireStorable(
  call: AdminCall,
  rule: DocumentRule,
  field: string,
  { name, document }: Desired,
  reader: Reader,
): Promise<void> {
  const problems = await problemsOf(rule, { call, name, document, reader });
  if (problems.length > 0) throw problemsError(problems.map((one) => ({ ...one, path: [field, ...one.path] })));
}
