// `n` where a provider gives one answer a call and its row says that more are emulated: as many calls side by side, one answer, and the cost told.
import { describe, expect, test } from "bun:test";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway } from "../harness/in-process.ts";
import { readStream } from "../harness/sse.ts";
import type { UpstreamClient, UpstreamRequest } from "../../src/wire/upstream.ts";

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

describe("several choices of a provider that gives one", () => {
  test("[d8.7] [s:param.n] are as many calls, each without n, put together in order, with the sum of the usage", async () => {
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

  test("[d8.7] fail together: one that is refused is the answer, and the others are ended", async () => {
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

  test("[d8.3] [d8.7] one that is cut in mid-stream is an error event, never a complete answer", async () => {
    const gateway = wordsInOrder((index) => (index === 1 ? { ...streamed(index), cutAt: 200 } : streamed(index)));
    const response = await gateway.chat({ ...ASK, stream: true });
    if (response.status !== 200) return expect(response.status).toBe(502);
    const { error, done, events } = readStream(await response.text());
    expect([error?.["code"], done]).toEqual(["upstream_incomplete", true]);
    expect(
      events.flatMap((event) => (event["choices"] ?? []) as any[]).every((choice) => choice.finish_reason === null),
    ).toBe(true);
  });

  test("[d8.7] one whose answer is none ends the others, which would be read for nothing", async () => {
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
            cancel: () => void cancelled.push(index),
          },
        });
      },
    };
    const gateway = stubGateway({ upstream });
    expect((await gateway.chat(ASK)).status).toBe(502);
    expect(new Set(cancelled)).toEqual(new Set([0, 1, 2]));
  });

  test("[d8.7] one whose answer has no choice fails them all: fewer than asked for never look like all", async () => {
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

  test("[d9.5] wait side by side: none of it is the gateway's own time", async () => {
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

  test("one choice is one call, and says nothing of it", async () => {
    const gateway = wordsInOrder(whole);
    const response = await gateway.chat({ ...ASK, n: 1 });
    expect([gateway.sent.length, response.headers.get("x-gateway-warnings")]).toEqual([1, null]);
  });
});
