// What every upstream client does, tested with real sockets on which the peer misbehaves. The port is
// src/wire/upstream.ts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import type { UpstreamFault, UpstreamFaultKind } from "../../../src/wire/upstream.ts";
import { checkHangingCalls } from "./hanging-calls.ts";
import { CHUNKED_HEAD, LAST_CHUNK, PLAIN_SERVERS, chunk, flood, plain, type RawServers } from "./raw-server.ts";
import { CLOSE_MS, MEGABYTE, REQUEST_BODY, faultKind, faultOf, post, readAll, send } from "./upstream-calls.ts";
import type { ClientAndServers, MakeUpstreamClient } from "./upstream-calls.ts";
import { upstreamConnectionSuite } from "./upstream-connection.suite.ts";
import { upstreamTlsSuite } from "./upstream-tls.suite.ts";

export function upstreamClientSuite(
  name: string,
  makeClient: MakeUpstreamClient,
  { servers = PLAIN_SERVERS, isProxied = false }: { servers?: RawServers; isProxied?: boolean } = {},
): void {
  describe(`upstream client: ${name}`, () => {
    const all: ClientAndServers = { client: makeClient(), isProxied, ...servers };
    const stray: unknown[] = [];
    const keep = (reason: unknown): void => void stray.push(reason);
    beforeAll(() => void process.on("unhandledRejection", keep));
    afterAll(async () => {
      Bun.gc(true);
      await Bun.sleep(50);
      process.off("unhandledRejection", keep);
      expect(stray).toEqual([]);
    });

    answersSuite(all);
    headSuite(all);
    bodySuite(all);
    clocksSuite(all);
    upstreamConnectionSuite(all);
    upstreamTlsSuite(makeClient);
    test("three hundred hanging calls delay no other", () => checkHangingCalls(all));
  });
}

