// Calls of tools that run in this process, by the client's name for them, so that it can cancel one with a message of its
// own, as the protocol's versions before 2026-07-28 do.
// https://modelcontextprotocol.io/specification/2025-11-25/basic/utilities/cancellation
import type { Json } from "../../core/json.ts";

/** What a client calls one of its calls. Clients choose sessions and ids, so that those of two tokens may be the same. */
export interface CallName {
  readonly tokenId: string;
  readonly session: string;
  readonly id: Json | undefined;
}

export class RunningCalls {
  readonly #ends = new Map<string, () => void>();

  /** `name` is `null` for a client without a session, whose calls cannot be told from those of others. */
  async run<T>(name: CallName | null, end: () => void, call: () => Promise<T>): Promise<T> {
    if (name === null) return await call();
    const key = keyOf(name);
    this.#ends.set(key, end);
    try {
      return await call();
    } finally {
      if (this.#ends.get(key) === end) this.#ends.delete(key);
    }
  }

  /** Ends a call, if it runs here. */
  cancel(name: CallName | null): void {
    if (name !== null) this.#ends.get(keyOf(name))?.();
  }
}

function keyOf({ tokenId, session, id }: CallName): string {
  return JSON.stringify([tokenId, session, id]);
}
