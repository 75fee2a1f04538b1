// Answers, streams and errors of the operation messages, in whole calls (promises 12.2, 12.5 to 12.7).
import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { type CannedAnswer, cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { readEvents } from "./message-events.ts";

const BODY = { model: "groq:m", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] };

async function asked(
  answer: CannedAnswer,
  body: JsonObject = {},
): Promise<{ readonly response: Response; readonly text: string }> {
  const gateway = stubGateway({ upstream: cannedUpstream(answer) });
  const response = await gateway.call(MESSAGES, { ...BODY, ...body });
  return { response, text: await response.text() };
}

async function message(answer: object, body: JsonObject = {}): Promise<Record<string, any>> {
  const { text } = await asked({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }, body);
  return JSON.parse(text) as Record<string, any>;
}

/** Where a stream has this event, it ends without its own end. */
const CUT = "cut";
const IS_CUT = `data: ${CUT}\n\ndata: [DONE]\n\n`;

async function streamed(...chunks: readonly (object | string)[]): Promise<ReturnType<typeof readEvents>> {
  const texts = await Promise.all(
    (["whole", "event", 7, 1] as const).map(async (chunk) => {
      const body = eventStream(...chunks).replace(IS_CUT, "");
      const { text } = await asked({ headers: { "content-type": "text/event-stream" }, body, chunk }, { stream: true });
      return text
        .replaceAll(/msg_[0-9a-f]{32}/g, "msg_1")
        .replaceAll(/"request_id":"[0-9a-f]+"/g, `"request_id":""`)
        .replaceAll(/dragoman1\.[\w-]+\.dragoman/g, "a carrier");
    }),
  );
  expect([...new Set(texts)]).toHaveLength(1);
  return readEvents(texts[0]!);
}

const usage = (cached: number, written: number) => ({
  prompt_tokens: 100,
  completion_tokens: 20,
  total_tokens: 120,
  prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  completion_tokens_details: { reasoning_tokens: 5 },
});
const call = (index: number, id: string | null, name: string | null, text: string) => ({
  tool_calls: [
    {
      index,
      ...(id !== null && { id, type: "function" }),
      function: { ...(name !== null && { name }), arguments: text },
    },
  ],
});

test("[d12.2 d12.7] a plain answer has the client's own model, blocks in order, and each counter once", async () => {
  const made = await message({
    ...openaiAnswer("Hi", {
      message: {
        reasoning_content: "Hm.",
        tool_calls: [{ id: "functions.look:0", type: "function", function: { name: "look", arguments: '{"at":1}' } }],
      },
    }),
    usage: usage(30, 10),
  });
  expect(made).toEqual({
    id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
    type: "message",
    role: "assistant",
    model: "groq:m",
    content: [
      { type: "thinking", thinking: "Hm.", signature: "" },
      { type: "text", text: "Hi" },
      { type: "tool_use", id: expect.stringMatching(/^[a-zA-Z0-9_-]+$/), name: "look", input: { at: 1 } },
    ],
    stop_reason: "tool_use",
    stop_sequence: null,
    stop_details: null,
    usage: {
      input_tokens: 60,
      cache_creation_input_tokens: 10,
      cache_read_input_tokens: 30,
      output_tokens: 20,
      output_tokens_details: { thinking_tokens: 5 },
    },
  });
});

test("[d12.7] what the provider counts in the total alone is in the counter that this form has for it", async () => {
  const used = async (figures: object) => (await message({ ...openaiAnswer("Hi"), usage: figures }))["usage"];
  const reasoning = { completion_tokens_details: { reasoning_tokens: 300 } };
  expect(await used({ prompt_tokens: 10, completion_tokens: 9, total_tokens: 319, ...reasoning })).toEqual({
    input_tokens: 10,
    output_tokens: 309,
    output_tokens_details: { thinking_tokens: 300 },
  });
  const audio = { prompt_tokens_details: { audio_tokens: 200 } };
  expect(await used({ prompt_tokens: 10, completion_tokens: 9, total_tokens: 219, ...audio })).toEqual({
    input_tokens: 210,
    output_tokens: 9,
  });
});

