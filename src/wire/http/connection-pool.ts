// Idle connections that wait for their next request, and connection attempts that no call waits for any longer. The
// connection that was returned last is used first, so that after a peak the others become idle long enough to be
// closed. A connection is reused only within its partition (UpstreamCall.partition): data that a peer sends too late or
// in excess then never reaches a call with another credential, or of another tenant unless the provider is configured to
// share its connections.
import { changeCount } from "../../core/concurrency/open-count.ts";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { HttpTarget } from "./http-request-encoding.ts";

export interface PoolBounds {
  /** Idle connections of one partition to one origin, or to one checked address of it. */
  readonly maxIdlePerTarget: number;
  /**
   * Idle connections of all partitions to all targets together, because callers can name targets. Beyond it the
   * connection that has been idle longest is closed.
   */
  readonly maxIdle: number;
  readonly idleTimeoutMs: number;
}

export const POOL_BOUNDS: PoolBounds = { maxIdlePerTarget: 256, maxIdle: 2_048, idleTimeoutMs: 60_000 };

/** A peer that announces when it closes idle connections may close them slightly earlier. */
const PEER_TIMEOUT_MARGIN_MS = 1_000;
/**
 * When this many abandoned attempts to one address are pending, further attempts use a probe that can be ended: each
 * pending attempt holds a file descriptor.
 */
const MAX_ABANDONED = 16;

export class ConnectionPool implements ConnectionOwner {
  readonly #bounds: PoolBounds;
  readonly #ca: string | undefined;
  readonly #idle = new Map<string, Connection[]>();
  /** All idle connections, the one that has been idle longest first. */
  readonly #idleByAge = new Set<Connection>();
  #releaseCount = 0;
  /** The sockets have been read since the connections up to this number were returned. */
  #readReleaseCount = 0;
  #isAwaitingReads = false;
  /** By the address to which they connect: the number of attempts that no call waits for. */
  readonly #abandoned = new Map<string, number>();
  #sweep: ReturnType<typeof setTimeout> | undefined = undefined;

  /** Called for each connection for which this process had no file descriptor. */
  readonly onShortage: () => void;

  constructor(bounds: PoolBounds, ca: string | undefined, onShortage: () => void) {
    this.#bounds = bounds;
    this.#ca = ca;
    this.onShortage = onShortage;
  }

  /** Returns an open connection that has served before, and makes `owner` its owner. */
  acquire(poolKey: string, owner: ConnectionOwner, nowMs: number): Connection | undefined {
    const idle = this.#idle.get(poolKey);
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      this.#idleByAge.delete(connection);
      if (connection.idleUntilMs > nowMs) {
        connection.owner = owner;
        return connection;
      }
      connection.closeGracefully();
    }
    return undefined;
  }

  /**
   * True when the connection was returned in the current turn of the event loop, so that bytes which directly follow
   * the response have not been read yet. A request sent now would go to a peer that has closed the connection, or would
   * be answered by bytes that were sent before it.
   */
  mayHaveUnreadBytes(connection: Connection): boolean {
    return connection.releaseNumber > this.#readReleaseCount;
  }

  #awaitReads(): void {
    this.#isAwaitingReads = true;
    // The first callback runs at the end of this turn, before the sockets are read; the second runs after that.
    setImmediate(() => {
      const count = this.#releaseCount;
      setImmediate(() => {
        this.#readReleaseCount = count;
        this.#isAwaitingReads = false;
        if (this.#releaseCount > count) this.#awaitReads();
      });
    });
  }

  /** Starts a new connection and returns it before it is established. */
  open(target: HttpTarget, poolKey: string, owner: ConnectionOwner): Connection {
    const connection = new Connection(target, poolKey, this.#ca, owner);
    connection.connect((this.#abandoned.get(addressOf(target)) ?? 0) >= MAX_ABANDONED);
    return connection;
  }

  /**
   * Takes back a connection on which a whole response has come; when the pool is full, the one that has been idle longest
   * is closed for it. It serves again once the answer is accepted; one that is never judged is closed like any other that
   * is idle. `peerTimeoutMs` is the idle
   * time after which the peer closes it.
   */
  hold(connection: Connection, nowMs: number, peerTimeoutMs: number | undefined): void {
    const idleMs = Math.min(this.#bounds.idleTimeoutMs, (peerTimeoutMs ?? Infinity) - PEER_TIMEOUT_MARGIN_MS);
    if (idleMs <= 0 || this.#bounds.maxIdle === 0) return connection.closeGracefully();
    if (this.#idleByAge.size >= this.#bounds.maxIdle) this.#closeOldest();
    connection.owner = this;
    connection.idleUntilMs = nowMs + idleMs;
    connection.releaseNumber = ++this.#releaseCount;
    if (connection.isPaused) connection.resume();
    this.#idleByAge.add(connection);
    if (!this.#isAwaitingReads) this.#awaitReads();
    if (this.#sweep === undefined) this.#scheduleSweep();
  }

  /** Lets a connection that is held serve again; one that has been closed meanwhile stays closed. */
  accept(connection: Connection): void {
    if (!this.#idleByAge.has(connection)) return;
    const idle = this.#idle.get(connection.poolKey);
    if (idle === undefined) this.#idle.set(connection.poolKey, [connection]);
    else if (idle.length < this.#bounds.maxIdlePerTarget) idle.push(connection);
    else this.#closeIdle(connection);
  }

  /** Closes a connection that is held. */
  reject(connection: Connection): void {
    if (this.#idleByAge.has(connection)) this.#closeIdle(connection);
  }

  /** Ends a connection at once, whatever its state. */
  discard(connection: Connection): void {
    if (!connection.abandon(this)) return;
    changeCount(this.#abandoned, addressOf(connection.target), 1);
  }

  /** Never called for a pooled connection: an abandoned attempt closes itself. */
  connected(): void {}

  /** Bytes on an idle connection answer no request, so the connection is closed. */
  received(connection: Connection): void {
    this.#remove(connection);
    connection.close();
  }

  ended(connection: Connection): void {
    this.#closeIdle(connection);
  }

  closed(connection: Connection): void {
    if (!this.#remove(connection)) changeCount(this.#abandoned, addressOf(connection.target), -1);
  }

  #closeOldest(): void {
    for (const connection of this.#idleByAge) return this.#closeIdle(connection);
  }

  #closeIdle(connection: Connection): void {
    this.#remove(connection);
    connection.closeGracefully();
  }

  #remove(connection: Connection): boolean {
    if (!this.#idleByAge.delete(connection)) return false;
    const idle = this.#idle.get(connection.poolKey);
    // one that is held is in no list
    const at = idle?.indexOf(connection) ?? -1;
    if (idle === undefined || at < 0) return true;
    idle.splice(at, 1);
    if (idle.length === 0) this.#idle.delete(connection.poolKey);
    return true;
  }

  #scheduleSweep(): void {
    this.#sweep = setTimeout(() => this.#closeExpired(performance.now()), this.#bounds.idleTimeoutMs / 4).unref();
  }

  #closeExpired(nowMs: number): void {
    this.#sweep = undefined;
    for (const connection of this.#idleByAge) if (connection.idleUntilMs <= nowMs) this.#closeIdle(connection);
    // `acquire` leaves empty lists, because most of them are filled again at once
    for (const [poolKey, idle] of this.#idle) if (idle.length === 0) this.#idle.delete(poolKey);
    if (this.#idleByAge.size > 0) this.#scheduleSweep();
  }
}

function addressOf({ hostname, port }: HttpTarget): string {
  return `${hostname} ${port}`;
}
