// The part of the contract of upstream clients that is about connections: making, leaving and keeping them, and what they hold in memory.
import type { UpstreamBody } from "../../../src/wire/upstream.ts";
import { describe, expect, test } from "bun:test";
import { getEventListeners } from "node:events";
import { constants, deflateRawSync } from "node:zlib";
import { fullBacklog } from "../store/full-backlog.ts";
import { CHUNKED_HEAD, LAST_CHUNK, chunk, flood, plain } from "./raw-server.ts";
import {
  CLOSE_MS,
  type ClientAndServers,
  MEGABYTE,
  faultKind,
  faultOf,
  post,
  readAll,
  send,
} from "./upstream-calls.ts";
import { until } from "../../harness/time/until.ts";

export function upstreamConnectionSuite(all: ClientAndServers): void {
  connectionSuite(all);
  sendingSuite(all);
  cancellationSuite(all);
  reuseSuite(all);
  partitionSuite(all);
  memorySuite(all);
}

const connectionSuite = ({ client, answering }: ClientAndServers): void =>
  describe("connecting", () => {
    test("refused connections, unknown names and addresses other than http are connection faults", async () => {
      const server = await answering(plain("{}"));
      await server[Symbol.asyncDispose]();
      expect(await faultKind(send(client, server.url))).toBe("connection");
      expect(await faultKind(send(client, "http://no-such-host.invalid/v1"))).toBe("connection");
      expect(await faultKind(send(client, "file:///etc/hostname"))).toBe("connection");
      expect(await faultKind(send(client, "data:text/plain,x"))).toBe("connection");
    });

    test("a fault's message names neither host nor address", async () => {
      for (const url of ["http://no-such-host.invalid/v1", "http://127.0.0.1:1/v1"])
        expect((await faultOf(send(client, url))).message).not.toMatch(/no-such-host|127\.0\.0\.1/);
    });

    test("a listener that accepts no connection ends in a timeout", async () => {
      await using hole = await fullBacklog();
      if (hole.url === null) return console.log("skipped: the backlog of a listener could not be filled here");
      const fault = await faultOf(send(client, hole.url, { connectTimeoutMs: 100, firstByteTimeoutMs: 200 }));
      expect(fault.kind).toBe("timeout");
    });

    const headless = {
      "closed before the head": "",
      "closed in the status line": "HTTP/1.",
      "closed in the head": "HTTP/1.1 200 OK\r\nContent-Le",
    };
    for (const [title, bytes] of Object.entries(headless)) {
      test(`${title}: a connection fault`, async () => {
        for (const then of ["end", "reset"] as const) {
          await using server = await answering(bytes, then);
          expect(await faultKind(send(client, server.url))).toBe("connection");
          expect(server.requests.length).toBeLessThanOrEqual(2);
        }
      });
    }
  });

/** What is reported of the request of a call: whether it was handed over. */
const sendingSuite = ({ client, isProxied, answering, rawServer }: ClientAndServers): void =>
  describe("sending", () => {
    test("[d4.2] the request counts as handed over before the head comes, also for a call that ends", async () => {
      const told: boolean[] = [];
      const leaving = new AbortController();
      await using server = await rawServer(() => {
        expect(told).toEqual([true]);
        leaving.abort(new Error("the client left"));
      });
      await send(client, server.url, { signal: leaving.signal, onSent: (isSent) => told.push(isSent) }).catch(() => {});
      expect(told).toEqual([true]);
    });

    test("[d4.2] without a connection, nothing counts as handed over in the end", async () => {
      const server = await answering(plain("{}"));
      await server[Symbol.asyncDispose]();
      for (const url of [server.url, "http://no-such-host.invalid/v1"]) {
        const told: boolean[] = [];
        await send(client, url, { onSent: (isSent) => told.push(isSent) }).catch(() => {});
        // A proxy forwards requests to http addresses, and has this one.
        expect(told.at(-1) ?? false).toBe(isProxied && url.startsWith("http:"));
      }
    });

    test("[d7.7] the reader of a text may end it after each read", async () => {
      await using server = await rawServer((socket) => {
        socket.write(CHUNKED_HEAD);
        flood(socket, Buffer.from(chunk("x".repeat(16_384))));
      });
      const seen: number[] = [];
      const response = await send(client, server.url);
      const fault = await faultOf(response.body.text(64 * MEGABYTE, (bytes) => seen.push(bytes) < 3));
      expect([fault.kind, seen.length]).toEqual(["too_large", 3]);
    });
  });

