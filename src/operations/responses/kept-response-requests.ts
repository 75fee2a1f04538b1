// What the paths below /responses answer from what is kept. https://platform.openai.com/docs/api-reference/responses/get
import { streamOf } from "../../auth/judged-reading.ts";
import { invalid, invalidRequest, notFound } from "../../core/refusals.ts";
import { eventsToReader, keptEvents, liveEvents } from "./background/background-events.ts";
import {
  askToCancel,
  isDeleted,
  isRunning,
  type MarkedStores,
  noteDeleted,
  removeEvents,
} from "./background/background-marks.ts";
import { Cancellation } from "../../core/concurrency/cancellation.ts";
import { within } from "../../core/concurrency/timeout.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  findResponse,
  keepResponse,
  type KeptResponse,
  type KeptStores,
  removeResponse,
} from "./keeping/kept-responses.ts";
import { noteOpened, opensTo, type Reader, requireChanging } from "./keeping/opened-responses.ts";
import { withoutSecrets } from "./request/repeated-members.ts";

export interface KeptResponseRequest extends Reader {
  readonly kept: KeptStores;
  readonly id: string;
  /** Returns who asks as the token is now. Throws when it has ended. */
  readonly readerNow: () => Promise<Reader>;
  readonly query: (name: string) => string | undefined;
}

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;

/** Throws `not_found`, `store_unavailable`, and `invalid_request` for events of a response that has none. */
export async function retrievedResponse(request: KeptResponseRequest): Promise<JsonObject | ReadableStream<string>> {
  const { kept, query, id } = request;
  const found = await openedIn(request, "read");
  const after = query("starting_after");
  if ((query("stream") ?? "false") === "false") {
    if (after !== undefined) throw invalid("starting_after", "left out without stream", after);
    return found.response;
  }
  if (found.isStreamed !== true)
    throw invalidRequest("stream", "Only a response in the background that was created with stream has events.");
  const number = after === undefined ? -1 : Number(after);
  if (!Number.isInteger(number) || number < -1) throw invalid("starting_after", "the number of an event", after);
  const run = kept.background?.get(id) ?? null;
  const reading = new Cancellation();
  const mayGoOn = async (): Promise<void> => {
    reading.throwIfAborted();
    try {
      if (!opensTo(found.owner, await request.readerNow())) throw notKept(id);
    } catch (thrown) {
      reading.abort(thrown);
      throw thrown;
    }
  };
  const { tenantId } = found.owner;
  const ended = async (): Promise<JsonObject | null> => {
    // a generator that waits for an event is not told that the reader has left
    reading.throwIfAborted();
    const now = await foundIn(request);
    return isUnderWay(now) ? null : now.response;
  };
  const events = run === null ? keptEvents(markedIn(kept), tenantId, id, number, ended) : liveEvents(run, number);
  const left = (): void =>
    reading.abort(new GatewayError("client_closed", "The client has stopped reading the events of this response."));
  return streamOf(eventsToReader(events, number, mayGoOn), left);
}

export async function deletedResponse(request: KeptResponseRequest): Promise<JsonObject> {
  const { kept, id } = request;
  const found = await endedResponse(request, await openedIn(request, "remove", requireChanging));
  // what the call makes would be kept again when it ends
  if (isUnderWay(found))
    throw new GatewayError(
      "kept_store_unavailable",
      "The call that makes this response has been asked to end, and has not ended yet. Delete the response again in a moment.",
    );
  const { owner, response, isStreamed, eventParts = 0 } = found;
  if (kept.kept !== null && response["background"] === true) await noteDeleted(markedIn(kept), owner.tenantId, id);
  if (kept.kept !== null && isStreamed === true) await removeEvents(markedIn(kept), owner.tenantId, id, eventParts);
  await removeResponse(kept, found);
  return { id, object: "response", deleted: true };
}

export async function cancelledResponse(request: KeptResponseRequest): Promise<JsonObject> {
  const found = await openedIn(request, "read", requireChanging);
  if (found.response["background"] === true) return (await endedResponse(request, found)).response;
  throw new GatewayError(
    "invalid_request",
    "This response did not run in the background, so that it cannot be cancelled; close the connection of a call to end it.",
  );
}

/** A process that runs the call looks every second whether it shall end. */
const ENDS_WITHIN_MS = 5000;
const LOOK_MS = 100;

