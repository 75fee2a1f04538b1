// The events of calls in the background, for one reader: those that have come, and then those that come, from the process
// that runs the call or from what it has kept. https://platform.openai.com/docs/guides/background
import type { BackgroundRun } from "../../../engine/keeping/background-runs.ts";
import { judgedParts } from "../../../auth/judged-reading.ts";
import { GatewayError } from "../../../core/errors.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import { errorEvent, eventText } from "../response-events.ts";
import { eventsAt, type MarkedStores } from "./background-marks.ts";

const LOOK_MS = 500;
const TERMINAL = /^event: response\.(?:completed|incomplete|failed)\n/;
const END = "data: [DONE]\n\n";

/** The events after the one with the number `after`, of a call that this process runs. */
export async function* liveEvents(run: BackgroundRun, after: number): AsyncGenerator<string, void, void> {
  for (let next = after + 1; ;) {
    const changed = run.changed();
    while (next < run.events.length) yield run.events[next++]!;
    if (run.isEnded) break;
    await changed;
  }
  yield END;
}

/**
 * The same from the store. `ended` returns the response once it has ended, and is asked before each look. Where the last
 * event never came, because the process that ran the call was killed or lost its store, or no event is kept any more, the
 * response takes its place.
 */
export async function* keptEvents(
  stores: MarkedStores,
  tenantId: string,
  id: string,
  after: number,
  ended: () => Promise<JsonObject | null>,
): AsyncGenerator<string, void, void> {
  let number = 0;
  let last = "";
  for (let part = 0; ;) {
    const response = await ended();
    for (;;) {
      const events = await eventsAt(stores, tenantId, id, part);
      if (events === null) break;
      part += 1;
      for (const text of events) {
        last = text;
        if (number++ > after && text !== "") yield text;
      }
    }
    if (response !== null) {
      // events are kept for a while from when they came, and may be gone before the response
      if (number === 0) number = after + 1;
      if (!TERMINAL.test(last)) for (const text of endingEvents(response, number)) if (number++ > after) yield text;
      break;
    }
    await Bun.sleep(LOOK_MS);
  }
  yield END;
}

/** The events by which a stream without its end says how the call ended. The first has the number `first`. */
function endingEvents(response: JsonObject, first: number): readonly string[] {
  const { status, error } = response;
  if (status === "completed" || status === "incomplete")
    return [eventText(String(first), `response.${status}`, { response })];
  const { code = null, message = null } = isObject(error) ? error : {};
  return [
    errorEvent(String(first), "server_error", { code, message, param: null }),
    eventText(String(first + 1), "response.failed", { response: { ...response, status: "failed" } }),
  ];
}

/**
 * The events behind the one with the number `after`, for a reader who is not the call itself, and whose right can end before
 * they do: then they end with an `error` event, within a second. `mayGoOn` throws when the reader may not read on.
 */
export async function* eventsToReader(
  events: AsyncGenerator<string, void, void>,
  after: number,
  mayGoOn: () => Promise<void>,
): AsyncGenerator<string, void, void> {
  let number = after;
  try {
    for await (const text of judgedParts(events, mayGoOn)) {
      number += 1;
      yield text;
    }
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    const { code, message, param, entry } = thrown;
    yield errorEvent(String(number + 1), entry.type, { code, message, param }) + END;
  }
}
