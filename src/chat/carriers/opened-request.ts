// Opens the carriers of reasoning in a request for one target, where they are of this place; the others are not sent on
// (promise 12.9).
import type { CarrierOpening, CarrierPlace, ChatRequest, Message } from "../../core/chat.ts";
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
  // the thread that holds a body leaves out the carriers in it
  if (written.held !== undefined) return written.held.hasCarriers ? { ...fitted, request: warned(request) } : fitted;
  const open: Open = (carrier) => {
    const opened = openCarrier(carrier, carriers.keysOf(place.tenantId), place);
    return "carried" in opened ? opened.carried : null;
  };
  const edits = carrierEdits(written.body, open, (details) => form.reasoningBack?.(details) ?? null);
  if (edits.length === 0) return fitted;
  const edited = { ...request, written: { ...written, edits: [...(written.edits ?? []), ...edits] } };
  return { ...fitted, request: edits.every(({ value }) => value !== undefined) ? edited : warned(edited) };
}

/** Adds the warning that reasoning is not sent on. */
export function warned(request: ChatRequest): ChatRequest {
  const isTold = request.warnings.includes("reasoning_left_out");
  return isTold ? request : { ...request, warnings: [...request.warnings, "reasoning_left_out"] };
}
