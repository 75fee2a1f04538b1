// The events of calls in the background, for one reader: those that have come, and then those that come, from the process
// that runs the call or from what it has kept. https://platform.openai.com/docs/guides/background
import type { BackgroundRun } from "../../../engine/keeping/background-runs.ts";
import { eventsAt, type MarkedStores } from "./background-marks.ts";

const LOOK_MS = 500;
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

/** The same from the store. `isOver` says whether the response has ended, and is asked before each look. */
export async function* keptEvents(
  stores: MarkedStores,
  tenantId: string,
  id: string,
  after: number,
  isOver: () => Promise<boolean>,
): AsyncGenerator<string, void, void> {
  let number = 0;
  for (let part = 0; ;) {
    const wasOver = await isOver();
    for (;;) {
      const events = await eventsAt(stores, tenantId, id, part);
      if (events === null) break;
      part += 1;
      for (const text of events) if (number++ > after) yield text;
    }
    if (wasOver) break;
    await Bun.sleep(LOOK_MS);
  }
  yield END;
}

/** A reader that leaves ends nothing but its own reading. */
export function eventStreamOf(events: AsyncGenerator<string, void, void>): ReadableStream<string> {
  return new ReadableStream<string>(
    {
      async pull(controller) {
        const { done, value } = await events.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void events.return(),
    },
    { highWaterMark: 0 },
  );
}
