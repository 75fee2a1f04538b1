// A provider that does not accept connections.
import { createConnection } from "node:net";
import type { Socket } from "node:net";

/** A listener in a process of its own that takes no connection until accept(), with its backlog full; `url` is null where it could not be filled. */
export async function fullBacklog(): Promise<
  AsyncDisposable & { readonly url: string | null; readonly port: number; accept(): void }
> {
  const program = `const server = require("node:net").createServer((socket) => { socket.on("error", () => {}); socket.on("data", () => socket.write("HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\n{}")); });
    server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
      require("node:fs").writeSync(1, server.address().port + "\\n");
      // Blocks the loop, and with it every accept.
      require("node:fs").readSync(0, Buffer.alloc(1));
    });
    setTimeout(() => process.exit(), 40000);`;
  const listener = Bun.spawn([process.execPath, "-e", program], { stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const first = await listener.stdout.getReader().read();
  const port = Number(new TextDecoder().decode(first.value));
  const connected = new Set<Socket>();
  const fillers = Array.from({ length: 700 }, () => {
    const socket = createConnection(port, "127.0.0.1");
    socket.on("error", () => undefined);
    return socket.once("connect", () => connected.add(socket));
  });
  let seen = -1;
  while (seen !== connected.size) {
    seen = connected.size;
    await Bun.sleep(200);
  }
  return {
    url: connected.size > 0 && connected.size < fillers.length ? `http://127.0.0.1:${port}/` : null,
    port,
    accept() {
      for (const socket of fillers) socket.destroy();
      void listener.stdin.write("x");
      void listener.stdin.flush();
    },
    async [Symbol.asyncDispose]() {
      for (const socket of fillers) socket.destroy();
      listener.kill(9);
      await listener.exited;
    },
  };
}
