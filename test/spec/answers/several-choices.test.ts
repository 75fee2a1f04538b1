// `n` where a provider gives one choice per request and its row says that more are emulated: as many requests side by side, one answer, and the cost reported.
import { describe, expect, test } from "bun:test";
import { compilePrices, priceSchema } from "../../../src/accounting/price-settings.ts";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { readStream } from "../../harness/sse.ts";
import { DEFAULT_BREAKER } from "../../../src/core/configured/route.ts";
import { readBytes } from "../../../src/wire/body-bytes.ts";
import { type UpstreamClient, UpstreamFault, type UpstreamRequest } from "../../../src/wire/upstream.ts";
import { until } from "../../harness/time/until.ts";

const ASK = { model: "ollama:qwen3:4b", messages: [{ role: "user", content: "Pick a word." }], n: 3 };
const WORDS = ["alpha", "beta", "gamma"];
const end = (index: number) => ({
  done: true,
  done_reason: index === 2 ? "length" : "stop",
  prompt_eval_count: 7,
  eval_count: index + 1,
});
const line = (content: string, more: object = { done: false }): string =>
  `${JSON.stringify({ model: "qwen3:4b", created_at: "2026-01-01T00:00:00Z", message: { role: "assistant", content }, ...more })}\n`;

/** The first call gets the first word, and so on. */
function wordsInOrder(answer: (index: number, request: UpstreamRequest) => CannedAnswer): Stub {
  let calls = 0;
  return stubGateway({ upstream: cannedUpstream((request) => answer(calls++, request)) });
}
const whole = (index: number): CannedAnswer => ({ body: line(WORDS[index]!, end(index)) });
const streamed = (index: number): CannedAnswer => ({
  headers: { "content-type": "application/x-ndjson" },
  chunk: 40,
  body:
    WORDS[index]!.split("")
      .map((letter) => line(letter))
      .join("") + line("", end(index)),
});

