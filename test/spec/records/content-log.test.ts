// Content logging (promise 11.3): only where the tenant turns it on, redacted, sampled, bounded, and never anywhere
// else.
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { TOOL_CALL } from "../../../src/operations/tool-call/tool-call.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { textGuard } from "../../../src/engine/guards/text-guard.ts";
import { redactedValues } from "../../../src/engine/content/content-redaction.ts";
import { patientGuards } from "../../harness/patient-guards.ts";
import { openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { type LongRequests, openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { GuardScheduler } from "../../../src/engine/guards/guard-scheduler.ts";
import { describe, expect, test } from "bun:test";
import { compileContentLogs } from "../../../src/auth/settings/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../../src/auth/settings/scope-settings.ts";
import type { CallContent } from "../../../src/core/configured/content.ts";
import type { ChatRequest } from "../../../src/core/chat.ts";
import type { ScopeSettings } from "../../../src/core/snapshot.ts";
import { ContentRecorder } from "../../../src/engine/content/content-recorder.ts";
import { newTraceId } from "../../../src/core/ids.ts";
import { isSampled } from "../../../src/core/record/sampling.ts";
import { callLine } from "../../../src/observe/log.ts";
import { openContentLog } from "../../../src/observe/content-log.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import type { GuardPolicy } from "../../../src/core/configured/policy.ts";
import { closingText, openingText } from "../../../src/store/journal/journal-row.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { type ScriptedRound, scriptedModel } from "../tools/scripted-rounds.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { parseJson } from "../../../src/wire/json/json.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";
import { until } from "../../harness/time/until.ts";

type Settings = Readonly<Record<string, unknown>>;
const PROJECTS = [
  { id: "default", tenantId: "default", name: "Default" },
  { id: "other", tenantId: "default", name: "Other" },
];
const settingsOf = (contentLog: Settings | undefined): ReadonlyMap<string, ScopeSettings> =>
  contentLog === undefined
    ? new Map()
    : new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: contentLog }))]]);
const rulesOf = (tenant: Settings | undefined, project?: Settings, isAllowed = true) =>
  compileContentLogs(isAllowed, PROJECTS, settingsOf(tenant), settingsOf(project));

interface World {
  readonly stub: Stub;
  readonly told: readonly (readonly [CallRecord, CallContent | null | undefined])[];
  content(): Promise<CallContent | null | undefined>;
}

function world(
  tenant: Settings | undefined,
  { project, ...options }: StubOptions & { readonly project?: Settings } = {},
): World {
  const told: (readonly [CallRecord, CallContent | null | undefined])[] = [];
  const stub = stubGateway({ ...options, snapshot: { contentLogs: rulesOf(tenant, project), ...options.snapshot } });
  Object.assign(stub.context.observer, {
    publish: (record: CallRecord, content?: CallContent | null) => told.push([record, content]),
  });
  return {
    stub,
    told,
    async content() {
      await until(() => told.length > 0);
      return told.at(-1)?.[1];
    },
  };
}

const SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH";
const hello = (content: unknown, more: Settings = {}) => ({
  model: "openai:gpt-4o",
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content },
  ],
  ...more,
});
const answer = (content: string) =>
  cannedUpstream({
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      id: "x",
      object: "chat.completion",
      created: 1,
      model: "gpt-4o",
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  });
const event = (delta: Settings, finish: string | null = null, index = 0): string =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "gpt-4o", choices: [{ index, delta, finish_reason: finish }] })}\n\n`;
const stream = (body: string, cutAt?: number) =>
  cannedUpstream({
    headers: { "content-type": "text/event-stream" },
    body,
    chunk: "event",
    ...(cutAt !== undefined && { cutAt }),
  });

describe("where content is kept", () => {
  test("[d11.3] nothing is kept unless the tenant turns it on, whatever the project says", async () => {
    for (const one of [
      world(undefined),
      world({ enabled: false }),
      world(undefined, { project: { enabled: true } }),
      world({ enabled: true }, { project: { enabled: false } }),
      world({ enabled: true, projects: ["other"] }),
    ]) {
      Object.assign(one.stub.context, { upstream: answer("Hi") });
      await (await one.stub.chat(hello("Hello"))).text();
      expect(await one.content()).toBeNull();
    }
    expect(rulesOf({ enabled: true }, undefined, false).size).toBe(0);
  });

  test("[d11.3] what was said in a project that is removed meanwhile is not kept in another one that has its id", async () => {
    const projects = (createdAtMs: number) =>
      new Map([["default", { id: "default", tenantId: "default", name: "default", createdAtMs }]]);
    const kept = async (laterMs: number): Promise<number | null | undefined> => {
      const one = world({ enabled: true }, { upstream: answer("Hi"), snapshot: { projects: projects(1) } });
      const before = one.stub.context.snapshot();
      const later = { ...before, version: 2, projects: projects(laterMs) };
      let asked = 0;
      // the call takes the first one
      Object.assign(one.stub.context, { snapshot: () => (asked++ === 0 ? before : later) });
      await (await one.stub.chat(hello("Hello"))).text();
      return (await one.content())!.keptUntilMs;
    };
    expect(await kept(1)).toBeNumber();
    expect(await kept(2)).toBeNull();
  });

  test("[d11.3] request and answer are kept where content logging is on, streamed and non-streaming alike, also of calls that fail", async () => {
    const whole = world({ enabled: true }, { upstream: answer("Hi there") });
    await (await whole.stub.chat(hello("Hello"))).text();
    const kept = await whole.content();
    expect(kept).toMatchObject({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "Hello" },
      ],
      tools: [],
      answers: [{ index: 0, content: "Hi there", reasoning: null, refusal: null, toolCalls: [], finishReason: "stop" }],
      leftOut: null,
    });
    expect(kept!.keptUntilMs).toBe(whole.told[0]![0].startedAtMs + 30 * 86_400_000);
    const streamed = world(
      { enabled: true },
      {
        upstream: stream(
          event({ role: "assistant", content: "" }) +
            event({ content: "Hi " }) +
            event({ content: "there" }) +
            event({}, "stop") +
            "data: [DONE]\n\n",
        ),
      },
    );
    await (await streamed.stub.chat(hello("Hello", { stream: true }))).text();
    expect(await streamed.content()).toMatchObject({ messages: kept!.messages, answers: kept!.answers });
    const failed = world({ enabled: true }, { upstream: cannedUpstream({ status: 500, body: "{}" }) });
    await (await failed.stub.chat(hello("Hello"))).text();
    expect(await failed.content()).toMatchObject({ messages: [{}, { content: "Hello" }], answers: [] });
  });

  test("[d11.3] of a stream that was cut, or left by the client, what was sent is kept; function calls are kept in their pieces", async () => {
    const body =
      event({ role: "assistant", content: "" }) + event({ content: "Half an " }) + event({ content: "answer" });
    const cut = world({ enabled: true }, { upstream: stream(`${body}data: {"id"`, Buffer.byteLength(body)) });
    await (await cut.stub.chat(hello("Hello", { stream: true }))).text();
    expect((await cut.content())!.answers).toMatchObject([{ content: "Half an answer", finishReason: null }]);
    const left = world({ enabled: true }, { upstream: stream(body + event({}, "stop")) });
    const reader = (
      (await left.stub.chat(hello("Hello", { stream: true }))).body as ReadableStream<unknown>
    ).getReader();
    await reader.read();
    await reader.cancel();
    expect((await left.content())!.answers).toMatchObject([{ finishReason: null }]);
    expect(left.told[0]![0].cancelled).toBe(true);
    const call = (more: Settings) => event({ tool_calls: [{ index: 0, ...more }] });
    const calls = world(
      { enabled: true },
      {
        upstream: stream(
          call({ id: "c1", type: "function", function: { name: "look", arguments: "" } }) +
            call({ function: { arguments: '{"q":' } }) +
            call({ function: { arguments: '"a@example.com"}' } }) +
            event({}, "tool_calls") +
            "data: [DONE]\n\n",
        ),
      },
    );
    await (
      await calls.stub.chat(
        hello("Hello", {
          stream: true,
          tools: [{ type: "function", function: { name: "look", parameters: { type: "object" } } }],
        }),
      )
    ).text();
    expect(await calls.content()).toMatchObject({
      tools: [{ function: { name: "look" } }],
      answers: [
        {
          toolCalls: [{ id: "c1", type: "function", function: { name: "look", arguments: '{"q":"[email]"}' } }],
          finishReason: "tool_calls",
        },
      ],
    });
  });

  test("[d11.3] a text is kept to its end, whatever its pieces end with", async () => {
    const mark = "\uFFFE\uFFFF";
    const body = `${event({ content: `a${mark}` })}${event({ content: "b" })}${event({}, "stop")}data: [DONE]\n\n`;
    const kept = world({ enabled: true }, { upstream: stream(body) });
    await (await kept.stub.chat(hello("Say hello.", { stream: true }))).text();
    expect((await kept.content())?.answers[0]?.content).toBe(`a${mark}b`);
  });

  test("[d11.3] a sample is chosen by the trace id, identically on every gateway", () => {
    const ids = Array.from({ length: 4000 }, () => newTraceId(1_767_225_600_000));
    const chosen = ids.filter((id) => isSampled(id, 0.25));
    expect(chosen.length).toBeGreaterThan(800);
    expect(chosen.length).toBeLessThan(1200);
    expect(chosen.every((id) => isSampled(id, 0.5))).toBe(true);
    expect([ids.some((id) => isSampled(id, 0)), ids.every((id) => isSampled(id, 1))]).toEqual([false, true]);
  });

  test("[d11.3] a project can only reduce what its tenant keeps", () => {
    const rules = (tenant: Settings, project: Settings) =>
      rulesOf({ enabled: true, ...tenant }, { enabled: true, ...project }).get("default")!;
    const more = rules(
      { retention_days: 10, sample: 0.5, max_characters: 1000 },
      { retention_days: 99, sample: 1, max_characters: 9000, redact: { classes: [] } },
    );
    expect([more.retentionMs / 86_400_000, more.sample, more.maxCharacters]).toEqual([10, 0.5, 1000]);
    expect(more.detectors.length).toBe(rulesOf({ enabled: true }).get("default")!.detectors.length);
    const less = rules(
      { redact: { classes: [] } },
      {
        retention_days: 1,
        sample: 0.1,
        keep_in: "integrations",
        redact: { classes: ["email"], patterns: ["Project \\w+"] },
      },
    );
    expect([less.retentionMs / 86_400_000, less.sample, less.isStored, less.detectors.length]).toEqual([
      1,
      0.1,
      false,
      2,
    ]);
    expect(rulesOf({ enabled: true }, { enabled: false }).has("default")).toBe(false);
    expect(rulesOf({ enabled: true }, { enabled: false }).has("other")).toBe(true);
  });
});

describe("what is kept", () => {
  test("[d11.3] secrets and personal data are replaced, in prompts, parts, arguments, definitions and answers, also where a stream cuts them", async () => {
    const text = `Key ${SECRET}, mail ann@example.com, card 4111 1111 1111 1111.`;
    const pieces = text
      .match(/.{1,7}/gs)!
      .map((content) => event({ content }))
      .join("");
    const one = world({ enabled: true }, { upstream: stream(pieces + event({}, "stop") + "data: [DONE]\n\n") });
    const messages = [
      {
        role: "user",
        content: [
          { type: "text", text },
          { type: "text", text: "and bob@example.com" },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          {
            id: "c",
            type: "function",
            function: { name: "send", arguments: JSON.stringify({ to: "eve@example.com", key: SECRET }) },
          },
        ],
      },
      { role: "tool", tool_call_id: "c", content: "sent to eve@example.com" },
    ];
    await (
      await one.stub.chat({
        ...hello(""),
        messages,
        stream: true,
        tools: [
          {
            type: "function",
            function: { name: "send", description: "Mail carl@example.com", parameters: { type: "object" } },
          },
        ],
      })
    ).text();
    const kept = JSON.stringify(await one.content());
    for (const secret of [SECRET, "example.com", "4111"])
      expect([secret, kept.includes(secret)]).toEqual([secret, false]);
    expect(kept).toContain('"content":"Key [secret], mail [email], card [card]."');
    expect(kept).toContain("and [email]");
    expect(kept).toContain("Mail [email]");
    const plain = world(
      { enabled: true, redact: { classes: [], patterns: ["Project \\w+"] } },
      { upstream: answer("Project Zeus for ann@example.com") },
    );
    await (await plain.stub.chat(hello("Hello"))).text();
    expect((await plain.content())!.answers[0]!.content).toBe("[masked] for ann@example.com");
  });

  test("[d11.3] files and images are replaced by a note of their type and size, and addresses lose their query", async () => {
    const data = Buffer.alloc(30_000, 7).toString("base64");
    const parts = [
      { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } },
      { type: "image_url", image_url: { url: "https://93.184.215.14/a.png?X-Amz-Signature=abc" } },
      { type: "input_audio", input_audio: { data, format: "wav" } },
      { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${data}` } },
      { type: "text", text: `see ![x](data:image/gif;base64,${data}) there` },
    ];
    const one = world({ enabled: true }, { upstream: answer("ok") });
    await (await one.stub.chat(hello(parts))).text();
    const kept = JSON.stringify((await one.content())!.messages);
    expect(kept.length).toBeLessThan(2000);
    for (const words of [
      "[image/png, 30000 bytes]",
      "https://93.184.215.14/a.png?[left out]",
      "[wav, 30000 bytes]",
      "[application/pdf, 30000 bytes]",
      "see ![x]([image/gif, 30000 bytes]) there",
    ])
      expect(kept).toContain(words);
  });

  test("[d11.3, d16.3] the same holds of what a tool returns to a client of /mcp", async () => {
    const data = "A".repeat(40_000);
    const blocks = [
      { type: "text", text: "See below." },
      { type: "image", mimeType: "image/png", data },
      { type: "resource", resource: { uri: "file:///a.pdf", mimeType: "application/pdf", blob: data } },
      { type: "resource_link", name: "report", uri: "https://files.test/report?signature=4f7a" },
    ];
    const tools = fakeToolServers({ desk: { find: { run: () => ({ ...says("See below."), blocks }) } } });
    const one = world({ enabled: true }, { tools });
    const asked = { type: "function_call", name: "desk__find", arguments: {}, approved: true, can_ask: false };
    const answered = (await (await one.stub.call(TOOL_CALL, asked)).json()) as { readonly result: unknown };
    expect(answered.result).toEqual({ content: blocks });
    const { content } = (await one.content())!.answers[0]!;
    expect(JSON.parse(content!).content).toEqual([
      blocks[0],
      { ...blocks[1], data: "[file, 30000 bytes]" },
      {
        type: "resource",
        resource: { uri: "file:///a.pdf", mimeType: "application/pdf", data: "[file, 30000 bytes]" },
      },
      { ...blocks[3], uri: "https://files.test/report?[left out]" },
    ]);
  });

  test("[d11.3] of a huge conversation the last messages are kept, with a note of what is missing; no secret is exposed at the cut", async () => {
    const long = Array.from({ length: 40 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `${index} ${"word ".repeat(300)}`,
    }));
    const one = world({ enabled: true, max_characters: 4000 }, { upstream: answer("x".repeat(500_000)) });
    await (await one.stub.chat({ ...hello(""), messages: [...long, { role: "user", content: "last" }] })).text();
    const kept = (await one.content())!;
    expect(kept.messages.at(-1)).toMatchObject({ content: "last" });
    expect(kept.leftOut).toMatchObject({ isAnswerCut: true });
    expect(kept.leftOut!.messages).toBeGreaterThan(30);
    expect(JSON.stringify(kept).length).toBeLessThan(6000);
    for (const at of [1960, 1980, 1990, 1999]) {
      const cut = world(
        { enabled: true, max_characters: 4000 },
        { upstream: answer(`${"x ".repeat(at / 2)}${SECRET}${" y".repeat(40_000)}`) },
      );
      await (await cut.stub.chat(hello(`${"z ".repeat(at)}${SECRET}${" y".repeat(400_000)}`))).text();
      const text = JSON.stringify(await cut.content());
      expect([at, text.includes("sk-proj"), text.includes(SECRET.slice(0, 12))]).toEqual([at, false, false]);
    }
  });

  const parts = (text: string, size: number) =>
    (text.match(new RegExp(`.{1,${size}}`, "gs")) ?? []).map((piece) => ({ type: "text", text: piece }));

  test("[d11.3] no part of a secret is exposed at a cut between parts of a message, nor at the end of one of several choices", async () => {
    for (const size of [1, 4, 9])
      for (const before of [180, 205, 215, 225, 235, 245]) {
        const one = world({ enabled: true, max_characters: 256 }, { upstream: answer("ok") });
        await (await one.stub.chat(hello(parts(`${"z".repeat(before)} ${SECRET}${" y".repeat(500)}`, size)))).text();
        const said = ((await one.content())!.messages.at(-1)?.content ?? []) as readonly { readonly text?: string }[];
        expect([
          size,
          before,
          said
            .map(({ text }) => text)
            .join("")
            .includes("sk-"),
        ]).toEqual([size, before, false]);
      }
    const body =
      event({ content: "Hello sk-proj-abcde" }, null, 0) +
      event({ content: "x ".repeat(20_000) }, null, 1) +
      event({ content: SECRET.slice(13) }, null, 0) +
      event({}, "stop", 0) +
      event({}, "stop", 1);
    const two = world({ enabled: true, max_characters: 256 }, { upstream: stream(`${body}data: [DONE]\n\n`) });
    await (await two.stub.chat(hello("Hello", { n: 2, stream: true }))).text();
    const kept = (await two.content())!;
    expect(kept.answers).toHaveLength(2);
    expect(JSON.stringify(kept)).not.toContain("sk-proj");
    expect(kept.leftOut).toMatchObject({ isAnswerCut: true });
  });

  test("[d11.3] members beside role and type are redacted like all others, and so are role and type where their value is not a known one", () => {
    const guard = textGuard(
      [
        {
          ...(policiesFor({ name: "secrets", guard: { classes: ["secret"], action: "mask" } }).of("default", "default")!
            .all[0] as GuardPolicy),
        },
      ],
      () => {},
    );
    const value = {
      role: "user",
      type: "text",
      id: SECRET,
      name: SECRET,
      status: SECRET,
      tool_call_id: SECRET,
      index: 1,
      inside: { type: "text", id: SECRET },
    };
    expect(redactedValues([value, { role: SECRET, type: SECRET }], guard)).toEqual([
      {
        role: "user",
        type: "text",
        id: "[secret]",
        name: "[secret]",
        status: "[secret]",
        tool_call_id: "[secret]",
        index: 1,
        inside: { type: "text", id: "[secret]" },
      },
      { role: "[secret]", type: "[secret]" },
    ]);
  });

  test("[d11.3] no chance match breaks a picture or what a vendor has encrypted, and texts in files and addresses are searched", () => {
    const guard = textGuard(
      [
        policiesFor({ name: "digits", guard: { patterns: ["[0-9]{4}"], action: "mask", mask: "[n]" } }).of(
          "default",
          "default",
        )!.all[0] as GuardPolicy,
      ],
      () => {},
    );
    const picture = `data:image/png;base64,${Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2]).toString("base64")}1234AAAA`;
    const text = (words: string): string => `data:text/plain;base64,${Buffer.from(words).toString("base64")}`;
    const sealed = `gAAAA1234${"Ab9".repeat(20)}`;
    const kept = [
      { type: "input_image", image_url: picture },
      { type: "image_url", image_url: { url: picture } },
      { type: "input_file", filename: "a.txt", file_data: text("call 1234") },
      { type: "input_image", image_url: "https://a.example/1234.png" },
      { type: "reasoning", encrypted_content: sealed },
      { type: "reasoning", encrypted_content: "pin 1234" },
      { type: "input_text", text: `${picture} pin 1234` },
    ];
    expect(redactedValues(kept, guard)).toEqual([
      kept[0]!,
      kept[1]!,
      { type: "input_file", filename: "a.txt", file_data: text("call [n]") },
      { type: "input_image", image_url: "https://a.example/[n].png" },
      kept[4]!,
      { type: "reasoning", encrypted_content: "pin [n]" },
      { type: "input_text", text: `${picture.replace("1234", "[n]")} pin [n]` },
    ]);
  });

  test("[d11.3] a secret that is divided between parts of a long message is found as well", async () => {
    const one = world({ enabled: true, max_characters: 1_000_000 }, { upstream: answer("ok") });
    await (await one.stub.chat(hello(parts(`${"word ".repeat(16_000)}${SECRET} and so on`, 9)))).text();
    const said = (await one.content())!.messages.at(-1)!.content as unknown as readonly { readonly text: string }[];
    const text = said.map((part) => part.text).join("");
    expect(text).toEndWith("[secret] and so on");
    expect(text).not.toContain("proj");
  });

  test("[d11.3] text is found wherever it stands, without a provider's reading of the message: ids, names, members, numbers and JSON with escapes are searched too", async () => {
    const one = world({ enabled: true }, { upstream: answer("ok") });
    const escaped = JSON.stringify({ to: "eve@example.com" }).replace("@", String.raw`\u0040`);
    const messages = [
      { role: "user", name: "ann@example.com", content: "Hello" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: SECRET, type: "function", function: { name: SECRET, arguments: escaped } }],
      },
      { role: "tool", tool_call_id: SECRET, content: escaped },
    ];
    const tools = [
      {
        type: "function",
        function: {
          name: "send",
          parameters: {
            type: "object",
            properties: { "carl@example.com": { default: { id: "dan@example.com", card: 4111111111111111 } } },
          },
        },
      },
    ];
    await (await one.stub.chat({ ...hello(""), messages, tools })).text();
    const kept = JSON.stringify(await one.content());
    expect(kept).toContain("[email]");
    for (const secret of ["example.com", SECRET, "4111"])
      expect([secret, kept.includes(secret)]).toEqual([secret, false]);
  });

  test("[d11.3] addresses lose their credentials, wherever they stand; words that begin like a data URI stay as they are", async () => {
    const one = world(
      { enabled: true },
      { upstream: answer(`![x](data:image/png;base64,${Buffer.alloc(3000, 7).toString("base64")}) done`) },
    );
    const words = `data: ${"x ".repeat(42)}${SECRET} and so on`;
    await (
      await one.stub.chat(
        hello([
          { type: "text", text: words },
          { type: "image_url", image_url: { url: "https://ann:hunter2@93.184.215.14/a.png" } },
        ]),
      )
    ).text();
    const { messages, answers } = (await one.content())!;
    expect(messages.at(-1)!.content).toMatchObject([
      { text: words.replace(SECRET, "[secret]") },
      { image_url: { url: "https://[left out]@93.184.215.14/a.png" } },
    ]);
    expect(answers[0]!.content).toBe("![x]([image/png, 3000 bytes]) done");
  });

  test("[d11.3] the kept content is small, and made in time proportional to what the caller sends, whatever that is", async () => {
    const hostile: readonly ((size: number) => unknown)[] = [
      (size) => `x data:${";a=data:".repeat(size)};base64,`,
      (size) => ";base64,".repeat(2 * size),
      (size) => "data:a/b;base64,".repeat(size),
      (size) => "https://".repeat(size),
      (size) => Array.from({ length: size }, () => ({ type: "text", text: "a" })),
      (size) => parts("a@b.co ".repeat(size / 12.5), 1),
      (size) => parts("a@b.co ".repeat(size / 5), 1),
      (size) => [
        {
          type: "text",
          text: "",
          ...Object.fromEntries(Array.from({ length: size }, (_, index) => [`m${index}`, 1])),
        },
      ],
    ];
    const looking = new GuardScheduler(patientGuards(), { tenantId: "acme", signal: null });
    const keeperOf = (content: unknown): ContentRecorder =>
      new ContentRecorder(
        rulesOf({ enabled: true }).get("default")!,
        null,
        { messages: [{ role: "user", content }], params: {} } as unknown as ChatRequest,
        looking,
      );
    for (const [index, contentOf] of hostile.entries()) {
      const kept = await keeperOf(contentOf(100_000)).content(0);
      const times = await growth(contentOf, (made) => keeperOf(made).content(0), 25_000);
      expect([index, JSON.stringify(kept).length < 400_000, times < MOST_GROWTH]).toEqual([index, true, true]);
    }
  });

  test("[d11.3] calls of one answer beyond the thousandth are left out, and the content says so", async () => {
    const looking = new GuardScheduler(patientGuards(), { tenantId: "acme", signal: null });
    const keptOf = async (count: number): Promise<CallContent> => {
      const request = { messages: [{ role: "user", content: "?" }], params: {} } as unknown as ChatRequest;
      const rules = { ...rulesOf({ enabled: true }).get("default")!, maxCharacters: 1_000_000 };
      const keeper = new ContentRecorder(rules, null, request, looking);
      const calls = Array.from({ length: count }, (_, at) => ({
        id: `call_${at}`,
        type: "function",
        function: { name: "f", arguments: "{}" },
      }));
      keeper.answered({ choices: [{ index: 0, message: { tool_calls: calls }, finish_reason: "tool_calls" }] });
      return keeper.content(0);
    };
    const [whole, cut] = [await keptOf(1000), await keptOf(1001)];
    expect([whole.answers[0]!.toolCalls.length, whole.leftOut]).toEqual([1000, null]);
    expect([cut.answers[0]!.toolCalls.length, cut.leftOut?.isAnswerCut]).toEqual([1000, true]);
  });

  test("[d11.3] [d5.8] of a long request, whose conversation another thread holds, the same content is kept as of a short one, and the thread releases it afterwards", async () => {
    const thread = openLongBodyThread(longBodyProgram());
    const threads = openLongRequests(thread);
    const events: string[] = [];
    const longRequests: LongRequests = {
      ...threads,
      async lastThatFit(...asked) {
        const fitting = await threads.lastThatFit(...asked);
        events.push("cut");
        return fitting;
      },
      release(request) {
        events.push("let go of");
        threads.release(request);
      },
    };
    const long = "Съешь же ещё этих мягких французских булок. ".repeat(20_000);
    const conversations: readonly unknown[] = [
      [{ role: "user", content: `${long} Write to ann@example.com.` }],
      [
        { role: "user", content: long },
        { role: "assistant", content: "ok" },
        { role: "user", content: `${"x".repeat(900)} ann@example.com` },
      ],
      [
        ...Array.from({ length: 2000 }, (_, index) => ({ role: "user", content: `${index} ${"y".repeat(400)}` })),
        { role: "user", content: `key ${SECRET}`, n: parseJson("12345678901234567890") },
      ],
      [
        { role: "system", content: long },
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: `data:image/png;base64,${"iVBORw0KGgo=".repeat(60_000)}` } },
          ],
        },
      ],
    ];
    const settings: Settings = {
      enabled: true,
      max_characters: 1000,
      redact: { classes: ["secret", "email"], patterns: [] },
    };
    for (const messages of conversations) {
      const both = await Promise.all(
        [{}, { longRequests }].map(async (more) => {
          const kept = world(settings, { ...more, upstream: answer("Hello") });
          const { status } = await kept.stub.chat(JSON.stringify({ model: "custom:m", messages }));
          return [status, await kept.content()];
        }),
      );
      expect(both[0]).toMatchObject([200, { answers: [{ content: "Hello" }] }]);
      expect(both[1]).toEqual(both[0]);
      expect(JSON.stringify(both)).not.toMatch(/ann@example|sk-proj/);
    }
    expect(events).toEqual(conversations.flatMap(() => ["cut", "let go of"]));
    await thread.close();
  });

  test("[d11.3] turns of tools that the gateway ran are kept as well, redacted like the others, streamed and non-streaming, also those of the last round", async () => {
    const tools = () =>
      fakeToolServers({
        desk: {
          find: {
            run: ({ whose }) =>
              says(JSON.stringify({ found: `${whose as string}, key ${SECRET}` }).replace("@", String.raw`\u0040`)),
          },
        },
      });
    const rounds: readonly ScriptedRound[] = [
      { text: "Let me look.", calls: [{ name: "desk__find", args: '{"whose":"ann@example.com"}' }] },
      { text: "It is bob@example.com's." },
    ];
    for (const isStream of [false, true]) {
      const one = world(
        { enabled: true },
        {
          upstream: scriptedModel(rounds),
          tools: tools(),
          providers: [
            providerSettings({
              id: "up",
              family: "custom",
              baseUrl: "http://up.test/v1",
              credentials: [storedKey("key")],
            }),
          ],
        },
      );
      const response = await one.stub.chat({
        ...hello("Whose is it?"),
        model: "up:m",
        stream: isStream,
        tools: [{ type: "mcp", server_label: "desk" }],
      });
      const text = await response.text();
      expect([isStream, response.status, text.includes("ann@example.com")]).toEqual([isStream, 200, true]);
      const kept = (await one.content())!;
      expect(kept.rounds).toMatchObject([
        { role: "assistant", tool_calls: [{ function: { name: "desk__find", arguments: '{"whose":"[email]"}' } }] },
        { role: "tool", content: '{"found":"[email], key [secret]"}' },
      ]);
      expect(kept.answers).toMatchObject([{ finishReason: "stop" }]);
      expect(kept.answers[0]!.content).toContain("It is [email]'s.");
      const all = JSON.stringify(kept);
      for (const secret of [SECRET, "example.com"])
        expect([isStream, secret, all.includes(secret)]).toEqual([isStream, secret, false]);
      const [[record]] = one.told as [readonly [CallRecord, unknown]];
      for (const words of [JSON.stringify(record), callLine(record), closingText(record)])
        expect([isStream, words.includes(SECRET), words.includes("example.com")]).toEqual([isStream, false, false]);
    }
  });

  test("[d11.1] [d11.3] record, log line and journal never contain content", async () => {
    const one = world({ enabled: true }, { upstream: answer("the-answer-word") });
    await (await one.stub.chat(hello("the-prompt-word"))).text();
    expect(JSON.stringify(await one.content())).toContain("the-prompt-word");
    const [[record]] = one.told as [readonly [CallRecord, unknown]];
    for (const text of [JSON.stringify(record), callLine(record), openingText(record), closingText(record)])
      expect(/the-(prompt|answer)-word/.test(text)).toBe(false);
  });
});

