// Opens the carriers of reasoning in a request for one target, where they are of this place; the others are not sent on
// (promise 12.9).
import type { CarrierOpening, CarrierPlace, ChatRequest, Message } from "../../core/chat.ts";
import { mappedList } from "../../core/mapped-list.ts";
import { withMembers } from "../../core/request-source.ts";
import type { FittedRequest } from "../fit/fit.ts";
import { withoutCarriers } from "./native-carriers.ts";
import { openCarrier, type ReasoningCarriers } from "./reasoning-carrier.ts";
import { hasCarriers, withOpenedCarriers } from "./sealed-reasoning.ts";

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
    if ("carried" in opened) return opened.carried;
    isWhole = false;
    return null;
  };
  const opened = mappedList(messages, (message) =>
    hasCarriers(message) ? withOpenedCarriers(message, open) : message,
  );
  return { messages: opened, isWhole };
}

/** Leaves carriers out of what the client wrote, where it is sent as it was written. */
export function withCarriersLeft(fitted: FittedRequest): FittedRequest {
  const { request } = fitted;
  const written = request.written!;
  // the thread that holds a body leaves out the carriers in it
  if (written.held !== undefined) return written.held.hasCarriers ? { ...fitted, request: warned(request) } : fitted;
  const edits = withoutCarriers(written.body);
  if (edits.length === 0) return fitted;
  return {
    ...fitted,
    request: warned({ ...request, written: { ...written, edits: [...(written.edits ?? []), ...edits] } }),
  };
}

/** Adds the warning that reasoning is not sent on. */
export function warned(request: ChatRequest): ChatRequest {
  const isTold = request.warnings.includes("reasoning_left_out");
  return isTold ? request : { ...request, warnings: [...request.warnings, "reasoning_left_out"] };
}