test("[d12.4 d12.7] reasons for the end have their counterparts, and unknown counters are left out", async () => {
  const ended = async (finish: string, content: string | null, more: object = {}) =>
    (await message(openaiAnswer(content, { finish_reason: finish, message: more })))["stop_reason"] as string;
  expect(await ended("stop", "x")).toBe("end_turn");
  expect(await ended("tool_calls", "x")).toBe("end_turn");
  expect(await ended("length", "x")).toBe("max_tokens");
  expect(await ended("content_filter", "x")).toBe("refusal");
  const refused = await message(openaiAnswer(null, { message: { refusal: "I must not." } }));
  expect(refused).toMatchObject({
    content: [],
    stop_reason: "refusal",
    stop_details: { type: "refusal", explanation: "I must not." },
    usage: { input_tokens: 5, output_tokens: 2 },
  });
  expect(Object.keys(refused["usage"] as object)).toEqual(["input_tokens", "output_tokens"]);
});

test("[d12.5] a stream has the first of several choices alone, as the message that is not streamed", async () => {
  const of = (index: number, delta: object, finish: string | null = null): object => ({
    ...openaiChunk({}),
    choices: [{ index, delta, finish_reason: finish }],
  });
  const words = Array.from({ length: 6 }, (_, at) => [
    of(0, { content: ` one${at}` }),
    of(1, { content: ` two${at}` }),
    of(1, { content: ` three${at}` }),
  ]).flat();
  const { events, content } = await streamed(
    of(0, { role: "assistant", content: "" }),
    of(1, { role: "assistant", content: "" }),
    ...words,
    of(1, call(0, "a", "look", "{}")),
    of(0, {}, "length"),
    of(1, {}, "tool_calls"),
  );
  expect(content).toEqual([{ type: "text", text: "", pieces: " one0 one1 one2 one3 one4 one5" }]);
  expect(events.at(-2)!["delta"].stop_reason).toBe("max_tokens");
  const whole = openaiAnswer("one");
  const second = { index: 1, message: { role: "assistant", content: "two" }, finish_reason: "stop" };
  const { content: plain } = await message({ ...whole, choices: [...(whole as any).choices, second] });
  expect(plain).toEqual([{ type: "text", text: "one" }]);
});

test("[d12.5] a stream is one message with blocks one after another, one signature each, and all counters at its end", async () => {
  const { events, content } = await streamed(
    openaiChunk({ role: "assistant", content: "" }),
    openaiChunk({ reasoning_content: "Let " }),
    openaiChunk({ reasoning_content: "me see." }),
    openaiChunk({ content: "I " }),
    openaiChunk({ content: "look" }),
    openaiChunk({ content: "." }),
    openaiChunk({ reasoning_content: "Once more." }),
    openaiChunk({ content: "Now." }),
    openaiChunk({ content: " There." }),
    openaiChunk(call(0, "a", "look", "")),
    openaiChunk(call(0, null, null, '{"at"')),
    openaiChunk(call(0, null, null, ":1}")),
    openaiChunk({}, "stop"),
    { ...openaiChunk({}), choices: [], usage: usage(30, 0) },
  );
  expect(content).toEqual([
    { type: "thinking", thinking: "", signature: "", pieces: "Let me see." },
    { type: "text", text: "", pieces: "I look." },
    { type: "thinking", thinking: "", signature: "", pieces: "Once more." },
    { type: "text", text: "", pieces: "Now. There." },
    { type: "tool_use", id: "a", name: "look", input: {}, pieces: '{"at":1}' },
  ]);
  expect(events[0]).toMatchObject({
    type: "message_start",
    message: { model: "groq:m", content: [], stop_reason: null, usage: { output_tokens: 0 } },
  });
  expect(events[0]!["message"].usage.input_tokens).toBeGreaterThan(0);
  expect(events.slice(-2)).toEqual([
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null, stop_details: null },
      usage: {
        input_tokens: 70,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 30,
        output_tokens: 20,
        output_tokens_details: { thinking_tokens: 5 },
      },
    },
    { type: "message_stop" },
  ]);
  expect(events.filter(({ type }) => type === "message_start" || type === "message_delta")).toHaveLength(2);
});

test("[d12.5] calls that a provider interleaves become blocks one after another, and none is lost", async () => {
  const { events, content } = await streamed(
    openaiChunk(call(0, "a", "look", "")),
    openaiChunk(call(1, "b", "see", '{"b"')),
    openaiChunk(call(0, null, null, '{"a":')),
    openaiChunk(call(2, "c", "hear", "{}")),
    openaiChunk({ content: "Aside." }),
    openaiChunk(call(1, null, null, ":2}")),
    openaiChunk(call(0, null, null, "1}")),
    openaiChunk(call(3, "d", "feel", "")),
    openaiChunk(call(4, "e", "smell", "nu")),
    openaiChunk(call(4, null, null, "ll")),
    openaiChunk({}, "tool_calls"),
  );
  expect(content.map(({ type, id, pieces }) => [type, id, pieces])).toEqual([
    ["tool_use", "a", '{"a":1}'],
    ["tool_use", "b", '{"b":2}'],
    ["tool_use", "c", "{}"],
    ["text", undefined, "Aside."],
    ["tool_use", "d", "{}"],
    ["tool_use", "e", "{}"],
  ]);
  expect(events.at(-2)).toMatchObject({ delta: { stop_reason: "tool_use" } });
});

