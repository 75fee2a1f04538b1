// Ends the response stream of a request, which the client leaves open when the request is over. A request whose stream
// ends without an answer fails at once, while the client alone would wait until its timeout.
import type { Transport } from "@modelcontextprotocol/client";
import { STREAM_ENDED } from "./faults.ts";

interface Message {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: { readonly requestId?: unknown };
}

/** A server that ends its stream soon after the answer keeps the connection for the next request. */
const AFTER_ANSWER_MS = 1000;

export function endRequestStreams(transport: Transport): void {
  const open = new Map<unknown, AbortController>();
  const send = transport.send.bind(transport);
  const forget = (id: unknown): AbortController | undefined => {
    const stream = open.get(id);
    open.delete(id);
    return stream;
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
      if (open.delete(id))
        transport.onmessage?.({
          jsonrpc: "2.0",
          id: id as string | number,
          error: { code: STREAM_ENDED, message: "the stream ended without an answer" },
        });
    };
    return send(message, { ...options, onRequestStreamEnd, requestSignal: stream.signal }).catch((thrown: unknown) => {
      open.delete(id);
      throw thrown;
    });
  };
  let listener: Transport["onmessage"];
  Object.defineProperty(transport, "onmessage", {
    get: () => listener,
    set: (handler: Transport["onmessage"]) => {
      listener =
        handler &&
        ((message, extra) => {
          const stream = !("method" in message) && "id" in message ? forget(message.id) : undefined;
          if (stream !== undefined) setTimeout(() => stream.abort(), AFTER_ANSWER_MS).unref();
          handler(message, extra);
        });
    },
  });
}
