// The connection to Valkey or Redis, one server or a cluster. A command fails rather than waits: nothing is queued while there is no connection, and nothing is
// repeated. Whether an answer is too late is for the replica to say, which knows whether its own process ran meanwhile (running-time.ts): a timer that fires before
// the socket is read tells nothing. Commands are not pipelined by the library: on clusters it loses them when a slot moves.
import { within } from "../../core/timeout.ts";
import type { Cluster, Redis } from "ioredis";
import { type Answer, encodeMessage, type MessageWithKeys } from "./protocol.ts";
import { STORE_SCRIPT } from "./store-script.ts";

export interface ConnectionOptions {
  /** `redis://`, `rediss://`, with user, password and database. Of a cluster: of its first node. */
  readonly url: string;
  /** Further nodes of a cluster as `host:port`; null: no cluster. */
  readonly clusterNodes: readonly string[] | null;
}

export interface Connection {
  /** Rejects when the message cannot be sent, the connection is lost, or the store answers with an error; with UnheardAnswer when the library waits no longer. */
  talk(message: MessageWithKeys): Promise<Answer>;
  close(): void;
}

const CONNECT_MS = 2000;
/** The library lets go of a command that has no answer by then, also of the first ones of a connection. */
const COMMAND_MS = 5000;
/** https://github.com/redis/ioredis/blob/main/lib/Command.ts */
const TIMED_OUT = "Command timed out";
const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 500;
const COMMAND = "dragomanLimits";

type Scripted = Readonly<Record<typeof COMMAND, (...args: readonly (string | number)[]) => Promise<Answer>>>;

/** The library waits for the answer no longer; the store may have given one. */
export class UnheardAnswer extends Error {}

/** At the start so long is waited for the connection. */
const READY_MS = 1500;

/** Connected, unless that takes too long: then it goes on trying. */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const client = await openClient(options, COMMAND_MS);
  let fault: unknown = null;
  client.on("error", (error: unknown) => void (fault = error));
  client.on("ready", () => void (fault = null));
  client.defineCommand(COMMAND, { lua: STORE_SCRIPT });
  return {
    async talk(message) {
      try {
        return await (client as unknown as Scripted)[COMMAND](
          message.keys.length,
          ...message.keys,
          encodeMessage(message),
        );
      } catch (error) {
        if (error instanceof Error && error.message === TIMED_OUT)
          throw new UnheardAnswer(error.message, { cause: error });
        // that there is no connection says less than why there is none
        throw client.status === "ready" ? error : (fault ?? new Error("the connection was lost", { cause: error }));
      }
    },
    close: () => client.disconnect(),
  };
}

/** The library is loaded here, where a store is configured, and nowhere else. */
export async function openClient(
  { url, clusterNodes }: ConnectionOptions,
  commandTimeout: number,
): Promise<Redis | Cluster> {
  const library = await import("ioredis");
  const retryStrategy = (tries: number): number => Math.min(FIRST_RETRY_MS * 2 ** Math.min(tries, 10), MAX_RETRY_MS);
  // a server that was demoted goes on answering, that it may not write: the address may lead to another by now
  const reconnectOnError = (error: Error): boolean => error.message.includes("READONLY");
  const shared = {
    reconnectOnError,
    commandTimeout,
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
  // without a listener an error of the connection would end the process; each is seen where its command fails
  client.on("error", () => {});
  await within(new Promise<void>((resolve) => void client.once("ready", resolve)), READY_MS);
  return client;
}
