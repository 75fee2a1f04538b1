// Connections that wait for their next request, and attempts to connect that no call waits for any more. The last one put back is the first one taken,
// so that after a peak the others grow old and are closed. A connection is lent only within its partition (UpstreamCall.partition): what a peer sends too
// late or too much then never reaches another tenant, or a call with another credential.
import type { TLSOptions } from "bun";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { HttpTarget } from "./http-request-encoding.ts";

export interface PoolBounds {
  /** Idle connections of one partition to one origin, or to one checked address of it. */
  readonly maxIdlePerTarget: number;
  /** Of all partitions to all targets together, which can be named by callers: beyond it the one that has waited longest is closed. */
  readonly maxIdle: number;
  readonly idleTimeoutMs: number;
}

export const POOL_BOUNDS: PoolBounds = { maxIdlePerTarget: 256, maxIdle: 2_048, idleTimeoutMs: 60_000 };

/** A peer that says when it closes idle connections may say it to itself a little earlier. */
const PEER_TIMEOUT_MARGIN_MS = 1_000;
/** In the form of RFC 7301, with its length first; Bun sends nothing for a bare name. */
const ALPN_HTTP_1_1 = Buffer.from("\x08http/1.1", "latin1");
/** With so many attempts left behind at one target, further ones go through a probe that can be ended: each holds a file descriptor. */
const MAX_HANGING = 16;

export class ConnectionPool implements ConnectionOwner {
  readonly #bounds: PoolBounds;
  readonly #ca: string | undefined;
  readonly #idle = new Map<string, Connection[]>();
  /** All of them, the one that has waited longest first. */
  readonly #waiting = new Set<Connection>();
  #keptCount = 0;
  /** The sockets have been looked at since the connections up to this one were put back. */
  #settledCount = 0;
  #isSettling = false;
  /** By target: attempts that nobody waits for. */
  readonly #hanging = new Map<string, number>();
  #sweep: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(bounds: PoolBounds, ca: string | undefined) {
    this.#bounds = bounds;
    this.#ca = ca;
  }

  /** An open connection that has served before, now `owner`'s. */
  take(poolKey: string, owner: ConnectionOwner, nowMs: number): Connection | undefined {
    const idle = this.#idle.get(poolKey);
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      this.#waiting.delete(connection);
      if (connection.idleUntilMs > nowMs) {
        connection.owner = owner;
        return connection;
      }
      connection.retire();
    }
    return undefined;
  }

  /**
   * The connection has come back in this very turn of the event loop, so that what stands right behind the answer has not been seen yet. A request would
   * go to a peer that has closed it, or would be answered by bytes that were sent before it.
   */
  needsRest(connection: Connection): boolean {
    return connection.keptAs > this.#settledCount;
  }

  #settle(): void {
    this.#isSettling = true;
    // The first comes at the end of this turn, before the next look at the sockets, and the second after it.
    setImmediate(() => {
      const count = this.#keptCount;
      setImmediate(() => {
        this.#settledCount = count;
        this.#isSettling = false;
        if (this.#keptCount > count) this.#settle();
      });
    });
  }

  /** A new connection, on its way. */
  open(target: HttpTarget, poolKey: string, owner: ConnectionOwner): Connection {
    const connection = new Connection(target.key, poolKey, owner);
    connection.connect(target, this.#tls(target), (this.#hanging.get(target.key) ?? 0) >= MAX_HANGING);
    return connection;
  }

  #tls(target: HttpTarget): TLSOptions | undefined {
    if (target.serverName === undefined) return undefined;
    return {
      // Said outright, because the environment could say otherwise.
      rejectUnauthorized: true,
      ALPNProtocols: ALPN_HTTP_1_1,
      ...(target.serverName === "" ? {} : { serverName: target.serverName }),
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    };
  }

  /** Takes back a connection that can serve again, unless there are enough. `peerTimeoutMs`: when the peer says that it closes it. */
  keep(connection: Connection, nowMs: number, peerTimeoutMs: number | undefined): void {
    const idleMs = Math.min(this.#bounds.idleTimeoutMs, (peerTimeoutMs ?? Infinity) - PEER_TIMEOUT_MARGIN_MS);
    let idle = this.#idle.get(connection.poolKey);
    if (
      idleMs <= 0 ||
      (idle !== undefined && idle.length >= this.#bounds.maxIdlePerTarget) ||
      this.#bounds.maxIdle === 0
    ) {
      connection.retire();
      return;
    }
    if (this.#waiting.size >= this.#bounds.maxIdle) this.#closeLongestWaiting();
    if (idle === undefined) this.#idle.set(connection.poolKey, (idle = []));
    connection.owner = this;
    connection.idleUntilMs = nowMs + idleMs;
    connection.keptAs = ++this.#keptCount;
    if (connection.isPaused) connection.resume();
    idle.push(connection);
    this.#waiting.add(connection);
    if (!this.#isSettling) this.#settle();
    if (this.#sweep === undefined) this.#armSweep();
  }

  /** Ends a connection in whatever state it is, and at once. */
  drop(connection: Connection): void {
    if (connection.abandon(this))
      this.#hanging.set(connection.targetKey, (this.#hanging.get(connection.targetKey) ?? 0) + 1);
  }

  /** Never: an attempt that nobody waits for closes itself. */
  connected(): void {}

  /** Nobody has asked for anything. */
  received(connection: Connection): void {
    this.#remove(connection);
    connection.close();
  }

  ended(connection: Connection): void {
    this.#remove(connection);
    connection.retire();
  }

  closed(connection: Connection): void {
    if (!this.#remove(connection)) this.#forgetHanging(connection);
  }

  #closeLongestWaiting(): void {
    for (const connection of this.#waiting) {
      this.#remove(connection);
      connection.retire();
      return;
    }
  }

  #remove(connection: Connection): boolean {
    if (!this.#waiting.delete(connection)) return false;
    const idle = this.#idle.get(connection.poolKey);
    if (idle === undefined) return false;
    idle.splice(idle.indexOf(connection), 1);
    if (idle.length === 0) this.#idle.delete(connection.poolKey);
    return true;
  }

  #forgetHanging({ targetKey }: Connection): void {
    const left = (this.#hanging.get(targetKey) ?? 1) - 1;
    if (left > 0) this.#hanging.set(targetKey, left);
    else this.#hanging.delete(targetKey);
  }

  #armSweep(): void {
    this.#sweep = setTimeout(() => this.#closeOld(performance.now()), this.#bounds.idleTimeoutMs / 4);
    this.#sweep.unref();
  }

  #closeOld(nowMs: number): void {
    this.#sweep = undefined;
    for (const [key, idle] of this.#idle) {
      const young = idle.filter(({ idleUntilMs }) => idleUntilMs > nowMs);
      for (const connection of idle) {
        if (connection.idleUntilMs > nowMs) continue;
        this.#waiting.delete(connection);
        connection.retire();
      }
      if (young.length === 0) this.#idle.delete(key);
      else this.#idle.set(key, young);
    }
    if (this.#idle.size > 0) this.#armSweep();
  }
}
