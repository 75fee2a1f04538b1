// Every available recorded exchange, through the whole gateway: the client's answer, the upstream request, the classes
// of errors, and that nothing that was cut looks complete. A failure is fixed for its kind and never for a single
// exchange; an exchange that cannot pass is listed in EXCEPTIONS with its reason.
import { afterAll, describe, expect, test } from "bun:test";
import { DETECTOR_CLASSES } from "../../src/guards/detector-classes.ts";
import type { PolicySet } from "../../src/core/configured/policy.ts";
import { providers } from "../../src/providers/registry.ts";
import { policiesFor } from "../policies/policy-documents.ts";
import { cannedUpstream, type CannedAnswer, stubGateway } from "../harness/in-process.ts";
import { readStream } from "../harness/sse.ts";
import { eventStream, openaiChunk } from "../harness/servers/upstream.ts";
import { canonicalRequest } from "./canonical-request.ts";
import {
  clientBody,
  type ExpectedChoice,
  hasConversation,
  loadCase,
  type TrafficCase,
  type TrafficEntry,
  trafficIndex,
  trafficMissing,
} from "./cases.ts";
import { openReplayGateway } from "./replay-gateway.ts";
import { schemaCheck, schemasMissing } from "./schemas.ts";

/** Case id -> why a hostile reader accepts that it does not pass. */
const EXCEPTIONS: Readonly<Record<string, string>> = {};

/** Recordings of OpenAI's form from hosts whose own id speaks another protocol run as the shape itself. */
const RUN_AS: Readonly<Record<string, string>> = {
  "gemini/openai-chat": "openai",
  "cohere/openai-chat": "openai",
  "ollama/openai-chat": "openai",
};
/** Protocol -> those who are called by it here. */
const OWN_PROTOCOLS: Readonly<Record<string, readonly string[]>> = {
  "anthropic-messages": ["anthropic"],
  gemini: ["gemini", "vertex"],
  "bedrock-converse": ["bedrock"],
  "cohere-v2": ["cohere"],
  "ollama-chat": ["ollama"],
};

const familyOf = (entry: TrafficEntry): string => RUN_AS[`${entry.provider}/${entry.protocol}`] ?? entry.provider;
function inReach(entry: TrafficEntry): boolean {
  if (entry.id in EXCEPTIONS) return false;
  const callable = OWN_PROTOCOLS[entry.protocol];
  if (callable !== undefined) return callable.includes(entry.provider);
  return entry.protocol === "openai-chat" && providers.get(familyOf(entry))?.sameShape === true;
}

/** A real gateway with so many workers, where the run asks for one. */
const WORKERS = process.env["DRAGOMAN_TEST_WORKERS"];
const replayed = WORKERS === undefined || trafficMissing ? null : await openReplayGateway(WORKERS);
afterAll(() => replayed?.close());

const entries = trafficIndex().filter(inReach);
if (trafficMissing) console.log("recorded traffic: not on this machine (DRAGOMAN_TRAFFIC), these tests are skipped");
if (!trafficMissing && schemasMissing)
  console.log("vectors/schemas: not on this machine, answers are not compared with the schemas");
const validAnswer = schemasMissing ? () => "" : schemaCheck("CreateChatCompletionResponse");
const validChunk = schemasMissing ? () => "" : schemaCheck("CreateChatCompletionStreamResponse");

const isStream = (recorded: TrafficCase): boolean =>
  (recorded.response_stream ?? recorded.response_stream_b64) !== undefined;
const recordedBytes = (recorded: TrafficCase): Buffer =>
  Buffer.from(
    recorded.response_stream_b64 ?? recorded.response_stream ?? recorded.response_body ?? "",
    recorded.response_stream_b64 === undefined ? "utf8" : "base64",
  );

