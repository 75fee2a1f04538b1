// Which parts of an answer are sealed, and what the sealed ones are put back as. The reasoning of an answer stays where
// its form shows it; its signatures and encrypted parts become carriers.
import type { Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import { withDetailCounts } from "../../core/request/turn-order.ts";
import { isCarrier } from "./reasoning-carrier.ts";

/** Returns `null` for more than may be carried. */
export type Seal = (carried: JsonObject) => string | null;

/**
 * The details with a carrier in the place of each signature and encrypted part. Summaries go along with the encrypted
 * part that follows them. What is too long to be carried is left out, and so the vendor will not get it back. `sealAt`
 * returns what seals the detail with this index.
 */
export function sealedDetails(
  details: readonly ReasoningDetail[],
  sealAt: (index: number) => Seal,
): readonly ReasoningDetail[] {
  const sealed: ReasoningDetail[] = [];
  let group: ReasoningDetail[] = [];
  for (const [index, detail] of details.entries()) {
    group.push(detail);
    if (detail.type === "reasoning.summary") continue;
    const carrier = sealAt(index)({ details: group });
    group = [];
    if (carrier !== null) sealed.push(shown(detail, carrier, sealed.length));
  }
  return sealed;
}

function shown({ type, text }: ReasoningDetail, carrier: string, index: number): ReasoningDetail {
  return type === "reasoning.text"
    ? { type, text: text ?? "", signature: carrier, index }
    : { type: "reasoning.encrypted", data: carrier, index };
}

/** Returns what vendors keep beside a message and its calls, as one detail; the list is empty when they keep nothing. */
export function sealedExtras(extra: JsonObject, seal: Seal): readonly ReasoningDetail[] {
  if (Object.keys(extra).length === 0) return [];
  const carrier = seal(extra);
  return carrier === null ? [] : [{ type: "reasoning.encrypted", data: carrier }];
}

/** Whether a detail is what vendors keep beside a message, and no reasoning that came before its text. */
export function isOfExtras(detail: Json | undefined): boolean {
  return isObject(detail) && isCarrier(detail["data"]) && detail["index"] === undefined;
}

/** What a message has beside its texts that only its vendor can read: `{extra?, calls?}`. */
export function extrasOf(extra: Json | undefined, calls: Json | undefined): JsonObject {
  const byId = objectsIn(calls)
    .filter(({ id, extra_content: own }) => typeof id === "string" && isObject(own))
    .map(({ id, extra_content: own }) => [id as string, own] as const);
  return {
    ...(isObject(extra) && { extra }),
    ...(byId.length > 0 && { calls: Object.fromEntries(byId) }),
  };
}

/** Opens one carrier; `null` where it may not be sent on. */
export type Open = (carrier: string) => JsonObject | null;

/** Whether a message has a carrier. */
export function hasCarriers({ reasoning_details: details }: Message): boolean {
  return Array.isArray(details) && details.some((detail) => isObject(detail) && carrierOf(detail) !== null);
}

function carrierOf({ signature, data }: JsonObject): string | null {
  return isCarrier(signature) ? signature : isCarrier(data) ? data : null;
}

/** The message as the provider wrote it, as far as its carriers can be opened; the others are left out. */
export function withOpenedCarriers(message: Message, open: Open): Message {
  const details: ReasoningDetail[] = [];
  /** How many details each of the client's has become. */
  const counts: number[] = [];
  const extra = new Map<string, Json | undefined>();
  const ofCalls = new Map<string, Json | undefined>();
  for (const detail of message.reasoning_details ?? []) {
    const carrier = carrierOf(detail);
    const carried = carrier === null ? { details: [detail] } : open(carrier);
    const own = Array.isArray(carried?.["details"])
      ? (carried["details"] as unknown as readonly ReasoningDetail[])
      : [];
    details.push(...own);
    counts.push(own.length);
    if (carried === null) continue;
    for (const [name, value] of entriesOf(carried["extra"])) extra.set(name, value);
    for (const [id, value] of entriesOf(carried["calls"])) ofCalls.set(id, value);
  }
  const { reasoning_details: _carriers, ...rest } = message;
  const { tool_calls: calls } = message;
  return {
    ...withDetailCounts(rest, counts),
    ...(details.length > 0 && { reasoning_details: details.map((detail, index) => ({ ...detail, index })) }),
    ...(extra.size > 0 && { extra_content: Object.fromEntries(extra) }),
    ...(calls !== undefined && { tool_calls: calls.map((call) => withExtra(call, ofCalls.get(call.id))) }),
  };
}

function entriesOf(value: Json | undefined): readonly (readonly [string, Json | undefined])[] {
  return isObject(value) ? Object.entries(value) : [];
}

function withExtra(call: ToolCall, extra: Json | undefined): ToolCall {
  return isObject(extra) ? { ...call, extra_content: extra } : call;
}
