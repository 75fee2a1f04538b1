// Where log lines go: collected and handed to the system in blocks, so that a line costs no system call. A reader that does not read holds a
// bounded number of bytes; what comes on top is dropped and counted, because a log must not stop or sink the gateway.
import { writeSync } from "node:fs";

export interface LineSink {
  /** A line with its end. */
  write(line: string): void;
  /** Hands over what is collected. Resolves when the system has taken it, which a reader that does not read can put off for ever. */
  flush(): Promise<void>;
  /** Hands over what is collected before the process ends. */
  close(): void;
  /** Lines that were dropped so far. */
  dropped(): number;
}

export interface LineSinkOptions {
  readonly fileDescriptor: number;
  readonly blockBytes: number;
  readonly maxWaitingBytes: number;
}

export function openLineSink({ fileDescriptor, blockBytes, maxWaitingBytes }: LineSinkOptions): LineSink {
  const writer = Bun.file(fileDescriptor).writer({ highWaterMark: blockBytes * 2 });
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
        await writer.write(text);
        await writer.flush();
      }
    } catch {
      // a closed pipe: there is nobody to tell
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
    write(line) {
      if (waitingLength + block.length + line.length > maxWaitingBytes) {
        dropped++;
        return;
      }
      block += line;
      if (block.length >= blockBytes) void flush();
    },
    flush,
    close() {
      const rest = waiting.join("") + block;
      waiting = [];
      block = "";
      if (rest === "") return;
      try {
        writeSync(fileDescriptor, rest);
      } catch {
        // as above
      }
    },
    dropped: () => dropped,
  };
}