const answersSuite = ({ client, answering, rawServer }: ClientAndServers): void =>
  describe("requests and answers", () => {
    test("one POST with headers, Host, Content-Length and the body in UTF-8", async () => {
      await using server = await answering(plain("{}"));
      await post(client, server.url);
      const [request] = server.requests;
      expect(request?.head).toMatch(/^POST \/v1\/chat HTTP\/1\.1\r\n/);
      expect(request?.head).toMatch(/\r\nx-api-key: key-of-the-provider(\r\n|$)/i);
      expect(request?.head).toMatch(new RegExp(`\r\nhost: 127\\.0\\.0\\.1:${server.port}(\r\n|$)`, "i"));
      expect(request?.head).toMatch(new RegExp(`\r\ncontent-length: ${Buffer.byteLength(REQUEST_BODY)}(\r\n|$)`, "i"));
      expect(request?.body).toBe(REQUEST_BODY);
      expect(server.requests.length).toBe(1);
    });

    test("a long body of bytes is sent completely, several times at once from the same memory, to a peer that reads slowly", async () => {
      const bytes = new Uint8Array(8 * MEGABYTE).map((_, index) => (index * 31 + (index >> 8)) % 251);
      const digest = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");
      const server = createServer((request, response) => {
        const hash = createHash("sha256");
        request.on("data", (data: Buffer) => {
          hash.update(data);
          request.pause();
          setImmediate(() => request.resume());
        });
        request.on("end", () => response.end(hash.digest("hex")));
      });
      await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
      let sent = 0;
      const onSent = (isSent: boolean): void => void (sent += isSent ? 1 : 0);
      const answers = await Promise.all(
        Array.from({ length: 5 }, async () => {
          const { body } = await send(client, url, { onSent }, { bytes });
          return body.text(1_000);
        }),
      );
      expect(answers).toEqual(Array.from({ length: 5 }, () => digest(bytes)));
      expect(sent).toBe(5);
      server.close();
    });

    test("status and headers are returned, whatever the status", async () => {
      for (const status of [200, 201, 400, 401, 404, 429, 500, 503, 529, 599]) {
        await using server = await answering(
          `HTTP/1.1 ${status} Words\r\nRetry-After: 7\r\nX-Two: a\r\nX-Two: b\r\nContent-Length: 2\r\n\r\n{}`,
        );
        const response = await send(client, server.url);
        expect([
          response.status,
          response.header("retry-after"),
          response.header("x-two"),
          response.header("x-none"),
        ]).toEqual([status, "7", "a, b", null]);
        expect(await response.body.text(10)).toBe("{}");
      }
    });

    test("[d2.12] redirects are answers and are not followed, so that no credential is sent elsewhere", async () => {
      await using other = await answering(plain("stolen"));
      for (const status of [301, 302, 303, 307, 308]) {
        await using server = await answering(
          `HTTP/1.1 ${status} Moved\r\nLocation: ${other.url}\r\nContent-Length: 0\r\n\r\n`,
        );
        const response = await send(client, server.url);
        expect([response.status, response.header("location"), await response.body.text(10)]).toEqual([
          status,
          other.url,
          "",
        ]);
      }
      expect(other.requests).toEqual([]);
    });

    test("204 and 304 have no body, and informational answers are skipped", async () => {
      for (const status of [204, 304]) {
        await using server = await answering(`HTTP/1.1 ${status} Words\r\n\r\n`);
        const response = await send(client, server.url);
        expect([response.status, await response.body.read(), await response.body.text(10)]).toEqual([status, null, ""]);
      }
      await using server = await answering(
        Buffer.concat([
          Buffer.from("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
          plain("late"),
        ]),
      );
      expect(await post(client, server.url)).toBe("late");
    });

    test("text is UTF-8 without a byte order mark, wrong bytes replaced, the same for every framing and size", async () => {
      for (const size of [0, 100, 3 * 64 * 1024]) {
        const bytes = Buffer.concat([
          Buffer.from([0xef, 0xbb, 0xbf]),
          Buffer.from("ä世🙂"),
          Buffer.from([0xff]),
          Buffer.from("x".repeat(size)),
        ]);
        const chunked = Buffer.concat([
          Buffer.from(`${CHUNKED_HEAD}${bytes.length.toString(16)}\r\n`),
          bytes,
          Buffer.from(`\r\n${LAST_CHUNK}`),
        ]);
        for (const answer of [plain(bytes), chunked, plain(gzipSync(bytes), "Content-Encoding: gzip\r\n")]) {
          await using server = await answering(answer);
          expect(await post(client, server.url)).toBe(`ä世🙂\ufffd${"x".repeat(size)}`);
        }
      }
    });

    test("text continues where reading stopped, and after the end there is no more", async () => {
      await using server = await rawServer((socket) => {
        socket.write(CHUNKED_HEAD + chunk("one "));
        setTimeout(() => socket.write(chunk("two ") + chunk("three") + LAST_CHUNK), 30);
      });
      const { body } = await send(client, server.url);
      expect(Buffer.from((await body.read()) ?? []).toString()).toBe("one ");
      expect(await body.text(100)).toBe("two three");
      expect([await body.read(), await body.read(), await body.text(10)]).toEqual([null, null, ""]);
    });
  });

const headSuite = ({ client, answering, rawServer }: ClientAndServers): void =>
  describe("heads that are not HTTP", () => {
    const malformed: Readonly<Record<string, string>> = {
      HTML: "<html><body>It works!</body></html>\r\n\r\n",
      words: "SSH-2.0-OpenSSH_9.9\r\n\r\n",
      "two status lines": "HTTP/1.1 200 OK\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
      "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!",
      "a length in words": "HTTP/1.1 200 OK\r\nContent-Length: two\r\n\r\nhi",
      "an unrequested switch of protocols":
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
      "a transfer encoding under the chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n",
      "one header of 100 KB": `HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\nContent-Length: 200\r\n\r\nhi`,
      "many headers of 100 KB together": `HTTP/1.1 200 OK\r\n${Array.from({ length: 100 }, (_, index) => `X-${index}: ${"a".repeat(1_000)}\r\n`).join("")}Content-Length: 200\r\n\r\nhi`,
    };
    for (const [title, bytes] of Object.entries(malformed)) {
      test(`${title}: malformed, and the connection is closed`, async () => {
        await using server = await answering(bytes);
        expect(await faultKind(send(client, server.url))).toBe("malformed");
        await server.allClosed(CLOSE_MS);
      });
    }

    test("binary garbage is a fault", async () => {
      await using server = await answering(Buffer.from([0, 1, 2, 0xff, 13, 10, 13, 10]), "end");
      expect(["malformed", "connection"]).toContain(await faultKind(send(client, server.url)));
    });

    test("an endless line is abandoned", async () => {
      for (const start of ["HTTP/1.1 200 OK\r\nX: ", ""]) {
        let sent = (): number => 0;
        await using server = await rawServer((socket) => {
          socket.write(start);
          sent = flood(socket, Buffer.alloc(64 * 1024, "a"), 64 * MEGABYTE);
        });
        expect(await faultKind(send(client, server.url))).toBe("malformed");
        await server.allClosed(CLOSE_MS);
        expect(sent()).toBeLessThan(32 * MEGABYTE);
      }
    });

    test("a head just under 64 KiB is accepted", async () => {
      await using server = await answering(plain("ok", `X: ${"a".repeat(63 * 1024)}\r\n`));
      expect(await post(client, server.url)).toBe("ok");
    });
  });

const bodySuite = ({ client, answering }: ClientAndServers): void =>
  describe("bodies that break off", () => {
    const gzipped = gzipSync(Buffer.from("hello, world. ".repeat(2_000)));
    const inGzip = (framing: string, bytes: Uint8Array): Buffer =>
      Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n${framing}\r\n`), bytes]);
    const cut: readonly (readonly [title: string, bytes: string | Uint8Array, kinds: readonly UpstreamFaultKind[]])[] =
      [
        ["fewer bytes than Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhello", ["cut"]],
        [
          "fewer bytes than a large Content-Length",
          `HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n${"x".repeat(100_000)}`,
          ["cut"],
        ],
        ["no body at all", "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n", ["cut"]],
        ["chunks without the last one", CHUNKED_HEAD + chunk("hello"), ["cut"]],
        ["half a chunk", `${CHUNKED_HEAD}a\r\nhello`, ["cut"]],
        ["gzip cut by its framing", inGzip(`Content-Length: ${gzipped.length}\r\n`, gzipped.subarray(0, -10)), ["cut"]],
        [
          "gzip cut inside whole framing",
          inGzip(`Content-Length: ${gzipped.length - 10}\r\n`, gzipped.subarray(0, -10)),
          ["malformed", "cut"],
        ],
        ["invalid gzip", inGzip("Content-Length: 20\r\n", Buffer.alloc(20, "x")), ["malformed"]],
      ];
    for (const [title, bytes, kinds] of cut) {
      test(`${title}: never a complete answer, read or as text`, async () => {
        for (const then of ["end", "reset"] as const) {
          await using server = await answering(bytes, then);
          expect(kinds).toContain(await faultKind(post(client, server.url)));
          expect(kinds).toContain(await faultKind(send(client, server.url).then(readAll)));
        }
      });
    }

    test("gzip that ends with its connection and is cut: never a complete answer", async () => {
      await using server = await answering(inGzip("", gzipped.subarray(0, -10)), "end");
      expect(await faultKind(post(client, server.url))).toBe("cut");
    });

    test("a chunk size that is not a number is malformed", async () => {
      await using server = await answering(`${CHUNKED_HEAD}${chunk("hello")}words\r\nhello\r\n`);
      expect(await faultKind(post(client, server.url))).toBe("malformed");
    });

    test("the bytes before the cut are read, then every read throws the same fault", async () => {
      await using server = await answering(CHUNKED_HEAD + chunk("hello"), "reset");
      const { body } = await send(client, server.url);
      expect(Buffer.from((await body.read()) ?? []).toString()).toBe("hello");
      const fault = await faultOf(body.read());
      expect(fault.kind).toBe("cut");
      expect(await faultOf(body.read())).toBe(fault);
      expect(await faultOf(body.text(10))).toBe(fault);
    });

    test("text above its bound is too large, by Content-Length before any byte and by count without it", async () => {
      const body = "x".repeat(1_001);
      for (const answer of [
        plain(body),
        CHUNKED_HEAD + chunk(body) + LAST_CHUNK,
        plain(gzipSync(Buffer.from(body)), "Content-Encoding: gzip\r\n"),
      ]) {
        await using server = await answering(answer);
        expect(await faultKind(send(client, server.url).then((response) => response.body.text(1_000)))).toBe(
          "too_large",
        );
        expect(await (await send(client, server.url)).body.text(1_001)).toBe(body);
      }
    });

    test("a length beside chunks does not evade the bound", async () => {
      await using server = await answering(
        `HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n${chunk("x".repeat(5_000))}${LAST_CHUNK}`,
      );
      const outcome = await send(client, server.url)
        .then((response) => response.body.text(1_000))
        .catch((thrown: unknown) => (thrown as UpstreamFault).kind);
      expect(["too_large", "malformed"]).toContain(outcome);
    });
  });

const clocksSuite = ({ client, answering, rawServer }: ClientAndServers): void =>
  describe("timeouts", () => {
    const timedOut = async (promise: Promise<unknown>, earliestMs: number): Promise<string> => {
      const startedMs = performance.now();
      const fault = await faultOf(promise);
      expect(fault.kind).toBe("timeout");
      expect(performance.now() - startedMs).toBeGreaterThan(earliestMs - 5);
      return fault.message;
    };

    test("no head, and half a head that drips, end in a timeout that is named", async () => {
      await using silent = await rawServer(() => undefined);
      expect(
        await timedOut(send(client, silent.url, { connectTimeoutMs: 100, firstByteTimeoutMs: 150 }), 150),
      ).toContain("first byte");
      await silent.allClosed(CLOSE_MS);
      await using dripping = await rawServer((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nX: ");
        const drip = setInterval(() => socket.write("a"), 20);
        socket.on("close", () => clearInterval(drip));
      });
      expect(
        await timedOut(send(client, dripping.url, { connectTimeoutMs: 100, firstByteTimeoutMs: 150 }), 150),
      ).toContain("first byte");
    });

    test("a body that pauses ends in a timeout that is named, read or as text, whatever its framing", async () => {
      for (const answer of [
        CHUNKED_HEAD + chunk("hello"),
        "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhello",
        `HTTP/1.1 200 OK\r\nContent-Length: 500000\r\n\r\n${"x".repeat(1_000)}`,
      ]) {
        await using server = await answering(answer);
        const responses = await Promise.all([
          send(client, server.url, { betweenBytesTimeoutMs: 200 }),
          send(client, server.url, { betweenBytesTimeoutMs: 200 }),
        ]);
        const messages = await Promise.all([
          timedOut(responses[0].body.text(MEGABYTE), 200),
          timedOut(readAll(responses[1]), 200),
        ]);
        expect(messages.map((message) => message.includes("between bytes"))).toEqual([true, true]);
        await server.allClosed(CLOSE_MS);
      }
    });

    test("a slow body is complete as long as no single pause is too long", async () => {
      await using server = await rawServer((socket) => {
        socket.write(CHUNKED_HEAD);
        let left = 8;
        const sending = setInterval(() => {
          socket.write(left > 0 ? chunk("x") : LAST_CHUNK);
          if (left-- === 0) clearInterval(sending);
        }, 300);
      });
      expect(
        await post(client, server.url, {
          connectTimeoutMs: 2_000,
          firstByteTimeoutMs: 2_000,
          betweenBytesTimeoutMs: 2_000,
        }),
      ).toBe("xxxxxxxx");
    });

    test("the pause of a reader does not count", async () => {
      await using server = await rawServer((socket) => {
        socket.write(CHUNKED_HEAD + chunk("one"));
        setTimeout(() => socket.write(chunk("two") + LAST_CHUNK), 100);
      });
      const { body } = await send(client, server.url, { betweenBytesTimeoutMs: 700 });
      await body.read();
      await Bun.sleep(1_400);
      expect(await body.text(10)).toBe("two");
    });
  });
