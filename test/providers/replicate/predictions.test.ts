// Predictions of Replicate, from the request to the answer through the whole gateway: polled until they are complete,
// or read from their stream.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import type { UpstreamClient, UpstreamRequest } from "../../../src/wire/upstream.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";

const ID = "rrr4z55ocneqzikepnug6xezpe";
const MODEL = "replicate:meta/meta-llama-3-8b-instruct";
const ASKED = { model: MODEL, messages: [{ role: "user", content: "Hello" }] };

const prediction = (rest: JsonObject): CannedAnswer => ({
  status: 201,
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ id: ID, status: "starting", output: null, error: null, urls: {}, ...rest }),
});
const DONE = { status: "succeeded", output: ["Hel", "lo"], metrics: { input_token_count: 5, output_token_count: 2 } };

/** Answers one after another; the last to all that follow. */
function gatewayOf(answers: readonly CannedAnswer[], options: StubOptions = {}): Stub {
  let next = 0;
  return stubGateway({ upstream: cannedUpstream(() => answers[Math.min(next++, answers.length - 1)]!), ...options });
}
const lineOf = ({ method = "POST", url }: UpstreamRequest): string => `${method} ${url}`;
const MADE = "POST https://api.replicate.com/v1/models/meta/meta-llama-3-8b-instruct/predictions";
const ENDED = `POST https://api.replicate.com/v1/predictions/${ID}/cancel`;
const LOOKED = `GET https://api.replicate.com/v1/predictions/${ID}`;

async function failedAs(stub: Stub, fields: object = {}): Promise<string> {
  const response = await stub.chat({ ...ASKED, ...fields });
  const { error } = (await response.json()) as { readonly error: { readonly code: string; readonly message: string } };
  return `${response.status} ${error.code}: ${error.message}`;
}

