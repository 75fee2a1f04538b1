// A provider whose answer the test gives piece by piece, with its requests and the time at which it was cancelled.
import { readBytes, decodeUtf8 } from "../../src/wire/body-bytes.ts";
import { type UpstreamClient, UpstreamFault } from "../../src/wire/upstream.ts";

export interface ManualUpstream {
  readonly client: UpstreamClient;
  /** The next piece of the body; a fault fails the read; null ends the body. */
  give(piece: string | UpstreamFault | null): void;
  /** Reads that were asked for so far. */
  reads(): number;
  /** The gateway has cancelled the answer, directly or by its signal. */
  released(): boolean;
}

/** `headWaits`: the head comes with the first piece of the body only. */
export function manualUpstream({
  headers = { "content-type": "text/event-stream" },
  headWaits = false,
}: { readonly headers?: Readonly<Record<string, string>>; readonly headWaits?: boolean } = {}): ManualUpstream {
  const pieces: (string | UpstreamFault | null)[] = [];
  let wake = (): void => {};
  let reads = 0;
  let released = false;
  return {
    reads: () => reads,
    released: () => released,
    give(piece) {
      pieces.push(piece);
      wake();
    },
    client: {
      async send(_request, call) {
        call.onSent?.(true);
        call.signal.addEventListener("abort", () => {
          released = true;
          wake();
        });
        const read = async (): Promise<Uint8Array | null> => {
          reads++;
          while (pieces.length === 0 && !released) await new Promise<void>((resolve) => (wake = resolve));
          call.signal.throwIfAborted();
          if (released) throw new UpstreamFault("cut", "cancelled");
          const piece = pieces.shift()!;
          if (piece instanceof UpstreamFault) throw piece;
          return piece === null ? null : new TextEncoder().encode(piece);
        };
        const bytes = (maxBytes: number): Promise<Uint8Array> => readBytes({ read }, maxBytes, () => {});
        const text = async (maxBytes: number): Promise<string> => decodeUtf8(await bytes(maxBytes));
        const cancel = (): void => {
          released = true;
          wake();
        };
        while (headWaits && pieces.length === 0 && !released) await new Promise<void>((resolve) => (wake = resolve));
        call.signal.throwIfAborted();
        if (headWaits && pieces[0] instanceof UpstreamFault) throw pieces[0];
        return {
          status: 200,
          header: (name) => headers[name] ?? null,
          body: { read, bytes, text, accept: () => {}, cancel },
        };
      },
    },
  };
}
