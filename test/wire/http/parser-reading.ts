// The events of a stream's parser, to its end or to the fault that ends it, for every framing.
import type { SseEvent, SseParser } from "../../../src/wire/sse.ts";

export const encoder = new TextEncoder();
export const ROOMY = 1 << 20;

export interface Reading {
  readonly events: readonly SseEvent[];
  readonly fault: unknown;
}

/** Each chunk is overwritten once it was pushed: the parser may not keep it. */
export function readAll(parser: SseParser, chunks: readonly Uint8Array[]): Reading {
  const events: SseEvent[] = [];
  try {
    for (const chunk of chunks) {
      const buffer = chunk.slice();
      events.push(...parser.push(buffer));
      buffer.fill(0x78);
    }
    events.push(...parser.end());
    return { events, fault: null };
  } catch (fault) {
    return { events, fault };
  }
}
