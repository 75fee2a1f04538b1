// Responses that are kept for a while, with the items of their input: what previous_response_id and item_reference refer
// to, and what the paths below /responses return (promise 12.8).
import { invalidRequest } from "../../../core/refusals.ts";
import type { BackgroundRuns } from "../../../engine/keeping/background-runs.ts";
import type { DurableStore } from "../../../engine/keeping/durable-store.ts";
import type { KeptStore } from "../../../engine/keeping/kept-store.ts";
import type { Clock } from "../../../core/clock.ts";
import { newRandomId } from "../../../core/ids.ts";
import { isObject, type Json, type JsonObject, leastJsonLength, listIn } from "../../../core/json.ts";
import { isPending, type MaybePromise } from "../../../core/maybe-promise.ts";
import type { Store } from "../../../store/store.ts";
import { type HiddenCarrier, itemsById, withHiddenCarriers } from "./hidden-carriers.ts";
import type { KeptInput } from "../request-memo.ts";
import { type KeptOwner, noteOpened, opensTo, type Reader, requireRecentReading } from "./opened-responses.ts";

/** Where responses are kept; `null` where there is no such place. */
export interface KeptStores {
  /** For a while. */
  readonly kept: KeptStore<unknown> | null;
  /** Like the content of calls. */
  readonly durable: DurableStore | null;
  /** The calls that run in the background of this process. */
  readonly background: BackgroundRuns | null;
  /** Where it is written down who reads what another has made; `null` where there is no audit log. */
  readonly audit: Pick<Store, "note"> | null;
  readonly clock: Pick<Clock, "now">;
}

/** A response with all items that were its input, those of earlier responses included. */
export interface KeptResponse {
  readonly owner: KeptOwner;
  readonly response: JsonObject;
  readonly input: readonly JsonObject[];
  /** The carriers of its output, which the client was not shown. */
  readonly hidden?: readonly HiddenCarrier[];
  /** The indexes of the items of the input that have a carrier, which the client was not shown either. */
  readonly hiddenInput?: readonly number[];
  /** For each item of the input, the members that are not the client's: as in `KeptInput`. */
  readonly supplied?: readonly (readonly string[])[];
  /** The ids of requests for approval in its output that were redacted: what is kept of them is not what the client saw. */
  readonly redacted?: readonly string[];
  /** Of a call in the background: whether its events are kept, and in how many parts so far. */
  readonly isStreamed?: boolean;
  readonly eventParts?: number;
}

/** How a response is kept: like content, or for a while. */
export interface Keeper {
  readonly isStored: boolean;
  /** Whether it is known that nothing can be kept now. */
  readonly isAway: boolean;
  readonly untilMs: number;
  /** Returns false for a response that is too large. */
  readonly keep: (value: KeptResponse) => MaybePromise<boolean>;
}

/** What a body names of what is kept. */
export interface NamedResponses {
  /** The response after which it goes on; null where it names none. */
  readonly previous: string | null;
  /** The ids of items that stand for themselves. */
  readonly items: readonly string[];
  /** The ids of reasoning without its content, the newest first, because that is the likeliest to be kept. */
  readonly emptied: readonly string[];
}

/** The responses that a body names, or of which it names items, as far as they are kept for its caller. */
export interface FoundResponses {
  readonly previous: KeptResponse | null;
  readonly others: readonly KeptResponse[];
}

/** What a request refers to, as far as it is kept for its caller. */
export interface EarlierResponses {
  /** Returns all items of a response, its input first; `null` when none with this id is kept for the caller. */
  itemsOf(id: string): readonly JsonObject[] | null;
  /** Returns the item, with what the client was not shown beside it; `null` when it is not kept for the caller. */
  item(id: string): readonly JsonObject[] | null;
  /** Whether the item has a carrier that the client was not shown. */
  readonly hides: (item: Json) => boolean;
  /** Whether the item is a request for approval that was redacted. */
  readonly isRedacted: (item: Json) => boolean;
}

export const NOTHING_EARLIER: EarlierResponses = {
  itemsOf: () => null,
  item: () => null,
  hides: () => false,
  isRedacted: () => false,
};

/** What it takes to look up one response, or an item, bounds how many of them a request may refer to. */
const MAX_LOOKUPS = 100;

const ANSWERED: ReadonlySet<unknown> = new Set(["completed", "incomplete"]);

