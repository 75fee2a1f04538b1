// Heads of requests that the server refuses before anything looks at the path, and when it waits for its clients to
// close their connections.
import { expect, test } from "bun:test";
import { openServer, refusedHead } from "../../src/http/server.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";

const withHost = (host: string | null, url = "http://gateway.test/api/v1/models") =>
  refusedHead({ url, headers: new Headers(host === null ? {} : { host }) });

test("[d5.1 d5.6] a Host that is no host name or address is 400 with our error body, whatever the path is", async () => {
  for (const host of [
    "a@b",
    "",
    "a/b",
    "a b",
    "a?b",
    "a#b",
    "a%zz",
    "[::1",
    "a:b",
    "a:99999",
    "user:secret@host",
    "1.2.3.4.5",
  ]) {
    const refused = withHost(host);
    expect([host, refused?.status, refused?.headers.get("connection")]).toEqual([host, 400, "close"]);
    expect(refused!.headers.get("x-gateway-error-code")).toBe("invalid_request");
    const { error } = (await refused!.json()) as { readonly error: { readonly message: string } };
    expect(error.message).toContain("Host");
  }
  expect(withHost(null, "/api/v1/models")?.status).toBe(400);
});

test("[d12.6] a head that is refused is refused in the envelope of the operation that its path belongs to", async () => {
  for (const [path, members] of [
    ["/v1/messages", ["error", "request_id", "type"]],
    ["/v1/messages/count_tokens/", ["error", "request_id", "type"]],
    ["/v2/rerank", ["id", "message"]],
    ["/v1/responses/resp_1", ["error"]],
    ["/api/v1/embeddings", ["error"]],
    ["/api/v1/chat/completions", ["error", "x_gateway_trace_id"]],
    ["/api/v1/admin/tenants", ["error", "x_gateway_trace_id"]],
  ] as const)
    for (const url of [`http://gateway.test${path}?beta=true`, `${path}?beta=true`]) {
      const refused = withHost("a@b", url);
      expect([url, Object.keys((await refused!.json()) as object).toSorted()]).toEqual([url, [...members]]);
    }
  const announced = { headers: new Headers({ host: "gateway.test", trailer: "x-checksum" }), url: "/" };
  expect(await refusedHead(announced, MESSAGES)!.json()).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", message: expect.stringContaining("trailer fields") },
  });
});

test("[d5.6] names and addresses with and without a port are taken, and no Host where the request needs none", () => {
  for (const host of [
    "gateway.test",
    "gateway.test:4100",
    "my_service",
    "127.0.0.1:80",
    "[::1]",
    "[::1]:4100",
    "a-b.c:",
    null,
  ])
    expect([host, withHost(host)]).toEqual([host, null]);
});

test("[d13.2] waits for clients that call tools at /mcp to close their connections, as for those that call models", async () => {
  for (const [method, path, waits] of [
    ["GET", "/healthz", false],
    ["POST", "/mcp", true],
  ] as const) {
    const server = openServer({
      host: "127.0.0.1",
      port: 0,
      call: () => Promise.resolve(new Response()),
      app: { fetch: () => new Response() },
      onFault: () => {},
    });
    try {
      await fetch(`http://127.0.0.1:${server.port}${path}`, { method });
      let isQuiet = false;
      const retired = server.retire().then(() => (isQuiet = true));
      await Promise.resolve();
      await Promise.resolve();
      expect([path, isQuiet]).toEqual([path, !waits]);
      await retired;
    } finally {
      await server.cut();
    }
  }
});