function answerOf(recorded: TrafficCase, how: Partial<CannedAnswer>): CannedAnswer {
  const type = recorded.response_headers["content-type"];
  const headers = {
    ...recorded.response_headers,
    "content-type":
      type && !/redacted/i.test(type) ? type : !isStream(recorded) ? "application/json" : "text/event-stream",
  };
  const { chunk } = how;
  // binary messages have no blank lines between them
  return {
    status: recorded.response_status,
    headers,
    body: recordedBytes(recorded),
    ...how,
    ...(chunk === "event" && recorded.response_stream_b64 !== undefined && { chunk: 97 }),
  };
}

function upstreamOf(recorded: TrafficCase, how: Partial<CannedAnswer>) {
  const first = answerOf(recorded, how);
  return cannedUpstream(({ url }) => (url.startsWith(SECOND) ? SECOND_ANSWER : first));
}

/** Another target, which is well. */
const SECOND = "http://127.0.0.1:9/second";
const SECOND_ANSWER: CannedAnswer = {
  headers: { "content-type": "text/event-stream" },
  body: eventStream(openaiChunk({ role: "assistant", content: "The second." }), openaiChunk({}, "stop")),
};

function call(
  entry: TrafficEntry,
  recorded: TrafficCase,
  how: Partial<CannedAnswer> = {},
  more: object = {},
  policies?: PolicySet,
) {
  const body = clientBody(recorded);
  const asked = {
    ...body,
    ...more,
    model: `${familyOf(entry)}:${body["model"] as string}`,
    base_url: BASE,
    api_key: "test-credential",
    ...CLOUD_FIELDS[familyOf(entry)]?.(recorded),
  };
  // Reads of chosen sizes, cuts and policies are for the gateway in this process.
  const isWhole = Object.keys(how).every((key) => key === "chunk" && how.chunk === "whole");
  if (replayed !== null && isWhole && policies === undefined && !("fallbacks" in more))
    return replayed.call(asked, answerOf(recorded, how), BASE);
  const gateway = stubGateway({
    upstream: upstreamOf(recorded, how),
    ...(policies !== undefined && { snapshot: { policies } }),
  });
  return { gateway, answer: gateway.chat(asked) };
}

const BASE = "http://127.0.0.1:9/base";

/** What stands in the recorded address beside the model, and the credential of its kind. */
const CLOUD_FIELDS: Readonly<Record<string, (recorded: TrafficCase) => object>> = {
  azure: ({ endpoint_path: path }) => ({
    deployment_id: deploymentIn(path),
    api_version: new URL(path, "http://recorded.test").searchParams.get("api-version") ?? undefined,
  }),
  vertex: ({ endpoint_path: path }) => ({
    vertex_project: /\/projects\/([^/]+)/.exec(path)?.[1],
    vertex_location: /\/locations\/([^/]+)/.exec(path)?.[1],
    vertex_access_token: "test-token",
  }),
};

const deploymentIn = (path: string): string | undefined => /\/openai\/deployments\/([^/]+)\//.exec(path)?.[1];

/** A guard that holds back nearly everything for a while, and finds nothing. */
const PATIENT = policiesFor({
  name: "patient",
  guard: { classes: [...DETECTOR_CLASSES], patterns: ["(?s)[^ ].{0,60}\\x{e000}never"], action: "mask", on: "output" },
});

interface Got {
  readonly index: number;
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
  readonly finish: string | null;
}

