// One tool server while it is in use: its connection, which is established when it is needed and again when it was
// lost, its list of tools, and the slots for concurrent calls.

// Decides (the answer): How long may a tool take? By: `ServerLink`. Rule: `timeout_s` of the server (60 s), its queue
// and connection included; then the model reads that it did not answer, and the call goes on.
import { growingWaitMs } from "../core/concurrency/growing-wait.ts";
import type { CancelSignal } from "../core/concurrency/cancellation.ts";
import type { Clock } from "../core/clock.ts";
import type { JsonObject } from "../core/json.ts";
import type { ToolDefinition, ToolResult, ToolServer } from "../core/configured/tool.ts";
import { type AboutServer, connect, type ConnectionDependencies, type ToolConnection } from "./server-connection.ts";
import { ToolFault } from "./faults.ts";
import type { ToolAsker } from "./tool-servers.ts";
import type { Slots } from "../core/concurrency/slots.ts";
import { takeTurn } from "../core/concurrency/slot-turn.ts";
import { readList } from "./tool-list.ts";
import { readResult } from "./tool-results.ts";
import { untilOver, withTimeout } from "../core/concurrency/timeout.ts";

export interface LinkDependencies extends Omit<ConnectionDependencies, "onListChanged" | "onClosed"> {
  readonly slots: Slots;
  readonly clock: Clock;
  count(what: "connected" | "refused" | "lost"): void;
  /** Called when the list of tools may have changed. */
  listChanged(): void;
  /** Logs something about this server that operators should know. */
  log(message: string, detail?: string): void;
}

const LIST_LIFE_MS = 5 * 60_000;
/** A server that keeps announcing changes of its list is not queried more often than this. */
const LIST_PAUSE_MS = 1000;
const CONNECT_TIMEOUT_MS = 30_000;
/** Calls that wait for a slot; each waits for the `timeout_s` of its server at most. */
const MOST_WAITING = 10_000;
/** A program that lived this long did not fail when it ends. */
const GOOD_LIFE_MS = 60_000;
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 30_000;

interface KnownList {
  readonly tools: readonly ToolDefinition[];
  readonly bytes: number;
  readonly atMs: number;
}

