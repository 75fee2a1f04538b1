// The faults of @copilotkit/aimock, at each of the vendors that it plays, through the running gateway, plain and streamed. `drop` is a 500, `malformed` a 200
// that is not JSON and no stream, `disconnect` a connection that is destroyed before the head; `truncateAfterChunks` and `disconnectAfterMs` destroy it in the
// middle of a stream and do nothing to a plain answer. Where the cut comes together with the first content, which is the network's to decide, the answer is 502,
// else the stream ends with the error event. A streamed call of Gemini's and of Ollama's is one event, with nothing in it to cut. Errors of Bedrock's are in
// Anthropic's form, those of Azure, Cohere and Ollama in OpenAI's: not the vendors' own, but status and words tell them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ReadStream, readStream } from "../../harness/sse.ts";
import { type AimockGateway, PLAYED, startAimockGateway } from "./aimock-gateway.ts";

const LONG = Array.from({ length: 60 }, (_, index) => `word${index}`).join(" ");
const TRACE_ID = /^[0-9a-f]{32}$/;

let stage: AimockGateway;
async function openStage(): Promise<void> {
  stage = await startAimockGateway();
  stage.mock
    .onMessage("healthy", { content: "All is well." })
    .onMessage("told to wait", {
      error: { message: "Slow down.", type: "rate_limit_error" },
      status: 429,
      retryAfter: 7,
    })
    .onMessage("rate chaos", { content: LONG }, { chaos: { rateLimitRate: 1 } })
    .onMessage("error-500", { error: { message: "The engine stopped.", type: "server_error" }, status: 500 })
    .onMessage("error-503", { error: { message: "Come back later.", type: "overloaded_error" }, status: 503 })
    .onMessage("error-400", { error: { message: "The sum is odd.", type: "invalid_request_error" }, status: 400 })
    .onMessage("drop", { content: LONG }, { chaos: { dropRate: 1 } })
    .onMessage("malformed", { content: LONG }, { chaos: { malformedRate: 1 } })
    .onMessage("vanish", { content: LONG }, { chaos: { disconnectRate: 1 } })
    .onMessage("truncated-now", { content: LONG }, { chunkSize: 10, truncateAfterChunks: 4 })
    .onMessage(
      "truncated-calls",
      { toolCalls: [{ id: "call_a", name: "weather", arguments: JSON.stringify({ city: LONG }) }] },
      { chunkSize: 10, truncateAfterChunks: 5 },
    )
    .onMessage("truncated-slowly", { content: LONG }, { chunkSize: 10, latency: 40, truncateAfterChunks: 6 })
    .onMessage("cut-after-ms", { content: LONG }, { chunkSize: 10, latency: 20, disconnectAfterMs: 150 })
    .onMessage("late", { content: "Late, but whole." }, { chaos: { latencyMs: 250 } })
    .onMessage("never in time", { content: "Too late." }, { chaos: { latencyMs: 20_000 } })
    .onMessage("dripping", { content: LONG }, { chunkSize: 10, latency: 400 });
}
beforeAll(openStage);
afterAll(() => stage.stop());

/** An error with its own status, in the one body. */
async function refusal(
  response: Response,
): Promise<{ readonly status: number; readonly code: string; readonly message: string; readonly headers: Headers }> {
  expect(response.headers.get("content-type")).toBe("application/json");
  const { error, x_gateway_trace_id: traceId, ...rest } = (await response.json()) as Record<string, any>;
  expect(rest).toEqual({});
  expect(traceId).toMatch(TRACE_ID);
  expect(response.headers.get("x-request-id")).toBe(traceId);
  // what was tried goes along (promise 7.6)
  expect(error).toEqual({
    message: expect.any(String),
    type: expect.any(String),
    param: null,
    code: expect.any(String),
    metadata: {
      attempts: [
        {
          provider: expect.any(String),
          model: expect.any(String),
          status: error.metadata.attempts[0].status,
          code: error.code,
        },
      ],
    },
  });
  return { status: response.status, code: error.code, message: error.message, headers: response.headers };
}

/** A stream that failed after its head: what was said is the beginning of the answer, then one error event, then the end; nothing of a finish. */
function expectBroken(read: ReadStream, code: string): void {
  expect(read.done).toBe(true);
  const [last, ...before] = read.events.toReversed();
  expect(Object.keys(last!)).toEqual(["error", "x_gateway_trace_id"]);
  expect(read.error).toEqual({
    message: expect.any(String),
    type: "server_error",
    param: null,
    code,
    metadata: { attempts: [expect.objectContaining({ code })] },
  });
  expect(before.length).toBeGreaterThan(0);
  for (const event of before) {
    expect(event["error"]).toBeUndefined();
    expect(event["choices"].map((choice: any) => choice.finish_reason)).toEqual([null]);
  }
  expect(LONG).toStartWith(read.content);
}

