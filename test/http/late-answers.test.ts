// Answers that come later than an idle connection is closed: a model, or a report, may take many minutes.
import { expect, test } from "bun:test";
import { createConnection } from "node:net";
import { openServer } from "../../src/http/server.ts";

test("[d7.2] the connection of a request that waits for its answer is not idle, whatever its method", async () => {
  const waiting = Promise.withResolvers<void>();
  const bothWait = Promise.withResolvers<void>();
  let asked = 0;
  const late = async (): Promise<Response> => {
    if (++asked === 2) bothWait.resolve();
    await waiting.promise;
    return new Response("late");
  };
  const server = openServer({
    host: "127.0.0.1",
    port: 0,
    idleSeconds: 1,
    call: late,
    app: { fetch: ({ url }) => (url.endsWith("/late") ? late() : new Response("at once")) },
    onFault: () => {},
  });
  try {
    const base = `http://127.0.0.1:${server.port}`;
    const asking = [
      fetch(`${base}/late`),
      fetch(`${base}/api/v1/chat/completions`, { method: "POST", body: "{}" }),
    ].map(async (response) => await (await response).text());
    for (const each of asking) each.catch(() => {});
    await bothWait.promise;
    // one that became idle after these began to wait is closed
    const closed = Promise.withResolvers<void>();
    const idle = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port!,
      socket: { data() {}, close: () => closed.resolve() },
    });
    idle.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
    await closed.promise;
    waiting.resolve();
    expect(await Promise.all(asking)).toEqual(["late", "late"]);
  } finally {
    waiting.resolve();
    await server.cut();
  }
});

test("[d8.5] the connection of a client that pauses is kept open while the call asks for that", async () => {
  const PIECE = "y".repeat(1_000_000);
  const PIECES = 40;
  let asked = 0;
  const server = openServer({
    host: "127.0.0.1",
    port: 0,
    // the server looks at all connections every four seconds
    idleSeconds: 5,
    call: async (_operation, request, peers) => {
      const keeping = setInterval(() => peers.keepOpen!(request), 100);
      return new Response(
        new ReadableStream<string>(
          {
            pull(controller) {
              if (asked++ < PIECES) return controller.enqueue(PIECE);
              clearInterval(keeping);
              controller.close();
            },
            cancel: () => clearInterval(keeping),
          },
          { highWaterMark: 0 },
        ),
      );
    },
    app: { fetch: () => new Response("at once") },
    onFault: () => {},
  });
  try {
    const client = createConnection(server.port!, "127.0.0.1");
    let length = 0;
    let hasPaused = false;
    const ended = Promise.withResolvers<void>();
    client.on("data", (bytes) => {
      length += bytes.length;
      if (hasPaused) return;
      hasPaused = true;
      client.pause();
    });
    client.on("close", () => ended.resolve());
    client.write(
      "POST /api/v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\ncontent-length: 2\r\n\r\n{}",
    );
    // the server has to wait for the client to read on
    for (let before = -1; asked === 0 || before !== asked; await Bun.sleep(200)) before = asked;
    expect(asked).toBeLessThan(PIECES);
    // an idle connection that is younger is closed
    const closed = Promise.withResolvers<void>();
    const idle = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port!,
      socket: { data() {}, close: () => closed.resolve() },
    });
    idle.write("GET / HTTP/1.1\r\nhost: gateway\r\n\r\n");
    await closed.promise;
    client.resume();
    await ended.promise;
    expect(length).toBeGreaterThan(PIECES * PIECE.length);
  } finally {
    await server.cut();
  }
});
