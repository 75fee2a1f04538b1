// The least that a proxy on this runtime can be: Bun.serve and fetch with the bytes passed on, nothing parsed, checked, counted or logged. What a
// gateway built on them costs more than this is its own doing.

/** Listens on a free port of loopback and passes everything on to the mock on `mockPort`. */
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
