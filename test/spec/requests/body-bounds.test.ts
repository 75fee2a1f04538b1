// Promise 5.8: how much a body may hold. Each bound is met exactly and exceeded by one, which is answered with 400, the
// path and the bound, and nothing is sent.
import { describe, expect, test } from "bun:test";
import { LEAST_BODY_BOUNDS } from "../../../src/core/request/body-bounds.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";

const HELLO = '"messages":[{"role":"user","content":"Hello"}]';
const upstream = cannedUpstream({ body: JSON.stringify(openaiAnswer()) });
const many = (length: number, item: (index: number) => string): string =>
  Array.from({ length }, (_, index) => item(index)).join(",");
const body = (members: string): string => `{"model":"custom:m",${HELLO},${members}}`;
const message = '{"role":"user","content":"x"}';
const tool = (index: number): string => `{"type":"function","function":{"name":"f${index}"}}`;
const part = '{"type":"text","text":"x"}';
const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

interface Answer {
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly message: string;
  readonly sent: number;
  readonly detail: string | null;
}

async function ask(
  text: string,
  limits: NonNullable<Parameters<typeof stubGateway>[0]>["limits"] = {},
): Promise<Answer> {
  const gateway = stubGateway({ upstream, limits });
  const response = await gateway.chat(text);
  const { error } = (await response.json()) as { error?: { code: string; param: string | null; message: string } };
  return {
    status: response.status,
    code: error?.code ?? null,
    param: error?.param ?? null,
    message: error?.message ?? "",
    sent: gateway.sent.length,
    detail: gateway.records[0]!.errorDetail,
  };
}

/** Beside what `body` has: the body, its model, its messages with one message of two texts. */
const VALUES_AROUND = 6;

interface Bounded {
  readonly of: (count: number) => string;
  readonly bound: number;
  readonly path: string;
  /** What is right in number is refused for something else. */
  readonly otherwise?: string;
}

