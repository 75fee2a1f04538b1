// Connections that wait for their next request, and attempts to connect that nobody waits for any more. The last one put back is the first one taken,
// so that after a peak the others grow old and are closed.
import type { TLSOptions } from "bun";
import { Connection, type ConnectionOwner } from "./connection.ts";
import type { HttpTarget } from "./http-request-encoding.ts";

export interface PoolBounds {
  /** Idle connections to one origin, or to one checked address of it. */
  readonly maxIdlePerTarget: number;
  /** To all targets together; they can be named by callers. */
  readonly maxIdle: number;
  readonly idleTimeoutMs: number;
}

export const POOL_BOUNDS: PoolBounds = { maxIdlePerTarget: 256, maxIdle: 2_048, idleTimeoutMs: 60_000 };

/** A peer that says when it closes idle connections may say it to itself a little earlier. */
const PEER_TIMEOUT_MARGIN_MS = 1_000;
/** With so many attempts left behind at one target, further ones go through a probe that can be ended: each holds a file descriptor. */
const MAX_HANGING = 16;

export class ConnectionPool implements ConnectionOwner {
  readonly #bounds: PoolBounds;
  readonly #ca: string | undefined;
  readonly #idle = new Map<string, Connection[]>();
  #idleCount = 0;
  /** By target: attempts that nobody waits for. */
  readonly #hanging = new Map<string, number>();
  #sweep: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(bounds: PoolBounds, ca: string | undefined) {
    this.#bounds = bounds;
    this.#ca = ca;
  }

  get idleCount(): number {
    return this.#idleCount;
  }

  /** An open connection that has served before, now `owner`'s. */
  take(target: HttpTarget, owner: ConnectionOwner, nowMs: number): Connection | undefined {
    const idle = this.#idle.get(target.key);
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      this.#idleCount--;
      if (connection.idleUntilMs > nowMs) {
        connection.owner = owner;
        return connection;
      }
      connection.close();
    }
    return undefined;
  }

  /** A new connection, on its way. */
  open(target: HttpTarget, owner: ConnectionOwner): Connection {
    const connection = new Connection(target.key, owner);
    connection.connect(target, this.#tls(target), (this.#hanging.get(target.key) ?? 0) >= MAX_HANGING);
    return connection;
  }

  #tls(target: HttpTarget): TLSOptions | undefined {
    if (target.serverName === undefined) return undefined;
    return {
      // Said outright, because the environment could say otherwise.
      rejectUnauthorized: true,
      ALPNProtocols: "http/1.1",
      ...(target.serverName === "" ? {} : { serverName: target.serverName }),
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    };
  }

  /** Takes back a connection that can serve again, unless there are enough. `peerTimeoutMs`: when the peer says that it closes it. */
  keep(connection: Connection, nowMs: number, peerTimeoutMs: number | undefined): void {
    const idleMs = Math.min(this.#bounds.idleTimeoutMs, (peerTimeoutMs ?? Infinity) - PEER_TIMEOUT_MARGIN_MS);
    let idle = this.#idle.get(connection.key);
    if (idle === undefined) this.#idle.set(connection.key, (idle = []));
    if (idleMs <= 0 || idle.length >= this.#bounds.maxIdlePerTarget || this.#idleCount >= this.#bounds.maxIdle) {
      connection.close();
      return;
    }
    connection.owner = this;
    connection.idleUntilMs = nowMs + idleMs;
    if (connection.isPaused) connection.resume();
    idle.push(connection);
    this.#idleCount++;
    if (this.#sweep === undefined) this.#armSweep();
  }

  /** Ends a connection in whatever state it is. An attempt that Bun cannot end is looked after until it ends by itself. */
  drop(connection: Connection): void {
    if (!connection.isHanging) {
      connection.close();
      return;
    }
    connection.owner = this;
    this.#hanging.set(connection.key, (this.#hanging.get(connection.key) ?? 0) + 1);
  }

  /** An attempt that nobody waits for has come through. */
  connected(connection: Connection): void {
    connection.close();
    this.#forgetHanging(connection);
  }

  /** Nobody has asked for anything. */
  received(connection: Connection): void {
    this.#remove(connection);
    connection.close();
  }

  ended(connection: Connection): void {
    this.#remove(connection);
    connection.close();
  }

  closed(connection: Connection): void {
    if (!this.#remove(connection)) this.#forgetHanging(connection);
  }

  #remove(connection: Connection): boolean {
    const idle = this.#idle.get(connection.key);
    const at = idle?.indexOf(connection) ?? -1;
    if (at < 0) return false;
    idle?.splice(at, 1);
    this.#idleCount--;
    return true;
  }

  #forgetHanging({ key }: Connection): void {
    const left = (this.#hanging.get(key) ?? 1) - 1;
    if (left > 0) this.#hanging.set(key, left);
    else this.#hanging.delete(key);
  }

  #armSweep(): void {
    this.#sweep = setTimeout(() => this.#closeOld(performance.now()), this.#bounds.idleTimeoutMs / 4);
    this.#sweep.unref();
  }

  #closeOld(nowMs: number): void {
    this.#sweep = undefined;
    for (const [key, idle] of this.#idle) {
      const young = idle.filter(({ idleUntilMs }) => idleUntilMs > nowMs);
      for (const connection of idle) if (connection.idleUntilMs <= nowMs) connection.close();
      this.#idleCount -= idle.length - young.length;
      if (young.length === 0) this.#idle.delete(key);
      else this.#idle.set(key, young);
    }
    if (this.#idle.size > 0) this.#armSweep();
  }
}