/** What the signature of its provider is to the client. */
const CARRIER = "a carrier";

test("[d12.5] signed and redacted thinking comes as blocks of its own, with a carrier in place of each signature", async () => {
  const detail = (members: object) =>
    openaiChunk({ reasoning_details: [{ format: "anthropic-claude-v1", ...members }] });
  const { content } = await streamed(
    openaiChunk({ reasoning_content: "One" }),
    detail({ type: "reasoning.text", text: "One", signature: "s+/1=", index: 0 }),
    detail({ type: "reasoning.encrypted", data: "zz==", index: 1 }),
    detail({ type: "reasoning.text", text: "", signature: "s2", index: 2 }),
    openaiChunk({ reasoning_content: "Three" }),
    detail({ type: "reasoning.text", text: "Three", signature: "s3", index: 3 }),
    openaiChunk({ content: "Done" }),
    openaiChunk({}, "stop"),
  );
  expect(content).toEqual([
    { type: "thinking", thinking: "", signature: CARRIER, pieces: "One" },
    { type: "redacted_thinking", data: CARRIER, pieces: "" },
    { type: "thinking", thinking: "", signature: CARRIER, pieces: "" },
    { type: "thinking", thinking: "", signature: CARRIER, pieces: "Three" },
    { type: "text", text: "", pieces: "Done" },
  ]);
});

test("[d12.5] a stream that is cut or fails ends with an error, never as complete", async () => {
  const cut = await streamed(openaiChunk({ content: "Half" }), openaiChunk({ content: " of" }), CUT);
  expect(cut.events.at(-1)).toMatchObject({ type: "error", error: { type: "api_error" } });
  // what fails in the first read has a status of its own, so that the failure comes in a later one
  const broken = eventStream(openaiChunk({ content: "Half" }), { error: { message: "broken", type: "server_error" } });
  const { text } = await asked(
    { headers: { "content-type": "text/event-stream" }, body: broken, chunk: "event" },
    { stream: true },
  );
  const failed = readEvents(text);
  expect(failed.events.at(-1)).toMatchObject({ type: "error", error: { type: "api_error", message: "broken" } });
  for (const { events } of [cut, failed])
    expect(events.some(({ type }) => type === "message_stop" || type === "message_delta")).toBe(false);
});