const BOUNDS: Readonly<Record<string, Bounded>> = {
  "JSON values": {
    of: (count) => body(`"x":[${many(count - VALUES_AROUND - 1, () => "0")}]`),
    bound: LEAST_BODY_BOUNDS.maxValues,
    path: `x[${LEAST_BODY_BOUNDS.maxValues - VALUES_AROUND - 2}]`,
  },
  "JSON values in objects of objects": {
    of: (count) => body(`"x":[${many((count - VALUES_AROUND - 2) / 2, () => '{"a":{}}')},0]`),
    bound: LEAST_BODY_BOUNDS.maxValues,
    path: "x",
  },
  levels: { of: (count) => body(`"x":${deep(count - 1)}`), bound: LEAST_BODY_BOUNDS.maxLevels, path: "x" },
  messages: {
    of: (count) => `{"model":"custom:m","messages":[${many(count, () => message)}]}`,
    bound: 10_000,
    path: "messages",
  },
  "parts of a message": {
    of: (count) =>
      `{"model":"custom:m","messages":[${message},{"role":"user","content":[${many(count, () => part)}]}]}`,
    bound: 10_000,
    path: "messages[1].content",
  },
  "calls of a message": {
    of: (count) =>
      `{"model":"custom:m","messages":[${message},{"role":"assistant","content":null,"tool_calls":[${many(count, (index) => `{"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}`)}]},${message}]}`,
    bound: 10_000,
    path: "messages[1].tool_calls",
  },
  tools: { of: (count) => body(`"tools":[${many(count, tool)}]`), bound: 2048, path: "tools" },
  functions: {
    of: (count) => body(`"functions":[${many(count, (index) => `{"name":"f${index}"}`)}]`),
    bound: 2048,
    path: "functions",
  },
  "a list inside a tool": {
    of: (count) =>
      body(
        `"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"string","enum":[${many(count, (index) => `"e${index}"`)}]}}}]`,
      ),
    bound: 10_000,
    path: "tools[0].function.parameters.enum",
  },
  logit_bias: {
    of: (count) => body(`"logit_bias":{${many(count, (index) => `"${index}":1`)}}`),
    bound: 10_000,
    path: "logit_bias",
  },
  stop: { of: (count) => body(`"stop":[${many(count, () => '"x"')}]`), bound: 10_000, path: "stop" },
  modalities: {
    of: (count) => body(`"modalities":[${many(count, () => '"text"')}]`),
    bound: 10_000,
    path: "modalities",
  },
  extra_body: {
    of: (count) => body(`"extra_body":{${many(count, (index) => `"k${index}":1`)}}`),
    bound: 10_000,
    path: "extra_body",
  },
  "members of the body": {
    of: (count) => body(many(count - 2, (index) => `"k${index}":1`)),
    bound: 10_000,
    path: "k9998",
  },
  "members of an unknown object": {
    of: (count) => body(`"x":{"y":{${many(count, (index) => `"k${index}":1`)}}}`),
    bound: 10_000,
    path: "x.y",
  },
  context_window_fallback_dict: {
    of: (count) => body(`"context_window_fallback_dict":{${many(count, (index) => `"custom:${index}":"custom:m"`)}}`),
    bound: 10_000,
    path: "context_window_fallback_dict",
  },
  metadata: {
    of: (count) => body(`"metadata":{${many(count, (index) => `"${index}":1`)}}`),
    bound: 10_000,
    path: "metadata",
    otherwise: "metadata may have at most 65536 bytes",
  },
  headers: {
    of: (count) => body(`"headers":{${many(count, (index) => `"x-${index}":"1"`)}}`),
    bound: 10_000,
    path: "headers",
  },
  roles: {
    of: (count) => body(`"roles":{${many(count, (index) => `"r${index}":{}`)}}`),
    bound: 10_000,
    path: "roles",
    otherwise: "roles",
  },
  fallbacks: {
    of: (count) => body(`"fallbacks":[${many(count, (index) => `"custom:${index}"`)}]`),
    bound: 10_000,
    path: "fallbacks",
    otherwise: "at most 32 entries",
  },
  model_list: {
    of: (count) => body(`"model_list":[${many(count, () => '{"model_name":"m","params":{"model":"custom:m"}}')}]`),
    bound: 10_000,
    path: "model_list",
    otherwise: "at most 128 entries",
  },
  "digits of a number": { of: (count) => body(`"x":[1,${"1".repeat(count)}]`), bound: 64, path: "x[1]" },
  "digits of a fraction": {
    of: (count) => body(`"temperature":0.${"1".repeat(count - 1)}`),
    bound: 64,
    path: "temperature",
  },
  "a member's name": { of: (count) => body(`"${"n".repeat(count)}":1`), bound: 256, path: `${"n".repeat(64)}…` },
  model: { of: (count) => `{"model":"custom:${"m".repeat(count - 7)}",${HELLO}}`, bound: 256, path: "model" },
  route: {
    of: (count) => body(`"route":"${"r".repeat(count)}"`),
    bound: 256,
    path: "route",
    otherwise: "Unknown route",
  },
  "a model in fallbacks": {
    of: (count) => body(`"fallbacks":["custom:x","custom:${"m".repeat(count - 7)}"]`),
    bound: 256,
    path: "fallbacks[1]",
  },
  "a route in fallbacks": {
    of: (count) => body(`"fallbacks":[{"route":"${"m".repeat(count)}"}]`),
    bound: 256,
    path: "fallbacks[0].route",
    otherwise: "route",
  },
  "a model in model_list": {
    of: (count) =>
      body(`"model_list":[{"model_name":"custom:m","params":{"model":"custom:${"m".repeat(count - 7)}"}}]`),
    bound: 256,
    path: "model_list[0].params.model",
  },
  "a model in context_window_fallback_dict": {
    of: (count) => body(`"context_window_fallback_dict":{"custom:a":"custom:${"m".repeat(count - 7)}"}`),
    bound: 256,
    path: "context_window_fallback_dict.custom:a",
  },
  reasoning_effort: {
    of: (count) => body(`"reasoning_effort":"${"x".repeat(count)}"`),
    bound: 256,
    path: "reasoning_effort",
  },
};

describe("a body", () => {
  for (const [what, { of, bound, path, otherwise }] of Object.entries(BOUNDS)) {
    test(`[d5.8] ${what}: ${bound} are accepted, one more is answered with 400, its path and the bound`, async () => {
      const right = await ask(of(bound));
      if (otherwise === undefined) expect(right).toMatchObject({ status: 200, sent: 1 });
      else expect(right.message).toContain(otherwise);
      const step = what === "JSON values in objects of objects" ? 2 : 1;
      const more = await ask(of(bound + step));
      expect({
        ...more,
        param: more.param!.replace(/^x\[\d+\]$/, what.startsWith("JSON values in") ? "x" : "$&"),
      }).toMatchObject({ status: 400, code: "invalid_request", param: path, sent: 0 });
      expect(more.message).toContain(String(bound));
      expect(more.message.length).toBeLessThan(600);
    });
  }

  test("[d5.8] names of megabytes are refused with their path, which is shortened", async () => {
    const long = "n".repeat(3_000_000);
    for (const text of [
      `{"model":"${long}",${HELLO}}`,
      body(`"${long}":1`),
      body(`"x":{"${long}":{"a":${"9".repeat(65)}}}`),
      body(`"context_window_fallback_dict":{"${long}":"a:b"}`),
      body(`"headers":{"${long}":"1"}`),
      body(`"roles":{"${long}":1}`),
      body(`"tool_choice":"${long}"`),
      `{"model":"custom:m","messages":[{"role":"${long}","content":"x"}]}`,
      `{"model":"openai:m","messages":[{"role":"user","content":[{"type":"${long}"}]}]}`,
      body(`"service_tier":"${long}"`),
      body(`"fallbacks":["${long}"]`),
      body(`"tools":[{"type":"${long}"}]`).replace("custom:m", "openai:m"),
      body(`"extra_body":{"model":1,"${long}":1}`),
    ]) {
      const { status, param, message: words } = await ask(text);
      expect([text.slice(0, 60), status]).toEqual([text.slice(0, 60), 400]);
      expect((param ?? "").length).toBeLessThan(1100);
      expect(words.length).toBeLessThan(17_000);
    }
  });

  test("[d5.8] an operator can raise each bound", async () => {
    const limits = {
      body: {
        maxValues: 300_000,
        maxLevels: 100,
        maxMessages: 10_002,
        maxTools: 3000,
        maxItems: 20_000,
        maxNameCharacters: 300,
        maxNumberDigits: 70,
      },
    };
    for (const [what, { of, bound, otherwise }] of Object.entries(BOUNDS))
      if (otherwise === undefined)
        expect({ what, ...(await ask(of(bound + 2), limits)) }).toMatchObject({ what, status: 200, detail: null });
  });

  test("[d5.8] other calls have a turn after a body of 64 KiB was read, and before it is sent", async () => {
    const turnsToSend = async (bytes: number): Promise<number> => {
      let turns = 0;
      let sentAt = -1;
      const count = (): void => {
        turns += 1;
        if (sentAt === -1) setImmediate(count);
      };
      const gateway = stubGateway({
        upstream: cannedUpstream(() => {
          sentAt = turns;
          return { body: JSON.stringify(openaiAnswer()) };
        }),
      });
      setImmediate(count);
      expect((await gateway.chat(body(`"x":"${"x".repeat(bytes)}"`))).status).toBe(200);
      return sentAt;
    };
    await turnsToSend(1);
    expect(await turnsToSend(65_536)).toBeGreaterThan(await turnsToSend(65_000));
  });
});
