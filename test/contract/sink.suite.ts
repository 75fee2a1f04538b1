// What every sink does, whatever its protocol: it delivers all of a batch, reports whether a retry can help, ends
// within its time, and sends no content that it was not given. Sinks over HTTP also survive receivers that are dead,
// slow or faulty.
import { describe, expect, test } from "bun:test";
import type { CallContent } from "../../src/core/configured/content.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { type RecordedCall, type Sink, SinkFault } from "../../src/observe/integrations/sink.ts";
import { recordOf } from "./store/call-records.ts";
import { rawServer, type RawServer } from "./upstream/raw-server.ts";

/** One call as the receiver has it. */
export interface ReceivedCall {
  readonly traceId: string;
  /** `metadata` of the client, decoded. */
  readonly metadata: unknown;
}

export interface Receiving {
  readonly sink: Sink;
  /** What was received so far, decoded, in order. */
  readonly calls: () => Promise<readonly ReceivedCall[]>;
  /** All of it as text, decompressed and decoded as far as it can be searched. */
  readonly text: () => Promise<string>;
  readonly end: () => Promise<void>;
}

const SAID = "a secret that nobody but the receiver may read";
const CONTENT: CallContent = {
  messages: [{ role: "user", content: SAID }],
  tools: [],
  answers: [{ index: 0, content: "its answer", reasoning: null, refusal: null, toolCalls: [], finishReason: "stop" }],
};

export function recordedCalls(count: number, parts: Parameters<typeof recordOf>[0] = {}): readonly RecordedCall[] {
  return Array.from({ length: count }, () => ({ record: recordOf(parts), content: null }));
}

/** As the parser of a request makes it: an own member of that name, and 32 objects one in the other. */
function awkwardMetadata(): JsonObject {
  const deep = `${'{"in":'.repeat(31)}{"end":true}${"}".repeat(31)}`;
  return JSON.parse(
    `{"__proto__":{"polluted":true},"constructor":{"prototype":1},"trace_id":"not ours","level":"mine","empty":"","number":1e21,"quoted":"a\\"b\\\\c\\n\\u2028","deep":${deep}}`,
  ) as JsonObject;
}

export function sinkSuite(name: string, open: () => Promise<Receiving>): void {
  const opened = async (run: (receiving: Receiving) => Promise<void>): Promise<void> => {
    const receiving = await open();
    try {
      await run(receiving);
    } finally {
      await receiving.sink.close();
      await receiving.end();
    }
  };
  describe(`${name}, as every sink`, () => {
    test("[d11.4] delivers all of a batch, and of the next one", () =>
      opened(async ({ sink, calls }) => {
        const first = recordedCalls(7);
        const second = recordedCalls(1);
        await sink.deliver(first, AbortSignal.timeout(5000));
        await sink.deliver(second, AbortSignal.timeout(5000));
        expect((await calls()).map(({ traceId }) => traceId).toSorted()).toEqual(
          [...first, ...second].map(({ record }) => record.traceId).toSorted(),
        );
      }));
    test("[d11.1] the client's metadata arrives unchanged, with names of prototypes and 32 levels, and is mixed with nothing", () =>
      opened(async ({ sink, calls }) => {
        const metadata = awkwardMetadata();
        const sent = recordedCalls(1, { metadata });
        await sink.deliver(sent, AbortSignal.timeout(5000));
        const [received] = await calls();
        expect(JSON.stringify(received!.metadata)).toBe(JSON.stringify(metadata));
        expect(received!.traceId).toBe(sent[0]!.record.traceId);
        expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
      }));
    test("[d11.3] text of prompts and answers is delivered where it is passed in, and nowhere else", async () => {
      await opened(async ({ sink, text }) => {
        await sink.deliver(recordedCalls(3), AbortSignal.timeout(5000));
        expect(await text()).not.toContain(SAID);
      });
      await opened(async ({ sink, text }) => {
        await sink.deliver([{ ...recordedCalls(1)[0]!, content: CONTENT }], AbortSignal.timeout(5000));
        expect(await text()).toContain(SAID);
        expect(await text()).toContain("its answer");
      });
    });
    test("accepts calls of every kind: refused at once, cut, cancelled, without usage", () =>
      opened(async ({ sink, calls }) => {
        const kinds: readonly RecordedCall[] = [
          {
            record: recordOf({
              status: 401,
              code: "invalid_token",
              tenantId: null,
              projectId: null,
              tokenId: null,
              provider: null,
              model: null,
              route: null,
              modelAsked: null,
              tokens: null,
              costNanoUsd: null,
            }),
            content: null,
          },
          {
            record: recordOf({
              status: 499,
              code: "client_closed",
              cancelled: true,
              stream: true,
              firstContentMs: null,
            }),
            content: null,
          },
          {
            record: recordOf({ status: 200, code: "upstream_error", stream: true, errorDetail: "it broke off" }),
            content: null,
          },
          {
            record: recordOf({ endUser: "Ünïcode \u0000 \ud800 \u2028", modelAsked: "x".repeat(10_000) }),
            content: null,
          },
        ];
        await sink.deliver(kinds, AbortSignal.timeout(5000));
        expect(await calls()).toHaveLength(kinds.length);
      }));
    test("can be closed twice", async () => {
      const receiving = await open();
      await receiving.sink.close();
      await receiving.sink.close();
      await receiving.end();
    });
  });
}

async function faultOf(sink: Sink, timeoutMs = 5000): Promise<unknown> {
  try {
    const said = await sink.deliver(recordedCalls(2), AbortSignal.timeout(timeoutMs));
    return said === undefined || said.rejected === 0 ? null : said;
  } catch (thrown) {
    return thrown;
  }
}

