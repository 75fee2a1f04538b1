// A report is made while its reader reads it, which may take as long as the reader likes. It goes on only while the reader has
// the right to it (promise 2.6).

/**
 * `mayGoOn` is asked before each part. When it throws, the content fails, so that its reader gets no whole report. Parts
 * are made when they are read.
 */
export function judgedContent(
  content: ReadableStream<Uint8Array>,
  mayGoOn: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const parts = content.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          await mayGoOn();
        } catch (thrown) {
          await parts.cancel(thrown);
          throw thrown;
        }
        const { done, value } = await parts.read();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => parts.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
