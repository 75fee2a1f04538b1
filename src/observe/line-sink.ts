// The output of log lines: lines are collected and handed to the system in blocks, so that a line costs no system call.
// When the reader is slow, a bounded number of bytes waits, and further lines are dropped and counted, because a log
// must neither block the gateway nor exhaust its memory.

/** Where the lines go. */
export interface LineOutput {
  /** Resolves when the text has been accepted. */
  write(text: string): Promise<void>;
}

export interface LineSinkOptions {
  readonly output: LineOutput;
  readonly blockBytes: number;
  readonly maxWaitingBytes: number;
}

/** Collects up to `highWaterMark` bytes for the system. */
export function fileOutput(fileDescriptor: number, highWaterMark: number): LineOutput {
  const writer = Bun.file(fileDescriptor).writer({ highWaterMark });
  return {
    async write(text) {
      await writer.write(text);
      await writer.flush();
    },
  };
}

export function openLineSink({ output, blockBytes, maxWaitingBytes }: LineSinkOptions) {
  let block = "";
  let waiting: string[] = [];
  let waitingLength = 0;
  let handing: Promise<void> | null = null;
  let dropped = 0;

  const handOver = async (): Promise<void> => {
    try {
      while (waiting.length > 0) {
        const text = waiting.join("");
        waiting = [];
        waitingLength = 0;
        await output.write(text);
      }
    } catch {
      // The pipe is closed, so the failure cannot be logged.
    } finally {
      handing = null;
    }
  };

  const flush = (): Promise<void> => {
    if (block !== "") {
      waiting.push(block);
      waitingLength += block.length;
      block = "";
    }
    if (handing === null && waiting.length > 0) handing = handOver();
    return handing ?? Promise.resolve();
  };

  return {
    /** The text is one line or several, each with its line end. */
    write(text: string): void {
      if (waitingLength + block.length + text.length > maxWaitingBytes) {
        dropped += text.split("\n").length - 1;
        return;
      }
      block += text;
      if (block.length >= blockBytes) void flush();
    },
    /**
     * Hands over the collected lines. Resolves when the system has accepted them, which never happens when the reader has
     * stopped reading.
     */
    flush,
    /** The number of lines that were dropped so far. */
    dropped: () => dropped,
  };
}
