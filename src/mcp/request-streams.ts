// Ends the response stream of a request, which the client leaves open when the request is over. A request whose
// response ends without an answer, a stream or not, fails at once, while the client alone would wait until its timeout.
import { AsyncLocalStorage } from "node:async_hooks";
import type { Transport } from "@modelcontextprotocol/client";
import { type BoundedFetch, JSON_TYPE } from "./bounded-fetch.ts";
import { NO_ANSWER } from "./faults.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** A server that ends its stream soon after the answer keeps the connection for the next request. */
const AFTER_ANSWER_MS = 1000;

/** What is known of a message while it is sent. */
interface Sending {
  /** Whether the response is JSON, which the client has read to its end when the message was sent. */
  isWhole: boolean;
}

export interface RequestStreams {
  /** What the transport sends its messages with. */
  readonly fetch: BoundedFetch;
  /** Ends the streams of this transport. */
  watch(transport: Transport): void;
}

export function openRequestStreams(fetch: BoundedFetch): RequestStreams {
  const sending = new AsyncLocalStorage<Sending>();
  return {
    async fetch(url, init) {
      const response = await fetch(url, init);
      const one = sending.getStore();
      if (one !== undefined)
        one.isWhole = response.headers.get("content-type")?.toLowerCase().includes(JSON_TYPE) === true;
      return response;
    },
    watch: (transport) => endRequestStreams(transport, sending),
  };
}

function endRequestStreams(transport: Transport, sending: AsyncLocalStorage<Sending>): void {
  const open = new Map<unknown, AbortController>();
  const send = transport.send.bind(transport);
  const forget = (id: unknown): AbortController | undefined => {
    const stream = open.get(id);
    open.delete(id);
    return stream;
  };
  const failUnanswered = (id: unknown, message: string): void => {
    if (open.delete(id))
      transport.onmessage?.({ jsonrpc: "2.0", id: id as string | number, error: { code: NO_ANSWER, message } });
  };
  transport.send = (message, options) => {
    const { id, method, params } = message as Message;
    if (method === "notifications/cancelled")
      return send(message, options).finally(() => forget(params?.requestId)?.abort());
    if (id === undefined || method === undefined) return send(message, options);
    const stream = new AbortController();
    open.set(id, stream);
    const { requestSignal } = options ?? {};
    if (requestSignal?.aborted === true) stream.abort();
    requestSignal?.addEventListener("abort", () => {
      forget(id);
      stream.abort();
    });
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      failUnanswered(id, "the stream ended without an answer");
    };
    const sent = async (): Promise<void> => {
      const one: Sending = { isWhole: false };
      try {
        await sending.run(one, () => send(message, { ...options, onRequestStreamEnd, requestSignal: stream.signal }));
      } catch (thrown) {
        open.delete(id);
        throw thrown;
      }
      if (one.isWhole) failUnanswered(id, "the response has no answer to the request");
    };
    return sent();
  };
  let listener: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => listener,
    set: (handler: Transport["onmessage"]) => {
      listener =
        handler &&
        ((message, extra) => {
          const { id, method } = message as Message;
          // the client takes the id of a request as a text, too
          const stream = method === undefined ? forget(open.has(id) ? id : Number(id)) : undefined;
          if (stream !== undefined) setTimeout(() => stream.abort(), AFTER_ANSWER_MS).unref();
          handler(message, extra);
        });
    },
  });
}