describe("a non-streaming answer", () => {
  test("that arrives in time is one request", async () => {
    const stub = gatewayOf([prediction(DONE)]);
    const body = (await (await stub.chat(ASKED)).json()) as Record<string, any>;
    expect([body["choices"][0].message.content, body["choices"][0].finish_reason, body["usage"].total_tokens]).toEqual([
      "Hello",
      "stop",
      7,
    ]);
    expect(stub.sent.map(lineOf)).toEqual([MADE]);
  });
  test.concurrent("that does not is polled, on the same host, with the key", async () => {
    const stub = gatewayOf([
      prediction({ urls: { get: "https://evil.example/x" } }),
      prediction({ status: "processing" }),
      prediction(DONE),
    ]);
    const body = (await (await stub.chat(ASKED)).json()) as Record<string, any>;
    expect(body["choices"][0].message.content).toBe("Hello");
    expect(stub.sent.map(lineOf)).toEqual([MADE, LOOKED, LOOKED]);
    for (const { headers, method, body: sent } of stub.sent.slice(1))
      expect([headers["authorization"], method, sent]).toEqual(["Bearer stored-key", "GET", ""]);
    expect(stub.records.at(-1)!.attempts).toHaveLength(1);
  });
  test.concurrent("on another address is polled there, and that address is checked each time", async () => {
    const pinned: unknown[] = [];
    const answers = [prediction({}), prediction(DONE)];
    const upstream: UpstreamClient = {
      send: (request, call) => {
        pinned.push(call.pinnedAddress);
        return cannedUpstream(answers.shift()!).send(request, call);
      },
    };
    const stub = stubGateway({ upstream, snapshot: { allowPrivateAddresses: false } });
    expect((await stub.chat({ ...ASKED, base_url: "https://93.184.215.14/base/v1", api_key: "own-key" })).status).toBe(
      200,
    );
    expect(stub.sent.map(({ url }) => url)).toEqual([
      "https://93.184.215.14/base/v1/models/meta/meta-llama-3-8b-instruct/predictions",
      `https://93.184.215.14/base/v1/predictions/${ID}`,
    ]);
    expect(pinned).toEqual(["93.184.215.14", "93.184.215.14"]);
  });
  test("of several choices is as many predictions", async () => {
    const stub = gatewayOf([prediction(DONE)]);
    const body = (await (await stub.chat({ ...ASKED, n: 2 })).json()) as Record<string, any>;
    expect([
      body["choices"].map((choice: { readonly message: { readonly content: string } }) => choice.message.content),
      body["usage"].total_tokens,
    ]).toEqual([["Hello", "Hello"], 14]);
    expect(stub.sent.map(lineOf)).toEqual([MADE, MADE]);
  });
  test("that failed or was cancelled is the provider's failure, with its message", async () => {
    expect(
      await failedAs(
        gatewayOf([
          prediction({ status: "failed", error: "Prompt length exceeds maximum input length: too many tokens" }),
        ]),
      ),
    ).toStartWith("400 context_length_exceeded");
    expect(await failedAs(gatewayOf([prediction({ status: "failed", error: "CUDA out of memory" })]))).toBe(
      "502 upstream_error: CUDA out of memory",
    );
    expect(await failedAs(gatewayOf([prediction({ status: "failed", error: null })]))).toContain(
      "ended with the status failed",
    );
    expect(await failedAs(gatewayOf([prediction({ status: "canceled" })]))).toContain("ended with the status canceled");
  });
  test("with an invalid id is not polled", async () => {
    for (const id of ["../../account", "a b", "", 7]) {
      const stub = gatewayOf([prediction({ id })]);
      expect(await failedAs(stub)).toStartWith("502 upstream_invalid_response");
      expect(stub.sent).toHaveLength(1);
    }
  });
  test.concurrent("whose poll is refused fails as that refusal says", async () => {
    const stub = gatewayOf([
      prediction({}),
      {
        status: 429,
        headers: { "content-type": "application/json", "retry-after": "3" },
        body: JSON.stringify({ title: "Too many requests", detail: "Request was throttled.", status: 429 }),
      },
    ]);
    expect(await failedAs(stub)).toStartWith("429 rate_limit_exceeded: Request was throttled.");
    expect(stub.records.at(-1)!.attempts[0]).toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  });
  test("[d7.2] that never arrives ends with the call's time, and the prediction with it", async () => {
    const stub = gatewayOf([prediction({})]);
    expect(await failedAs(stub, { timeout: 0.05 })).toStartWith("504 upstream_timeout");
    expect(stub.sent.map(lineOf)).toEqual([MADE, ENDED]);
    expect(stub.sent[1]!.headers["authorization"]).toBe("Bearer stored-key");
  });
  test("[d7.7] is no longer waited for once the client has left, and the prediction is cancelled", async () => {
    const stub = gatewayOf([prediction({})]);
    const leaving = new AbortController();
    const answer = stub.chat(ASKED, { signal: leaving.signal });
    setTimeout(() => leaving.abort(), 20);
    expect((await answer).status).toBe(499);
    expect(stub.sent.map(lineOf)).toEqual([MADE, ENDED]);
  });
  test("that is larger than the gateway accepts is refused while it is polled", async () => {
    // the stub reads all of it: the bound is the driver's, and is handed to it
    const seen: number[] = [];
    const stub = stubGateway({
      upstream: {
        send: () =>
          Promise.resolve({
            status: 200,
            header: () => "application/json",
            body: {
              read: () => Promise.resolve(null),
              accept: () => {},
              cancel: () => {},
              bytes: (maxBytes) => {
                seen.push(maxBytes);
                return Promise.resolve(new TextEncoder().encode(JSON.stringify({ id: ID, ...DONE })));
              },
              text: () => Promise.reject(new Error("The body is read as bytes.")),
            },
          }),
      },
      limits: { maxAnswerBytes: 1234 },
    });
    expect((await stub.chat(ASKED)).status).toBe(200);
    expect(seen).toEqual([1234]);
  });
});

