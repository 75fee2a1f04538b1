// The memory that bodies of requests hold while they arrive, fetched content until its request is answered, answers
// while they are collected, what is kept of streams for their last events, what rounds of tools add to a conversation, and
// the events of calls in the background until what they make is kept (promise 5.8): bounded for the process, and for each
// tenant by half of that, so that no tenant can fill it.

// Decides (the request): How much memory do bodies hold that are still arriving? By: `HeldBytes`. Also:
// `engine/call/read-body.ts`, `engine/attempt/upstream-requests.ts` (answers that are collected),
// `engine/attempt/encode-attempt.ts` (fetched content), `engine/stream/stream-session.ts` (what is kept of streams),
// `engine/tools/tool-rounds.ts` (turns and results of tools) and `operations/responses/background/background-reply.ts`
// (events) count. Rule: 503 `gateway_overloaded` beyond `server.max_held_bytes`, or half of it for one tenant.
import { SharedBytes } from "../../core/concurrency/shared-bytes.ts";
import { retryLater } from "../../core/errors.ts";
import type { ServerLimits } from "../../core/snapshot.ts";

export type HeldBytesBound = Pick<ServerLimits, "maxHeldBytes">;

/** A call, as the code that holds bytes for it sees it. That code releases what it has held, however its work ends. */
export interface BytesHolder {
  /** Throws `gateway_overloaded`, and then holds none of them. */
  hold(bytes: number, bound: HeldBytesBound): void;
  release(bytes: number): void;
}

export class HeldBytes {
  readonly #refusal: (maxHeldBytes: number) => string;
  readonly #bytes = new SharedBytes();

  /** `refusal` is the message for a caller whose bytes have no room. */
  constructor(refusal: (maxHeldBytes: number) => string) {
    this.#refusal = refusal;
  }

  /** Throws `gateway_overloaded`, and then holds none of them. */
  hold(tenantId: string, bytes: number, { maxHeldBytes }: HeldBytesBound): void {
    if (!this.#bytes.hold(tenantId, bytes, maxHeldBytes))
      throw retryLater("gateway_overloaded", this.#refusal(maxHeldBytes), 1);
  }

  release(tenantId: string, bytes: number): void {
    this.#bytes.release(tenantId, bytes);
  }
}