const cancellationSuite = ({ client, answering, rawServer }: ClientAndServers): void =>
  describe("leaving", () => {
    const reason = new Error("the client left");

    test("a signal that has fired before sends nothing", async () => {
      await using server = await answering(plain("{}"));
      expect(
        await send(client, server.url, { signal: AbortSignal.abort(reason) }).catch((thrown: unknown) => thrown),
      ).toBe(reason);
      expect(server.connections()).toBe(0);
    });

    test("[d7.7] the signal ends a call before the head and closes its connection at once", async () => {
      await using server = await rawServer(() => undefined);
      const leave = new AbortController();
      const call = send(client, server.url, { signal: leave.signal }).catch((thrown: unknown) => thrown);
      await until(() => server.requests.length > 0);
      leave.abort(reason);
      expect(await call).toBe(reason);
      await server.allClosed(CLOSE_MS);
    });

    test("[d7.7] the signal ends a body, while it is read and while it is not", async () => {
      for (const reading of [true, false]) {
        await using server = await answering(CHUNKED_HEAD + chunk("hello"));
        const leave = new AbortController();
        const { body } = await send(client, server.url, { signal: leave.signal });
        await body.read();
        const pending = reading ? body.read().catch((thrown: unknown) => thrown) : undefined;
        leave.abort(reason);
        await server.allClosed(CLOSE_MS);
        if (pending !== undefined) expect(await pending).toBe(reason);
        expect(await body.read().catch((thrown: unknown) => thrown)).toBe(reason);
        expect(await body.text(10).catch((thrown: unknown) => thrown)).toBe(reason);
      }
    });

    test("[d7.7] the signal ends a text that is awaited", async () => {
      for (const answer of [CHUNKED_HEAD + chunk("hello"), "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhello"]) {
        await using server = await answering(answer);
        const leave = new AbortController();
        const { body } = await send(client, server.url, { signal: leave.signal });
        const text = body.text(100).catch((thrown: unknown) => thrown);
        await Bun.sleep(20);
        leave.abort(reason);
        expect(await text).toBe(reason);
        await server.allClosed(CLOSE_MS);
      }
    });

    test("cancel closes the connection, before the first read, while reading and in an endless body", async () => {
      await using server = await rawServer(
        (socket) => void (socket.write(CHUNKED_HEAD), flood(socket, Buffer.from(chunk("x".repeat(4_096))))),
      );
      await using quiet = await answering(CHUNKED_HEAD);
      (await send(client, server.url)).body.cancel();
      await server.allClosed(CLOSE_MS);
      const endless = await send(client, server.url);
      await endless.body.read();
      endless.body.cancel();
      endless.body.cancel();
      await server.allClosed(CLOSE_MS);
      const { body } = await send(client, quiet.url);
      const pending = faultKind(body.read());
      body.cancel();
      await quiet.allClosed(CLOSE_MS);
      // Nobody takes a body that was cancelled for a whole one.
      expect([await pending, await faultKind(body.read()), await faultKind(body.text(10))]).toEqual([
        "cut",
        "cut",
        "cut",
      ]);
    });

    test("cancel and the signal after the end change nothing, and the connection is used again", async () => {
      await using server = await answering(plain("{}"));
      const leave = new AbortController();
      for (let index = 0; index < 3; index++) {
        const { body } = await send(client, server.url, { signal: leave.signal });
        expect(await body.text(10)).toBe("{}");
        body.accept();
        body.cancel();
        expect(await body.read()).toBeNull();
      }
      leave.abort(reason);
      await Bun.sleep(20);
      expect(await post(client, server.url)).toBe("{}");
      expect(server.connections()).toBe(1);
    });

    test("nothing stays on the caller's signal, however a call ends", async () => {
      await using server = await rawServer((socket, request) => {
        const kind = request.number % 5;
        if (kind === 0) socket.write(plain("{}"));
        else if (kind === 1) socket.write(CHUNKED_HEAD + chunk("hello") + LAST_CHUNK);
        else if (kind === 2) socket.end(CHUNKED_HEAD + chunk("hello"));
        else if (kind === 3) socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        else socket.write("<html><body>It works!</body></html>\r\n\r\n");
      });
      const { signal } = new AbortController();
      for (let index = 0; index < 25; index++) {
        const { body } = (await send(client, server.url, { signal }).catch(() => undefined)) ?? {};
        if (index % 2 === 0) await body?.text(index % 4 === 0 ? 100 : 1).catch(() => undefined);
        else body?.cancel();
      }
      await faultOf(send(client, "http://127.0.0.1:1/", { signal }));
      await faultOf(send(client, "file:///x", { signal }));
      await faultOf(send(client, server.url, { signal, pinnedAddress: "no address" }));
      expect(getEventListeners(signal, "abort")).toEqual([]);
    });
  });

