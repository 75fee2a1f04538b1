// The smallest proxy that this runtime allows: Bun.serve and fetch pass the bytes on, and nothing is parsed, checked,
// counted or logged. Whatever a gateway built on them costs beyond this is its own cost.

/** Listens on a free loopback port and passes everything on to the mock on `mockPort`. */
export function startBareProxy(mockPort: number): Bun.Server<undefined> {
  const upstream = `http://127.0.0.1:${mockPort}`;
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    development: false,
    idleTimeout: 255,
    async fetch(request) {
      const path = request.url.slice(request.url.indexOf("/", 8));
      const answer = await fetch(upstream + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: await request.bytes(),
        redirect: "manual",
        proxy: false,
      });
      const type = answer.headers.get("content-type") ?? "";
      const headers = { "content-type": type };
      return type.startsWith("text/event-stream")
        ? new Response(answer.body, { status: answer.status, headers })
        : new Response(await answer.bytes(), { status: answer.status, headers });
    },
  });
}
