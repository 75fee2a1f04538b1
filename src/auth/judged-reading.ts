// Content that is made while it is read, which may take as long as the reader likes. It is continued only while the reader
// has the right to it (promise 2.6). What happens when the right is lost is decided where the content is made: a report
// fails, so that nobody mistakes it for a complete one, and an event stream ends with an event that gives the reason.
import { LATE, within } from "../core/concurrency/timeout.ts";

const JUDGED_EVERY_MS = 500;

/**
 * `mayGoOn` is asked before each part is given and before the end, and every half second while neither comes. When it
 * throws, nothing more is made, and this throws the same.
 */
export async function* judgedParts<Part>(
  parts: AsyncGenerator<Part, void, void>,
  mayGoOn: () => Promise<unknown>,
): AsyncGenerator<Part, void, void> {
  try {
    for (;;) {
      const asked = parts.next();
      let given: Awaited<typeof asked> | typeof LATE;
      do {
        given = await within(asked, JUDGED_EVERY_MS);
        await mayGoOn();
      } while (given === LATE);
      if (given.done === true) return;
      yield given.value;
    }
  } finally {
    void parts.return();
  }
}

/**
 * Each part is made when the reader has taken the one before it. A reader that leaves ends what makes them, once the part
 * that is being made has come; `left` is called at once.
 */
export function streamOf<Part>(
  parts: AsyncGenerator<Part, void, void>,
  left: () => void = () => {},
): ReadableStream<Part> {
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        const { done, value } = await parts.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      cancel() {
        left();
        void parts.return();
      },
    },
    { highWaterMark: 0 },
  );
}