/** Ends the call of a response that is under way, and returns the response as it is then. */
async function endedResponse(request: KeptResponseRequest, found: KeptResponse): Promise<KeptResponse> {
  if (!isUnderWay(found)) return found;
  const { kept, id } = request;
  const run = kept.background?.get(id) ?? null;
  if (run !== null) {
    run.cancel();
    await within(run.ended, ENDS_WITHIN_MS);
    return foundIn(request);
  }
  await askToCancel(markedIn(kept), found.owner.tenantId, id);
  for (let waitedMs = 0; waitedMs < ENDS_WITHIN_MS; waitedMs += LOOK_MS) {
    await Bun.sleep(LOOK_MS);
    const now = await foundIn(request);
    if (!isUnderWay(now)) return now;
  }
  return foundIn(request);
}

function isUnderWay({ response }: KeptResponse): boolean {
  return response["status"] === "queued" || response["status"] === "in_progress";
}

function markedIn({ kept, clock }: KeptStores): MarkedStores {
  return { kept: kept!, clock };
}

/** The newest item is the first, unless the request says otherwise. */
export async function inputItems(request: KeptResponseRequest): Promise<JsonObject> {
  const input = eachOnce(shownInput(await openedIn(request, "read")).map(withoutSecrets));
  const { query } = request;
  const order = query("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw invalid("order", '"asc" or "desc"', order);
  const limit = Number(query("limit") ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalid("limit", `an integer from 1 to ${MAX_LIMIT}`, query("limit"));
  const items = order === "asc" ? input : input.toReversed();
  const after = query("after");
  const first = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  if (after !== undefined && first === 0) throw invalid("after", "the id of an item of this response", after);
  const data = items.slice(first, first + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.["id"] ?? null,
    last_id: data.at(-1)?.["id"] ?? null,
    has_more: first + data.length < items.length,
  };
}

/** Pages go on behind an id, so that an id which a conversation has twice would lead back. */
function eachOnce(items: readonly JsonObject[]): readonly JsonObject[] {
  const seen = new Set<unknown>();
  return items.filter(({ id }) => id === undefined || (!seen.has(id) && seen.add(id) !== undefined));
}

/** Carriers that the client did not ask for are kept for later calls only. */
function shownInput({ input, hiddenInput = [] }: KeptResponse): readonly JsonObject[] {
  if (hiddenInput.length === 0) return input;
  const hidden = new Set(hiddenInput);
  return input.flatMap((item, at) => {
    if (!hidden.has(at)) return [item];
    const { encrypted_content: _carrier, ...shown } = item;
    return typeof item["id"] === "string" ? [shown] : [];
  });
}

/**
 * Returns the response that a request names, once it is written down where its caller has not made it. `permit` throws for
 * a caller who may only read it.
 */
async function openedIn(
  request: KeptResponseRequest,
  action: "read" | "remove",
  permit?: typeof requireChanging,
): Promise<KeptResponse> {
  const found = await foundIn(request);
  permit?.(found.owner, request);
  await noteOpened(request.kept.audit, request, { id: request.id, owner: found.owner, action });
  return found;
}

async function foundIn(request: KeptResponseRequest): Promise<KeptResponse> {
  const { kept, id } = request;
  const found = await findResponse(kept, request, id);
  if (found !== null) return isUnderWay(found) ? await asItIs(request, found) : found;
  throw notKept(id);
}

function notKept(id: string): GatewayError {
  return notFound(
    `No response with the id ${JSON.stringify(id.slice(0, 100))} is kept for this caller. Responses are kept for an hour at most, unless the project keeps them with its content.`,
  );
}

/** A call that no process runs any more was interrupted, because each process tells of its calls when it ends. */
async function asItIs(request: KeptResponseRequest, found: KeptResponse): Promise<KeptResponse> {
  const { kept: stores, id } = request;
  const { kept, background } = stores;
  const { tenantId } = found.owner;
  if (kept === null || background?.get(id) != null || (await isRunning(markedIn(stores), tenantId, id))) return found;
  // it may have ended since it was found, or been deleted
  const last = await findResponse(stores, request, id);
  if (last === null) throw notKept(id);
  if (!isUnderWay(last)) return last;
  const error = { code: "interrupted", message: "The process that ran this call ended before the call did." };
  const interrupted: KeptResponse = { ...found, response: { ...found.response, status: "failed", error } };
  try {
    await keepResponse(kept, interrupted);
  } catch {
    // the next one who asks finds the same
    return interrupted;
  }
  if (!(await isDeleted(markedIn(stores), tenantId, id))) return interrupted;
  await kept.remove(tenantId, id);
  throw notKept(id);
}
