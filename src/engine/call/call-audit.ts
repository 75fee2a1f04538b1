// What the audit log says of calls that show more than their own answer: explanations, and replays of recorded calls
// (`x-gateway-replay-of`). A token that makes many of them in a project writes a bounded number of rows a minute, and one
// more row that says how many there were beyond that (docs/audit.md).

// Decides (records and configuration): Which explanations and replays are in the audit log? By: `CallAudit`. Also:
// called by `engine/handle.ts`. Rule: A row before anything is shown or sent; each token writes a bounded number a
// minute, and then how many more there were.
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { describe } from "../../core/json.ts";
import { invalidRequest } from "../../core/refusals.ts";
import type { Actor } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";

const REPLAY_HEADER = "x-gateway-replay-of";
const TRACE_ID = /^[0-9a-f]{32}$/;

export type NotedAction = "explain" | "replay";

/** The rows that a token writes of one project in one minute. Each replay is of another call; explanations say little by themselves. */
const MOST_ROWS: Readonly<Record<NotedAction, number>> = { explain: 1, replay: 30 };
const MINUTE_MS = 60_000;

export interface NotedCall {
  readonly action: NotedAction;
  /** The trace id of the call that is explained or replayed. */
  readonly traceId: string;
  readonly principal: Pick<Principal, "tenantId" | "projectId" | "tokenId" | "userId" | "role">;
  readonly address: string | null;
  readonly way: Pick<Actor, "via" | "sessionId">;
}

interface Minute {
  readonly ends: ReturnType<typeof setTimeout>;
  readonly first: NotedCall;
  rows: number;
  /** Calls without a row of their own. */
  more: number;
}

export class CallAudit {
  readonly #store: Pick<Store, "note">;
  readonly #onLost: (fault: unknown) => void;
  /** By action, token and project. */
  readonly #minutes = new Map<string, Minute>();

  /** `onLost` is called when the number of calls without a row of their own could not be written. */
  constructor(store: Pick<Store, "note">, onLost: (fault: unknown) => void) {
    this.#store = store;
    this.#onLost = onLost;
  }

  /** Nothing is shown or sent before the row is written. Throws `store_unavailable`. */
  async note(called: NotedCall): Promise<void> {
    const minute = this.#minuteOf(called);
    if (minute.rows >= MOST_ROWS[called.action]) {
      minute.more += 1;
      return;
    }
    minute.rows += 1;
    try {
      await this.#write(called, called.traceId, null);
    } catch (cause) {
      minute.rows -= 1;
      throw new GatewayError(
        "store_unavailable",
        `The audit log, which has to say that a call is ${called.action === "explain" ? "explained" : "replayed"}, cannot be written now.`,
        { cause },
      );
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#minutes.keys()].map((key) => this.#end(key)));
  }

  #minuteOf(called: NotedCall): Minute {
    // a personal token has several projects, and who reads the log of one sees none of another's rows
    const key = `${called.action} ${called.principal.tokenId} ${called.principal.projectId}`;
    const known = this.#minutes.get(key);
    if (known !== undefined) return known;
    const ends = setTimeout(() => void this.#end(key), MINUTE_MS).unref();
    const minute: Minute = { ends, first: called, rows: 0, more: 0 };
    this.#minutes.set(key, minute);
    return minute;
  }

  async #end(key: string): Promise<void> {
    const { ends, first, more } = this.#minutes.get(key)!;
    clearTimeout(ends);
    this.#minutes.delete(key);
    if (more === 0) return;
    try {
      await this.#write(first, null, `${more} more within a minute`);
    } catch (fault) {
      this.#onLost(fault);
    }
  }

  #write({ action, principal, address, way }: NotedCall, targetId: string | null, note: string | null): Promise<void> {
    const { tenantId, projectId, tokenId, userId, role } = principal;
    return this.#store.note(
      { tokenId, userId, role, tenantId, address, ...way },
      { action, outcome: "done", kind: "call", tenantId, projectId, targetId, note },
    );
  }
}

/** The call that this one repeats; null where the client does not say. Throws `invalid_request`. */
export function replayedCall(headers: Headers): string | null {
  // in full, as all headers that are read: a test compares them with docs/api.md
  const sent = headers.get("x-gateway-replay-of");
  if (sent === null || TRACE_ID.test(sent)) return sent;
  throw invalidRequest(
    REPLAY_HEADER,
    `The header ${REPLAY_HEADER} must be the trace id of a call, 32 hexadecimal digits in lower case; got ${describe(sent)}.`,
  );
}