describe.each([...PLAYED])("$played", ({ model, piecesOfCalls }) => {
  const plainAndStreamed = [
    ["plain", {}],
    ["streamed", { stream: true }],
  ] as const;

  test.concurrent.each(plainAndStreamed)(
    "[s:errors.5xx, d9.7] %s: each refusal keeps its class and message, and the wait is passed on",
    async (_, how) => {
      const waiting = await refusal(await stage.ask(model, "told to wait", how));
      expect(waiting).toMatchObject({
        status: 429,
        code: "rate_limit_exceeded",
        message: "Slow down. Please try again in 7 s.",
      });
      expect([
        waiting.headers.get("retry-after"),
        waiting.headers.get("retry-after-ms"),
        waiting.headers.get("x-should-retry"),
      ]).toEqual(["7", "7000", null]);
      const chaos = await refusal(await stage.ask(model, "rate chaos", how));
      expect([chaos.status, chaos.code, chaos.headers.get("retry-after")]).toEqual([429, "rate_limit_exceeded", "1"]);
      expect(await refusal(await stage.ask(model, "error-500", how))).toMatchObject({
        status: 502,
        code: "upstream_error",
        message: "The engine stopped.",
      });
      const overloaded = await refusal(await stage.ask(model, "error-503", how));
      expect(overloaded).toMatchObject({ status: 503, code: "upstream_overloaded", message: "Come back later." });
      expect(overloaded.headers.get("retry-after")).toBe("1");
      const invalid = await refusal(await stage.ask(model, "error-400", how));
      expect(invalid).toMatchObject({ status: 400, code: "upstream_invalid_request", message: "The sum is odd." });
      expect(invalid.headers.get("x-should-retry")).toBe("false");
    },
  );

  test.concurrent.each(plainAndStreamed)(
    "[s:errors.5xx, d8.3] %s: a failure before any content is a 502 of its own, never an empty answer",
    async (_, how) => {
      for (const [fault, code] of [
        ["drop", "upstream_error"],
        ["malformed", "upstream_invalid_response"],
        ["vanish", "upstream_connection"],
      ] as const)
        expect(await refusal(await stage.ask(model, fault, how))).toMatchObject({ status: 502, code });
    },
  );

  test.concurrent.each([
    "truncated-now",
    "truncated-slowly",
    "cut-after-ms",
    ...(piecesOfCalls ? ["truncated-calls"] : []),
  ])("[d8.3] a stream that is cut (%s) never looks complete", async (fault) => {
    const response = await stage.ask(model, fault, { stream: true, stream_options: { include_usage: true } });
    if (response.status === 200) {
      const read = readStream(await response.text());
      expectBroken(read, "upstream_incomplete");
      expect(read.events.some((event) => event["usage"])).toBe(false);
    } else expect(await refusal(response)).toMatchObject({ status: 502, code: "upstream_incomplete" });
  });

  test.concurrent("the faults of streams do not affect a plain answer", async () => {
    const body = (await (await stage.ask(model, "cut-after-ms")).json()) as Record<string, any>;
    expect([body["choices"][0].message.content, body["choices"][0].finish_reason]).toEqual([LONG, "stop"]);
  });

  test.concurrent.each(plainAndStreamed)("%s: a slow provider is waited for", async (_, how) => {
    const started = performance.now();
    const response = await stage.ask(model, "late", how);
    const text = await response.text();
    const tookMs = performance.now() - started;
    expect(tookMs).toBeGreaterThanOrEqual(250);
    expect(response.status).toBe(200);
    expect("stream" in how ? readStream(text).content : JSON.parse(text).choices[0].message.content).toBe(
      "Late, but whole.",
    );
    // what the provider took is not the gateway's own time
    expect(Number(/gw;dur=([\d.]+)/.exec(response.headers.get("server-timing")!)![1])).toBeLessThan(tookMs - 200);
  });

  test.concurrent.each(plainAndStreamed)(
    "[s:errors.5xx] %s: a provider that is too slow for the timeout of the call is a 504",
    async (_, how) => {
      expect(await refusal(await stage.ask(model, "never in time", { ...how, timeout: 0.3 }))).toMatchObject({
        status: 504,
        code: "upstream_timeout",
      });
    },
  );

  test("after all these faults the provider is used as before: no connection is broken", async () => {
    for (let call = 0; call < 5; call++) {
      const body = (await (await stage.ask(model, "healthy")).json()) as Record<string, any>;
      expect(body["choices"][0].message.content).toBe("All is well.");
    }
  });
});

