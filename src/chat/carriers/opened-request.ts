// Opens the carriers of reasoning in a request for one target, where they are of this place; the others are not sent on
// (promise 12.9).
import type { CarrierOpening, CarrierPlace, ChatRequest, Message } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { mappedList } from "../../core/mapped-list.ts";
import { withMembers } from "../../core/request-source.ts";
import type { NativeForm } from "../../providers/provider.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { carrierEdits } from "./native-carriers.ts";
import { openCarrier, type ReasoningCarriers, VENDOR } from "./reasoning-carrier.ts";
import { hasCarriers, type Open, withOpenedCarriers } from "./sealed-reasoning.ts";

/**
 * Returns the same request when it has no carriers. The thread that holds a conversation opens those that are in it.
 */
export function withOpenedRequest(request: ChatRequest, carriers: ReasoningCarriers, place: CarrierPlace): ChatRequest {
  const keys = carriers.keysOf(place.tenantId);
  const { messages, isWhole } = openedMessages(request.messages, { keys, place });
  const there =
    request.held === undefined ? request : { ...request, held: { ...request.held, carriers: { keys, place } } };
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
 * written, and leaves the others out.
 */
export function withOwnReasoning(
  sent: FittedRequest,
  form: NativeForm,
  carriers: ReasoningCarriers,
  place: CarrierPlace,
): FittedRequest {
  const isWhole = sent.request.written!.leavesReasoning !== true;
  const fitted = isWhole ? sent : { ...sent, request: warned(sent.request) };
  const { request } = fitted;
  const written = request.written!;
  // the thread that holds a body opens the carriers in it
  if (written.held !== undefined) {
    if (!written.held.hasCarriers) return fitted;
    const opening = { keys: carriers.keysOf(place.tenantId), place };
    return { ...fitted, request: { ...request, written: { ...written, carriers: opening } } };
  }
  const edits = openedEdits(written.body, form, { keys: carriers.keysOf(place.tenantId), place });
  if (edits.length === 0) return fitted;
  const edited = { ...request, written: { ...written, edits: [...(written.edits ?? []), ...edits] } };
  return { ...fitted, request: leavesAny(edits) ? warned(edited) : edited };
}

/** Returns the changes that turn the carriers in a body back, or remove those that may not be opened here. */
export function openedEdits(body: JsonObject, form: NativeForm, { keys, place }: CarrierOpening): readonly JsonEdit[] {
  const open: Open = (carrier) => {
    const opened = openCarrier(carrier, keys, place);
    return "carried" in opened ? opened.carried : null;
  };
  return carrierEdits(body, open, (details) => form.reasoningBack?.(details) ?? null);
}

export function leavesAny(edits: readonly JsonEdit[]): boolean {
  return edits.some(({ value }) => value === undefined);
}

/** Adds the warning that reasoning is not sent on. */
export function warned(request: ChatRequest): ChatRequest {
  const isTold = request.warnings.includes("reasoning_left_out");
  return isTold ? request : { ...request, warnings: [...request.warnings, "reasoning_left_out"] };
}