export class ServerLink {
  readonly server: ToolServer;
  readonly #dependencies: LinkDependencies;
  #connection: Promise<ToolConnection> | null = null;
  #listing: Promise<readonly ToolDefinition[]> | null = null;
  #list: KnownList | null = null;
  #listChanged = false;
  #uses = 0;
  #usedAtMs: number;
  #retired = false;
  /** For a program: how often it ended soon after its start, and when it may be started again. */
  #earlyEnds = 0;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(server: ToolServer, dependencies: LinkDependencies) {
    this.server = server;
    this.#dependencies = dependencies;
    this.#usedAtMs = dependencies.clock.monotonic();
  }

  get isConnected(): boolean {
    return this.#connection !== null;
  }

  /** Bytes of the cached list. */
  get listBytes(): number {
    return this.#list?.bytes ?? 0;
  }

  /** Milliseconds since the last use; 0 while the link is in use. */
  idleMs(): number {
    return this.#uses > 0 ? 0 : this.#dependencies.clock.monotonic() - this.#usedAtMs;
  }

  /**
   * With `afresh`, the server is queried even when its list is cached. Throws ToolFault, GatewayError, or the signal's
   * reason.
   */
  tools(timeoutMs: number, signal: CancelSignal, afresh = false): Promise<readonly ToolDefinition[]> {
    const list = this.#list;
    const ageMs = list === null ? Number.POSITIVE_INFINITY : this.#dependencies.clock.monotonic() - list.atMs;
    if (!afresh && list !== null && ageMs < (this.#listChanged ? LIST_PAUSE_MS : LIST_LIFE_MS))
      return Promise.resolve(list.tools);
    return this.#used(() => {
      this.#listing ??= this.#readList().finally(() => (this.#listing = null));
      return until(this.#listing, timeoutMs, signal);
    });
  }

  /** Throws ToolFault, GatewayError, or the signal's reason. */
  call(
    tool: string,
    args: JsonObject,
    { tenantId, trace }: ToolAsker,
    timeoutMs: number,
    signal: CancelSignal,
  ): Promise<ToolResult> {
    const endsMs = this.#dependencies.clock.monotonic() + timeoutMs;
    return this.#used(async () => {
      const { key, countedAs = key, maxConcurrent: max } = this.server;
      const place = { key: `tool server ${countedAs}`, tenant: tenantId, max, queueMax: MOST_WAITING };
      const turn = takeTurn(this.#dependencies.slots, place);
      try {
        if (!(await until(Promise.resolve(turn.came), timeoutMs, signal)))
          throw new ToolFault(
            "failed",
            "no slot of the tool server is to be had: too many calls wait, or the supervisor has gone",
          );
        // the schema may name arguments that are repeated in headers, without which the server refuses the call
        const tools = this.#list?.tools ?? (await this.tools(endsMs - this.#dependencies.clock.monotonic(), signal));
        const schema = tools.find(({ name }) => name === tool)?.inputSchema ?? null;
        const answer = await this.#ask(endsMs, signal, (connection, leftMs) =>
          connection.call({ tool, args, schema, trace }, { timeoutMs: leftMs, signal }),
        );
        return readResult(answer, this.server.maxResultBytes);
      } finally {
        turn.leave();
      }
    });
  }

  /** Describes the server over the existing connection or a new one, with the time in milliseconds. */
  async about(
    timeoutMs: number,
    signal: CancelSignal,
  ): Promise<{ readonly about: AboutServer; readonly connectMs: number }> {
    return this.#used(async () => {
      const beganMs = this.#dependencies.clock.monotonic();
      const { about } = await until(this.#connected(), timeoutMs, signal);
      return { about, connectMs: this.#dependencies.clock.monotonic() - beganMs };
    });
  }

  /** Takes no new calls; calls in flight continue to their end, then the connection is closed. */
  retire(): void {
    this.#retired = true;
    if (this.#uses === 0) void this.close();
  }

  async close(): Promise<void> {
    this.#retired = true;
    const connection = this.#connection;
    this.#connection = null;
    await connection?.then((open) => open.close()).catch(() => undefined);
  }

  async #used<T>(run: () => Promise<T>): Promise<T> {
    this.#uses += 1;
    try {
      return await run();
    } finally {
      this.#uses -= 1;
      this.#usedAtMs = this.#dependencies.clock.monotonic();
      if (this.#retired && this.#uses === 0) void this.close();
    }
  }

  /**
   * A server that no longer knows the session did not run anything, so the request is repeated once over a new session.
   */
  async #ask<T>(
    endsMs: number,
    signal: CancelSignal,
    ask: (connection: ToolConnection, leftMs: number) => Promise<T>,
  ): Promise<T> {
    const leftMs = (): number => endsMs - this.#dependencies.clock.monotonic();
    const wasThere = this.#connection;
    const connection = this.#connected();
    try {
      return await ask(await until(connection, leftMs(), signal), leftMs());
    } catch (thrown) {
      if (!(thrown instanceof ToolFault) || thrown.kind !== "lost") throw thrown;
      this.#drop(connection);
      if (wasThere !== connection) throw thrown;
      this.#dependencies.count("lost");
      // it may have started anew, with other tools
      this.#noteChange();
      this.#dependencies.log("the server does not know the session any more: a new one is started", thrown.message);
      return await ask(await until(this.#connected(), leftMs(), signal), leftMs());
    }
  }

  #connected(): Promise<ToolConnection> {
    if (this.#connection !== null) return this.#connection;
    const { clock } = this.#dependencies;
    const beganMs = clock.monotonic();
    if (beganMs < this.#notBeforeMs)
      return Promise.reject(
        new ToolFault("failed", "the program ended soon after each start, and is not started again for a while"),
      );
    const dependencies: ConnectionDependencies = {
      ...this.#dependencies,
      onListChanged: () => this.#noteChange(),
      onClosed: () => {
        if (this.#connection === connection) this.#dependencies.count("lost");
        this.#ended(connection, beganMs);
      },
    };
    const connection: Promise<ToolConnection> = connect(this.server, dependencies, CONNECT_TIMEOUT_MS);
    this.#connection = connection;
    connection.then(
      () => this.#dependencies.count("connected"),
      () => {
        this.#dependencies.count("refused");
        this.#ended(connection, beganMs);
      },
    );
    return connection;
  }

  /** The connection ended by itself: one that was closed here is no longer current at this point. */
  #ended(connection: Promise<ToolConnection>, beganMs: number): void {
    if (this.#connection !== connection) return;
    this.#connection = null;
    // Changes of the list are not announced while there is no connection.
    this.#noteChange();
    if (this.server.transport.kind !== "stdio") return;
    const nowMs = this.#dependencies.clock.monotonic();
    this.#earlyEnds = nowMs - beganMs < GOOD_LIFE_MS ? this.#earlyEnds + 1 : 0;
    const pauseMs = growingWaitMs(this.#earlyEnds - 1, FIRST_PAUSE_MS, MAX_PAUSE_MS);
    this.#notBeforeMs = nowMs + pauseMs;
    this.#dependencies.log(
      "the program has ended",
      pauseMs === 0 ? "it is started again when it is needed" : `it is not started again for ${pauseMs / 1000} s`,
    );
  }

  #noteChange(): void {
    this.#listChanged = true;
    this.#dependencies.listChanged();
  }

  #drop(connection: Promise<ToolConnection>): void {
    if (this.#connection === connection) this.#connection = null;
    // Other calls may have requests in flight on it, which can still be answered.
    connection.then((open) => open.leave()).catch(() => undefined);
  }

  async #readList(): Promise<readonly ToolDefinition[]> {
    const never = {
      aborted: false,
      reason: undefined,
      addEventListener: () => {},
      removeEventListener: () => {},
      throwIfAborted: () => {},
    };
    const endsMs = this.#dependencies.clock.monotonic() + Math.max(this.server.timeoutMs, CONNECT_TIMEOUT_MS);
    this.#listChanged = false;
    try {
      const { tools, problems, bytes } = await this.#ask(endsMs, never, (connection) =>
        readList((cursor) =>
          connection.page(cursor, { timeoutMs: endsMs - this.#dependencies.clock.monotonic(), signal: never }),
        ),
      );
      for (const problem of problems.slice(0, 10)) this.#dependencies.log("a tool is ignored", problem);
      this.#list = { tools, bytes, atMs: this.#dependencies.clock.monotonic() };
      return tools;
    } catch (thrown) {
      this.#list = null;
      throw thrown;
    }
  }
}

/** Waits at most `timeoutMs`; the promise itself continues. */
function until<T>(promise: Promise<T>, timeoutMs: number, signal: CancelSignal): Promise<T> {
  return untilOver(
    withTimeout(promise, timeoutMs, () => new ToolFault("timeout", "no answer in time")),
    signal,
  );
}