describe("a stream that is too slow for the timeout of the call", () => {
  // All of them side by side, because each takes the whole three seconds.
  test.concurrent.each([...PLAYED])(
    "[d8.3] $played: ends with an error, after the content that was sent",
    async ({ model }) => {
      const response = await stage.ask(model, "dripping", { stream: true, timeout: 3 });
      expect(response.status).toBe(200);
      const read = readStream(await response.text());
      expectBroken(read, "upstream_timeout");
      expect(read.content).toStartWith("word0");
    },
  );
});

describe("with a second target beside it", () => {
  const CHAOS = ["drop", "malformed", "vanish", "error-500", "error-503"] as const;
  const second = { num_retries: 0, fallbacks: ["sandbox:echo"] };
  // of a gateway that was not told to wait before
  beforeAll(async () => {
    await stage.stop();
    await openStage();
  });

  test.concurrent.each(PLAYED.map(({ played, model }) => [played, model] as const))(
    "[d7.1] [d7.3] [d7.5] %s: a failure before the first content is answered by the second target, and one that was told to wait is passed over",
    async (_, model) => {
      const answered = async (fault: string, how: object): Promise<unknown> => {
        const response = await stage.ask(model, fault, { ...how, ...second });
        const text = await response.text();
        if (!("stream" in how))
          expect((JSON.parse(text) as Record<string, any>)["choices"][0].finish_reason).toBe("stop");
        else expect([readStream(text).error, readStream(text).done]).toEqual([null, true]);
        const { headers } = response;
        return [fault, response.status, headers.get("x-gateway-model"), headers.get("x-gateway-attempts")];
      };
      for (const how of [{}, { stream: true }])
        for (const fault of CHAOS) expect(await answered(fault, how)).toEqual([fault, 200, "sandbox:echo", "2"]);
      // both are refusals with a time to wait
      expect(await answered("rate chaos", {})).toEqual(["rate chaos", 200, "sandbox:echo", "2"]);
      expect(await answered("told to wait", { stream: true })).toEqual(["told to wait", 200, "sandbox:echo", "1"]);
    },
  );

  test.concurrent.each([...PLAYED])(
    "[d7.4] [d8.3] $played: a stream that is cut is reported once it has begun, and answered by the second target before that",
    async ({ model }) => {
      for (const fault of ["truncated-now", "truncated-slowly", "cut-after-ms"]) {
        const response = await stage.ask(model, fault, { stream: true, ...second });
        expect(response.status).toBe(200);
        const read = readStream(await response.text());
        if (response.headers.get("x-gateway-model") === "sandbox:echo")
          expect([read.error, read.done]).toEqual([null, true]);
        else if (read.error !== null) expectBroken(read, "upstream_incomplete");
        // in a form whose answer is one event there is nothing to cut
        else expect([model, read.content]).toEqual([expect.stringMatching(/^(gemini|vertex|ollama):/), LONG]);
        expect(new Set(read.events.flatMap((event) => event["model"] ?? [])).size).toBe(1);
      }
    },
  );
});

describe("one fault among healthy calls", () => {
  test("a momentary fault affects one call", async () => {
    for (const { model } of PLAYED) {
      stage.mock.nextRequestError(500, { message: "Just once.", type: "server_error" });
      expect((await refusal(await stage.ask(model, "healthy"))).code).toBe("upstream_error");
      expect((await stage.ask(model, "healthy")).status).toBe(200);
    }
  });

  test("[d8.3] cut streams and complete ones side by side do not mix", async () => {
    const asked = Array.from({ length: 6 * PLAYED.length }, (_, index) => ({
      model: PLAYED[index % PLAYED.length]!.model,
      fault: (["healthy", "truncated-slowly", "vanish"] as const)[Math.floor(index / PLAYED.length) % 3]!,
    }));
    const outcomes = await Promise.all(
      asked.map(async ({ model, fault }) => {
        const response = await stage.ask(model, fault, { stream: true });
        if (response.status !== 200) return [fault, (await refusal(response)).code];
        const { error, content } = readStream(await response.text());
        return [fault, error === null ? content : error["code"]];
      }),
    );
    const expected = {
      healthy: "All is well.",
      "truncated-slowly": "upstream_incomplete",
      vanish: "upstream_connection",
    };
    expect(outcomes).toEqual(asked.map(({ fault }) => [fault, expected[fault]]));
  });
});