export function namedIn({ previous_response_id: previous, input }: JsonObject): NamedResponses | null {
  const own = listIn(input);
  const items = own.filter(isReference).map(({ id }) => id);
  const emptied = own.filter(isEmptyReasoning).map(({ id }) => id);
  if (typeof previous !== "string" && items.length === 0 && emptied.length === 0) return null;
  return { previous: typeof previous === "string" ? previous : null, items, emptied: emptied.toReversed() };
}

/**
 * Finds what a body names. Throws `invalid_request` for too many names, `recent_login_required`,
 * `kept_store_unavailable`, and `store_unavailable`.
 */
export async function findResponses(
  stores: KeptStores,
  reader: Reader,
  { previous, items, emptied }: NamedResponses,
): Promise<FoundResponses> {
  const before = previous === null ? null : await findResponse(stores, reader, previous);
  if (before !== null && !ANSWERED.has(before.response["status"]))
    throw invalidRequest(
      "previous_response_id",
      `previous_response_id names a response without an answer: its status is ${JSON.stringify(before.response["status"])}.`,
    );
  const named = new Set(items);
  const wanted = new Set([...named, ...emptied]);
  const known = new Set<string>();
  const opened = async (found: KeptResponse): Promise<void> => {
    const { owner, response } = found;
    requireRecentReading(owner, reader, stores.clock.now());
    await noteOpened(stores.audit, reader, { owner, id: response["id"] as string, action: "read" });
    if (wanted.size > 0) for (const id of itemsById(itemsIn(found)).keys()) known.add(id);
  };
  if (before !== null) await opened(before);
  const others: KeptResponse[] = [];
  let lookups = 0;
  for (const id of wanted) {
    if (known.has(id)) continue;
    if (++lookups > MAX_LOOKUPS && !named.has(id)) break;
    if (lookups > MAX_LOOKUPS)
      throw invalidRequest(
        "input",
        `input refers to items of more than ${MAX_LOOKUPS} responses. Send the items themselves.`,
      );
    const found = await findItem(stores, reader, id);
    if (found === null) continue;
    await opened(found);
    others.push(found);
  }
  return { previous: before, others };
}

/** Returns what a request refers to, from what was found. */
export function earlierResponses({ previous, others }: FoundResponses): EarlierResponses {
  const items = new Map<string, readonly JsonObject[]>();
  const hidden = new Set<Json | undefined>();
  const redacted = new Set<Json>();
  for (const found of previous === null ? others : [previous, ...others]) {
    const input = sentInput(found);
    const sent = new Map(found.input.map((item, at) => [item, input[at]!]));
    for (const [id, list] of itemsById(itemsIn(found)))
      items.set(
        id,
        list.map((item) => sent.get(item) ?? item),
      );
    for (const { carrier } of found.hidden ?? []) if (carrier !== null) hidden.add(carrier);
    for (const item of listIn(found.response["output"]))
      if (isObject(item) && found.redacted?.includes(item["id"] as string) === true) redacted.add(item);
    for (const at of found.hiddenInput ?? []) hidden.add(found.input[at]?.["encrypted_content"]);
  }
  return {
    itemsOf: (id) => (previous?.response["id"] === id ? itemsIn({ ...previous, input: sentInput(previous) }) : null),
    item: (id) => items.get(id) ?? null,
    hides: (item) =>
      isObject(item) && typeof item["encrypted_content"] === "string" && hidden.has(item["encrypted_content"]),
    isRedacted: (item) => redacted.has(item),
  };
}

export function isReference(item: Json): item is JsonObject & { readonly id: string } {
  return isObject(item) && item["type"] === "item_reference" && typeof item["id"] === "string";
}

/** Whether an item is reasoning without its content, as clients return it that rely on what the vendor has stored. */
export function isEmptyReasoning(item: Json): item is JsonObject & { readonly id: string } {
  return (
    isObject(item) &&
    item["type"] === "reasoning" &&
    typeof item["id"] === "string" &&
    (item["encrypted_content"] ?? "") === "" &&
    !(Array.isArray(item["content"]) && item["content"].length > 0)
  );
}

/** Returns `null` where nothing with this id is kept, or not for this caller. Throws `kept_store_unavailable`. */
export async function findResponse(stores: KeptStores, reader: Reader, id: string): Promise<KeptResponse | null> {
  const found = await foundIn(stores, reader.token.tenantId, id);
  return found?.ids[0] === id && opensTo(found.value.owner, reader) ? found.value : null;
}

