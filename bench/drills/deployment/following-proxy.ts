// A TCP proxy that passes connections on to whichever server is the primary one. When that changes, it cuts the
// connections to the former one, so that clients connect again.
import { createServer, connect, type Server, type Socket } from "node:net";

export interface Place {
  readonly address: string;
  readonly port: number;
}

export interface FollowingProxy {
  follow(primary: Place): void;
  /** Ends it with all connections, as when its process is killed. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export async function startFollowingProxy(own: Place, first: Place): Promise<FollowingProxy> {
  let primary = first;
  let server: Server | null = null;
  const sockets = new Set<Socket>();
  const cutAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const join = (client: Socket): void => {
    const target = connect(primary.port, primary.address);
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on("error", () => {});
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  };
  const start = async (): Promise<void> => {
    const starting = (server = createServer(join));
    await new Promise<void>((resolve, reject) => {
      starting.on("error", reject);
      starting.listen(own.port, own.address, resolve);
    });
  };
  await start();
  return {
    follow(next) {
      if (next.address === primary.address && next.port === primary.port) return;
      primary = next;
      cutAll();
    },
    async kill() {
      const ending = server;
      server = null;
      if (ending === null) return;
      const closed = new Promise<void>((resolve) => ending.close(() => resolve()));
      cutAll();
      await closed;
    },
    start,
  };
}