test("[d12.6] errors have the form of messages, with code and path in headers", async () => {
  const { response, text } = await asked({
    status: 429,
    headers: { "retry-after": "7" },
    body: '{"error":{"message":"slow down"}}',
  });
  expect(response.status).toBe(429);
  expect(JSON.parse(text)).toEqual({
    type: "error",
    error: { type: "rate_limit_error", message: expect.stringContaining("slow down") as string },
    request_id: response.headers.get("x-gateway-trace-id"),
  });
  expect(response.headers.get("request-id")).toBe(response.headers.get("x-gateway-trace-id"));
  expect(response.headers.get("x-gateway-error-code")).toBe("rate_limit_exceeded");
  const bad = await asked({ body: "" }, { max_tokens: "many" });
  expect(bad.response.status).toBe(400);
  expect(bad.response.headers.get("x-gateway-error-param")).toBe("max_tokens");
  expect(JSON.parse(bad.text)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
  const gateway = stubGateway();
  const unknown = await gateway.call(MESSAGES, BODY, { headers: { authorization: "Bearer wrong" } });
  expect([unknown.status, await unknown.json()]).toMatchObject([
    401,
    { type: "error", error: { type: "authentication_error" } },
  ]);
  const long = await asked({
    status: 400,
    body: '{"error":{"message":"too many tokens","code":"context_length_exceeded"}}',
  });
  expect(JSON.parse(long.text)).toMatchObject({
    error: { message: expect.stringContaining("prompt is too long") as string },
  });
});

test("[d12.6] what a program can do without is refused with the word that it knows", async () => {
  const { response, text } = await asked(
    { body: JSON.stringify(openaiAnswer()) },
    { model: "cohere:m", output_config: { effort: "max" } },
  );
  expect(response.status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({ error: { message: "capability_rejected: effort_unsupported" } });
  expect(response.headers.get("x-gateway-error-param")).toBe("output_config.effort");
  expect(response.headers.get("x-gateway-error-message")).toContain("output_config.effort");
});

test("[d12.6] blocks that a target does not take are refused with the word that programs know", async () => {
  const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
  const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERi0=" };
  for (const [word, model, block] of [
    ["image_block", "upstage:solar", { type: "image", source }],
    ["document_block", "cloudflare:m", { type: "document", source: pdf }],
    ["document_block", "cohere:m", { type: "document", source: pdf }],
    ["document_block", "bedrock:m", { type: "document", source: { ...pdf, media_type: "application/zip" } }],
  ] as const) {
    const { response, text } = await asked(
      { body: "" },
      { model, messages: [{ role: "user", content: [{ type: "text", text: "x" }, block] }] },
    );
    expect(response.status).toBe(400);
    expect(JSON.parse(text)).toMatchObject({ error: { message: `capability_rejected: ${word}` } });
    const path = response.headers.get("x-gateway-error-param")!;
    expect(path).toStartWith("messages[0].content[1].source");
    const told = response.headers.get("x-gateway-error-message")!;
    expect(told).toMatch(new RegExp(`\\bof type "?${block.type}\\b`));
    if (told.startsWith("messages[")) expect(told).toStartWith(`${path}: `);
  }
});

test("[d6.3, d12.4] advice is left out and told; what is not advice is refused, or dropped and told", async () => {
  const answer: CannedAnswer = { body: JSON.stringify(openaiAnswer()) };
  const advised = await asked(answer, {
    context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
    service_tier: "standard_only",
    model: "upstage:m",
  });
  expect(advised.response.headers.get("x-gateway-dropped-params")).toBe("service_tier,context_management");
  const thoughtless = await asked(answer, { thinking: { type: "disabled" }, model: "mistral:mistral-large" });
  expect(thoughtless.response.headers.get("x-gateway-dropped-params")).toBe("thinking");
  const speed = await asked(answer, { speed: "fast" });
  expect([speed.response.status, speed.response.headers.get("x-gateway-error-param")]).toEqual([400, "speed"]);
  // the message names the target and every part that it cannot take, as for chat completions
  const several = await asked(answer, { speed: "fast", safeguards: {}, model: "upstage:m" });
  const { error } = JSON.parse(several.text) as { readonly error: { readonly message: string } };
  for (const word of ["speed", "safeguards", "upstage:m", "Upstage", "drop_params"])
    expect(error.message).toContain(word);
  const dropped = await asked(answer, { speed: "fast", x_gateway: { drop_params: true } });
  expect([dropped.response.status, dropped.response.headers.get("x-gateway-dropped-params")]).toEqual([200, "speed"]);
});

test("[d12.4] the version of the form that the client speaks decides what it refuses", async () => {
  const gateway = stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }) });
  const callWith = (body: object, version: string) =>
    gateway.call(MESSAGES, { ...BODY, ...body }, { headers: { "anthropic-version": version } });
  const cited = [{ role: "user", content: [{ type: "text", text: "x", citations: [{ type: "char_location" }] }] }];
  for (const [path, body] of [
    ["temperature", { temperature: 1 }],
    ["top_p", { top_p: 1 }],
    ["top_k", { top_k: 5 }],
    ["messages[0].content[0].citations", { messages: cited }],
  ] as const) {
    const refused = await callWith(body, "2026-10-21");
    expect([refused.status, refused.headers.get("x-gateway-error-param")]).toEqual([400, path]);
    expect((await callWith(body, "2023-06-01")).status).toBe(200);
  }
  expect((await callWith({}, "2026-10-21")).status).toBe(200);
});

test("[d12.6] what is left of the gateway's limits stands in the headers that clients of this form read", async () => {
  const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
  const gateway = stubGateway({
    clock,
    upstream: cannedUpstream({
      body: JSON.stringify(openaiAnswer()),
      headers: { "anthropic-ratelimit-unified-status": "allowed" },
    }),
    snapshot: { limitRules: limitSet({ limits: { calls: { metric: "requests", limit: 2, window: "minute" } } }) },
  });
  const head = (await gateway.call(MESSAGES, BODY)).headers;
  expect(head.get("anthropic-ratelimit-requests-limit")).toBe("2");
  expect(head.get("anthropic-ratelimit-requests-remaining")).toBe("1");
  expect(head.get("anthropic-ratelimit-requests-reset")).toMatch(/^2026-01-01T00:0\d:\d\d/);
  expect(head.get("anthropic-ratelimit-unified-status")).toBeNull();
});

