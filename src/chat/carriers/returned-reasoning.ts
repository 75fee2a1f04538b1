// Gives a vendor its own encrypted reasoning back, where the gateway has kept it for a client that refers to earlier
// responses: to the provider, model and credential that it was made for, and to no other (promise 12.9).
import type { CarrierPlace, ChatRequest, WrittenRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { NativeForm } from "../../providers/provider.ts";
import { warned } from "./opened-request.ts";
import { isCarrier, openCarrier, type ReasoningCarriers, VENDOR, VENDOR_CREDENTIAL } from "./reasoning-carrier.ts";

const PLACE = "encrypted_content";

/** Stands for the credential of a target that is called without one. */
export function credentialName(identity: string | null): string {
  return identity ?? "none";
}

export function returnsReasoning({ written }: ChatRequest): boolean {
  const input = written?.replaced?.["input"];
  return Array.isArray(input) && (input as readonly Json[]).some((item) => isObject(item) && isCarrier(item[PLACE]));
}

/**
 * Returns the request with what the target's vendor has written in the place of its carriers. What the vendor has encrypted
 * goes only to the credential that it was made for. Reasoning with any other carrier is left out, with the warning
 * `reasoning_left_out`. Throws `unknown_reference` for another item with such a carrier, because the conversation is not whole
 * without it.
 */
export function withReturnedReasoning(
  request: ChatRequest,
  form: NativeForm,
  carriers: ReasoningCarriers,
  { place, credentials }: { readonly place: CarrierPlace; readonly credentials: readonly string[] },
): ChatRequest {
  if (!returnsReasoning(request)) return request;
  const keys = carriers.keysOf(place.tenantId);
  const written = request.written!;
  const opened = (item: JsonObject, carrier: string): readonly JsonObject[] => {
    const found = openCarrier(carrier, keys, place);
    if (!("carried" in found)) return leftOut(item, written, place);
    const { [VENDOR]: encrypted, [VENDOR_CREDENTIAL]: name, details } = found.carried;
    if (Array.isArray(details)) {
      const own = form.reasoningBack?.(details) ?? null;
      return own === null ? [] : [own];
    }
    const isOurs = typeof encrypted === "string" && typeof name === "string" && credentials.includes(name);
    return isOurs ? [{ ...item, [PLACE]: encrypted }] : leftOut(item, written, place);
  };
  const items = written.replaced!["input"] as readonly Json[];
  const input = items.flatMap((item): readonly Json[] => {
    const carrier = isObject(item) ? item[PLACE] : undefined;
    return isCarrier(carrier) ? opened(item as JsonObject, carrier) : [item];
  });
  const returned = { ...request, written: { ...written, replaced: { ...written.replaced, input } } };
  return input.length === items.length ? returned : warned(returned);
}

function leftOut({ type }: JsonObject, { body }: WrittenRequest, { provider }: CarrierPlace): readonly JsonObject[] {
  if (type === "reasoning") return [];
  const param = typeof body["previous_response_id"] === "string" ? "previous_response_id" : "input";
  throw new GatewayError(
    "unknown_reference",
    `${param} refers to an item of type ${JSON.stringify(type ?? null)} that another provider or credential than those of ${provider} has encrypted, and that no other can read. Call the model that it came from.`,
    { param, isWritten: true },
  );
}