describe("a stream", () => {
  const streamOf = (...events: readonly (readonly [event: string, data: string])[]): CannedAnswer => ({
    headers: { "content-type": "text/event-stream" },
    body: events
      .map(
        ([event, data]) =>
          `event: ${event}\nid: 1690212292:0\n${data
            .split("\n")
            .map((line) => `data: ${line}\n`)
            .join("")}\n`,
      )
      .join(""),
    chunk: 7,
  });
  const made = (stream: string): CannedAnswer => prediction({ urls: { stream, get: "https://api.replicate.com/x" } });
  const textOf = (text: string): string =>
    readStream(text)
      .events.map(
        (event) =>
          (event["choices"] as readonly { readonly delta: { readonly content?: string } }[])[0]?.delta.content ?? "",
      )
      .join("");

  test("is read from its address on Replicate's host for streams", async () => {
    const stub = gatewayOf([
      made(`https://stream.replicate.com/v1/streams/${ID}`),
      streamOf(["output", "Hel"], ["output", "lo\n"], ["output", " there"], ["logs", "x"], ["done", "{}"]),
    ]);
    const text = await (await stub.chat({ ...ASKED, stream: true })).text();
    expect([textOf(text), readStream(text).done]).toEqual(["Hello\n there", true]);
    expect(stub.sent.map(lineOf)).toEqual([MADE, `GET https://stream.replicate.com/v1/streams/${ID}`]);
    expect(stub.sent[1]!.headers).toMatchObject({ authorization: "Bearer stored-key", accept: "text/event-stream" });
  });
  test("[d7.7] whose client leaves ends the prediction, which is over where the stream was read to its end", async () => {
    const address = `https://stream.replicate.com/v1/streams/${ID}`;
    const stub = gatewayOf([
      made(address),
      streamOf(["output", "Hel"], ["output", "lo"], ["output", " there"], ["done", "{}"]),
      prediction({ status: "canceled" }),
    ]);
    const reader = (await stub.chat({ ...ASKED, stream: true })).body!.getReader();
    await reader.read();
    await reader.cancel();
    expect(stub.sent.map(lineOf)).toEqual([MADE, `GET ${address}`, ENDED]);
  });
  test("may send [DONE], which ends streams of another form", async () => {
    const stub = gatewayOf([
      made(`https://stream.replicate.com/v1/streams/${ID}`),
      streamOf(["output", "[DONE]"], ["output", " is the end"], ["done", "{}"]),
    ]);
    const text = await (await stub.chat({ ...ASKED, stream: true })).text();
    expect([textOf(text), readStream(text).done, stub.records[0]!.code]).toEqual(["[DONE] is the end", true, null]);
  });
  test("is never read from a host that an answer names", async () => {
    for (const [given, asked] of [
      [`https://evil.example/v1/streams/${ID}`, `https://stream.replicate.com/v1/streams/${ID}`],
      [
        `https://stream.replicate.com@evil.example/v1/streams/${ID}?to=x#y`,
        `https://stream.replicate.com/v1/streams/${ID}`,
      ],
      [
        `https://streaming.api.replicate.com/v1/predictions/${ID}`,
        `https://streaming.api.replicate.com/v1/predictions/${ID}`,
      ],
    ] as const) {
      const stub = gatewayOf([made(given), streamOf(["output", "Hello"], ["done", "{}"])]);
      expect(textOf(await (await stub.chat({ ...ASKED, stream: true })).text())).toBe("Hello");
      expect(stub.sent[1]!.url).toBe(asked);
    }
    for (const given of ["no address", "https://stream.replicate.com/a b", "https://stream.replicate.com/a%00b"])
      expect(await failedAs(gatewayOf([made(given)]), { stream: true })).toStartWith("502 upstream_invalid_response");
  });
  test("with an address of the caller's is read there", async () => {
    const stub = gatewayOf([
      made(`https://stream.replicate.com/v1/streams/${ID}`),
      streamOf(["output", "Hello"], ["done", "{}"]),
    ]);
    await (await stub.chat({ ...ASKED, stream: true, base_url: "http://127.0.0.1:9/base", api_key: "own-key" })).text();
    expect(stub.sent[1]!.url).toBe(`http://127.0.0.1:9/base/v1/streams/${ID}`);
  });
  test.concurrent("of a model that does not stream comes in one piece, once it is complete", async () => {
    const stub = gatewayOf([prediction({}), prediction(DONE)]);
    const text = await (await stub.chat({ ...ASKED, stream: true })).text();
    expect([textOf(text), readStream(text).done]).toEqual(["Hello", true]);
    expect(stub.sent.map(lineOf)).toEqual([MADE, LOOKED]);
  });
  test.concurrent("that does not start is not requested again without a pause", async () => {
    const stub = gatewayOf([made(`https://stream.replicate.com/v1/streams/${ID}`)]);
    expect(await failedAs(stub, { stream: true, timeout: 0.1 })).toStartWith("504 upstream_timeout");
    expect(stub.sent.length).toBeLessThan(4);
  });
  test("that fails, is cancelled or is cut never looks complete", async () => {
    for (const [events, code] of [
      [
        [
          ["output", "Hel"],
          ["error", '{"detail":"CUDA out of memory"}'],
        ],
        "upstream_error",
      ],
      [
        [
          ["output", "Hel"],
          ["done", '{"reason":"canceled"}'],
        ],
        "upstream_error",
      ],
      [[["output", "Hel"]], "upstream_incomplete"],
    ] as const) {
      const stub = gatewayOf([made(`https://stream.replicate.com/v1/streams/${ID}`), streamOf(...events)]);
      await (await stub.chat({ ...ASKED, stream: true })).text();
      expect(stub.records.at(-1)!.code).toBe(code);
    }
  });
});