/** Finds the response with this item: one of the caller's own before that of another. Throws as `findResponse`. */
async function findItem(stores: KeptStores, reader: Reader, id: string): Promise<KeptResponse | null> {
  const { token } = reader;
  for (const name of [ownItem({ tokenId: token.id, userId: token.userId }, id), id]) {
    const found = await foundIn(stores, token.tenantId, name);
    if (found !== null && opensTo(found.value.owner, reader)) return found.value;
  }
  return null;
}

interface Found {
  readonly ids: readonly string[];
  readonly value: KeptResponse;
}

async function foundIn({ kept, durable }: KeptStores, tenantId: string, id: string): Promise<Found | null> {
  const finding = kept === null ? null : kept.find(tenantId, id);
  const found = isPending(finding) ? await finding : finding;
  const whole = (found ?? (durable === null ? null : await durable.find(tenantId, id))) as Found | null;
  // a call in the background leaves marks beside its response
  return whole?.value.owner === undefined ? null : whole;
}

export async function removeResponse(
  { kept, durable }: KeptStores,
  { owner: { tenantId }, response }: KeptResponse,
): Promise<void> {
  const id = response["id"] as string;
  if (kept !== null) await kept.remove(tenantId, id);
  if (durable !== null) await durable.remove(tenantId, id);
}

function itemsIn({ input, response, hidden = [] }: KeptResponse): readonly JsonObject[] {
  return [...input, ...withHiddenCarriers(response["output"] as readonly JsonObject[], hidden)];
}

/**
 * Returns the items of an input as providers are sent them: without the ids and states that they have for being listed,
 * which vendors take for their own and refuse.
 */
function sentInput({ input, supplied = [] }: KeptResponse): readonly JsonObject[] {
  return input.map((item, at) => {
    const names = supplied[at] ?? [];
    return names.length === 0
      ? item
      : Object.fromEntries(Object.entries(item).filter(([name]) => !names.includes(name)));
  });
}

/** Returns what is kept of the input of a response. */
export const keptWith = ({ items, hidden, supplied }: KeptInput) => ({
  input: items,
  hiddenInput: hidden,
  supplied,
});

/**
 * Keeps a response; the result is false when it is too large. Items of earlier responses count with it, because it holds
 * them when those are gone. Throws, or rejects with, `kept_store_unavailable`.
 */
export function keepResponse(kept: KeptStore<unknown>, value: KeptResponse): MaybePromise<boolean> {
  const { owner, response, input, hidden = [] } = value;
  const size = (): number =>
    2 * (lengthOf(response) + lengthOf(hidden as unknown as Json) + lengthOf(input)) + 64 * input.length;
  return kept.keep({ tenantId: owner.tenantId, projectId: owner.projectId, ids: idsOf(response, owner), value, size });
}

const lengthOf = (value: Json): number => leastJsonLength(value, Infinity);

/**
 * Ids of the input are the client's own, which others may use as well. Those of the output may be a vendor's: responses of
 * several owners have the same ones where a cached answer was given to all of them, or where a server counts its items.
 */
export function idsOf(response: JsonObject, owner: KeptOwner): readonly string[] {
  const items = (response["output"] as readonly JsonObject[]).flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  return [response["id"] as string, ...items, ...items.map((id) => ownItem(owner, id))];
}

/** The name of an item among those of its owner. */
function ownItem({ tokenId, userId }: Pick<KeptOwner, "tokenId" | "userId">, id: string): string {
  return JSON.stringify([userId === null ? "token" : "user", userId ?? tokenId, id]);
}

/** The members that an item of an input need not have. */
const SUPPLIED = ["id", "status"] as const;

/** Returns items as they are listed: each with an id, a type and a status, and texts as parts. */
export function listedItems(
  input: readonly Json[],
  isHidden: (item: Json) => boolean,
): Pick<KeptInput, "items" | "supplied"> {
  const own = input.filter(isObject);
  const items = own.map((item) => (isHidden(item) && item["id"] === undefined ? item : listedItem(item)));
  return {
    items,
    supplied: own.map((item, at) =>
      SUPPLIED.filter((name) => item[name] === undefined && Object.hasOwn(items[at]!, name)),
    ),
  };
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
