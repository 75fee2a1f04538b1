// Responses that are kept for a while, with the items of their input: what previous_response_id and item_reference refer
// to, and what the paths below /responses return (promise 12.8).
import type { KeptStore } from "../../chat/keeping/kept-store.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AccessToken } from "../../core/identity.ts";
import { newRandomId } from "../../core/ids.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";

export interface KeptOwner {
  readonly tenantId: string;
  readonly projectId: string;
  readonly tokenId: string;
  /** `null` when the token belongs to no user. */
  readonly userId: string | null;
}

/** A response with all items that were its input, those of earlier responses included. */
export interface KeptResponse {
  readonly owner: KeptOwner;
  readonly response: JsonObject;
  readonly input: readonly JsonObject[];
}

/** What a request refers to, as far as it is kept for its caller. */
export interface EarlierResponses {
  /** Returns all items of a response, its input first; `null` when none with this id is kept for the caller. */
  itemsOf(id: string): readonly JsonObject[] | null;
  item(id: string): JsonObject | null;
}

export const NOTHING_EARLIER: EarlierResponses = { itemsOf: () => null, item: () => null };

/** What it takes to look up one response, or an item, bounds how many of them a request may refer to. */
const MAX_LOOKUPS = 100;

/** Finds what a body refers to. Throws `invalid_request` for too many references, and `kept_store_unavailable`. */
export async function earlierResponses(
  kept: KeptStore<unknown>,
  token: AccessToken,
  body: JsonObject,
): Promise<EarlierResponses> {
  const { previous_response_id: previous, input } = body;
  const before = typeof previous === "string" ? await findResponse(kept, token, previous) : null;
  const items = new Map<string, JsonObject>();
  const add = (found: KeptResponse | null): void => {
    for (const item of found === null ? [] : itemsIn(found))
      if (typeof item["id"] === "string") items.set(item["id"], item);
  };
  add(before);
  const references = (Array.isArray(input) ? (input as readonly Json[]) : []).filter(isReference);
  let lookups = 0;
  for (const id of new Set(references.map((reference) => reference.id))) {
    if (items.has(id)) continue;
    if (++lookups > MAX_LOOKUPS)
      throw new GatewayError(
        "invalid_request",
        `input refers to items of more than ${MAX_LOOKUPS} responses. Send the items themselves.`,
        { param: "input" },
      );
    const finding = kept.find(token.tenantId, id);
    const found = isPending(finding) ? await finding : finding;
    add(found === null ? null : openTo(found.value as KeptResponse, token));
  }
  return {
    itemsOf: (id) => (before !== null && id === previous ? itemsIn(before) : null),
    item: (id) => items.get(id) ?? null,
  };
}

export function isReference(item: Json): item is JsonObject & { readonly id: string } {
  return isObject(item) && item["type"] === "item_reference" && typeof item["id"] === "string";
}

/** Returns `null` where nothing with this id is kept, or not for this caller. Throws `kept_store_unavailable`. */
export async function findResponse(
  kept: KeptStore<unknown>,
  token: AccessToken,
  id: string,
): Promise<KeptResponse | null> {
  const finding = kept.find(token.tenantId, id);
  const found = isPending(finding) ? await finding : finding;
  return found?.ids[0] === id ? openTo(found.value as KeptResponse, token) : null;
}

/** A response opens to the token or user that made it, and to those who may read the content of its project. */
function openTo(found: KeptResponse, token: AccessToken): KeptResponse | null {
  const { tenantId, projectId, tokenId, userId } = found.owner;
  if (token.tenantId !== tenantId) return null;
  if (token.id === tokenId || (userId !== null && token.userId === userId)) return found;
  const mayRead = token.permissions.includes("read_content") && (token.projectId ?? projectId) === projectId;
  return mayRead ? found : null;
}

function itemsIn({ input, response }: KeptResponse): readonly JsonObject[] {
  return [...input, ...(response["output"] as readonly JsonObject[])];
}

/**
 * Keeps a response; the result is false when it is too large. `own` is the number of items at the end of `input` that no
 * earlier response has. Throws, or rejects with, `kept_store_unavailable`.
 */
export function keepResponse(kept: KeptStore<unknown>, value: KeptResponse, own: number): MaybePromise<boolean> {
  const { owner, response, input } = value;
  const items = input.slice(input.length - own);
  // ids of the input are the client's own, which others may use as well
  const ids = [response, ...(response["output"] as readonly JsonObject[])].flatMap(({ id }) =>
    typeof id === "string" ? [id] : [],
  );
  const size = (): number => 2 * (JSON.stringify(response).length + JSON.stringify(items).length) + 64 * input.length;
  return kept.keep({ tenantId: owner.tenantId, ids, value, size });
}

/** Returns items as they are listed: each with an id, a type and a status, and texts as parts. */
export function listedItems(input: Json | undefined): readonly JsonObject[] {
  if (typeof input === "string") return [listedItem({ role: "user", content: input })];
  return Array.isArray(input) ? (input as readonly Json[]).filter(isObject).map(listedItem) : [];
}

function listedItem(item: JsonObject): JsonObject {
  const { id, type = "message", status, content, ...others } = item;
  const named = { id: typeof id === "string" ? id : `${type === "message" ? "msg" : "item"}_${newRandomId()}`, type };
  if (type !== "message") return { ...named, ...item, ...(status === undefined && { status: "completed" }) };
  const kind = item["role"] === "assistant" ? "output_text" : "input_text";
  const parts =
    typeof content === "string"
      ? [{ type: kind, text: content, ...(kind === "output_text" && { annotations: [] }) }]
      : content;
  return { ...named, ...others, status: status ?? "completed", content: parts ?? [] };
}