/** True: it may be tried again. Whatever is no SinkFault counts as that. */
const isRetryable = (fault: unknown): boolean =>
  fault instanceof SinkFault ? fault.isRetryable : fault instanceof Error;

/** Statuses that mean "another time", and those that are final: a protocol may have a list of its own. */
export const USUAL_STATUSES = {
  transient: ["500 Oops", "502 Bad", "503 Later", "504 Late", "429 Too Many", "408 Slow"],
  final: ["400 Bad", "401 Who", "403 No", "404 Where", "413 Large", "422 Odd"],
} as const;

/** A sink that posts to an address. */
export function httpSinkSuite(
  name: string,
  open: (url: string) => Promise<Sink>,
  statuses: { readonly transient: readonly string[]; readonly final: readonly string[] } = USUAL_STATUSES,
): void {
  const against = async (
    answer: Parameters<typeof rawServer>[0],
    run: (sink: Sink, server: RawServer) => Promise<void>,
  ): Promise<void> => {
    await using server = await rawServer(answer);
    const sink = await open(`${server.url}/in`);
    try {
      await run(sink, server);
    } finally {
      await sink.close();
    }
  };
  const answering =
    (status: string, headers = "", body = "") =>
    (socket: { write(text: string): unknown }) =>
      void socket.write(`HTTP/1.1 ${status}\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);

  describe(`${name}, against receivers that are dead, slow or faulty`, () => {
    test.each(statuses.transient)("[d11.4] %s may be retried", (status) =>
      against(answering(status, "", "words"), async (sink) => expect(isRetryable(await faultOf(sink))).toBe(true)),
    );
    test("[d11.4] the wait that a receiver asks for is passed on", () =>
      against(answering("503 Later", "retry-after: 7\r\n"), async (sink) =>
        expect(await faultOf(sink)).toMatchObject({ isRetryable: true, retryAfterMs: 7000 }),
      ));
    test.each(statuses.final)("[d11.4] %s is not repeated", (status) =>
      against(answering(status), async (sink) => expect(await faultOf(sink)).toMatchObject({ isRetryable: false })),
    );
    test.each([
      ["400 Bad Request", "call"],
      ["413 Content Too Large", "size"],
      ["422 Unprocessable Content", "call"],
      ["401 Unauthorized", null],
      ["404 Not Found", null],
    ] as const)("[d11.4] %s says whether a smaller batch may be taken", (status, refusedFor) =>
      against(answering(status), async (sink) =>
        expect(await faultOf(sink)).toMatchObject({ isRetryable: false, refusedFor }),
      ),
    );
    test("[d11.4] a redirect is not followed", () =>
      against(
        (socket, { head }) =>
          void socket.write(
            head.includes("/elsewhere")
              ? "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
              : "HTTP/1.1 307 There\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n",
          ),
        async (sink, server) => {
          expect(await faultOf(sink)).toMatchObject({ isRetryable: false });
          expect(server.requests).toHaveLength(1);
        },
      ));
    test("[d11.4] a refused connection may be retried", async () => {
      const gone = await rawServer(() => {});
      const url = `${gone.url}/in`;
      await gone[Symbol.asyncDispose]();
      const sink = await open(url);
      expect(isRetryable(await faultOf(sink))).toBe(true);
      await sink.close();
    });
    const within = async (sink: Sink, expected: (fault: unknown) => void): Promise<void> => {
      expected(await faultOf(sink, 300));
    };
    const again = (fault: unknown): void => expect(isRetryable(fault)).toBe(true);
    const noRefusal = (fault: unknown): void => expect(fault === null || isRetryable(fault)).toBe(true);
    test("[d11.4] a receiver that never answers is abandoned when the time is over", () =>
      against(
        () => {},
        (sink) => within(sink, again),
      ));
    test("[d11.4] a receiver that never ends its head is abandoned when the time is over", () =>
      against(
        (socket) => void socket.write("HTTP/1.1 200 OK\r\nx-a: "),
        (sink) => within(sink, again),
      ));
    test("[d11.4] a receiver that closes without an answer may be retried", () =>
      against(
        (socket) => void socket.destroy(),
        (sink) => within(sink, again),
      ));
    test("[d11.4] a connection that closes in the middle of an answer is not a permanent failure", () =>
      against(
        (socket) => {
          socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhalf");
          socket.end();
        },
        (sink) => within(sink, noRefusal),
      ));
    test("[d11.4] an endless answer is not read for ever, and does not fill memory", () =>
      against(
        (socket) => {
          socket.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
          const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
          const talk = (): void => {
            if (!socket.destroyed) socket.write(piece, () => setTimeout(talk, 1));
          };
          talk();
        },
        (sink) => within(sink, noRefusal),
      ));
    test.each(["no JSON at all \u0000\u0001", '{"half":', "[1,2,3]", "x".repeat(200_000)])(
      "[d11.4] 200 with an unreadable body is not a permanent failure",
      (body) =>
        against(answering("200 OK", "content-type: application/json\r\n", body), (sink) => within(sink, noRefusal)),
    );
    test("[d11.4] an answer that is not HTTP may be retried", () =>
      against(
        (socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"),
        (sink) => within(sink, again),
      ));
    test("[d11.4] after failures the same sink works", async () => {
      let isDown = true;
      await against(
        (socket) =>
          void socket.write(
            isDown
              ? "HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"
              : "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
          ),
        async (sink) => {
          expect(isRetryable(await faultOf(sink))).toBe(true);
          isDown = false;
          expect(await faultOf(sink)).toBe(null);
        },
      );
    });
  });
}