describe("several choices of a provider that gives one per request", () => {
  test("[d8.7] [s:param.n] are as many upstream requests, each without n, put together in order, with the sum of the usage", async () => {
    const gateway = wordsInOrder(whole);
    const response = await gateway.chat(ASK);
    const body = (await response.json()) as Record<string, any>;
    expect(body["choices"].map((choice: any) => [choice.index, choice.message.content, choice.finish_reason])).toEqual([
      [0, "alpha", "stop"],
      [1, "beta", "stop"],
      [2, "gamma", "length"],
    ]);
    expect(body["usage"]).toMatchObject({ prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 });
    expect(gateway.sent.map(({ body: sent }) => JSON.parse(sent).n)).toEqual([undefined, undefined, undefined]);
    expect(response.headers.get("x-gateway-warnings")).toBe("n_emulated");
    expect(response.headers.get("x-gateway-attempts")).toBe("3");
  });

  test("[d8.7] stream side by side in one grammar, with one end and one usage", async () => {
    const response = await wordsInOrder(streamed).chat({
      ...ASK,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect([response.status, response.headers.get("x-gateway-warnings")]).toEqual([200, "n_emulated"]);
    const { events, done, error } = readStream(await response.text());
    expect([done, error]).toEqual([true, null]);
    const choices = events.flatMap((event) => event["choices"] as Record<string, any>[]);
    for (const [index, word] of WORDS.entries()) {
      const mine = choices.filter((choice) => choice["index"] === index);
      expect(mine.map((choice) => choice["delta"].content ?? "").join("")).toBe(word);
      expect(mine.filter((choice) => choice["delta"].role !== undefined).length).toBe(1);
      expect(mine.filter((choice) => choice["finish_reason"] !== null).length).toBe(1);
    }
    expect(events.at(-1)).toMatchObject({
      choices: [],
      usage: { prompt_tokens: 21, completion_tokens: 6, total_tokens: 27 },
    });
    expect(events.filter((event) => event["usage"] !== null).length).toBe(1);
    expect(new Set(events.map((event) => event["id"])).size).toBe(1);
  });

  test("[d8.7] fail together: the refusal of one is the answer, and the others are ended", async () => {
    for (const stream of [false, true]) {
      const ended: number[] = [];
      let calls = 0;
      const refusing = cannedUpstream({ status: 400, body: JSON.stringify({ error: "the sum is odd" }) });
      const upstream: UpstreamClient = {
        send(request, call) {
          const index = calls++;
          if (index === 1) return refusing.send(request, call);
          return new Promise((_resolve, reject) =>
            call.signal.addEventListener("abort", () => {
              ended.push(index);
              reject(call.signal.reason instanceof Error ? call.signal.reason : new Error("ended"));
            }),
          );
        },
      };
      const response = await stubGateway({ upstream }).chat({ ...ASK, stream });
      expect([response.status, ((await response.json()) as any).error.message]).toEqual([400, "the sum is odd"]);
      expect(ended).toEqual([0, 2]);
    }
  });

  test("[d8.3] [d8.7] end in an error event when one of them is cut in mid-stream, and never in a complete answer", async () => {
    const gateway = wordsInOrder((index) => (index === 1 ? { ...streamed(index), cutAt: 200 } : streamed(index)));
    const response = await gateway.chat({ ...ASK, stream: true });
    if (response.status !== 200) return expect(response.status).toBe(502);
    const { error, done, events } = readStream(await response.text());
    expect([error?.["code"], done]).toEqual(["upstream_incomplete", true]);
    expect(
      events.flatMap((event) => (event["choices"] ?? []) as any[]).every((choice) => choice.finish_reason === null),
    ).toBe(true);
  });

  test("[d8.7] end together when one answer is unusable, because the others would be read for nothing", async () => {
    const cancelled: number[] = [];
    let calls = 0;
    const upstream: UpstreamClient = {
      send(_request, call) {
        const index = calls++;
        const bytes = (): Promise<Uint8Array> =>
          index === 1
            ? Promise.resolve(Buffer.from("no JSON"))
            : new Promise((_resolve, reject) =>
                call.signal.addEventListener("abort", () => reject(new Error("ended"))),
              );
        return Promise.resolve({
          status: 200,
          header: () => null,
          body: {
            read: () => Promise.resolve(null),
            bytes,
            text: () => Promise.resolve(""),
            accept: () => {},
            cancel: () => void cancelled.push(index),
          },
        });
      },
    };
    const gateway = stubGateway({ upstream });
    expect((await gateway.chat(ASK)).status).toBe(502);
    expect(new Set(cancelled)).toEqual(new Set([0, 1, 2]));
  });

  test("[d8.7] fail together when one answer has no choice: fewer than requested never look complete", async () => {
    for (const model of ["deepseek-generate:m", "lmstudio-generate:m"]) {
      const gateway = wordsInOrder((index) => ({
        body: JSON.stringify({ choices: index === 1 ? [] : [{ index: 0, text: "a", finish_reason: "stop" }] }),
      }));
      const response = await gateway.chat({ ...ASK, model });
      expect([model, response.status, ((await response.json()) as any).error?.code]).toEqual([
        model,
        502,
        "upstream_invalid_response",
      ]);
    }
  });

  test("[d9.5] wait side by side: none of the wait is the gateway's own time", async () => {
    for (const stream of [false, true]) {
      let clockMs = 0;
      let calls = 0;
      const canned = cannedUpstream({
        headers: { "content-type": stream ? "application/x-ndjson" : "application/json" },
        body: line("a", end(0)),
      });
      // the heads come one after the other, a second apart
      const upstream: UpstreamClient = {
        async send(request, call) {
          const index = calls++;
          for (let turn = 0; turn <= 10 * index; turn++) await Promise.resolve();
          clockMs += 1000;
          return canned.send(request, call);
        },
      };
      const gateway = stubGateway({ upstream, clock: { now: () => 1_767_225_600_000, monotonic: () => clockMs } });
      await (await gateway.chat({ ...ASK, stream })).text();
      expect(gateway.records.map(({ totalMs, ownMs }) => [totalMs, ownMs])).toEqual([[3000, 0]]);
    }
  });

  for (const stream of [false, true])
    test(`[d4.2] [d4.7] cost what as many requests cost, each with its own fee and the tier of its own prompt${stream ? ", streamed" : ""}`, async () => {
      // 7 tokens of each prompt, so that only their sum would be above the tier
      const prices = compilePrices([
        {
          id: "tiered",
          name: "tiered",
          tenantId: null,
          projectId: null,
          origin: "store",
          setBy: "owner",
          version: 1,
          document: priceSchema.parse({
            model: "ollama:*",
            request: "0.001",
            prompt: "1",
            completion: "2",
            tiers: [{ above_prompt_tokens: 10, prompt: "100", completion: "200" }],
          }),
        },
      ]);
      let calls = 0;
      const answer = stream ? streamed : whole;
      const gateway = stubGateway({ upstream: cannedUpstream(() => answer(calls++)), snapshot: { prices } });
      await (await gateway.chat({ ...ASK, stream })).text();
      expect(gateway.records[0]!.cost?.nanoUsd).toBe(3 * 1_000_000 + 21 * 1000 + 6 * 2000);
    });

  test("are one upstream request where one choice is requested, without a note of it", async () => {
    const gateway = wordsInOrder(whole);
    const response = await gateway.chat({ ...ASK, n: 1 });
    expect([gateway.sent.length, response.headers.get("x-gateway-warnings")]).toEqual([1, null]);
  });
});

const WAIT = Symbol("lasts until the call is ended");
/** What one of the calls gets: pieces of its body, and a fault or a wait in their place. */
interface Part {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly pieces: readonly (string | UpstreamFault | typeof WAIT)[];
}

function partsUpstream(parts: readonly Part[]): UpstreamClient {
  let calls = 0;
  return {
    send(_request, call) {
      const { status = 200, headers = {}, pieces } = parts[calls++]!;
      let next = 0;
      call.onSent?.(true);
      const read = async (): Promise<Uint8Array | null> => {
        const piece = pieces[next++];
        if (piece instanceof UpstreamFault) throw piece;
        if (piece === undefined) return null;
        if (piece !== WAIT) return new TextEncoder().encode(piece);
        if (!call.signal.aborted)
          await new Promise<void>((ended) => call.signal.addEventListener("abort", () => ended()));
        throw call.signal.reason;
      };
      const bytes = (max: number): Promise<Uint8Array> => readBytes({ read }, max, () => {});
      return Promise.resolve({
        status,
        header: (name) => headers[name] ?? null,
        body: {
          read,
          bytes,
          text: async (max) => Buffer.from(await bytes(max)).toString(),
          accept: () => {},
          cancel: () => {},
        },
      });
    },
  };
}

const NDJSON = { "content-type": "application/x-ndjson" };
/** Nothing of it tells what it used. */
const UNTOLD = { done: true, done_reason: "stop" };
const LIMITED = limitSet({ limits: { tokens: { metric: "tokens", window: "day", limit: 100_000 } } });
const limited = (upstream: UpstreamClient): Stub => stubGateway({ upstream, snapshot: { limitRules: LIMITED } });
/** What the gateway takes the prompt of one of the calls to be; the provider says something else. */
const PROMPT = 7;
const told = (index: number) => ({ ...end(index), prompt_eval_count: 30 });

describe("the usage of several upstream requests for one answer", () => {
  test("[d4.2] is the sum of their own figures where they reported them, also when a later one fails", async () => {
    for (const stream of [false, true]) {
      const answered = (word: string, index: number): Part => ({
        headers: NDJSON,
        pieces: stream ? [line(word), line("", told(index))] : [line(word, told(index))],
      });
      const fault = new UpstreamFault("cut", "the connection broke off");
      const upstream = partsUpstream([
        answered("alpha", 0),
        answered("beta", 1),
        { headers: NDJSON, pieces: [line("g"), fault] },
      ]);
      const gateway = limited(upstream);
      await (await gateway.chat({ ...ASK, stream })).text();
      const [record] = gateway.records;
      expect([stream, record!.attempts.map(({ usage }) => usage?.total_tokens ?? null).slice(0, 2)]).toEqual([
        stream,
        [31, 32],
      ]);
      expect([stream, record!.limits[0]!.settled]).toEqual([stream, 31 + 32 + PROMPT + (stream ? 1 : 0)]);
    }
  });

  test("[d4.2] [d8.9] stays the provider's where the sum is larger than an exact integer can be", async () => {
    const most = Number.MAX_SAFE_INTEGER;
    const gateway = wordsInOrder((index) => ({
      body: line(WORDS[index]!, { ...end(index), prompt_eval_count: most }),
    }));
    const body = (await (await gateway.chat(ASK)).json()) as Record<string, any>;
    expect(body["usage"]).toMatchObject({ prompt_tokens: most, completion_tokens: 6 });
    expect(gateway.records[0]!.usage).toEqual(body["usage"]);
  });

  test("[d4.2] is that of the answers that came before another request is refused", async () => {
    const parts = partsUpstream([
      { pieces: [line("alpha", told(0))] },
      { pieces: [line("beta", told(1))] },
      { status: 400, pieces: [JSON.stringify({ error: "the sum is odd" })] },
    ]);
    let readWhole = 0;
    const bothRead = Promise.withResolvers<void>();
    const gateway = limited({
      async send(request, call) {
        const response = await parts.send(request, call);
        if (response.status === 400) {
          await bothRead.promise;
          return response;
        }
        const { body } = response;
        const read = async (): Promise<Uint8Array | null> => {
          const piece = await body.read();
          if (piece === null && ++readWhole === 2) bothRead.resolve();
          return piece;
        };
        return { ...response, body: { ...body, read, bytes: (max) => readBytes({ read }, max, () => {}) } };
      },
    });
    expect((await gateway.chat(ASK)).status).toBe(400);
    const [record] = gateway.records;
    expect(record!.attempts.map(({ usage }) => usage?.total_tokens ?? null)).toEqual([31, 32, null]);
    expect(record!.limits[0]!.settled).toBe(31 + 32);
  });

  test("[d4.2] [d8.9] is the prompt of each of them, where no figures came", async () => {
    for (const stream of [false, true]) {
      const parts = WORDS.map((word): Part => ({
        headers: NDJSON,
        pieces: stream ? [line(word), line("", UNTOLD)] : [line(word, UNTOLD)],
      }));
      const gateway = limited(partsUpstream(parts));
      const response = await gateway.chat({
        ...ASK,
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      });
      const body = await response.text();
      const usage = (stream ? readStream(body).events.at(-1)! : JSON.parse(body))["usage"];
      expect([stream, usage.prompt_tokens]).toEqual([stream, 3 * PROMPT]);
      expect(gateway.records[0]!.limits[0]!.settled).toBe(usage.total_tokens);
    }
  });

  test("[d4.2] [d8.9] counts their own figures where some reported them, and an estimate for the others", async () => {
    const parts = WORDS.map((word, index): Part => ({
      headers: NDJSON,
      pieces: [line(word), line("", index === 0 ? told(0) : UNTOLD)],
    }));
    const gateway = limited(partsUpstream(parts));
    await (await gateway.chat({ ...ASK, stream: true })).text();
    const [record] = gateway.records;
    expect(record!.attempts.map(({ usage, usageSource }) => [usage!.prompt_tokens, usageSource])).toEqual([
      [30, "provider"],
      [PROMPT, "estimated"],
      [PROMPT, "estimated"],
    ]);
    expect([record!.usage!.prompt_tokens, record!.usageSource]).toEqual([30 + 2 * PROMPT, "estimated"]);
  });

  test("[d4.2] is the prompt of each of them when the client leaves in the middle", async () => {
    const leaving = new AbortController();
    const parts = WORDS.map((word): Part => ({ headers: NDJSON, pieces: [line(word), WAIT] }));
    const gateway = limited(partsUpstream(parts));
    const response = await gateway.chat({ ...ASK, stream: true }, { signal: leaving.signal });
    const reader = response.body!.getReader();
    await reader.read();
    leaving.abort();
    await reader.cancel();
    const [record] = gateway.records;
    expect(record!.limits[0]!.settled).toBeGreaterThanOrEqual(3 * PROMPT);
    expect(record!.attempts.map(({ code }) => code)).toEqual(WORDS.map(() => "client_closed"));
  });

  test("[d4.2] [d11.1] is the same when the client leaves before anything has arrived, and each attempt has the reason why it ended", async () => {
    const leaving = new AbortController();
    const gateway = limited(partsUpstream(WORDS.map(() => ({ pieces: [WAIT] }))));
    const answer = gateway.chat(ASK, { signal: leaving.signal });
    await until(() => gateway.sent.length >= WORDS.length);
    leaving.abort();
    await answer;
    const [record] = gateway.records;
    expect(record!.limits[0]!.settled).toBe(3 * PROMPT);
    expect(record!.attempts.map(({ code }) => code)).toEqual(WORDS.map(() => "client_closed"));
  });
});

describe("the failure of one of several upstream requests", () => {
  test("[d7.1] is the failure of the attempt, with its provider's retry-after", async () => {
    for (const stream of [false, true]) {
      const refused: Part = { status: 429, headers: { "retry-after": "7" }, pieces: ['{"error":"slow down"}'] };
      const gateway = limited(partsUpstream([{ pieces: [WAIT] }, refused, { pieces: [WAIT] }]));
      const response = await gateway.chat({ ...ASK, stream });
      await response.text();
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "7"]);
      const [record] = gateway.records;
      expect(record!.attempts.map(({ code }) => code)).toEqual(["superseded", "rate_limit_exceeded", "superseded"]);
      expect(record!.attempts.map(({ status, retryAfterMs }) => [status === 429, retryAfterMs])).toEqual([
        [false, null],
        [true, 7_000],
        [false, null],
      ]);
      // the target is closed for as long as its provider said
      const { clock, routing } = gateway.context;
      const closed = routing.health.blockedReason("ollama:qwen3:4b", DEFAULT_BREAKER, clock.monotonic());
      expect([stream, closed]).toEqual([stream, "rate_limited"]);
    }
  });

  test("[d11.1] is recorded at the one that failed in mid-stream", async () => {
    const error: Part = { headers: NDJSON, pieces: [line("a"), '{"error":"the model crashed"}\n'] };
    const gateway = limited(
      partsUpstream([error, { headers: NDJSON, pieces: [WAIT] }, { headers: NDJSON, pieces: [WAIT] }]),
    );
    await (await gateway.chat({ ...ASK, stream: true })).text();
    expect(gateway.records[0]!.attempts.map(({ code }) => code === "upstream_error")).toEqual([true, false, false]);
  });
});

test("[d5.8] several upstream requests of a large call are sent in turns with other calls", async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const sentAt: number[] = [];
  const upstream = {
    send: (): Promise<never> => {
      sentAt.push(turns);
      return sentAt.length < 4 ? new Promise(() => {}) : Promise.reject(new Error("the last one fails"));
    },
  };
  const body = { model: "ollama:m", n: 4, messages: [{ role: "user", content: "x".repeat(100_000) }] };
  expect((await stubGateway({ upstream }).chat(JSON.stringify(body))).status).toBeGreaterThanOrEqual(500);
  isOver = true;
  expect([sentAt.length, new Set(sentAt).size]).toEqual([4, 4]);
});
