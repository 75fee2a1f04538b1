// The thread of long bodies, as the thread that serves calls sees it (promise 5.8). It does one piece of work at a time
// and takes those of different tenants in turn. Its work is described in long-requests.ts and long-tasks.ts.

// Decides (the request): Which body is long, and who reads it? By: `LONG_BODY_BYTES`. Also: asked in
// `engine/call/parse-body.ts`. Rule: From 512 KiB on, alone or with what
// the request refers to, another thread.
import { GatewayError } from "../../core/errors.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import { openConcurrency } from "../../core/concurrency/slots.ts";
import { takeTurn } from "../../core/concurrency/slot-turn.ts";
import { RequestThread } from "../../wire/request-thread.ts";
import type { LongBodyMethods } from "./long-body-worker.ts";
import { received, sendable } from "./sent-values.ts";
import { type TransferredError, receivedError } from "./transferred-error.ts";

/**
 * A body of at least this size is long, alone or with what it refers to. Shorter ones are read and written in the thread
 * that serves calls, which takes well under 50 ms whatever they contain.
 */
export const LONG_BODY_BYTES = 524_288;

/**
 * Whether the request, as the client wrote it or as it was translated, is so long that another thread holds it, or would
 * hold it if it were no explanation.
 */
export function isLong({ held, source, written }: Pick<ChatRequest, "held" | "source" | "written">): boolean {
  return held !== undefined || [source, written].some((one) => Buffer.byteLength(one?.text ?? "") >= LONG_BODY_BYTES);
}

export type LongBodyMethod = keyof LongBodyMethods;
export type LongBodyQuestion<M extends LongBodyMethod> = Parameters<LongBodyMethods[M]>[0];
export type LongBodyReply<M extends LongBodyMethod> = Awaited<ReturnType<LongBodyMethods[M]>>;

export type LongBodyThread = ReturnType<typeof openLongBodyThread>;

const FAILED = "The gateway failed while it handled this request.";

/** `program` is the file of the thread, which calls `serveLongBodies`. */
export function openLongBodyThread(program: URL) {
  const thread = new RequestThread<LongBodyMethod>({
    program,
    setup: null,
    ended: (why) => new GatewayError("internal_error", FAILED, { detail: `the thread of long bodies ended${why}` }),
    failed: ({ message }) => new GatewayError("internal_error", FAILED, { detail: message }),
  });
  const slots = openConcurrency();
  return {
    /** Transfers the given memory once it is the tenant's turn. Throws what the other thread threw. */
    async ask<M extends LongBodyMethod>(
      tenantId: string,
      method: M,
      question: LongBodyQuestion<M>,
      transfer: readonly ArrayBuffer[] = [],
    ): Promise<LongBodyReply<M>> {
      const turn = takeTurn(slots, { key: "the thread", tenant: tenantId, max: 1, queueMax: Number.POSITIVE_INFINITY });
      try {
        await turn.came;
        const result = received(
          await thread.request<LongBodyReply<M> | { readonly thrown: TransferredError }>(
            method,
            [sendable(question)],
            transfer,
          ),
        );
        if (isObject(result) && isObject(result["thrown"]))
          throw receivedError(result["thrown"] as unknown as TransferredError);
        return result as LongBodyReply<M>;
      } finally {
        turn.leave();
      }
    },
    /** Needs no reply. */
    send: <M extends LongBodyMethod>(method: M, question: LongBodyQuestion<M>) => thread.notify(method, question),
    close: () => thread.close(false),
  };
}

/** Returns bytes that can be transferred; those that are part of a larger piece of memory are copied. */
export function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.length === bytes.buffer.byteLength ? bytes : bytes.slice();
}
