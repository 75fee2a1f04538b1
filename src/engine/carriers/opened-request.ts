// Opens the carriers of reasoning in a request for one target, where they are of this place; the others are not sent on
// (promise 12.9).
import type { CarrierOpening, CarrierPlace, ChatRequest, Message, WrittenRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import { withMembers } from "../../core/request/request-source.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { carrierEdits, isUnsealed, type NativeReading } from "./native-carriers.ts";
import { openCarrier, type ReasoningCarriers, VENDOR, VENDOR_CREDENTIAL } from "./reasoning-carrier.ts";
import { hasCarriers, withOpenedCarriers } from "./sealed-reasoning.ts";

/**
 * Returns the same request when it has no carriers. The thread that holds a conversation opens those that are in it.
 */
export function withOpenedRequest(request: ChatRequest, carriers: ReasoningCarriers, place: CarrierPlace): ChatRequest {
  const keys = carriers.keysOf(place.tenantId);
  const opening = { keys, place, credentials: [], known: [] };
  const { messages, isWhole } = openedMessages(request.messages, opening);
  const there = request.held === undefined ? request : { ...request, held: { ...request.held, carriers: opening } };
  const opened = messages === request.messages ? there : withMembers(there, { messages });
  return isWhole ? opened : warned(opened);
}

interface Opened {
  readonly messages: readonly Message[];
  /** Whether every carrier was opened. */
  readonly isWhole: boolean;
}

export function openedMessages(messages: readonly Message[], { keys, place }: CarrierOpening): Opened {
  let isWhole = true;
  const open = (carrier: string) => {
    const opened = openCarrier(carrier, keys, place);
    // what only the vendor's own form has a place for is lost in a translation
    if ("carried" in opened && opened.carried[VENDOR] === undefined) return opened.carried;
    isWhole = false;
    return null;
  };
  const opened = mappedList(messages, (message) =>
    hasCarriers(message) ? withOpenedCarriers(message, open) : message,
  );
  return { messages: opened, isWhole };
}

/**
 * Turns the carriers in what the client wrote back to what the provider itself has written, where it is sent as it was
 * written, and leaves out what its vendor would not take.
 */
export function withOwnReasoning(fitted: FittedRequest, native: NativeReading, opening: CarrierOpening): FittedRequest {
  const { request } = fitted;
  const written = request.written!;
  // the thread that holds a body opens the carriers in it
  if (written.held !== undefined) {
    if (!written.held.hasReasoning) return fitted;
    return { ...fitted, request: { ...request, written: { ...written, carriers: opening } } };
  }
  const edits = openedEdits(withoutReplaced(written), native, opening);
  if (edits.length === 0) return fitted;
  const edited = { ...request, written: { ...written, edits: [...(written.edits ?? []), ...edits] } };
  return { ...fitted, request: leavesAny(edits) ? warned(edited) : edited };
}

function withoutReplaced({ body, replaced }: WrittenRequest): JsonObject {
  if (replaced === undefined) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !Object.hasOwn(replaced, name)));
}

/**
 * Returns the changes that turn the carriers in a body back, and remove what the vendor would not take. `onLost` is called
 * with what is removed although it had a carrier.
 */
export function openedEdits(
  body: JsonObject,
  native: NativeReading,
  { keys, place, credentials, known }: CarrierOpening,
  onLost: (entry: JsonObject) => void = () => {},
): readonly JsonEdit[] {
  const opened = (entry: JsonObject, carrier: string): JsonObject | null => {
    const found = openCarrier(carrier, keys, place);
    const { [VENDOR]: encrypted, [VENDOR_CREDENTIAL]: name, details } = "carried" in found ? found.carried : {};
    if (Array.isArray(details)) return native.form.reasoningBack?.(details) ?? null;
    if (typeof encrypted === "string" && typeof name === "string" && credentials.includes(name))
      return { ...entry, encrypted_content: encrypted };
    onLost(entry);
    return null;
  };
  return carrierEdits(body, {
    opened,
    isForeign: (entry) => isUnsealed(entry, native) && !known.includes(entry["id"] as string),
  });
}

export function leavesAny(edits: readonly JsonEdit[]): boolean {
  return edits.some(({ value }) => value === undefined);
}

/** Adds the warning that reasoning is not sent on. */
export function warned(request: ChatRequest): ChatRequest {
  const isTold = request.warnings.includes("reasoning_left_out");
  return isTold ? request : { ...request, warnings: [...request.warnings, "reasoning_left_out"] };
}
