// Faults of a proxy: it refuses, lies, stalls and breaks off. What is the same with and without a proxy is in
// upstream-client.test.ts and upstream-tunnel.test.ts.
import { describe, expect, test } from "bun:test";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { until } from "../../harness/time/until.ts";
import { forwardProxy } from "./forward-proxy.ts";
import { answering, plain, rawServer, tlsServers } from "./raw-server.ts";
import { CLOSE_MS, faultKind, faultOf, post, send, readAll } from "./upstream-calls.ts";
import { selfSigned } from "./upstream-tls.suite.ts";

const PROVIDER = "https://provider.example/v1/chat";
const through = (url: string, exceptions = "", ca?: string): UpstreamClient =>
  createSocketUpstream({ proxy: { url, exceptions }, ...(ca === undefined ? {} : { ca }) });

/** A proxy that answers each CONNECT with these bytes, and then does `then`. */
const answeringProxy = (bytes: string | Buffer, then?: "end" | "reset") =>
  forwardProxy({
    answerConnect: (socket) => {
      socket.write(bytes);
      if (then === "end") socket.end();
      if (then === "reset") setTimeout(() => socket.resetAndDestroy(), 30);
    },
  });

describe("a proxy that opens no tunnel", () => {
  const NEEDED = "requires credentials (status 407): put them into that setting";
  const NOT_BASIC = "accepts no basic credentials (status 407)";
  const answers: readonly (readonly [title: string, bytes: string | Buffer, words: string, then?: "end" | "reset"])[] =
    [
      ["407", 'HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm="x"\r\nContent-Length: 0\r\n\r\n', NEEDED],
      ["407 without a challenge", "HTTP/1.1 407 No\r\nContent-Length: 4\r\n\r\nlong", NEEDED],
      ["407 for other schemes", "HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate, NTLM\r\n\r\n", NOT_BASIC],
      ["407 for several", "HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\nProxy-Authenticate: BASIC\r\n\r\n", NEEDED],
      [
        "403",
        "HTTP/1.1 403 Forbidden\r\n\r\n<html>",
        "status 403: its rules have to allow the provider's host and port",
      ],
      ["405", "HTTP/1.1 405 No\r\n\r\n", "status 405: check that it is a forward proxy"],
      ["502", "HTTP/1.0 502 Bad Gateway\r\n\r\n", "status 502: it could not reach the provider"],
      ["418", "HTTP/1.1 418 Teapot\r\n\r\n", "status 418"],
      ["302", "HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n", "status 302"],
      ["101", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "not valid HTTP"],
      ["HTML", "<html><body>It works!</body></html>\r\n\r\n", "not valid HTTP"],
      ["binary garbage", Buffer.from([0, 1, 2, 255, 13, 10, 13, 10]), "not valid HTTP"],
      ["two status lines", "HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\n\r\n", "not valid HTTP"],
      ["bare line feeds", "HTTP/1.1 200 OK\n\n", "not valid HTTP"],
      ["a head of 100 KB", `HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n\r\n`, "not valid HTTP"],
      ["many informational heads", "HTTP/1.1 100 Continue\r\n\r\n".repeat(17), "not valid HTTP"],
      ["bytes behind the head", "HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "sent bytes into the tunnel"],
      ["a body behind the head", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "sent bytes into the tunnel"],
      ["nothing, and closes", "", "closed the connection instead of opening a tunnel", "end"],
      ["nothing, and resets", "", "closed the connection instead of opening a tunnel", "reset"],
      ["half a head, and closes", "HTTP/1.1 200 O", "closed the connection instead of opening a tunnel", "end"],
    ];
  for (const [title, bytes, words, then] of answers)
    test(`answers ${title}: a connection fault that says so, and nothing was sent`, async () => {
      await using proxy = await answeringProxy(bytes, then);
      const sent: boolean[] = [];
      const fault = await faultOf(send(through(proxy.url), PROVIDER, { onSent: (isSent) => sent.push(isSent) }));
      expect([fault.kind, sent]).toEqual(["connection", []]);
      expect(fault.message).toContain("the gateway's proxy (server.upstream_proxy)");
      expect(fault.message).toContain(words);
      expect(fault.message).not.toContain("127.0.0.1");
      await until(() => proxy.open() === 0);
    });

  test("refuses its credentials, and no message or cause contains them", async () => {
    await using proxy = await answeringProxy("HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\n\r\n");
    const fault = await faultOf(send(through(proxy.url.replace("//", "//mallory:s3cr%40t@")), PROVIDER));
    expect(proxy.heads[0]).toContain(`\r\nProxy-Authorization: Basic ${btoa("mallory:s3cr@t")}`);
    expect(fault.message).toContain("refused the user name and password of that setting");
    expect(`${fault.message} ${Bun.inspect(fault)}`).not.toMatch(/mallory|s3cr|bWFsbG9yeTpzM2NyQHQ=/);
  });

  test("sends its answer in single bytes: read like any other", async () => {
    const trickle = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n";
    await using proxy = await forwardProxy({
      answerConnect: async (socket) => {
        for (const byte of trickle) {
          socket.write(byte);
          await new Promise((resume) => setImmediate(resume));
        }
      },
    });
    expect((await faultOf(send(through(proxy.url), PROVIDER))).message).toContain("status 403");
  });

  test("is silent, or drips its answer: a connect timeout, and the connection is closed", async () => {
    const dripping = (socket: Socket): void => {
      socket.write("HTTP/1.1 200 OK\r\nX: ");
      const drip = setInterval(() => socket.write("a"), 10);
      socket.on("close", () => clearInterval(drip));
    };
    for (const answerConnect of [() => undefined, dripping]) {
      await using proxy = await forwardProxy({ answerConnect });
      const fault = await faultOf(send(through(proxy.url), PROVIDER, { connectTimeoutMs: 100 }));
      expect([fault.kind, fault.message]).toEqual([
        "timeout",
        "connect: the gateway's proxy (server.upstream_proxy) opened no tunnel to the provider within 100 ms",
      ]);
      await until(() => proxy.open() === 0);
    }
  });

  test("is unreachable, or is no https proxy: a connection fault of the proxy", async () => {
    const gone = await answeringProxy("");
    await gone[Symbol.asyncDispose]();
    for (const url of [PROVIDER, "http://provider.example/v1"])
      expect((await faultOf(send(through(gone.url), url))).message).toBe(
        "the gateway's proxy (server.upstream_proxy) could not be reached (ECONNREFUSED)",
      );
    await using plainText = await answeringProxy("HTTP/1.1 200 OK\r\n\r\n");
    const fault = await faultOf(
      send(through(plainText.url.replace("http:", "https:")), PROVIDER, { connectTimeoutMs: 1_000 }),
    );
    expect(fault.message).toContain("the gateway's proxy (server.upstream_proxy)");
  });
});

describe("a tunnel", () => {
  test("that leads to no TLS, or ends in the handshake, is a fault of the provider behind the proxy", async () => {
    for (const then of ["junk", "end", "reset", "silence"] as const) {
      await using proxy = await forwardProxy({
        answerConnect: (socket) => {
          socket.write("HTTP/1.1 200 OK\r\n\r\n");
          socket.once("data", () => {
            if (then === "junk") socket.write("HTTP/1.1 400 Bad Request\r\n\r\n");
            else if (then === "end") socket.end();
            else if (then === "reset") socket.resetAndDestroy();
          });
        },
      });
      const fault = await faultOf(send(through(proxy.url), PROVIDER, { connectTimeoutMs: 300 }));
      expect([then, fault.kind]).toEqual([then, then === "silence" ? "timeout" : "connection"]);
      expect(fault.message).toMatch(/through the gateway's proxy \(server\.upstream_proxy\)/);
      await until(() => proxy.open() === 0);
    }
  });

  test("is closed at once when the caller leaves, in each step of connecting", async () => {
    for (const step of ["before the answer", "in the handshake"] as const) {
      const leave = new AbortController();
      const reason = new Error("the client left");
      await using proxy = await forwardProxy({
        answerConnect: (socket) => {
          if (step === "before the answer") leave.abort(reason);
          else {
            socket.write("HTTP/1.1 200 OK\r\n\r\n");
            socket.once("data", () => leave.abort(reason));
          }
        },
      });
      expect(
        await send(through(proxy.url), PROVIDER, { signal: leave.signal }).catch((thrown: unknown) => thrown),
      ).toBe(reason);
      await until(() => proxy.open() === 0);
    }
  });

  const identity = selfSigned("DNS:provider.example,IP:127.0.0.1");
  if (identity === null) {
    console.log("skipped: there is no openssl command to make a certificate with");
    return;
  }

  test("carries no credentials of the proxy, and the proxy sees no request", async () => {
    await using provider = await tlsServers(identity).answering(plain("{}"));
    await using proxy = await forwardProxy();
    const client = through(proxy.url.replace("//", "//user:pass@"), "", identity.cert);
    const request = { headers: { "proxy-authorization": "Basic eA==", "x-api-key": "k" } };
    for (let index = 0; index < 3; index++)
      expect(await readAll(await send(client, provider.url, {}, request))).toBe("{}");
    expect(proxy.heads).toEqual([
      `CONNECT 127.0.0.1:${provider.port} HTTP/1.1\r\nHost: 127.0.0.1:${provider.port}\r\nProxy-Authorization: Basic ${btoa("user:pass")}`,
    ]);
    for (const { head } of provider.requests) expect(head).not.toMatch(/proxy-/i);
  });

  test("[d2.12] leads to the checked address, and the certificate has to name the host of the URL", async () => {
    await using provider = await tlsServers(identity).answering(plain("{}"));
    await using proxy = await forwardProxy();
    const client = through(proxy.url, "", identity.cert);
    const pinned = { pinnedAddress: "127.0.0.1" };
    expect(await post(client, `https://provider.example:${provider.port}/`, pinned)).toBe("{}");
    expect(proxy.heads[0]).toStartWith(`CONNECT 127.0.0.1:${provider.port} `);
    expect((await faultOf(send(client, `https://other.example:${provider.port}/`, pinned))).message).toContain(
      "ERR_TLS_CERT_ALTNAME_INVALID",
    );
    expect(await faultKind(send(through(proxy.url), `https://provider.example:${provider.port}/`, pinned))).toBe(
      "connection",
    );
    expect(provider.requests.length).toBe(1);
  });

  test("[d2.9] serves one partition and one origin", async () => {
    const answer = (socket: Socket, { connection }: { readonly connection: number }): void =>
      void socket.write(plain(String(connection)));
    await using provider = await tlsServers(identity).rawServer(answer);
    await using other = await tlsServers(identity).rawServer(answer);
    await using proxy = await forwardProxy();
    const client = through(proxy.url, "", identity.cert);
    const seen: string[] = [];
    for (let round = 0; round < 3; round++)
      for (const [url, partition] of [
        [provider.url, "a"],
        [provider.url, "b"],
        [other.url, "a"],
      ] as const)
        seen.push(await post(client, url, { partition }));
    expect(seen).toEqual(["1", "2", "1", "1", "2", "1", "1", "2", "1"]);
    expect(proxy.heads.length).toBe(3);
  });

  test("through an https proxy checks the proxy's certificate too", async () => {
    await using provider = await tlsServers(identity).answering(plain("{}"));
    const proxyIdentity = selfSigned("DNS:proxy.example")!;
    await using proxy = await forwardProxy({ identity: proxyIdentity });
    const client = through(proxy.url, "", identity.cert + proxyIdentity.cert);
    const fault = await faultOf(send(client, provider.url));
    expect(fault.message).toBe(
      "the gateway's proxy (server.upstream_proxy) could not be reached (ERR_TLS_CERT_ALTNAME_INVALID)",
    );
    expect(proxy.heads).toEqual([]);
  });
});

describe("a request that a proxy forwards", () => {
  test("has the credentials for the proxy only, and the proxy's 407 is a fault, not the provider's answer", async () => {
    await using provider = await answering(plain("{}"));
    await using proxy = await forwardProxy();
    expect(await post(through(proxy.url.replace("//", "//user:pass@")), provider.url)).toBe("{}");
    expect(proxy.heads[0]).toStartWith(`POST ${provider.url} HTTP/1.1\r\nHost: 127.0.0.1:${provider.port}\r\nProxy-A`);
    expect(provider.requests[0]?.head).not.toMatch(/proxy-/i);

    await using refusing = await answering(
      "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno",
    );
    const client = through(new URL(refusing.url).origin);
    const sent: boolean[] = [];
    const fault = await faultOf(send(client, provider.url, { onSent: (isSent) => sent.push(isSent) }));
    expect([fault.kind, sent]).toEqual(["connection", [true, false]]);
    expect(fault.message).toContain("requires credentials (status 407)");
    await refusing.allClosed(CLOSE_MS);
    // A provider that is called directly may answer with 407 too.
    expect((await send(createSocketUpstream(), refusing.url)).status).toBe(407);
  });

  test("[d2.9] shares its connection with its own partition and origin only", async () => {
    await using proxy = await rawServer((socket, { connection }) => void socket.write(plain(String(connection))));
    const client = through(`http://127.0.0.1:${proxy.port}`);
    const seen: string[] = [];
    for (let round = 0; round < 3; round++)
      for (const [url, partition] of [
        ["http://one.example/v1", "a"],
        ["http://one.example/v2", "a"],
        ["http://one.example/v1", "b"],
        ["http://two.example/v1", "a"],
      ] as const)
        seen.push(await post(client, url, { partition }));
    expect(seen.slice(0, 4)).toEqual(["1", "1", "2", "3"]);
    expect(seen).toEqual([...seen.slice(0, 4), ...seen.slice(0, 4), ...seen.slice(0, 4)]);
  });
});

describe("hosts that are called directly", () => {
  test("are those of the exceptions, and the variables of the process's environment change nothing", async () => {
    await using provider = await answering(plain("direct"));
    await using proxy = await answering(plain("through the proxy"));
    const url = new URL(proxy.url).origin;
    expect(await post(through(url), provider.url)).toBe("through the proxy");
    expect(await post(through(url, "127.0.0.0/8"), provider.url)).toBe("direct");
    const before = { ...process.env };
    Object.assign(process.env, { HTTP_PROXY: url, http_proxy: url, ALL_PROXY: url, NO_PROXY: "*" });
    try {
      expect(await post(createSocketUpstream(), provider.url)).toBe("direct");
      expect(await post(through(url), provider.url)).toBe("through the proxy");
    } finally {
      for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "NO_PROXY"]) {
        if (before[name] === undefined) delete process.env[name];
        else process.env[name] = before[name];
      }
    }
  });
});

test("thousands of refused, cut and abandoned tunnels leave nothing open", async () => {
  let count = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    socket.once("data", () => {
      switch (count++ % 5) {
        case 0:
          return void socket.write("HTTP/1.1 403 No\r\n\r\n");
        case 1:
          return void socket.write("HTTP/1.1 200 OK\r\n\r\n");
        case 2:
          return void socket.resetAndDestroy();
        case 3:
          return void socket.write("HTTP/1.1 2");
        default:
          return void (socket.write("HTTP/1.1 200 OK\r\n\r\n"), socket.end());
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = through(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (let round = 0; round < 20; round++)
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => {
        const leave = new AbortController();
        if (index % 3 === 0) setTimeout(() => leave.abort("left"), index % 7);
        await send(client, PROVIDER, { signal: leave.signal, connectTimeoutMs: 100 }).catch(() => undefined);
      }),
    );
  await until(() => sockets.size === 0);
  server.close();
});
