// The connection to Valkey or Redis, to one server or a cluster. A command fails rather than waits: nothing is queued
// while there is no connection, and nothing is repeated. Whether an answer is too late is decided by the replica, which
// knows whether its own process ran meanwhile (running-time.ts): a timer that fires before the socket is read proves
// nothing. The library must not pipeline commands, because on clusters it loses them when a slot moves.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import { within } from "../../core/concurrency/timeout.ts";
import type { Cluster, Redis } from "ioredis";
import { type Answer, encodeMessage, type MessageWithKeys } from "./protocol.ts";
import { STORE_SCRIPT } from "./store-script.ts";

export interface ConnectionOptions {
  /** `redis://` or `rediss://`, with user, password and database. For a cluster, the address of its first node. */
  readonly url: string;
  /** Further nodes of a cluster as `host:port`; `null` when the server is not a cluster. */
  readonly clusterNodes: readonly string[] | null;
}

export interface Connection {
  /**
   * Rejects when the message cannot be sent, the connection is lost, or the store answers with an error. Rejects with
   * AnswerTimeout when the library stops waiting.
   */
  exchange(message: MessageWithKeys): Promise<Answer>;
  close(): void;
}

const CONNECT_MS = 2000;
/** The library stops waiting for an answer after this time, also for the first commands of a connection. */
const COMMAND_MS = 5000;
/** https://github.com/redis/ioredis/blob/main/lib/Command.ts */
const TIMED_OUT = "Command timed out";
/** A connection on which no byte has come for the time of so many commands is replaced. */
const SILENT_COMMANDS = 2;
const FIRST_RETRY_MS = 100;
const MAX_RETRY_MS = 500;
const COMMAND = "dragomanLimits";

type Scripted = Readonly<Record<typeof COMMAND, (...args: readonly (string | number)[]) => Promise<Answer>>>;

/** The library has stopped waiting for the answer; the store may have given one. */
export class AnswerTimeout extends Error {}

/** How long start-up waits for the connection. */
const READY_MS = 1500;

/** Resolves when connected, or after a while when that takes too long; it then keeps trying. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const client = await openClient(options, COMMAND_MS);
  let fault: unknown = null;
  client.on("error", (error: unknown) => void (fault = error));
  client.on("ready", () => void (fault = null));
  client.defineCommand(COMMAND, { lua: STORE_SCRIPT });
  return {
    async exchange(message) {
      try {
        return await (client as unknown as Scripted)[COMMAND](
          message.keys.length,
          ...message.keys,
          encodeMessage(message),
        );
      } catch (error) {
        if (error instanceof Error && error.message === TIMED_OUT)
          throw new AnswerTimeout(error.message, { cause: error });
        // The reason for a missing connection is more useful than the fact that there is none.
        throw client.status === "ready" ? error : (fault ?? new Error("the connection was lost", { cause: error }));
      }
    },
    close: () => client.disconnect(),
  };
}

/**
 * The first write of a script that a full server has to refuse. Such a server decides at the first write of a script alone,
 * and lets a write through that only frees memory. This write takes memory in the server's judgement, and changes nothing,
 * because no key has this name.
 */
export const REFUSED_WHEN_FULL = "redis.call('SET', KEYS[1] .. ':room', '', 'XX')";

/** The library is loaded only here, where a store is configured. */
export async function openClient(
  { url, clusterNodes }: ConnectionOptions,
  commandTimeout: number,
): Promise<Redis | Cluster> {
  const library = await import("ioredis");
  const retryStrategy = (tries: number): number => growingWaitMs(tries, FIRST_RETRY_MS, MAX_RETRY_MS);
  // A server that was demoted still answers, with an error that it may not write. By now the address may lead to
  // another server.
  const reconnectOnError = (error: Error): boolean => error.message.includes("READONLY");
  const shared = {
    reconnectOnError,
    commandTimeout,
    // the other end may have vanished without closing the connection, which the kernel notices only after a quarter of an hour
    socketTimeout: SILENT_COMMANDS * commandTimeout,
    connectTimeout: CONNECT_MS,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
  };
  let client: Redis | Cluster;
  if (clusterNodes === null) client = new library.Redis(url, { ...shared, retryStrategy });
  else {
    const { hostname, port, username, password, protocol } = new URL(url);
    const redisOptions = {
      ...shared,
      ...(username !== "" && { username: decodeURIComponent(username) }),
      ...(password !== "" && { password: decodeURIComponent(password) }),
      ...(protocol === "rediss:" && { tls: {} }),
    };
    const nodes = [`${hostname}:${port === "" ? "6379" : port}`, ...clusterNodes].map((node) => {
      const colon = node.lastIndexOf(":");
      return { host: node.slice(0, colon), port: Number(node.slice(colon + 1)) };
    });
    client = new library.Cluster(nodes, {
      redisOptions,
      enableOfflineQueue: false,
      clusterRetryStrategy: retryStrategy,
      slotsRefreshTimeout: CONNECT_MS,
    });
  }
  // Without a listener a connection error would end the process; each error is reported by the command that fails.
  client.on("error", () => {});
  await within(new Promise<void>((resolve) => void client.once("ready", resolve)), READY_MS);
  return client;
}
