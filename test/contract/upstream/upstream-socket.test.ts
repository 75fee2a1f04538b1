// Behaviour that only the upstream client on sockets has: its connections, its retry, its timeouts, its decoding. The
// contract itself runs in upstream-client.test.ts.
import { describe, expect, test } from "bun:test";
import { heapStats } from "bun:jsc";
import { existsSync, readFileSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TLSSocket } from "node:tls";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import { VERSION } from "../../../src/core/version.ts";
import { UpstreamFault, type UpstreamClient } from "../../../src/wire/upstream.ts";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { fullBacklog } from "../store/full-backlog.ts";
import {
  CHUNKED_HEAD,
  LAST_CHUNK,
  answering,
  chunk,
  flood,
  plain,
  rawServer,
  serve,
  type RawRequest,
} from "./raw-server.ts";
import { CLOSE_MS, MEGABYTE, REQUEST_BODY, faultKind, faultOf, post, readAll, send } from "./upstream-calls.ts";
import { selfSigned } from "./upstream-tls.suite.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const SOCKET_UPSTREAM = new URL("../../../src/wire/http/upstream-socket.ts", import.meta.url).href;
const CALL = { connectTimeoutMs: 2_000, firstByteTimeoutMs: 3_000, betweenBytesTimeoutMs: 3_000 };

