// Look-up keys that are lists, or that most calls do not have: metadata, the client's own ids, tools, policies with
// findings, guards whose service gave no verdict, limits that refused, the providers' ids of attempts that did not answer, the
// route whose mirror got a copy, and of the copy also the call that it is a copy of. Each is a row of `call_tag`, which costs only the calls that have it.
import { isRawNumber, type JsonObject } from "../../core/json.ts";
import type { CallRecord } from "../../core/record/record.ts";
import type { CallSchema, FoundRow } from "./call-schema.ts";
import { storable } from "../database/columns.ts";

export const TAG_KINDS = [
  "meta",
  "request",
  "otel",
  "tool",
  "policy",
  "guard_failed",
  "limit",
  "attempt",
  "mirrored",
  "copy",
  "copy_of",
] as const;
export type TagKind = (typeof TAG_KINDS)[number];

/** Further members of `metadata` cannot be searched for. */
export const MAX_METADATA_TAGS = 16;
/** In characters. Longer values cannot be searched for. */
export const MAX_TAG = 300;
/** A call may run any number of tools. */
const MAX_TAGS = 64;

/** For example `meta:team=search` or `tool:github/search`. */
export function tagOf(kind: TagKind, value: string): string {
  return `${kind}:${value}`;
}

/** The record may be of an earlier version, without some of the members. */
export function tagsOf(record: Partial<CallRecord>): readonly string[] {
  const {
    metadata = null,
    clientRequestId = null,
    otelTraceId = null,
    tools = [],
    policies = [],
    guardServices = [],
    limits = [],
    attempts = [],
    providerRequestId = null,
    mirrorOf = null,
    mirror = null,
    route = null,
  } = record;
  // By the id of its answer the call is found without a tag (call-columns.ts).
  const others = attempts.filter(({ requestId }) => requestId != null && requestId !== providerRequestId);
  if (
    metadata === null &&
    clientRequestId === null &&
    otelTraceId === null &&
    tools.length === 0 &&
    policies.length === 0 &&
    guardServices.length === 0 &&
    others.length === 0 &&
    mirrorOf === null &&
    mirror === null &&
    !limits.some(isRefusal)
  )
    return NONE;
  const tags = new Set<string>();
  if (clientRequestId !== null) tags.add(tagOf("request", clientRequestId));
  if (otelTraceId !== null) tags.add(tagOf("otel", otelTraceId));
  if (metadata !== null) addMetadata(metadata, tags);
  for (const { name } of policies) tags.add(tagOf("policy", name));
  for (const { policy, failures } of guardServices) if (failures > 0) tags.add(tagOf("guard_failed", policy));
  for (const outcome of limits) if (isRefusal(outcome)) tags.add(tagOf("limit", outcome.id));
  for (const { server, tool } of tools) tags.add(tagOf("tool", server)).add(tagOf("tool", `${server}/${tool}`));
  for (const { requestId } of others) tags.add(tagOf("attempt", requestId!));
  if (mirror !== null && mirror.traceId !== null) tags.add(tagOf("mirrored", mirror.route));
  if (mirrorOf !== null) tags.add(tagOf("copy", route ?? "")).add(tagOf("copy_of", mirrorOf));
  return [...tags]
    .filter((tag) => tag.length <= MAX_TAG)
    .slice(0, MAX_TAGS)
    .map(storable);
}

const NONE: readonly string[] = [];

export type TagRow = CallSchema["call_tag"];

export function tagRowsOf({
  tags,
  id,
  tenant_id,
  project_id,
}: Pick<FoundRow, "tags" | "id" | "tenant_id" | "project_id">): readonly TagRow[] {
  return tags === "" ? [] : (JSON.parse(tags) as readonly string[]).map((tag) => ({ tag, id, tenant_id, project_id }));
}

function isRefusal({ refused, wouldRefuse }: CallRecord["limits"][number]): boolean {
  return refused !== undefined || wouldRefuse;
}

function addMetadata(metadata: JsonObject, tags: Set<string>): void {
  for (const name of Object.keys(metadata).slice(0, MAX_METADATA_TAGS)) {
    const value = metadata[name];
    if (isRawNumber(value)) tags.add(tagOf("meta", `${name}=${value.rawJSON}`));
    else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean")
      tags.add(tagOf("meta", `${name}=${value}`));
  }
}