function assembled(events: readonly Record<string, any>[]): readonly Got[] {
  const byIndex = new Map<number, any>();
  for (const event of events)
    for (const choice of event["choices"]) {
      const got = byIndex.get(choice.index) ?? {
        index: choice.index,
        text: "",
        reasoning: "",
        refusal: "",
        calls: [],
        finish: null,
        roles: 0,
      };
      byIndex.set(choice.index, got);
      const { delta } = choice;
      if (delta.role) expect(++got.roles).toBe(1);
      got.text += delta.content ?? "";
      got.reasoning += delta.reasoning_content ?? "";
      got.refusal += delta.refusal ?? "";
      for (const part of delta.tool_calls ?? []) {
        const known = got.calls[part.index];
        if (known === undefined) {
          expect(part.index).toBe(got.calls.length);
          got.calls.push({ id: part.id, name: part.function.name, arguments: part.function.arguments });
        } else {
          expect([part.id, part.function.name]).toEqual([undefined, undefined]);
          known.arguments += part.function.arguments;
        }
      }
      if (choice.finish_reason !== null) {
        expect(got.finish).toBeNull();
        got.finish = choice.finish_reason;
      }
    }
  return [...byIndex.values()].toSorted((a, b) => a.index - b.index);
}

function fromWhole(body: Record<string, any>): readonly Got[] {
  return body["choices"].map(({ index, message, finish_reason }: any) => ({
    index,
    text: message.content ?? "",
    reasoning: message.reasoning_content ?? "",
    refusal: message.refusal ?? "",
    calls: (message.tool_calls ?? []).map((one: any) => ({
      id: one.id,
      name: one.function?.name,
      arguments: one.function?.arguments,
    })),
    finish: finish_reason,
  }));
}

function sameArguments(want: any, got: string, finish: string | null): void {
  if (want?.__unparsed__ !== undefined) expect(got).toBe(want.__unparsed__);
  else if (want === null) expect([null, {}]).toContainEqual(JSON.parse(got));
  else if (!(finish === "length" && got === "")) expect(JSON.parse(got)).toEqual(want);
}

function compareChoices(recorded: TrafficCase, got: readonly Got[]): void {
  // a prompt that was refused has no answer, and a client gets one that says so
  if (recorded.expect.prompt_blocked !== undefined)
    return expect(got).toMatchObject([{ index: 0, text: "", finish: "content_filter" }]);
  expect(got.map((choice) => choice.index)).toEqual(recorded.expect.choices.map((choice) => choice.index));
  recorded.expect.choices.forEach((want, index) => compareChoice(recorded, want, got[index]!));
}

function compareChoice(recorded: TrafficCase, want: ExpectedChoice, got: Got): void {
  if (want.text_is_json === true) expect(JSON.parse(got.text)).toEqual(JSON.parse(want.text!));
  else expect(got.text).toBe(want.text ?? "");
  // the plan before a call is reasoning by another name
  expect(got.reasoning).toBe(want.reasoning ?? recorded.expect.tool_plan ?? "");
  if (want.refusal) expect(got.refusal).toBe(want.refusal);
  const calls = want.tool_calls ?? [];
  expect(got.calls.length).toBe(calls.length);
  calls.forEach((one, index) => {
    if (!one.name) return;
    expect(got.calls[index]!.name).toBe(one.name);
    expect(got.calls[index]!.id).toMatch(/./);
    sameArguments(one.arguments, got.calls[index]!.arguments, want.finish_reason);
  });
  if (want.finish_reason === null) return;
  // the vendors' own words for a normal end, and OpenAI's `stop` on forced calls of the same shape
  const words = [
    want.finish_reason,
    { eos: "stop", eos_token: "stop" }[want.finish_reason],
    ...(calls.length > 0 && recorded.protocol === "openai-chat" ? ["stop", "tool_calls"] : []),
  ];
  expect(words).toContain(got.finish ?? undefined);
}

