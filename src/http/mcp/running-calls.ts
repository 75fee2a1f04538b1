// Calls of tools that run in this process, by the client's name for them, so that it can cancel one with a message of its
// own, as the protocol's versions before 2026-07-28 do.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
import type { Json } from "../../core/json.ts";

export class RunningCalls {
  readonly #ends = new Map<string, () => void>();

  /** `session` is `null` for a client without one, whose calls cannot be told from those of others. */
  async run<T>(session: string | null, id: Json | undefined, end: () => void, call: () => Promise<T>): Promise<T> {
    if (session === null) return await call();
    const key = keyOf(session, id);
    this.#ends.set(key, end);
    try {
      return await call();
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** Ends a call, if it runs here. */
  cancel(session: string | null, id: Json | undefined): void {
    if (session !== null) this.#ends.get(keyOf(session, id))?.();
  }
}

function keyOf(session: string, id: Json | undefined): string {
  return JSON.stringify([session, id]);
}