describe("on the way to the database", () => {
  const record = (index: number) =>
    ({ traceId: index.toString(16).padStart(32, "0"), tenantId: "acme", projectId: "site" }) as CallRecord;
  const content: CallContent = {
    messages: [{ role: "user", content: "x".repeat(1000) }],
    tools: [],
    answers: [],
    keptUntilMs: 5,
  };

  test("[d11.3] [d11.4] an unavailable database fails no call: a bounded number of contents waits, the excess is counted and dropped, and writing resumes when the database is back", async () => {
    let isAway = true;
    const kept: string[] = [];
    const problems: string[] = [];
    const log = openContentLog({
      store: {
        keep: async (said) => {
          if (isAway) throw new Error("away");
          kept.push(...said.map(({ traceId }) => traceId));
        },
      },
      onProblem: (words) => problems.push(words),
      maxWaitingCharacters: 50_000,
    });
    for (let index = 0; index < 200; index++) log.publish(record(index), content);
    expect(log.figures()).toMatchObject({ shed: 200 - log.figures().waiting });
    expect(log.figures().waiting).toBeGreaterThan(40);
    await Bun.sleep(400);
    expect([log.figures().failures > 0, problems]).toEqual([true, ["away"]]);
    isAway = false;
    await log.end(2000);
    expect([kept.length, log.figures().kept, log.figures().waiting]).toEqual([
      log.figures().kept,
      200 - log.figures().shed,
      0,
    ]);
  });

  test("[d11.3] the content of one tenant takes no room from that of another while the database cannot keep up", async () => {
    const kept: string[] = [];
    let isAway = true;
    const log = openContentLog({
      store: {
        keep: async (said) => {
          if (isAway) throw new Error("away");
          kept.push(...said.map(({ tenantId }) => tenantId));
        },
      },
      onProblem: () => {},
      maxWaitingCharacters: 50_000,
    });
    for (let index = 0; index < 200; index++) log.publish(record(index), content);
    const shed = log.figures().shed;
    for (let index = 0; index < 20; index++) log.publish({ ...record(index), tenantId: "beta" }, content);
    expect([shed > 0, log.figures().shed]).toEqual([true, shed]);
    // what has been forgotten leaves its room to others
    await log.forget({ tenantId: "acme", projectId: null });
    log.publish(record(0), content);
    expect(log.figures()).toMatchObject({ shed, waiting: 21 });
    isAway = false;
    await log.end(2000);
    expect(kept).toEqual([...Array.from({ length: 20 }, () => "beta"), "acme"]);
  });

  test("[d11.3] a tenant whose key cannot be decrypted holds up no content of others, and is told of once", async () => {
    const kept: string[] = [];
    const problems: unknown[] = [];
    const log = openContentLog({
      store: {
        keep: async (said) => {
          if (said.some(({ tenantId }) => tenantId === "lost")) throw new StoreError("encryption", "no key for lost");
          kept.push(...said.map(({ traceId }) => traceId));
        },
      },
      onProblem: (...problem) => problems.push(problem),
    });
    for (const [index, tenantId] of ["lost", "acme", "lost", "other"].entries())
      log.publish({ ...record(index), tenantId }, content);
    await until(() => log.figures().waiting === 0);
    log.publish({ ...record(4), tenantId: "lost" }, content);
    log.publish(record(5), content);
    await log.end(1000);
    expect(kept).toEqual([1, 3, 5].map((index) => record(index).traceId));
    expect(log.figures()).toEqual({ kept: 3, shed: 3, failures: 0, waiting: 0 });
    expect(problems).toEqual([["no key for lost", false]]);
  });

  test("[d11.3] waiting content of a scope whose contents are removed is not written after their removal", async () => {
    const kept: string[] = [];
    const begun = Promise.withResolvers<void>();
    const isBack = Promise.withResolvers<void>();
    const log = openContentLog({
      store: {
        keep: async (said) => {
          begun.resolve();
          await isBack.promise;
          kept.push(...said.map(({ traceId }) => traceId));
        },
      },
      onProblem: () => {},
    });
    log.publish(record(0), content);
    await begun.promise;
    for (const [index, more] of [{}, { projectId: "app" }, { tenantId: "other" }, {}].entries())
      log.publish({ ...record(index + 1), ...more }, content);
    const forgotten = log.forget({ tenantId: "acme", projectId: "site" });
    isBack.resolve();
    await forgotten;
    // what was being written is there, and goes with the others
    expect([kept, log.figures().waiting]).toEqual([[record(0).traceId], 2]);
    await log.end(1000);
    expect(kept).toEqual([0, 2, 3].map((index) => record(index).traceId));
    expect(log.figures()).toMatchObject({ kept: 3, waiting: 0 });
  });

  test("[d11.3] content for integrations alone, and calls without content, are never written to the database", async () => {
    let writes = 0;
    const log = openContentLog({ store: { keep: async () => void (writes += 1) }, onProblem: () => {} });
    log.publish(record(1), { ...content, keptUntilMs: null });
    log.publish(record(2), null);
    log.publish(record(3));
    await log.end(100);
    expect(writes).toBe(0);
  });
});
