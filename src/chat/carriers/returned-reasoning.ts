// Gives a vendor its own encrypted reasoning back, where the gateway has kept it for a client that refers to earlier
// responses: to the provider, model and credential that it was made for, and to no other (promise 12.9).
import type { CarrierPlace, ChatRequest } from "../../core/chat.ts";
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
 * goes only to the credential that it was made for. Items with any other carrier are left out, with the warning
 * `reasoning_left_out`.
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
    if (!("carried" in found)) return [];
    const { [VENDOR]: encrypted, [VENDOR_CREDENTIAL]: name, details } = found.carried;
    if (Array.isArray(details)) {
      const own = form.reasoningBack?.(details) ?? null;
      return own === null ? [] : [own];
    }
    const isOurs = typeof encrypted === "string" && typeof name === "string" && credentials.includes(name);
    return isOurs ? [{ ...item, [PLACE]: encrypted }] : [];
  };
  const items = written.replaced!["input"] as readonly Json[];
  const input = items.flatMap((item): readonly Json[] => {
    const carrier = isObject(item) ? item[PLACE] : undefined;
    return isCarrier(carrier) ? opened(item as JsonObject, carrier) : [item];
  });
  const returned = { ...request, written: { ...written, replaced: { ...written.replaced, input } } };
  return input.length === items.length ? returned : warned(returned);
}