const reuseSuite = ({ client, rawServer }: ClientAndServers): void =>
  describe("connections that are used again", () => {
    test("many calls go over one connection, read or as text", async () => {
      await using server = await rawServer(
        (socket, request) =>
          void socket.write(request.number % 2 === 0 ? plain("{}") : CHUNKED_HEAD + chunk("{}") + LAST_CHUNK),
      );
      for (let index = 0; index < 40; index++)
        expect(await (index % 3 === 0 ? send(client, server.url).then(readAll) : post(client, server.url))).toBe("{}");
      expect([server.connections(), server.requests.length]).toEqual([1, 40]);
    });

    test("a server that closes after each answer without saying so costs no call", async () => {
      await using server = await rawServer((socket) => void socket.end(plain("{}")));
      for (let index = 0; index < 60; index++) expect(await post(client, server.url)).toBe("{}");
      expect(server.requests.length).toBe(60);
    });

    test("a server that closes a kept connection just as the next request comes costs no call", async () => {
      for (const close of ["end", "reset"] as const) {
        const asked = new Map<number, number>();
        await using server = await rawServer((socket, { connection }) => {
          const before = asked.get(connection) ?? 0;
          asked.set(connection, before + 1);
          if (before === 0) socket.write(plain("{}"));
          else if (close === "end") socket.end();
          else socket.resetAndDestroy();
        });
        for (let index = 0; index < 20; index++) expect(await post(client, server.url)).toBe("{}");
      }
    });

    test("a request that was received and processed is not sent again when the connection breaks", async () => {
      await using server = await rawServer((socket) => void setTimeout(() => socket.resetAndDestroy(), 1_300));
      expect(await faultKind(send(client, server.url, { firstByteTimeoutMs: 5_000 }))).toBe("connection");
      expect(server.requests.length).toBe(1);
    });

    test("bytes after a complete answer on the same connection become no call's answer", async () => {
      await using server = await rawServer(
        (socket, request) =>
          void socket.write(
            request.number === 1 ? Buffer.concat([plain("first"), plain("smuggled")]) : plain("second"),
          ),
      );
      expect(await post(client, server.url)).toBe("first");
      expect(await post(client, server.url)).toBe("second");
    });
  });

/** Says on which connection a request came. */
const whichConnection = (number: number): Buffer => plain(String(number));

const MISFRAMED: Readonly<Record<string, string>> = {
  "a 204 with a length": "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n",
  "a 204 in chunks": "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
  "a 304 that no condition asked for": "HTTP/1.1 304 Not Modified\r\n\r\n",
  "a 304 with a length": "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n",
};

