// Bounds the streams of events of kept responses that are read in this process: each looks for new events for as long as
// its call runs, and its reader takes no place among the calls.
import { mostOfTenant, OpenCount } from "../core/concurrency/open-count.ts";
import { retryLater } from "../core/errors.ts";
import type { AccessToken } from "../core/identity.ts";

const MOST_STREAMS = 2000;
export const MOST_STREAMS_OF_TOKEN = 500;

export class EventStreams {
  readonly #open = new OpenCount(MOST_STREAMS);

  /**
   * Returns the same stream, which is open until it ends or its reader leaves; `signal` is that of the request, and tells
   * of a reader that leaves before it reads. Throws `gateway_overloaded`.
   */
  counted(
    stream: ReadableStream<string>,
    { tenantId, id }: Pick<AccessToken, "tenantId" | "id">,
    signal: AbortSignal,
  ): ReadableStream<string> {
    const reader = stream.getReader();
    const ended = this.#open.begin(tenantId, id, MOST_STREAMS_OF_TOKEN);
    if (ended === null) {
      void reader.cancel();
      throw retryLater(
        "gateway_overloaded",
        `Too many streams of events of responses are read (at most ${MOST_STREAMS}, ${mostOfTenant(MOST_STREAMS)} of one tenant and ${MOST_STREAMS_OF_TOKEN} with one token).`,
        5,
      );
    }
    const left = (): void => {
      ended();
      void reader.cancel();
    };
    if (signal.aborted) left();
    else signal.addEventListener("abort", left, { once: true });
    return new ReadableStream<string>(
      {
        async pull(controller) {
          try {
            const { done, value } = await reader.read();
            if (!done) return controller.enqueue(value);
          } catch (thrown) {
            ended();
            throw thrown;
          }
          ended();
          controller.close();
        },
        cancel: left,
      },
      { highWaterMark: 0 },
    );
  }
}