test("[d9.7 d12.6] every header of an answer or a refusal in this form may be read by web pages of allowed origins", async () => {
  const origin = "https://a.example";
  const gateway = stubGateway({
    upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer()) }),
    snapshot: {
      corsOrigins: [origin],
      limitRules: limitSet({
        limits: {
          calls: { metric: "requests", limit: 2, window: "minute" },
          tokens: { metric: "tokens", limit: 100_000, window: "day" },
        },
      }),
    },
  });
  const read = new Set<string>();
  for (const fields of [{}, { stream: true }, {}, { max_tokens: "x" }]) {
    const { headers, body } = await gateway.call(MESSAGES, { ...BODY, ...fields }, { headers: { origin } });
    await body?.cancel();
    // the names that have no place in the list are those of forms and vendors
    expect(headers.get("access-control-expose-headers")!.split(", ")).toContain("*");
    // a browser would take `*` for a name where it is told that cookies may be sent
    expect(headers.get("access-control-allow-credentials")).toBeNull();
    for (const name of headers.keys()) read.add(name);
  }
  for (const name of ["request-id", "anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-tokens-reset"])
    expect([...read]).toContain(name);
});

test("[d12.4] pages that another provider cites are citations of the text, plain and streamed, and go to no vendor", async () => {
  const cited = (url: string) => ({
    type: "url_citation",
    url_citation: { url, title: "A page", start_index: 0, end_index: 2 },
  });
  const annotations = [cited("https://one.test"), cited("https://two.test"), { type: "file_citation", file_id: "f" }];
  const shown = (url: string) => ({
    type: "web_search_result_location",
    url,
    title: "A page",
    cited_text: "",
    encrypted_index: "",
  });
  const citations = [shown("https://one.test"), shown("https://two.test")];
  const plain = await message(openaiAnswer("Hi", { message: { annotations } }));
  expect(plain["content"]).toEqual([{ type: "text", text: "Hi", citations }]);
  const { events, content } = await streamed(
    openaiChunk({ role: "assistant", content: "" }),
    openaiChunk({ annotations: annotations.slice(0, 1) }),
    openaiChunk({ content: "Hi" }),
    openaiChunk({ annotations: annotations.slice(1) }),
    openaiChunk({}, "stop"),
    "[DONE]",
  );
  expect(content).toHaveLength(1);
  expect(events.flatMap(({ delta }) => (delta?.type === "citations_delta" ? [delta.citation] : []))).toEqual(citations);

  const native = stubGateway({ upstream: cannedUpstream({ body: "{}" }) });
  const vendors = { ...citations[0], encrypted_index: "Eo8B" };
  const blocks = [
    { type: "text", text: "Hi", citations },
    { type: "text", text: "Ho", citations: [citations[0]!, vendors] },
  ];
  const messages = [
    { role: "user", content: "Hello" },
    { role: "assistant", content: blocks },
    { role: "user", content: "And?" },
  ];
  await native.call(MESSAGES, { ...BODY, model: "anthropic:m", messages });
  expect(JSON.parse(native.sent[0]!.body).messages[1].content).toEqual([
    { type: "text", text: "Hi" },
    { type: "text", text: "Ho", citations: [vendors] },
  ]);
  await native.call(MESSAGES, {
    ...BODY,
    messages: [messages[0], { role: "assistant", content: blocks.slice(0, 1) }, messages[2]],
  });
  expect(JSON.parse(native.sent[1]!.body).messages[1]).toEqual({ role: "assistant", content: "Hi" });
});

test("[d12.4] citations of a text that waited for the end of a call come with it", async () => {
  const cited = { url: "https://one.test", title: "A page", start_index: 0, end_index: 2 };
  const annotations = [{ type: "url_citation", url_citation: cited }];
  const { events } = await streamed(
    openaiChunk({ role: "assistant", content: "" }),
    openaiChunk(call(0, "call_1", "look", '{"at":')),
    openaiChunk({ content: "Hi" }),
    openaiChunk({ annotations }),
    openaiChunk(call(0, null, null, '"x"}')),
    openaiChunk({}, "tool_calls"),
    "[DONE]",
  );
  const deltas = events.flatMap(({ delta }) => (delta?.type === undefined ? [] : [delta.type as string]));
  expect(deltas.slice(deltas.indexOf("text_delta"))).toEqual(["text_delta", "citations_delta"]);
});