function compareUsage(recorded: TrafficCase, usage: Record<string, any>): void {
  const want = recorded.expect.usage;
  for (const name of ["prompt_tokens", "completion_tokens", "total_tokens"]) {
    expect(usage[name]).toBeInteger();
    if (want?.[name] != null) expect(usage[name]).toBe(want[name]);
  }
  if (want?.["cached_tokens"] != null)
    expect(usage["prompt_tokens_details"]?.cached_tokens ?? 0).toBe(want["cached_tokens"]);
  if (want?.["reasoning_tokens"] != null)
    expect(usage["completion_tokens_details"]?.reasoning_tokens ?? 0).toBe(want["reasoning_tokens"]);
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ").trim().toLowerCase();
/** The word of an error by which a client tells its class. */
function expectedError(status: number, error: any): { readonly statuses: readonly number[]; readonly code?: RegExp } {
  const all = JSON.stringify(error);
  if (status === 401 || /API_KEY_INVALID|api key not valid|authentication_error|invalid_api_key/i.test(all))
    return { statuses: [401, 403], code: /^credential_/ };
  if (/content_filter|ResponsibleAIPolicy/i.test(all))
    return { statuses: [400, 403], code: /^content_policy_violation$/ };
  if (/context (size|length|window)|exceed_context|context_length|too many tokens|prompt is too long/i.test(all))
    return { statuses: [400], code: /^context_length_exceeded$/ };
  if (status === 429) return { statuses: [429], code: /^rate_limit_exceeded$/ };
  if (status === 403) return { statuses: [403, 401] };
  if (status === 404) return { statuses: [404], code: /^model_not_found$/ };
  if (status >= 500) return { statuses: [502, 503, 504], code: /^upstream_/ };
  return { statuses: [400, 404, 403, 413, 422] };
}

const succeeded = (recorded: TrafficCase): boolean => recorded.expect.error == null && recorded.response_status === 200;

describe.skipIf(trafficMissing)("recorded traffic", () => {
  const cases = entries.map((entry) => [entry.id, entry, loadCase(entry)] as const);
  const some = (fits: (recorded: TrafficCase) => boolean) => cases.filter(([, , recorded]) => fits(recorded));

  test("there is traffic for every protocol in reach", () => {
    for (const protocol of ["openai-chat", "anthropic-messages", "gemini", "bedrock-converse"])
      expect(entries.filter((entry) => entry.protocol === protocol).length).toBeGreaterThan(20);
    for (const protocol of ["cohere-v2", "ollama-chat"])
      expect(entries.filter((entry) => entry.protocol === protocol).length).toBeGreaterThan(10);
  });

  test.each(some((recorded) => succeeded(recorded) && !isStream(recorded)))(
    "[s:response.choices, d8.8, d8.9] the non-streaming answer of %s is what the provider sent, and valid",
    async (_, entry, recorded) => {
      const response = await call(entry, recorded).answer;
      const body = (await response.json()) as Record<string, any>;
      expect(body["error"]).toBeUndefined();
      compareChoices(recorded, fromWhole(body));
      compareUsage(recorded, body["usage"]);
      expect(validAnswer(body)).toBe("");
    },
  );

  for (const chunk of ["event", 7] as const)
    test.each(some((recorded) => succeeded(recorded) && isStream(recorded)))(
      `[d3.3, d8.7] the stream of %s, read ${chunk} at a time, keeps its content and the grammar under a guard that holds text back and finds nothing`,
      async (_, entry, recorded) => {
        const [plain, guarded] = await Promise.all(
          [undefined, PATIENT].map(async (policies) => {
            const read = readStream(
              await (
                await call(entry, recorded, { chunk }, { stream_options: { include_usage: true } }, policies).answer
              ).text(),
            );
            expect([read.error, read.done]).toEqual([null, true]);
            for (const event of read.events) expect(validChunk(event)).toBe("");
            const withoutIds = ({ calls, ...got }: Got): object => ({
              ...got,
              calls: calls.map(({ name, arguments: given }) => ({ name, arguments: given })),
            });
            return {
              got: assembled(read.events.filter((event) => event["choices"].length > 0)).map(withoutIds),
              usage: read.events.at(-1)!["usage"],
            };
          }),
        );
        expect(guarded).toEqual(plain);
      },
    );

  for (const chunk of ["whole", "event", 7, 1] as const)
    test.each(some((recorded) => succeeded(recorded) && isStream(recorded)))(
      `[d8.1, d8.2, d8.7] the stream of %s, read ${chunk} at a time, is what the provider sent, and valid`,
      async (_, entry, recorded) => {
        const asked = chunk !== "event";
        const response = await call(entry, recorded, { chunk }, { stream_options: { include_usage: asked } }).answer;
        const read = readStream(await response.text());
        expect(read.error).toBeNull();
        expect(read.done).toBe(true);
        const withChoices = read.events.filter((event) => event["choices"].length > 0);
        compareChoices(recorded, assembled(withChoices));
        for (const event of read.events) expect(validChunk(event)).toBe("");
        expect(new Set(read.events.map((event) => event["id"])).size).toBe(1);
        if (asked) {
          for (const event of withChoices) expect(event["usage"]).toBeNull();
          expect(read.events.length).toBe(withChoices.length + 1);
          compareUsage(recorded, read.events.at(-1)!["usage"]);
        } else {
          expect(withChoices.length).toBe(read.events.length);
          for (const event of read.events) expect("usage" in event).toBe(false);
        }
      },
    );

  /** Where 60 % of a stream end, and where they end at the latest without a finish reason. */
  function sixtyPercent(recorded: TrafficCase): { readonly bytes: number; readonly unfinishedBytes: number } {
    const whole = recordedBytes(recorded);
    const finish =
      {
        "anthropic-messages": /message_delta/,
        gemini: /"finishReason"/,
        "bedrock-converse": /messageStop/,
        "cohere-v2": /message-end/,
        "ollama-chat": /"done":\s*true/,
      }[recorded.protocol] ?? /"finish_reason":\s*"/;
    const bytes = Math.max(1, Math.floor(whole.length * 0.6));
    return {
      bytes,
      unfinishedBytes: Math.max(1, Math.min(bytes, (finish.exec(whole.toString("latin1"))?.index ?? whole.length) - 1)),
    };
  }
  const CUTS: readonly (readonly [
    how: string,
    answer: (recorded: TrafficCase) => Partial<CannedAnswer>,
    code: RegExp,
  ])[] = [
    [
      "whose connection breaks at 60 %%",
      (recorded) => ({ cutAt: sixtyPercent(recorded).bytes }),
      /^upstream_incomplete$/,
    ],
    [
      "whose connection breaks before its finish reason",
      (recorded) => ({ cutAt: sixtyPercent(recorded).unfinishedBytes }),
      /^upstream_incomplete$/,
    ],
    // half an event is no JSON
    [
      "that simply ends before its finish reason",
      (recorded) => ({ body: recordedBytes(recorded).subarray(0, sixtyPercent(recorded).unfinishedBytes) }),
      /^upstream_(incomplete|invalid_response)$/,
    ],
  ];
  for (const [how, answer, code] of CUTS)
    test.each(some((recorded) => succeeded(recorded) && isStream(recorded)))(
      `[d8.3] the stream of %s ${how} never looks complete`,
      async (_, entry, recorded) => {
        const response = await call(entry, recorded, answer(recorded)).answer;
        if (response.status !== 200) return expect(response.status).toBe(502);
        const read = readStream(await response.text());
        expect(read.error?.["code"]).toMatch(code);
        expect(read.done).toBe(true);
        expect(
          read.events.flatMap((event) => event["choices"] ?? []).every((choice) => choice.finish_reason === null),
        ).toBe(true);
      },
    );

  test("[d7.4] [d8.3] a stream that is cut before its first content is answered by the second target; one that has begun ends with the error", async () => {
    const seen = { second: 0, begun: 0 };
    for (const [id, entry, recorded] of some((one) => succeeded(one) && isStream(one)))
      for (const part of [0.02, 0.2, 0.6]) {
        const cutAt = Math.max(
          1,
          Math.min(Math.floor(recordedBytes(recorded).length * part), sixtyPercent(recorded).unfinishedBytes),
        );
        const { gateway, answer } = call(
          entry,
          recorded,
          { cutAt, chunk: "event" },
          {
            drop_params: true,
            num_retries: 0,
            fallbacks: [{ model: "openai:second", base_url: SECOND, api_key: "second-key" }],
          },
        );
        const response = await answer;
        const text = await response.text();
        const wasAsked = gateway.sent.some(({ url }) => url.startsWith(SECOND));
        // what the second cannot take is not sent there
        if (response.status !== 200) {
          expect([id, response.status, wasAsked]).toEqual([id, 502, false]);
          continue;
        }
        const read = readStream(text);
        if (wasAsked)
          expect([id, read.content, read.error, read.events[0]!["model"]]).toEqual([
            id,
            "The second.",
            null,
            "openai:second",
          ]);
        else expect([id, read.error?.["code"], read.events.length > 1]).toEqual([id, "upstream_incomplete", true]);
        expect(new Set(read.events.flatMap((event) => event["model"] ?? [])).size).toBe(1);
        seen[wasAsked ? "second" : "begun"]++;
      }
    expect(seen.second).toBeGreaterThan(100);
    expect(seen.begun).toBeGreaterThan(100);
  });

  test.each(some((recorded) => recorded.client_request_exact && hasConversation(recorded)))(
    "[d6.2] the request of %s reaches the provider as its own client sent it",
    async (_, entry, recorded) => {
      const { gateway, answer } = call(entry, recorded);
      const response = await answer;
      await response.text();
      const sent = gateway.sent[0];
      // what the provider refused anyway may be refused here
      if (sent === undefined && recorded.response_status >= 400)
        return expect(response.status).toBeGreaterThanOrEqual(400);
      const want = canonicalRequest(recorded.protocol, recorded.request_body, recorded.request_body);
      expect(canonicalRequest(recorded.protocol, JSON.parse(sent!.body), recorded.request_body)).toEqual(want);
      if (deploymentIn(recorded.endpoint_path) !== undefined)
        expect(sent!.url).toBe(`http://127.0.0.1:9/base${recorded.endpoint_path.replace(/^\/+/, "/")}`);
    },
  );

  test.each(
    some((recorded) => recorded.expect.error != null && !(isStream(recorded) && recorded.response_status === 200)),
  )("[s:errors.5xx] the error of %s keeps the provider's message and has its class", async (_, entry, recorded) => {
    const { gateway, answer } = call(entry, recorded);
    const response = await answer;
    const { error } = (await response.json()) as { error: Record<string, any> };
    const truth: any = recorded.expect.error;
    const status =
      recorded.response_status === 200 ? (truth.status ?? truth.status_code ?? 400) : recorded.response_status;
    expect({
      message: typeof error["message"],
      type: typeof error["type"],
      code: typeof error["code"],
      param: "param" in error,
    }).toEqual({ message: "string", type: "string", code: "string", param: true });
    if (gateway.sent.length === 0) return expect(response.status).toBeGreaterThanOrEqual(400);
    const want = expectedError(status, truth);
    expect(want.statuses).toContain(response.status);
    if (want.code) expect(error["code"]).toMatch(want.code);
    const words = oneLine(String(typeof truth === "string" ? truth : (truth.message ?? truth.detail ?? ""))).slice(
      0,
      120,
    );
    expect(oneLine(error["message"])).toContain(words);
  });

  test.each(
    some((recorded) => recorded.expect.error != null && isStream(recorded) && recorded.response_status === 200),
  )("[d8.3] the error inside the stream of %s stays an error", async (_, entry, recorded) => {
    const response = await call(entry, recorded).answer;
    const text = await response.text();
    const error =
      response.status === 200 ? readStream(text).error : (JSON.parse(text) as { error: Record<string, any> }).error;
    expect(oneLine(String(error?.["message"]))).toContain(oneLine(recorded.expect.error!.message ?? "").slice(0, 80));
  });
});
