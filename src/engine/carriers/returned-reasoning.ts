// Gives a vendor its own encrypted reasoning back, where the gateway has kept it for a client that refers to earlier
// responses: to the provider, model and credential that it was made for, and to no other (promise 12.9).
import type { CarrierOpening, CarrierPlace, ChatRequest, WrittenRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unknownReference } from "../../core/refusals.ts";
import { withEdits } from "../../core/request/json-edit.ts";
import type { NativeReading } from "./native-carriers.ts";
import { leavesAny, openedEdits, warned } from "./opened-request.ts";
import { isCarrier } from "./reasoning-carrier.ts";

const PLACE = "encrypted_content";

/** Stands for the credential of a target that is called without one. */
export function credentialName(identity: string | null): string {
  return identity ?? "none";
}

/** Whether what stands in place of the client's own items has reasoning of earlier answers. */
export function returnsReasoning({ written }: Pick<ChatRequest, "written">): boolean {
  if (written?.held !== undefined) return written.held.returnsReasoning;
  const input = written?.replaced?.["input"];
  return Array.isArray(input) && (input as readonly Json[]).some((item) => isObject(item) && isCarrier(item[PLACE]));
}

/**
 * Returns the request with what the target's vendor has written in the place of its carriers. What the vendor has encrypted
 * goes only to the credential that it was made for. Reasoning with any other carrier, or without any, is left out, with the
 * warning `reasoning_left_out`. Throws `unknown_reference` for another item with such a carrier, because the conversation is
 * not whole without it.
 */
export function withReturnedReasoning(
  request: ChatRequest,
  native: NativeReading,
  opening: CarrierOpening,
): ChatRequest {
  const written = request.written!;
  const { replaced } = written;
  if (replaced === undefined) return request;
  const member = returningMember(written);
  const edits = openedEdits(replaced, native, opening, (item) => requireReasoning(item, member, opening.place));
  if (edits.length === 0) return request;
  // an item that is removed moves those behind it
  const returned = { ...request, written: { ...written, replaced: withEdits(replaced, edits.toReversed()) } };
  return leavesAny(edits) ? warned(returned) : returned;
}

/** The member of a body that names what is kept of earlier answers. */
export type ReturningMember = "previous_response_id" | "input";

/** Returns null where items stand in place of no names. */
export function returningMember({ body, replaced }: WrittenRequest): ReturningMember | null {
  if (replaced?.["input"] === undefined || !Object.hasOwn(body, "input")) return null;
  return typeof body["previous_response_id"] === "string" ? "previous_response_id" : "input";
}

/** Throws `unknown_reference` for an item other than reasoning that is lost, where `param` named it. */
export function requireReasoning(
  { type }: JsonObject,
  param: ReturningMember | null,
  { provider }: CarrierPlace,
): void {
  if (type === "reasoning" || param === null) return;
  throw unknownReference(
    param,
    `${param} refers to an item of type ${JSON.stringify(type ?? null)} that another provider or credential than those of ${provider} has encrypted, and that no other can read. Call the model that it came from.`,
  );
}
