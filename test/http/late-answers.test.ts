// Answers that come later than an idle connection is closed: a model, or a report, may take many minutes.
import { expect, test } from "bun:test";
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