describe("requests", () => {
  test("name the gateway and ask for an unencoded answer, unless the caller says otherwise", async () => {
    await using server = await answering(plain("{}"));
    const client = createSocketUpstream();
    await post(client, server.url);
    await (
      await client.send(
        {
          url: server.url,
          headers: { "user-agent": "mine", accept: "text/event-stream", "accept-encoding": "gzip" },
          body: "{}",
        },
        { ...CALL, signal: new Cancellation(), partition: "p" },
      )
    ).body.text(10);
    const fields = (index: number): string[] =>
      (server.requests[index]?.head ?? "").split("\r\n").map((line) => line.toLowerCase());
    for (const line of [`user-agent: dragoman/${VERSION}`, "accept: */*", "accept-encoding: identity"])
      expect(fields(0)).toContain(line);
    expect(fields(1).filter((line) => /^(user-agent|accept|accept-encoding):/.test(line))).toEqual([
      "user-agent: mine",
      "accept: text/event-stream",
      "accept-encoding: gzip",
    ]);
  });

  test("keep their framing and their host, whatever the headers say", async () => {
    await using server = await answering(plain("{}"));
    const headers = {
      host: "elsewhere.example",
      "content-length": "1",
      "transfer-encoding": "chunked",
      connection: "close",
      expect: "100-continue",
      "x-kept": "yes",
    };
    await (
      await createSocketUpstream().send(
        { url: server.url, headers, body: REQUEST_BODY },
        { ...CALL, signal: new Cancellation(), partition: "p" },
      )
    ).body.text(10);
    const [request] = server.requests;
    expect(request?.body).toBe(REQUEST_BODY);
    expect(
      request?.head.match(/^(host|content-length|transfer-encoding|connection|expect|x-kept): *.*$/gim)?.toSorted(),
    ).toEqual(
      [
        `Content-Length: ${Buffer.byteLength(REQUEST_BODY)}`,
        `Host: 127.0.0.1:${server.port}`,
        "x-kept: yes",
      ].toSorted(),
    );
  });

  test("with a header that cannot be sent are an internal error, which does not contain its value, and are not sent", async () => {
    await using server = await answering(plain("{}"));
    const client = createSocketUpstream();
    const broken: Readonly<Record<string, string>>[] = [
      { "x-key": "secret\r\nx: y" },
      { "x-key": "secret\n" },
      { "x-key": "secret\0" },
      { "x-key": "secret\u{1f600}" },
      { "x-key": "secret\u010d" },
      { "x key": "secret" },
      { "x\r\n": "secret" },
      { "": "secret" },
      { "x:y": "secret" },
    ];
    for (const headers of broken) {
      const outcome = await client
        .send({ url: server.url, headers, body: "{}" }, { ...CALL, signal: new Cancellation(), partition: "p" })
        .catch((thrown: unknown) => thrown);
      expect(outcome).toBeInstanceOf(TypeError);
      expect((outcome as Error).message).not.toContain("secret");
    }
    expect(server.connections()).toBe(0);
  });

  test("carry Latin-1 header values as such, beside a body in UTF-8", async () => {
    const received: Buffer[] = [];
    const server = createServer((socket) => {
      socket.on("data", (bytes: Buffer) => {
        received.push(bytes);
        socket.write(plain("{}"));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    await (
      await createSocketUpstream().send(
        { url, headers: { "x-name": "K\xe4se" }, body: "ä世" },
        { ...CALL, signal: new Cancellation(), partition: "p" },
      )
    ).body.text(10);
    server.close();
    const bytes = Buffer.concat(received);
    expect(bytes.includes(Buffer.from("x-name: K\xe4se\r\n", "latin1"))).toBe(true);
    expect(bytes.subarray(-5).toString("utf8")).toBe("ä世");
  });

  test("of any size arrive completely at a peer that reads slowly", async () => {
    const body = "ä世x".repeat(1_500_000);
    await using server = await rawServer((socket, request) => void socket.write(plain(String(request.body === body))));
    const client = createSocketUpstream();
    const slow = createServer((socket) => {
      const through = createConnection(server.port, "127.0.0.1");
      through.on("data", (bytes) => socket.write(bytes));
      socket.on("data", (bytes) => {
        through.write(bytes);
        socket.pause();
        setTimeout(() => socket.resume(), 1);
      });
      socket.on("close", () => through.destroy());
      socket.on("error", () => undefined);
    });
    await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
    for (let index = 0; index < 2; index++) {
      const response = await client.send(
        { url, headers: {}, body },
        { ...CALL, firstByteTimeoutMs: 15_000, signal: new Cancellation(), partition: "p" },
      );
      expect(await response.body.text(10)).toBe("true");
    }
    slow.close();
  });

  test("that are refused before they were read get their answer, and the connection is not used again", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.pause();
        socket.write("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nlong");
        setTimeout(() => socket.destroy(), 20);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const client = createSocketUpstream();
    for (let index = 0; index < 5; index++) {
      const response = await client.send(
        { url, headers: {}, body: "x".repeat(20 * MEGABYTE) },
        { ...CALL, signal: new Cancellation(), partition: "p" },
      );
      expect([response.status, await response.body.text(10)]).toEqual([413, "long"]);
    }
    server.close();
  });

  test("to an invalid address are faults, also with a user name, which would be left out", async () => {
    const client = createSocketUpstream();
    for (const url of [
      "",
      "http:",
      "http://",
      "//x",
      "ftp://x/",
      "http://user@127.0.0.1:1/",
      "http://:secret@127.0.0.1:1/",
      "http://127.0.0.1:0/",
      "http://x y/",
      "http://%00/",
    ]) {
      const fault = await faultOf(send(client, url));
      expect([url, fault.kind]).toEqual([url, "connection"]);
      expect(fault.message).not.toContain("secret");
    }
  });

  test("go to an IPv6 address in a URL", async () => {
    const server = await rawServer((socket) => void socket.write(plain("six")), "::1").catch(() => null);
    if (server === null) return console.log("skipped: there is no IPv6 loopback here");
    await using _ = server;
    expect(await post(createSocketUpstream(), server.url)).toBe("six");
    expect(server.requests[0]?.head).toContain(`\r\nHost: [::1]:${server.port}`);
  });

  test("go to the address of a name that accepts a connection", async () => {
    await using server = await answering(plain("{}"));
    expect(await post(createSocketUpstream(), `http://localhost:${server.port}/`)).toBe("{}");
    expect(server.requests[0]?.head).toContain(`\r\nHost: localhost:${server.port}`);
  });

  test("[d4.2] count as handed over when the system has taken their last byte, and not before", async () => {
    const told: boolean[] = [];
    let isReading = false;
    const server = createServer((socket) => {
      socket.pause();
      // it takes the request only when the test says so
      const look = setInterval(() => {
        if (!isReading) return;
        clearInterval(look);
        socket.resume();
        socket.on("data", () => {});
      }, 5);
      socket.on("error", () => {});
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const leaving = new AbortController();
    const url = `http://127.0.0.1:${(server.address() as { readonly port: number }).port}/v1`;
    const call = {
      connectTimeoutMs: 5_000,
      firstByteTimeoutMs: 60_000,
      betweenBytesTimeoutMs: 60_000,
      signal: leaving.signal,
      partition: "p",
      onSent: (isSent: boolean) => void told.push(isSent),
    };
    const sending = createSocketUpstream()
      .send({ url, headers: {}, body: "x".repeat(64 * MEGABYTE) }, call)
      .catch(() => {});
    await Bun.sleep(100);
    expect(told).toEqual([]);
    isReading = true;
    await until(() => told.length > 0);
    expect(told).toEqual([true]);
    leaving.abort(new Error("the client left"));
    await sending;
    server.close();
  });

  test("[d4.2] no longer count as handed over where a reused connection turns out to be stale, until the repetition has been handed over", async () => {
    const told: boolean[] = [];
    await using server = await rawServer((socket, { connection, number }) => {
      if (connection === 1 && number > 1) socket.resetAndDestroy();
      else socket.write(plain("{}"));
    });
    const client = createSocketUpstream();
    await post(client, server.url);
    await post(client, server.url, { onSent: (isSent) => told.push(isSent) });
    expect(told).toEqual([true, false, true]);
  });
});

describe("connections", () => {
  test("are not used again when the answer says so, is of HTTP/1.0, or has a length beside chunks", async () => {
    const answers = [
      "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}",
      "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
      `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n${chunk("{}")}${LAST_CHUNK}`,
    ];
    for (const answer of answers) {
      await using server = await answering(answer);
      const client = createSocketUpstream();
      for (let index = 0; index < 3; index++) {
        expect(await post(client, server.url)).toBe("{}");
        await server.allClosed(CLOSE_MS);
      }
      expect(server.connections()).toBe(3);
    }
  });

  test("are reused last in, first out, one request at a time each", async () => {
    let under = 0;
    const busy = new Map<number, number>();
    let most = 0;
    await using server = await rawServer((socket, { connection }) => {
      under = (busy.get(connection) ?? 0) + 1;
      busy.set(connection, under);
      most = Math.max(most, under);
      setTimeout(() => {
        busy.set(connection, (busy.get(connection) ?? 0) - 1);
        socket.write(plain("{}"));
      }, 5);
    });
    const client = createSocketUpstream();
    for (let round = 0; round < 5; round++)
      await Promise.all(Array.from({ length: 20 }, () => post(client, server.url)));
    expect([server.connections(), most]).toEqual([20, 1]);
    const before = server.requests.length;
    for (let index = 0; index < 10; index++) {
      await post(client, server.url);
      await Bun.sleep(2);
    }
    expect(new Set(server.requests.slice(before).map(({ connection }) => connection)).size).toBe(1);
  });

  test("that are idle are bounded in number and in time, and closed in order", async () => {
    let ends = 0;
    await using server = await rawServer((socket, { number }) => {
      socket.on("end", () => ends++);
      setTimeout(() => socket.write(plain("{}")), number <= 10 ? 20 : 0);
    });
    const client = createSocketUpstream({ pool: { maxIdlePerTarget: 4, idleTimeoutMs: 1_500 } });
    await Promise.all(Array.from({ length: 10 }, () => post(client, server.url)));
    await until(() => server.open() === 4);
    expect(ends).toBe(6);
    await until(() => server.open() === 0);
    expect(ends).toBe(10);
    expect(await post(client, server.url)).toBe("{}");
  });

  test("that are idle are bounded over all origins and partitions together: the longest idle makes room", async () => {
    await using one = await answering(plain("{}"));
    await using other = await answering(plain("{}"));
    const client = createSocketUpstream({ pool: { maxIdle: 1 } });
    for (let index = 0; index < 3; index++)
      for (const server of [one, other]) expect(await post(client, server.url)).toBe("{}");
    await until(() => one.open() + other.open() === 1);
    expect([one.open(), other.open()]).toEqual([0, 1]);
    const others = createSocketUpstream({ pool: { maxIdle: 3 } });
    for (const partition of ["a", "b", "c", "d", "e"]) expect(await post(others, one.url, { partition })).toBe("{}");
    await until(() => one.open() === 3);
    const before = one.connections();
    for (const partition of ["c", "d", "e"]) expect(await post(others, one.url, { partition })).toBe("{}");
    expect(one.connections()).toBe(before);
    expect(await post(others, one.url, { partition: "a" })).toBe("{}");
    expect(one.connections()).toBe(before + 1);
  });

  test("are closed a little before the peer says that it does", async () => {
    await using server = await answering(plain("{}", "Keep-Alive: timeout=1\r\n"));
    const client = createSocketUpstream();
    await post(client, server.url);
    await server.allClosed(CLOSE_MS);
    await using longer = await answering(plain("{}", "Keep-Alive: timeout=2, max=100\r\n"));
    await post(client, longer.url);
    await post(client, longer.url);
    expect(longer.connections()).toBe(1);
    await Bun.sleep(1_050);
    await post(client, longer.url);
    expect(longer.connections()).toBe(2);
  });

  test("that the peer closes while they are idle are not used", async () => {
    for (const close of ["end", "reset", "talk"] as const) {
      const sockets: Socket[] = [];
      await using server = await rawServer((socket) => void (sockets.push(socket), socket.write(plain("{}"))));
      const client = createSocketUpstream();
      for (let index = 0; index < 3; index++) {
        await post(client, server.url);
        const socket = sockets.at(-1);
        if (close === "end") socket?.end();
        else if (close === "reset") socket?.resetAndDestroy();
        else socket?.write(plain("nobody asked"));
        await server.allClosed(CLOSE_MS);
      }
      expect([server.connections(), server.requests.length]).toEqual([3, 3]);
    }
  });

  test("do not keep the process alive while they are idle", async () => {
    await using server = await answering(plain("{}"));
    const program = `const { createSocketUpstream } = await import(${JSON.stringify(SOCKET_UPSTREAM)});
      const signal = new AbortController().signal;
      const response = await createSocketUpstream().send({ url: ${JSON.stringify(server.url)}, headers: {}, body: "{}" }, { connectTimeoutMs: 1000, firstByteTimeoutMs: 1000, betweenBytesTimeoutMs: 1000, signal });
      console.log(await response.body.text(10));`;
    const startedMs = performance.now();
    const run = Bun.spawn([process.execPath, "-e", program], { stdout: "pipe", stderr: "inherit" });
    expect([await run.stdout.text(), await run.exited]).toEqual(["{}\n", 0]);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  test("that hang are not attempted without end: after some, a probe that can be ended goes first", async () => {
    if (!existsSync(TCP_TABLE)) return console.log(`skipped: there is no ${TCP_TABLE} here to count connections in`);
    await using hole = await fullBacklog();
    if (hole.url === null) return console.log("skipped: the backlog of a listener could not be filled here");
    const client = createSocketUpstream();
    const { url } = hole;
    const before = socketsTo(hole.port);
    for (let round = 0; round < 6; round++) {
      const faults = await Promise.all(
        Array.from({ length: 10 }, () => faultOf(send(client, url, { connectTimeoutMs: 50 }))),
      );
      for (const fault of faults)
        expect([fault.kind, fault.message]).toEqual([
          "timeout",
          "connect: the provider accepted no connection within 50 ms",
        ]);
    }
    // The first sixteen, and those that set out with the last of them.
    expect(socketsTo(hole.port) - before).toBeLessThanOrEqual(25);
    // Through a probe, what answers again is reached.
    hole.accept();
    const answer = await untilFound(() =>
      post(client, url, { connectTimeoutMs: 500, firstByteTimeoutMs: 500 }).catch(() => null),
    );
    expect(answer).toBe("{}");
  });
});

describe("TLS", () => {
  const identity = selfSigned();
  const NAME = "pinned.example";
  if (identity === null) {
    console.log("skipped: there is no openssl command to make a certificate with");
    return;
  }
  const { cert: ca } = identity;
  const tlsServer = (answer: (socket: Socket, request: RawRequest) => void): ReturnType<typeof serve> => {
    const server = createTlsServer({ ...identity, ALPNProtocols: ["h2", "http/1.1"] });
    server.on("tlsClientError", () => undefined);
    return serve(server, "secureConnection", "https", answer);
  };
  const at = (port: number): string => `https://${NAME}:${port}/`;
  const pinned = { pinnedAddress: "127.0.0.1" };

  test("speaks HTTP/1.1 only, and keeps its connections", async () => {
    const protocols = new Set<unknown>();
    await using server = await tlsServer((socket) => {
      protocols.add((socket as TLSSocket).alpnProtocol);
      socket.write(plain("{}"));
    });
    const client = createSocketUpstream({ ca });
    for (let index = 0; index < 10; index++) expect(await post(client, at(server.port), pinned)).toBe("{}");
    expect([[...protocols], server.connections()]).toEqual([["http/1.1"], 1]);
  });

  test("carries large requests and answers, and holds back those that are not read", async () => {
    const body = "abcdefgh".repeat(MEGABYTE);
    await using server = await tlsServer((socket, request) => void socket.write(plain(request.body)));
    const client = createSocketUpstream({ ca });
    for (let index = 0; index < 2; index++) {
      const response = await client.send(
        { url: at(server.port), headers: {}, body },
        { ...CALL, ...pinned, firstByteTimeoutMs: 15_000, signal: new Cancellation(), partition: "p" },
      );
      await Bun.sleep(100);
      expect((await response.body.text(16 * MEGABYTE)) === body).toBe(true);
      response.body.accept();
    }
    expect(server.connections()).toBe(1);
  });

  test("that is cut by a reset is cut, also where the body has no framing", async () => {
    for (const bytes of ["HTTP/1.1 200 OK\r\n\r\nhello", CHUNKED_HEAD + chunk("hello")]) {
      await using server = await tlsServer((socket) => {
        socket.write(bytes);
        setTimeout(() => socket.resetAndDestroy(), 30);
      });
      expect(await faultKind(post(createSocketUpstream({ ca }), at(server.port), pinned))).toBe("cut");
    }
  });

  test("whose other side never answers counts as connecting, and ends with the connect timeout or the caller's signal", async () => {
    await using server = await rawServer(() => undefined);
    const client = createSocketUpstream({ ca });
    const fault = await faultOf(send(client, at(server.port), { ...pinned, connectTimeoutMs: 100 }));
    expect([fault.kind, fault.message]).toEqual([
      "timeout",
      "connect: the provider accepted no connection within 100 ms",
    ]);
    await server.allClosed(CLOSE_MS);
    const leaving = new Cancellation();
    const call = send(client, at(server.port), { ...pinned, signal: leaving }).catch((thrown: unknown) => thrown);
    await until(() => server.open() === 1);
    leaving.abort("left");
    expect(await call).toBe("left");
    await server.allClosed(CLOSE_MS);
  });

  test("reports why it failed, by code", async () => {
    await using server = await tlsServer((socket) => void socket.write(plain("{}")));
    const message = async (client: UpstreamClient, name: string): Promise<string> =>
      (await faultOf(send(client, `https://${name}:${server.port}/`, pinned))).message;
    expect(await message(createSocketUpstream({ ca }), "other.example")).toContain("(ERR_TLS_CERT_ALTNAME_INVALID)");
    expect(await message(createSocketUpstream(), NAME)).toMatch(
      /\((DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN)\)/,
    );
    expect(server.requests).toEqual([]);
  });

  test("is checked even though the environment says that it need not be", async () => {
    await using server = await tlsServer((socket) => void socket.write(plain("secret")));
    const program = `const { createSocketUpstream } = await import(${JSON.stringify(SOCKET_UPSTREAM)});
      const signal = new AbortController().signal;
      const call = { connectTimeoutMs: 1000, firstByteTimeoutMs: 1000, betweenBytesTimeoutMs: 1000, signal, partition: "p", pinnedAddress: "127.0.0.1" };
      console.log(await createSocketUpstream().send({ url: ${JSON.stringify(at(server.port))}, headers: {}, body: "{}" }, call).then(() => "answered", (fault) => fault.kind));`;
    const run = Bun.spawn([process.execPath, "-e", program], {
      env: { ...process.env, NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      stdout: "pipe",
      stderr: "pipe",
    });
    expect(await run.stdout.text()).toBe("connection\n");
    expect(server.requests).toEqual([]);
  });
});

describe("the one repetition", () => {
  /** Answers the first request of each connection and closes on the second without a byte, after `waitMs`. */
  const closingOnReuse = (waitMs: number, bytes = ""): Promise<Awaited<ReturnType<typeof rawServer>>> => {
    const seen = new Set<number>();
    return rawServer((socket, { connection }) => {
      if (!seen.has(connection)) {
        seen.add(connection);
        socket.write(plain("{}"));
        return;
      }
      if (bytes !== "") socket.write(bytes);
      setTimeout(() => socket.destroy(), waitMs);
    });
  };

  test("happens on a new connection when a reused one dies without a byte", async () => {
    await using server = await closingOnReuse(10);
    const client = createSocketUpstream();
    for (let index = 0; index < 6; index++) {
      expect(await post(client, server.url)).toBe("{}");
      await Bun.sleep(5);
    }
    expect([server.connections(), server.requests.length]).toEqual([6, 11]);
  });

  test("does not happen on a new connection, after a byte of an answer, or when the peer had time to work", async () => {
    await using fresh = await rawServer((socket) => void socket.destroy());
    expect(await faultKind(send(createSocketUpstream(), fresh.url))).toBe("connection");
    expect([fresh.connections(), fresh.requests.length]).toEqual([1, 1]);

    for (const [waitMs, bytes] of [
      [20, "H"],
      [20, "HTTP/1.1 103 Early Hints\r\n\r\n"],
      [1_100, ""],
    ] as const) {
      await using server = await closingOnReuse(waitMs, bytes);
      const client = createSocketUpstream();
      expect(await post(client, server.url)).toBe("{}");
      await Bun.sleep(5);
      expect(await faultKind(send(client, server.url))).toBe("connection");
      expect([server.connections(), server.requests.length]).toEqual([1, 2]);
    }
  });

  test("a call that follows in the same turn of the loop sees a close that came with the answer, and sends nothing there", async () => {
    // The peer takes no second request, and answers one with a reset.
    await using server = await rawServer((socket) => void socket.end(plain("{}")));
    const client = createSocketUpstream();
    for (let index = 0; index < 40; index++) expect(await post(client, server.url)).toBe("{}");
    expect([server.connections(), server.requests.length]).toEqual([40, 40]);
  });
});

describe("bodies", () => {
  const text = "hello, world. ".repeat(5_000);

  test("that end with their connection are complete after an end and cut after a reset", async () => {
    await using ended = await answering("HTTP/1.1 200 OK\r\n\r\nhello", "end");
    await using reset = await answering("HTTP/1.1 200 OK\r\n\r\nhello", "reset");
    for (const reading of [
      (client: ReturnType<typeof createSocketUpstream>, url: string) => post(client, url),
      (client: ReturnType<typeof createSocketUpstream>, url: string) => send(client, url).then(readAll),
    ]) {
      expect(await reading(createSocketUpstream(), ended.url)).toBe("hello");
      expect(await faultKind(reading(createSocketUpstream(), reset.url))).toBe("cut");
    }
  });

  test("that end with their connection are cut by a reset also while their request is being sent", async () => {
    const body = "x".repeat(6 * MEGABYTE);
    for (let last = 2; last <= 24; last++) {
      let [reads, readBytes] = [0, 0];
      const server = createServer((socket) =>
        socket
          .on("error", () => socket.destroy())
          .on("data", ({ length }) => {
            readBytes += length;
            if (++reads === 1) socket.write("HTTP/1.1 200 OK\r\n\r\nhalf");
            if (reads !== last && readBytes < body.length) return;
            socket.write("way");
            socket.resetAndDestroy();
          }),
      );
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const answer = send(createSocketUpstream(), url, {}, { body }).then(readAll);
      // a reset may overtake the head
      expect(["cut", "connection"]).toContain(await faultKind(answer));
      server.close();
    }
  });
  test("in every encoding, in chunks of any size, complete, and cut anywhere", async () => {
    const encodings: readonly (readonly [string, Buffer])[] = [
      ["gzip", gzipSync(text)],
      ["X-GZip", gzipSync(text)],
      ["deflate", deflateSync(text)],
      ["deflate", deflateRawSync(text)],
      ["br", brotliCompressSync(text)],
      ["identity", Buffer.from(text)],
    ];
    const client = createSocketUpstream();
    for (const [encoding, bytes] of encodings) {
      const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\n`;
      const inChunks = (size: number): Buffer =>
        Buffer.concat([
          ...Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
            bytes.subarray(index * size, (index + 1) * size),
          ).flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from("\r\n")]),
          Buffer.from(LAST_CHUNK),
        ]);
      const whole = [
        Buffer.concat([Buffer.from(`${head}Content-Length: ${bytes.length}\r\n\r\n`), bytes]),
        ...[7, 1_000].map((size) =>
          Buffer.concat([Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`), inChunks(size)]),
        ),
      ];
      for (const answer of whole) {
        await using server = await answering(answer);
        for (let index = 0; index < 2; index++) {
          expect(await post(client, server.url)).toBe(text);
          expect(await send(client, server.url).then(readAll)).toBe(text);
        }
        // Each was read to its end, so one connection was enough.
        expect(server.connections()).toBe(1);
      }
      if (encoding === "identity") continue;
      for (const length of [1, 5, Math.floor(bytes.length / 2), bytes.length - 1]) {
        for (const framing of ["", `Content-Length: ${length}\r\n`, `Content-Length: ${bytes.length}\r\n`]) {
          await using server = await answering(
            Buffer.concat([Buffer.from(`${head}${framing}\r\n`), bytes.subarray(0, length)]),
            "end",
          );
          expect(["cut", "malformed"]).toContain(await faultKind(post(client, server.url)));
          expect(["cut", "malformed"]).toContain(await faultKind(send(client, server.url).then(readAll)));
        }
      }
    }
  });

  test("in an unknown encoding are malformed, and empty ones are empty", async () => {
    const client = createSocketUpstream();
    for (const encoding of ["compress", "gzip, br", "zstd", "rot13"]) {
      await using server = await answering(plain("hello", `Content-Encoding: ${encoding}\r\n`));
      expect(await faultKind(post(client, server.url))).toBe("malformed");
    }
    await using empty = await answering(plain("", "Content-Encoding: gzip\r\n"));
    expect([await post(client, empty.url), await (await send(client, empty.url)).body.read()]).toEqual(["", null]);
  });

  test("that go on after the end of the compressed data are never complete, and do not go on for ever", async () => {
    const client = createSocketUpstream();
    for (const [encoding, bytes] of [
      ["gzip", gzipSync(text)],
      ["deflate", deflateSync(text)],
      ["br", brotliCompressSync(text)],
    ] as const) {
      const start = Buffer.concat([
        Buffer.from(
          `${CHUNKED_HEAD.replace("\r\n\r\n", `\r\nContent-Encoding: ${encoding}\r\n\r\n`)}${bytes.length.toString(16)}\r\n`,
        ),
        bytes,
        Buffer.from("\r\n"),
      ]);
      await using whole = await answering(Buffer.concat([start, Buffer.from(LAST_CHUNK)]));
      expect(await post(client, whole.url)).toBe(text);
      for (const rest of [chunk("j") + LAST_CHUNK, chunk("junk") + chunk("more of it") + LAST_CHUNK]) {
        await using server = await answering(Buffer.concat([start, Buffer.from(rest)]));
        for (let index = 0; index < 3; index++)
          expect(["malformed", "cut"]).toContain(await faultKind(post(client, server.url)));
      }
      await using endless = await rawServer(
        (socket) => void (socket.write(start), flood(socket, Buffer.from(chunk("x".repeat(4_096))))),
      );
      expect(["malformed", "cut"]).toContain(await faultKind(post(client, endless.url)));
      await endless.allClosed(CLOSE_MS);
    }
  });

  test("that are compressed, and left by their reader or by the caller's signal, end like others", async () => {
    const answer = Buffer.concat([
      Buffer.from(`${CHUNKED_HEAD.replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n")}400\r\n`),
      gzipSync(Buffer.from(Array.from({ length: 200_000 }, (_, index) => index % 251))).subarray(0, 0x400),
      Buffer.from("\r\n"),
    ]);
    await using server = await answering(answer);
    const client = createSocketUpstream();
    const left = new Cancellation();
    const { body } = await send(client, server.url, { signal: left });
    const pending = (async () => {
      for (;;) await body.read();
    })().catch((thrown: unknown) => thrown);
    await Bun.sleep(20);
    left.abort("left");
    expect([
      await pending,
      await body.read().catch((thrown: unknown) => thrown),
      await body.text(10).catch((thrown: unknown) => thrown),
    ]).toEqual(["left", "left", "left"]);
    await server.allClosed(CLOSE_MS);
    const { body: cancelled } = await send(client, server.url);
    await cancelled.read();
    const reading = faultKind(readAll({ status: 200, header: () => null, body: cancelled }));
    cancelled.cancel();
    expect([await reading, await faultKind(cancelled.read())]).toEqual(["cut", "cut"]);
    await server.allClosed(CLOSE_MS);
  });

  test("[d8.5] that are not read stop the connection, and arrive completely when they are read", async () => {
    const total = 24 * MEGABYTE;
    const block = Buffer.alloc(64 * 1024, "abcdefgh");
    let sent = (): number => 0;
    await using server = await rawServer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${total}\r\n\r\n`);
      sent = flood(socket, block, total);
    });
    const client = createSocketUpstream();
    for (const round of [1, 2]) {
      const { body } = await send(client, server.url);
      await Bun.sleep(200);
      expect(sent()).toBeLessThan(total);
      let bytes = 0;
      for (let part = await body.read(); part !== null; part = await body.read()) {
        for (let at = 0; at < part.length; at += 4_099)
          if (part[at] !== 97 + ((bytes + at) % 8)) throw new Error(`a wrong byte at ${bytes + at}`);
        bytes += part.length;
        if (bytes < 2 * MEGABYTE) await Bun.sleep(1);
      }
      expect([round, bytes]).toEqual([round, total]);
      body.accept();
    }
    expect(server.connections()).toBe(1);
  });

  test("that wait for their reader are complete although the peer has closed", async () => {
    for (const size of [1_000, 3 * MEGABYTE]) {
      await using server = await answering(`HTTP/1.1 200 OK\r\n\r\n${"x".repeat(size)}`, "end");
      const { body } = await send(createSocketUpstream(), server.url);
      await Bun.sleep(150);
      expect((await body.text(4 * MEGABYTE)).length).toBe(size);
    }
  });

  test("are read by one reader at a time", async () => {
    await using server = await answering(CHUNKED_HEAD);
    const { body } = await send(createSocketUpstream(), server.url);
    const first = faultKind(body.read());
    expect(await body.read().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error);
    body.cancel();
    expect(await first).toBe("cut");
  });
});

describe("any peer", () => {
  test("arbitrary bytes as an answer end in an answer or a fault, within the clocks", async () => {
    let next: { readonly pieces: readonly Uint8Array[]; readonly close: boolean } = { pieces: [], close: true };
    await using server = await rawServer((socket) => {
      const { pieces, close } = next;
      for (const piece of pieces) socket.write(piece);
      if (close) socket.end();
    });
    const client = createSocketUpstream();
    const parts = fc.constantFrom(
      "HTTP/1.1 200 OK\r\n",
      "HTTP/1.1 100 Continue\r\n\r\n",
      "Content-Length: 5\r\n",
      "Transfer-Encoding: chunked\r\n",
      "Content-Encoding: gzip\r\n",
      "Connection: close\r\n",
      "\r\n",
      "5\r\nhello\r\n",
      "0\r\n\r\n",
      "hello",
      "\0",
    );
    const pieces = fc.array(
      fc.oneof(
        { weight: 5, arbitrary: parts.map((part) => Buffer.from(part)) },
        { weight: 1, arbitrary: fc.uint8Array({ minLength: 1, maxLength: 20 }) },
      ),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(pieces, fc.boolean(), fc.boolean(), async (bytes, close, whole) => {
        next = { pieces: bytes, close };
        const outcome = await send(client, server.url, { firstByteTimeoutMs: 25, betweenBytesTimeoutMs: 25 })
          .then((response) => (whole ? response.body.text(MEGABYTE) : readAll(response)))
          .catch((thrown: unknown) => thrown);
        if (typeof outcome !== "string") expect(outcome).toBeInstanceOf(UpstreamFault);
      }),
      { numRuns: 250 },
    );
    await until(() => server.open() <= 1);
  });

  test("thousands of calls with cuts, resets, silence and callers that leave hold nothing when they are over", async () => {
    // what the peer does is asked for by the last part of the path; 4 and 5 fall silent
    await using server = await rawServer((socket, { head }) => {
      switch (Number(/^POST \S*\/(\d) /.exec(head)?.[1])) {
        case 0:
          return void socket.write(plain("{}"));
        case 1:
          return void socket.write(CHUNKED_HEAD + chunk("hello") + LAST_CHUNK);
        case 2:
          return void socket.end(CHUNKED_HEAD + chunk("hello"));
        case 3:
          return void (socket.write("HTTP/1.1 200 OK\r\nContent-Le"), setImmediate(() => socket.resetAndDestroy()));
        case 4:
          return void socket.write(CHUNKED_HEAD + chunk("hello"));
        case 5:
          return undefined;
        case 6:
          return void socket.write(plain(gzipSync("hello"), "Content-Encoding: gzip\r\n"));
        case 7:
          return void socket.write("no HTTP\r\n\r\n");
        default:
          return void socket.end();
      }
    });
    const client = createSocketUpstream();
    const stray: unknown[] = [];
    const keep = (reason: unknown): void => void stray.push(reason);
    process.on("unhandledRejection", keep);
    const ends = new Map<string, number>();
    const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1);
    const call = async (index: number): Promise<void> => {
      const leaving = new Cancellation();
      const asked = index % 9;
      const timeoutMs = asked === 4 || asked === 5 ? 15 : 5_000;
      const timer =
        (index + Math.floor(index / 9)) % 3 === 0 ? setTimeout(() => leaving.abort("left"), index % 7) : undefined;
      try {
        const response = await send(client, `${server.url}/${asked}`, {
          signal: leaving,
          firstByteTimeoutMs: timeoutMs,
          betweenBytesTimeoutMs: timeoutMs,
        });
        if (index % 5 === 0) response.body.cancel();
        else if (index % 2 === 0) await response.body.text(100).then(() => response.body.accept());
        else await readAll(response);
        count("answer");
      } catch (thrown) {
        if (!(thrown instanceof UpstreamFault) && thrown !== "left") throw thrown;
        count(thrown instanceof UpstreamFault ? thrown.kind : "left");
      }
      clearTimeout(timer);
    };
    const round = async (): Promise<void> => {
      for (let index = 0; index < 1_500; index += 50)
        await Promise.all(Array.from({ length: 50 }, (_, offset) => call(index + offset)));
      await Bun.sleep(30);
    };
    const kept = (): { readonly objects: number; readonly bytes: number } => {
      Bun.gc(true);
      const { objectTypeCounts, heapSize } = heapStats();
      return {
        objects:
          (objectTypeCounts["Exchange"] ?? 0) +
          (objectTypeCounts["ResponseParser"] ?? 0) +
          (objectTypeCounts["DecodedBody"] ?? 0),
        bytes: heapSize,
      };
    };
    await round();
    const before = kept();
    for (let rounds = 0; rounds < 3; rounds++) await round();
    const after = kept();
    process.off("unhandledRejection", keep);
    expect(stray).toEqual([]);
    for (const end of ["answer", "connection", "timeout", "malformed", "cut", "left"])
      expect([end, (ends.get(end) ?? 0) > 100]).toEqual([end, true]);
    expect(after.objects - before.objects).toBeLessThan(20);
    expect(after.bytes - before.bytes).toBeLessThan(4 * MEGABYTE);
    expect(server.open()).toBeLessThanOrEqual(50);
  });
});

const TCP_TABLE = "/proc/self/net/tcp";
/** Sockets of this machine that are connected, or on their way, to this port. */
function socketsTo(port: number): number {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return readFileSync(TCP_TABLE, "utf8")
    .split("\n")
    .filter((line) => line.trim().split(/\s+/)[2]?.endsWith(suffix) === true).length;
}
