// Long requests to the sandbox, as the thread that serves calls sees them (promise 5.8). Their bytes are handed to the
// thread of long bodies, which returns what the sandbox needs in order to answer.
import type { ReadElsewhere } from "../../providers/sandbox/upstream.ts";
import { LONG_BODY_BYTES, type LongBodyThread } from "./long-body-thread.ts";

export function openLongSandboxRequests(thread: LongBodyThread): ReadElsewhere {
  return (body, whose) => {
    if (body.length < LONG_BODY_BYTES) return null;
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return thread.ask(whose, "read", bytes, [bytes.buffer as ArrayBuffer]);
  };
}
