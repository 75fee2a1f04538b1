// Responses that are kept for a while, with the items of their input: what previous_response_id and item_reference refer
// to, and what the paths below /responses return (promise 12.8).
import type { KeptObject, KeptObjects, KeptOwner } from "../../chat/keeping/kept-objects.ts";
import type { AccessToken } from "../../core/identity.ts";
import { newRandomId } from "../../core/ids.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** A response with all items that were its input, those of earlier responses included. */
export interface KeptResponse {
  readonly response: JsonObject;
  readonly input: readonly JsonObject[];
}

/** What one caller may refer to. */
export interface EarlierResponses {
  /** Returns all items of a response, its input first; `null` when none with this id is kept for the caller. */
  itemsOf(id: string): readonly JsonObject[] | null;
  item(id: string): JsonObject | null;
}

export function earlierResponses(kept: KeptObjects, token: AccessToken): EarlierResponses {
  return {
    itemsOf(id) {
      const found = findResponse(kept, token, id);
      return found === null ? null : itemsIn(found.value as KeptResponse);
    },
    item(id) {
      const found = ownedBy(kept.find(id), token);
      return found === null ? null : (itemsIn(found.value as KeptResponse).find((item) => item["id"] === id) ?? null);
    },
  };
}

/** Returns `null` where nothing with this id is kept, or not for this caller. */
export function findResponse(kept: KeptObjects, token: AccessToken, id: string): KeptObject | null {
  const found = kept.find(id);
  return found?.ids[0] === id ? ownedBy(found, token) : null;
}

/** A response opens to the token or user that made it, and to those who may read the content of its project. */
function ownedBy(found: KeptObject | null, token: AccessToken): KeptObject | null {
  if (found === null) return null;
  const { tenantId, projectId, tokenId, userId } = found.owner;
  if (token.tenantId !== tenantId) return null;
  if (token.id === tokenId || (userId !== null && token.userId === userId)) return found;
  const mayRead = token.permissions.includes("read_content") && (token.projectId ?? projectId) === projectId;
  return mayRead ? found : null;
}

function itemsIn({ input, response }: KeptResponse): readonly JsonObject[] {
  return [...input, ...(response["output"] as readonly JsonObject[])];
}

/** Keeps a response. `own` is the number of items at the end of `input` that no earlier response has. */
export function keepResponse(
  kept: KeptObjects,
  owner: KeptOwner,
  { response, input }: KeptResponse,
  own: number,
): void {
  const items = input.slice(input.length - own);
  // ids of the input are the client's own, which others may use as well
  const ids = [response, ...(response["output"] as readonly JsonObject[])].flatMap(({ id }) =>
    typeof id === "string" ? [id] : [],
  );
  const bytes = 2 * (JSON.stringify(response).length + JSON.stringify(items).length) + 64 * input.length;
  kept.keep(ids, owner, { response, input } satisfies KeptResponse, bytes);
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