const partitionSuite = ({ client, rawServer }: ClientAndServers): void =>
  describe("connections that are reused", () => {
    test("[d2.9] stay within one partition: neither another tenant nor another credential gets them", async () => {
      await using server = await rawServer((socket, { connection }) => void socket.write(whichConnection(connection)));
      const on = new Map<string, Set<string>>();
      for (let round = 0; round < 5; round++)
        for (const partition of ["a", "b", "a\nkey"]) {
          const seen = on.get(partition) ?? new Set<string>();
          on.set(partition, seen.add(await post(client, server.url, { partition })));
        }
      expect([...on.values()].map(({ size }) => size)).toEqual([1, 1, 1]);
      expect(server.connections()).toBe(3);
    });

    for (const [title, judge] of Object.entries<(body: UpstreamBody) => void>({
      "nobody has judged": () => {},
      "its reader has cancelled": (body) => body.cancel(),
    }))
      test(`[d2.9] serve no other request behind an answer that ${title}, whole as it is`, async () => {
        await using server = await rawServer(
          (socket, { connection }) => void socket.write(whichConnection(connection)),
        );
        for (const expected of ["1", "2", "3"]) {
          const { body } = await send(client, server.url);
          expect(await body.text(10)).toBe(expected);
          judge(body);
        }
      });

    test("[d2.9] serve again when the answer was accepted before its end", async () => {
      const ends: (() => void)[] = [];
      await using server = await rawServer((socket, { connection }) => {
        socket.write(CHUNKED_HEAD + chunk(String(connection)));
        ends.push(() => void socket.write(LAST_CHUNK));
      });
      for (const expected of ["1", "1"]) {
        const { body } = await send(client, server.url);
        expect(Buffer.from((await body.read())!).toString()).toBe(expected);
        body.accept();
        ends.pop()!();
        expect(await body.read()).toBeNull();
      }
    });

    for (const [title, answer] of Object.entries(MISFRAMED))
      test(`are closed after ${title}`, async () => {
        await using server = await rawServer(
          (socket, { number, connection }) => void socket.write(number === 1 ? answer : whichConnection(connection)),
        );
        expect(await post(client, server.url)).toBe("");
        expect(await post(client, server.url)).toBe("2");
      });

    test("are closed when unrequested bytes arrive on them", async () => {
      await using server = await rawServer((socket, { number, connection }) => {
        socket.write(whichConnection(connection));
        if (number === 1) setTimeout(() => socket.write(plain("of another")), 20);
      });
      expect(await post(client, server.url)).toBe("1");
      await server.allClosed(CLOSE_MS);
      expect(await post(client, server.url)).toBe("2");
    });
  });

const memorySuite = ({ client, rawServer }: ClientAndServers): void =>
  describe("memory", () => {
    const residentBytes = (): number => {
      Bun.gc(true);
      return process.memoryUsage.rss();
    };

    test("[d8.5] a reader that stops also stops an endless body, and memory stays flat", async () => {
      let sent = (): number => 0;
      await using server = await rawServer(
        (socket) =>
          void (socket.write(CHUNKED_HEAD),
          (sent = flood(socket, Buffer.from(chunk("x".repeat(64 * 1024))), 1024 * MEGABYTE))),
      );
      const before = residentBytes();
      const { body } = await send(client, server.url);
      for (let index = 0; index < 3; index++) await body.read();
      // What the kernel and one buffer of the client take is taken at once; then nothing more.
      let held = -1;
      for (let waits = 0; held !== sent(); waits++) {
        expect(waits).toBeLessThan(20);
        held = sent();
        await Bun.sleep(250);
      }
      expect(held).toBeLessThan(64 * MEGABYTE);
      expect(residentBytes() - before).toBeLessThan(96 * MEGABYTE);
      body.cancel();
      await server.allClosed(CLOSE_MS);
    });

    test("a gzip bomb against text(maxBytes) is too large, and memory stays flat", async () => {
      const bomb = gzipBomb();
      await using server = await rawServer(
        (socket) =>
          void socket.write(Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"), bomb])),
      );
      const before = residentBytes();
      const { body } = await send(client, server.url);
      expect(await faultKind(body.text(MEGABYTE))).toBe("too_large");
      expect(process.memoryUsage.rss() - before).toBeLessThan(96 * MEGABYTE);
      await server.allClosed(CLOSE_MS);
    });

    test("a thousand calls with every kind of end leave no connection behind", async () => {
      await using server = await rawServer(
        (socket, request) => void socket.write(request.number % 2 === 0 ? plain("{}") : CHUNKED_HEAD + chunk("hello")),
      );
      for (let round = 0; round < 20; round++) {
        await Promise.all(
          Array.from({ length: 50 }, async () => {
            const { body } = await send(client, server.url);
            await body.read();
            body.cancel();
          }),
        );
      }
      expect(server.requests.length).toBe(1_000);
      // Only connections that are kept for the next call; those of unfinished bodies are gone.
      await until(() => server.open() <= 64);
    });
  });

/** 1 GiB of zeros in 1 MB of gzip: a header and one block over and over, which a full flush makes independent of what was before. */
function gzipBomb(): Buffer {
  const block = deflateRawSync(Buffer.alloc(MEGABYTE), { level: 9, finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]), ...Array<Uint8Array>(1_024).fill(block)]);
}
