// Promise 12.8: responses that are kept for a while, what refers to them, and who may do so.
import { describe, expect, test } from "bun:test";
import type { DurableObject, DurableStore } from "../../../src/engine/keeping/durable-store.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { compileContentLogs } from "../../../src/auth/settings/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../../src/auth/settings/scope-settings.ts";
import { reportedStore } from "../../../src/engine/keeping/reported-store.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { providers } from "../../../src/providers/registry.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { openaiAnswer, openaiChunk, eventStream } from "../../harness/servers/upstream.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { limitSet } from "../../harness/limited.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { keepResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import { deletedResponse, inputItems } from "../../../src/operations/responses/kept-response-requests.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { answerOf, scriptedModel } from "../tools/scripted-rounds.ts";
import {
  eventsOf,
  keptReader,
  OPENAI,
  responsesGateway,
  type ResponsesStub,
  forShortAndLongRequests,
} from "../../operations/responses/responses-calls.ts";

/** A provider that is sent its earlier reasoning. */
const REASONING = "deepseek:deepseek-reasoner";
const START_MS = 1_767_225_600_000;
const weather = { type: "function", name: "weather", parameters: { type: "object" } };
const CALLS = [
  { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
  { id: "call_2", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } },
];

interface Keeping extends ResponsesStub {
  readonly clock: { nowMs: number };
  answer(body: object): Promise<Record<string, any>>;
  /** The messages of the newest request that went upstream. */
  messages(): readonly any[];
}

/** A gateway that keeps responses, whose provider calls tools until it has their results. */
function keeping(options: StubOptions = {}): Keeping {
  const clock = { nowMs: START_MS, now: () => clock.nowMs, monotonic: () => performance.now() };
  const stub = responsesGateway({
    clock,
    kept: new KeptObjects({ now: clock.now, monotonic: clock.now }),
    upstream: cannedUpstream(({ body }) => {
      const { messages, tools, stream } = JSON.parse(body) as Record<string, any>;
      const asks = tools !== undefined && messages.at(-1).role !== "tool";
      if (stream === true) {
        const chunks = asks
          ? [
              ...CALLS.map((call, index) => openaiChunk({ tool_calls: [{ index, ...call }] })),
              openaiChunk({}, "tool_calls"),
            ]
          : [openaiChunk({ reasoning_content: "Hm." }), openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")];
        return { headers: { "content-type": "text/event-stream" }, body: eventStream(...chunks) };
      }
      const message = asks ? { content: null, tool_calls: CALLS } : { reasoning_content: "Hm." };
      const answer = openaiAnswer("Hello", { message, finish_reason: asks ? "tool_calls" : "stop" });
      return { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
    }),
    ...options,
  });
  return {
    ...stub,
    clock,
    answer: async (body) => (await (await stub.respond({ ...OPENAI, ...body })).json()) as Record<string, any>,
    messages: () => stub.bodies().at(-1)!["messages"] as readonly any[],
  };
}

forShortAndLongRequests(() => {
  describe("previous_response_id", () => {
    test("[d12.8] puts the earlier input and output before the new input, over several turns, without the instructions", async () => {
      const stub = keeping();
      const first = await stub.answer({ model: REASONING, input: "One.", instructions: "Be brief." });
      const second = await stub.answer({
        model: REASONING,
        input: [{ role: "user", content: "Two." }],
        previous_response_id: first["id"],
      });
      expect(second["previous_response_id"]).toBe(first["id"]);
      await stub.answer({ model: REASONING, input: "Three.", previous_response_id: second["id"] });
      const said = { role: "assistant", content: "Hello", reasoning_content: "Hm." };
      const spoken = stub.messages().map(({ role, content, reasoning_content: thought }) => ({
        role,
        content,
        ...(thought && { reasoning_content: thought }),
      }));
      expect(spoken).toEqual([
        { role: "user", content: "One." },
        said,
        { role: "user", content: "Two." },
        said,
        { role: "user", content: "Three." },
      ]);
    });

    test("[d12.8] lets the outputs of calls follow the calls of an earlier response, streamed as well", async () => {
      for (const stream of [false, true]) {
        const stub = keeping();
        const response = await stub.respond({ ...OPENAI, tools: [weather], stream });
        const { id } = stream ? eventsOf(await response.text()).at(-1)!["response"] : await response.json();
        const outputs = ["call_2", "call_1"].map((call) => ({
          type: "function_call_output",
          call_id: call,
          output: "warm",
        }));
        const next = await stub.answer({ input: outputs, tools: [weather], previous_response_id: id });
        expect(next["output"].at(-1).content[0].text).toBe("Hello");
        expect(stub.messages().map(({ role, tool_call_id: call }) => call ?? role)).toEqual([
          "user",
          "assistant",
          "call_2",
          "call_1",
        ]);
        const { error } = await stub.answer({
          input: [{ type: "function_call_output", call_id: "call_9", output: "" }],
          previous_response_id: id,
        });
        expect([error.code, error.param]).toEqual(["invalid_request", "input[0].call_id"]);
        const unanswered = await stub.answer({ input: "And?", tools: [weather], previous_response_id: id });
        expect(unanswered["error"].message).toContain("call_1");
      }
    });

    test("[d12.8] of a response that is not kept is refused with the cure", async () => {
      const stub = keeping();
      const { id } = await stub.answer({});
      stub.clock.nowMs += 3_600_000;
      for (const unknown of [id, "resp_1", "msg_1"]) {
        const { error } = await stub.answer({ previous_response_id: unknown });
        expect([error.code, error.param]).toEqual(["unsupported_parameter", "previous_response_id"]);
        expect(error.message).toContain("Send the whole conversation");
      }
      const { output } = await stub.answer({});
      expect((await stub.answer({ previous_response_id: output.at(-1).id }))["error"].param).toBe(
        "previous_response_id",
      );
    });
  });

  test("[d12.4, d12.8, d10.3] a conversation goes on where the provider uses the id of a call again in each answer, and an approval holds for one of these calls only", async () => {
    const tools = fakeToolServers({ sky: { look: { run: () => says("blue") } } });
    const MCP = { type: "mcp", server_label: "sky" };
    const own = { type: "function", name: "own", parameters: { type: "object", properties: {} } };
    const upstream = (name: string) =>
      cannedUpstream(({ body }) => {
        const { messages } = JSON.parse(body) as { messages: readonly { role: string }[] };
        const isAsked = messages.at(-1)!.role === "user";
        return answerOf(isAsked ? { calls: [{ name, id: "0" }] } : { text: "Done." }, 0, false);
      });
    const answerTo = ({ type, id, call_id: call }: Record<string, any>): object | null => {
      if (type === "mcp_approval_request")
        return { type: "mcp_approval_response", approval_request_id: id, approve: true };
      return type === "function_call" ? { type: "function_call_output", call_id: call, output: "yes" } : null;
    };
    for (const [name, tool] of [
      ["own", own],
      ["sky__look", { ...MCP, require_approval: "never" }],
      ["sky__look", { ...MCP, require_approval: "always" }],
    ] as const) {
      const stub = keeping({ upstream: upstream(name), tools });
      const asked: Record<string, any>[] = [];
      let previous: object = {};
      for (const input of ["One.", "Two.", "Three."]) {
        let response = await stub.answer({ ...previous, input, tools: [tool] });
        asked.push(response);
        const reply = answerTo(response["output"].at(-1));
        if (reply !== null)
          response = await stub.answer({ previous_response_id: response["id"], input: [reply], tools: [tool] });
        expect([response["error"], response["output"]?.at(-1).content[0].text]).toEqual([null, "Done."]);
        previous = { previous_response_id: response["id"] };
      }
      expect(
        stub
          .messages()
          .map(({ role }) => role)
          .join(" "),
      ).toBe(Array.from({ length: 3 }, () => "user assistant tool").join(" assistant "));
      if (answerTo(asked[1]!["output"].at(-1)) === null) continue;
      // neither the output nor the approval of the call before answers this one
      const unanswered = await stub.answer({ previous_response_id: asked[1]!["id"], input: [], tools: [tool] });
      expect(unanswered["error"]?.code).toBe("invalid_request");
    }
  });

  describe("item_reference", () => {
    test("[d12.8] stands for an item of an earlier response", async () => {
      const stub = keeping();
      const { output } = await stub.answer({ input: "One." });
      const references = output.map(({ id }: { readonly id: string }) => ({ type: "item_reference", id }));
      await stub.answer({
        model: REASONING,
        input: [{ role: "user", content: "One." }, ...references, { role: "user", content: "Two." }],
      });
      expect(stub.messages().map(({ content, reasoning_content: thought }) => [content, thought])).toEqual([
        ["One.", undefined],
        ["Hello", "Hm."],
        ["Two.", undefined],
      ]);
      const { error } = await stub.answer({ input: [{ type: "item_reference", id: "msg_1" }] });
      expect([error.code, error.param]).toEqual(["unsupported_parameter", "input[0]"]);
      expect(error.message).toContain("store: false");
    });
  });

  test("[d12.3, d12.8] a provider that speaks the API is sent the items themselves, with reasoning that it can read", async () => {
    const output = [
      { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA" },
      { id: "rs_2", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
      {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hi", annotations: [] }],
      },
    ];
    const answer = { id: "resp_vendor", object: "response", status: "completed", model: "gpt-9", output, store: false };
    const event = { type: "response.completed", sequence_number: 0, response: answer };
    const stub = keeping({
      families: providers,
      upstream: cannedUpstream(({ body }) =>
        (JSON.parse(body) as Record<string, unknown>)["stream"] === true
          ? {
              headers: { "content-type": "text/event-stream" },
              body: `event: response.completed\ndata: ${JSON.stringify(event)}\n\n`,
            }
          : { headers: { "content-type": "application/json" }, body: JSON.stringify(answer) },
      ),
    });
    for (const stream of [false, true]) {
      const response = await stub.respond({ model: "openai:gpt-9", input: "One.", stream });
      const { id } = stream ? eventsOf(await response.text()).at(-1)!["response"] : await response.json();
      expect(id).toMatch(/^resp_[0-9a-f]{32}$/);
      const again = await stub.answer({ model: "openai:gpt-9", input: "Two.", previous_response_id: id });
      expect(again["previous_response_id"]).toBe(id);
      const sent = stub.bodies().at(-1)!;
      expect(sent).not.toHaveProperty("previous_response_id");
      expect(sent["input"].map((item: any) => item.id === "rs_1" || item.content[0].text || item.content)).toEqual([
        "One.",
        true,
        "Hi",
        "Two.",
      ]);
    }
  });

  test("[d12.3, d12.8] a vendor is sent no id and no status that its client has not written, in whatever turn, and the list has them", async () => {
    const call = {
      id: "fc_1",
      type: "function_call",
      status: "completed",
      call_id: "call_1",
      name: "weather",
      arguments: "{}",
    };
    const said = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [] };
    const answers = [[call], [said], [said]];
    const stub = keeping({
      families: providers,
      upstream: cannedUpstream(() => ({
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          id: "resp_vendor",
          object: "response",
          status: "completed",
          model: "gpt-9",
          output: answers.shift(),
        }),
      })),
    });
    const tools = [weather];
    const first = await stub.answer({ model: "openai:gpt-9", input: "One.", tools });
    const written = [
      { type: "function_call_output", call_id: "call_1", output: "warm" },
      { type: "reasoning", summary: [], encrypted_content: "gAAAA-of-the-client" },
      { id: "msg_own", status: "completed", type: "message", role: "user", content: "Two." },
    ];
    const second = await stub.answer({
      model: "openai:gpt-9",
      input: written,
      tools,
      previous_response_id: first["id"],
    });
    await stub.answer({ model: "openai:gpt-9", input: "Three.", tools, previous_response_id: second["id"] });
    const sent = stub.bodies().at(-1)!["input"] as readonly any[];
    expect(sent.map(({ type = "message", id, status }) => [type, id, status])).toEqual([
      ["message", undefined, undefined],
      ["function_call", "fc_1", "completed"],
      ["function_call_output", undefined, undefined],
      ["reasoning", undefined, undefined],
      ["message", "msg_own", "completed"],
      ["message", "msg_1", "completed"],
      ["message", undefined, undefined],
    ]);
    expect(sent.slice(2, 4)).toEqual(written.slice(0, 2));
    const listed = await inputItems({
      ...keptReader(stub),
      id: second["id"],
      query: (name) => (name === "order" ? "asc" : undefined),
    });
    for (const item of listed["data"] as readonly any[])
      expect([item.type, typeof item.id, item.status ?? "completed"]).toEqual([item.type, "string", "completed"]);
  });

  describe("what is kept", () => {
    const isKept = async (stub: Keeping, body: object = {}): Promise<boolean> => {
      const response = await stub.respond({ ...OPENAI, ...body });
      const { id, store } = (await response.json()) as Record<string, any>;
      expect([response.status, store]).toEqual([200, false]);
      const next = await stub.respond({ ...OPENAI, previous_response_id: id });
      const until = response.headers.get("x-gateway-response-kept-until");
      expect(until).toBe(next.status === 200 ? new Date(START_MS + 3_600_000).toISOString() : null);
      return next.status === 200;
    };

    test("[d12.8] is never a response with store: false; one with store: true says false, and until when it is kept", async () => {
      expect(await isKept(keeping())).toBe(true);
      expect(await isKept(keeping(), { store: true })).toBe(true);
      expect(await isKept(keeping(), { store: false })).toBe(false);
    });

    test("[d12.8] is nothing where the gateway, the tenant or the project says off", async () => {
      const off = { dropParams: null, disableStopSequenceLimit: null, responsesStore: "off" } as const;
      const places = new Map([["default", off]]);
      for (const snapshot of [{ settings: off }, { tenantSettings: places }, { projectSettings: places }])
        expect(await isKept(keeping({ snapshot }))).toBe(false);
      expect(await isKept(keeping({ snapshot: { settings: { ...off, responsesStore: "ephemeral" } } }))).toBe(true);
    });

    test("[d12.5, d12.8] is nothing of a call whose request a guard may mask", async () => {
      const policies = policiesFor({ name: "mask", guard: { classes: ["email"], action: "mask", on: "input" } });
      expect(await isKept(keeping({ snapshot: { policies } }))).toBe(false);
    });

    test.each([
      ["is in audit mode", { mode: "audit", guard: { classes: ["email"], action: "mask", on: "input" } }],
      ["blocks", { guard: { classes: ["email"], action: "block", on: "input" } }],
    ])(
      "[d3.1, d12.8] is a response whose request a guard looks at that %s, and so masks nothing",
      async (_, policy) => {
        const snapshot = { policies: policiesFor({ name: "mask", ...policy }) };
        expect(await isKept(keeping({ snapshot }))).toBe(true);
        const stub = keeping({ snapshot });
        const response = await stub.respond({ ...OPENAI, input: "One.", background: true });
        const { id, status } = (await response.json()) as Record<string, any>;
        expect([response.status, status]).toEqual([200, "queued"]);
        await stub.context.background!.get(id)?.ended;
      },
    );

    test("[d12.8] an answer says that it is not kept where a caller expects it to be, and only there", async () => {
      const policies = policiesFor({ name: "mask", guard: { classes: ["email"], action: "mask", on: "input" } });
      const off = { dropParams: null, disableStopSequenceLimit: null, responsesStore: "off" } as const;
      const tooLarge = { input: "word ".repeat(2_000_000) };
      const answers = {
        plain: { headers: { "content-type": "application/json" }, body: JSON.stringify(openaiAnswer("Hello")) },
        streamed: {
          headers: { "content-type": "text/event-stream" },
          body: eventStream(openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")),
        },
      };
      const warned = async (
        options: StubOptions,
        body: { readonly stream: boolean; readonly store?: boolean },
      ): Promise<unknown> => {
        const upstream = cannedUpstream(body.stream ? answers.streamed : answers.plain);
        const stub = keeping({ ...options, upstream });
        const response = await stub.respond({ ...OPENAI, ...body });
        expect(response.status).toBe(200);
        await response.text();
        return response.headers.get("x-gateway-warnings");
      };
      for (const stream of [false, true]) {
        expect(await warned({ snapshot: { policies } }, { stream })).toBe("response_not_kept");
        expect(await warned({}, { ...tooLarge, stream })).toBe("response_not_kept");
        expect(await warned({}, { stream })).toBeNull();
        for (const body of [{}, tooLarge]) {
          expect(await warned({ snapshot: { policies } }, { ...body, stream, store: false })).toBeNull();
          expect(await warned({ snapshot: { policies, settings: off } }, { ...body, stream })).toBeNull();
        }
      }
    });

    test("[d12.8] is nothing of a call that failed or only explains", async () => {
      const stub = keeping({ permissions: ["debug"] });
      const explained = await stub.respond({ ...OPENAI }, { "x-gateway-explain": "true" });
      const refused = await stub.respond({ ...OPENAI, temperature: 9 });
      for (const response of [explained, refused])
        expect(response.headers.get("x-gateway-response-kept-until")).toBeNull();
    });
  });

  test("[d12.5, d12.8] what a guard masks in an answer is masked in what is kept of it", async () => {
    const policies = policiesFor({ name: "mask", guard: { classes: ["email"], action: "mask", on: "output" } });
    for (const background of [false, true])
      for (const stream of [false, true]) {
        const stub = keeping({
          snapshot: { policies },
          upstream: cannedUpstream(({ body }) =>
            (JSON.parse(body) as Record<string, unknown>)["stream"] === true
              ? {
                  headers: { "content-type": "text/event-stream" },
                  body: eventStream(openaiChunk({ content: "Write to ann@example.org" }), openaiChunk({}, "stop")),
                }
              : {
                  headers: { "content-type": "application/json" },
                  body: JSON.stringify(openaiAnswer("Write to ann@example.org")),
                },
          ),
        });
        const response = await stub.respond({ ...OPENAI, input: "Whom?", stream, background });
        const text = await response.text();
        const { id } = stream ? eventsOf(text).at(-1)!["response"] : JSON.parse(text);
        await stub.context.background!.get(id)?.ended;
        const again = await stub.answer({ previous_response_id: id, input: "Again?" });
        expect(again["error"]).toBeNull();
        const said = JSON.stringify(stub.messages());
        expect([said.includes("Write to"), said.includes("ann@example.org")]).toEqual([true, false]);
      }
  });

  test("[d12.3, d12.8] a provider that speaks the API is not asked to run a call in the background: the gateway does", async () => {
    const answer = {
      id: "resp_vendor",
      object: "response",
      status: "completed",
      model: "gpt-9",
      background: false,
      output: [{ id: "msg_1", type: "message", role: "assistant", status: "completed", content: [] }],
    };
    const stub = keeping({
      families: providers,
      upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(answer) }),
    });
    const response = await stub.respond({ model: "openai:gpt-9", input: "One.", background: true });
    const { id, status } = (await response.json()) as Record<string, any>;
    expect([response.status, status]).toEqual([200, "queued"]);
    await stub.context.background!.get(id)?.ended;
    expect(stub.bodies()).toHaveLength(1);
    expect(stub.bodies()[0]).not.toHaveProperty("background");
    const kept = await stub.context.kept!.find("default", id);
    expect((kept!.value as Record<string, any>)["response"]).toMatchObject({
      id,
      status: "completed",
      background: true,
    });
  });

  test("[d12.8] streams alone find out that a store works again, which the first of them does not wait for", async () => {
    const clock = { now: () => START_MS, monotonic: () => START_MS };
    const objects = new KeptObjects(clock);
    let isAway = true;
    const back = Promise.withResolvers<void>();
    const store = reportedStore(
      {
        untilMs: START_MS + 3_600_000,
        isAway: false,
        keep: (object) => (isAway ? Promise.reject(new Error("away")) : objects.keep(object)),
        find: (tenantId, id) => objects.find(tenantId, id),
        remove: (tenantId, id) => objects.remove(tenantId, id),
        removeAll: (tenantId, projectId) => objects.removeAll(tenantId, projectId),
        close: () => objects.close(),
      },
      (error) => (error === null ? back.resolve() : undefined),
    );
    const stub = keeping({ kept: store });
    const warned = async (): Promise<string | null> => {
      const response = await stub.respond({ ...OPENAI, input: "One.", stream: true });
      await response.text();
      return response.headers.get("x-gateway-warnings");
    };
    // the head of the first has left before its store fails
    expect([await warned(), await warned()]).toEqual([null, "response_not_kept"]);
    isAway = false;
    expect(await warned()).toBe("response_not_kept");
    await back.promise;
    expect(await warned()).toBeNull();
  });

  test("[d12.8] a stream in the background begins with the id of its response, before the provider answers", async () => {
    const answers = Promise.withResolvers<void>();
    const canned = cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: eventStream(openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")),
    });
    const upstream: UpstreamClient = {
      send: (request, call) => answers.promise.then(() => canned.send(request, call)),
    };
    const stub = keeping({ upstream, limits: { headHoldMs: 3_600_000 } });
    const response = await stub.respond({ ...OPENAI, input: "One.", stream: true, background: true });
    const events = (response.body as ReadableStream<string>).getReader();
    const [created] = eventsOf((await events.read()).value!);
    const { id } = created!["response"];
    expect([created!["type"], id]).toEqual(["response.created", expect.stringMatching(/^resp_/)]);
    answers.resolve();
    await events.cancel();
    await stub.context.background!.get(id)?.ended;
    const kept = await stub.context.kept!.find("default", id);
    expect((kept!.value as Record<string, any>)["response"]).toMatchObject({ id, status: "completed" });
  });

  test("[d5.8] the events of a call in the background count against the memory of bodies, and a call without room ends", async () => {
    const limits = { maxHeldBytes: 2_000_000 };
    const words = Array.from({ length: 6000 }, () => openaiChunk({ content: "word " }));
    const stub = keeping({
      upstream: cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(...words, openaiChunk({}, "stop")),
      }),
      limits,
    });
    const response = await stub.respond({ ...OPENAI, input: "One.", stream: true, background: true });
    const events = eventsOf(await response.text());
    expect(events.at(-2)).toMatchObject({ type: "error", code: "gateway_overloaded" });
    expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
    expect(events.length).toBeLessThan(words.length);
    const { id } = events.at(-1)!["response"];
    await stub.context.background!.get(id)?.ended;
    const kept = await stub.context.kept!.find("default", id);
    expect((kept!.value as Record<string, any>)["response"]).toMatchObject({ id, status: "failed" });
    // what the events took is released with the call
    stub.context.traffic.held.hold("default", limits.maxHeldBytes / 2, limits);
  });

  test("[d5.2, d12.5, d12.6] a call that fails once its stream has begun names the member that its client wrote", async () => {
    const stub = keeping({ tools: fakeToolServers({ sky: { look: { run: () => says("blue") } } }) });
    const response = await stub.respond({
      model: "gemini:gemini-3-pro",
      input: "One.",
      reasoning: { effort: "xhigh" },
      tools: [{ type: "mcp", server_label: "sky" }],
      stream: true,
      background: true,
    });
    const error = eventsOf(await response.text()).find(({ type }) => type === "error");
    expect(error).toMatchObject({ code: "unsupported_value", param: "reasoning.effort" });
    expect(error!["message"]).toStartWith("reasoning.effort ");
  });

  test("[d12.8] a call whose input alone is too large to be kept does not run in the background, however large it is", async () => {
    const MIB = 1024 * 1024;
    for (const input of ["x".repeat(5 * MIB), "x".repeat(9 * MIB)]) {
      const stub = keeping();
      const response = await stub.respond({ ...OPENAI, input, background: true });
      const { error } = (await response.json()) as Record<string, any>;
      expect([response.status, error?.param, stub.sent.length]).toEqual([400, "background", 0]);
    }
  });

  test("[d4.3, d12.2] a call in the background that a limit or its model refuses is refused at once, and not queued", async () => {
    const limits = { calls: { metric: "requests", window: "minute", limit: 1 } };
    const stub = keeping({ snapshot: { limitRules: limitSet({ limits }) } });
    const asked = async (fields: object = {}) => {
      const response = await stub.respond({ ...OPENAI, input: "One.", background: true, ...fields });
      return { response, body: (await response.json()) as Record<string, any> };
    };
    const unknown = await asked({ model: "nobody:m" });
    expect([unknown.response.status, unknown.body["error"]?.code]).toEqual([404, "model_not_found"]);
    const first = await asked();
    expect([first.response.status, first.body["status"]]).toEqual([200, "queued"]);
    expect(first.response.headers.get("x-ratelimit-remaining-requests")).toBe("0");
    const { response, body } = await asked();
    expect([response.status, body["error"]?.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(response.headers.get("retry-after")).not.toBeNull();
    await stub.context.background!.get(first.body["id"])?.ended;
    expect(stub.records.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 404, 429]);
  });

  test("[d9.4] an explanation of a call in the background fails where the call does, because its response is not kept", async () => {
    const policies = policiesFor({ name: "mask", guard: { classes: ["email"], action: "mask", on: "input" } });
    const stub = keeping({ permissions: ["debug"], snapshot: { policies } });
    const asked = { ...OPENAI, input: "One.", background: true };
    for (const headers of [{}, { "x-gateway-explain": "true" }]) {
      const response = await stub.respond(asked, headers);
      const { error } = (await response.json()) as Record<string, any>;
      expect([response.status, error?.param, stub.sent.length]).toEqual([400, "background", 0]);
    }
  });

  test("[d9.7] the events of a response in the background are a stream that no proxy holds back (H2)", async () => {
    const response = await keeping().respond({ ...OPENAI, input: "One.", stream: true, background: true });
    const names = ["content-type", "cache-control", "x-accel-buffering"];
    expect(names.map((name) => response.headers.get(name))).toEqual([
      "text/event-stream; charset=utf-8",
      "no-cache, no-transform",
      "no",
    ]);
    await response.text();
  });

  test("[d12.8] a response in the background that is deleted leaves none of its events", async () => {
    const stub = keeping();
    const response = await stub.respond({ ...OPENAI, input: "One.", stream: true, background: true });
    const { id } = eventsOf(await response.text()).at(-1)!["response"];
    await stub.context.background!.get(id)?.ended;
    const kept = stub.context.kept!;
    const found = async (): Promise<string> =>
      JSON.stringify((await kept.find("default", `${id}:events:0`))?.value ?? null);
    expect(await found()).toContain("Hello");
    expect(await deletedResponse({ ...keptReader(stub), id, query: () => undefined })).toMatchObject({ deleted: true });
    expect([await found(), await kept.find("default", id)]).toEqual(["null", null]);
  });

  describe("in the mode on", () => {
    const on = { dropParams: null, disableStopSequenceLimit: null, responsesStore: "on" } as const;
    const rules = { sample: 1, retentionMs: 86_400_000, isStored: true, maxCharacters: 1000, detectors: [] };
    const snapshot = (isStored: boolean) => ({
      tenantSettings: new Map([["default", on]]),
      contentLogs: new Map([["default", { ...rules, isStored }]]),
    });
    const failing: DurableStore = {
      keep: () => Promise.reject(new GatewayError("store_unavailable", "The database is away.")),
      find: () => Promise.reject(new GatewayError("store_unavailable", "The database is away.")),
      remove: () => Promise.resolve(),
    };

    test("[d12.8] an answer says store: true only when it is kept, and a reference says that the database is away", async () => {
      const kept: DurableObject[] = [];
      const durable: DurableStore = {
        keep: async (object) => void kept.push(object),
        find: async (_, id) => kept.find(({ ids }) => ids.includes(id)) ?? null,
        remove: () => Promise.resolve(),
      };
      for (const [store, isOn] of [
        [durable, true],
        [failing, false],
      ] as const) {
        const stub = keeping({ snapshot: snapshot(true), durable: store });
        const response = await stub.respond({ ...OPENAI, input: "One." });
        const { id, store: said } = (await response.json()) as Record<string, any>;
        const until = new Date(START_MS + rules.retentionMs).toISOString();
        expect([response.status, said]).toEqual([200, isOn]);
        expect(response.headers.get("x-gateway-response-kept-until")).toBe(isOn ? until : null);
        expect(response.headers.get("x-gateway-warnings")).toBe(isOn ? null : "response_not_kept");
        const next = await stub.respond({ ...OPENAI, previous_response_id: id });
        expect(next.status).toBe(isOn ? 200 : 503);
      }
      expect(kept[0]).toMatchObject({
        tenantId: "default",
        projectId: "default",
        untilMs: START_MS + rules.retentionMs,
      });
    });

    test("[d7.1, d12.8] a streamed answer without content, which is asked for again, is not kept in place of the next", async () => {
      const kept = new Map<string, DurableObject>();
      const durable: DurableStore = {
        // as in the database, what is there stays
        keep: async (object) => void (kept.has(object.ids[0]!) || kept.set(object.ids[0]!, object)),
        find: () => Promise.resolve(null),
        remove: () => Promise.resolve(),
      };
      let asked = 0;
      const upstream = cannedUpstream(() => {
        asked += 1;
        const end = openaiChunk({}, "stop");
        const chunks = asked === 1 ? [end] : [openaiChunk({ content: "Hello" }), end];
        return { headers: { "content-type": "text/event-stream" }, body: eventStream(...chunks) };
      });
      const stub = keeping({ snapshot: snapshot(true), durable, upstream });
      const response = await stub.respond({ ...OPENAI, input: "One.", stream: true, x_gateway: { num_retries: 1 } });
      const { type } = eventsOf(await response.text()).at(-1)!;
      expect([asked, type]).toEqual([2, "response.completed"]);
      expect([...kept.values()]).toMatchObject([
        { value: { response: { output: [{ content: [{ text: "Hello" }] }] } } },
      ]);
    });

    test("[d11.3, d12.8] a response is kept only for an hour where the project keeps no content in the database", async () => {
      const stub = keeping({ snapshot: snapshot(false), durable: failing });
      const response = await stub.respond({ ...OPENAI, input: "One.", store: true });
      expect(((await response.json()) as Record<string, any>)["store"]).toBe(false);
      expect(response.headers.get("x-gateway-response-kept-until")).toBe(new Date(START_MS + 3_600_000).toISOString());
    });

    test("[d11.3, d12.8] nothing is kept of a response whose project is removed while the call runs", async () => {
      const kept: DurableObject[] = [];
      const durable: DurableStore = {
        keep: async (object) => void kept.push(object),
        find: () => Promise.resolve(null),
        remove: () => Promise.resolve(),
      };
      const project = { id: "default", tenantId: "default", name: "default", createdAtMs: 1 };
      let made = new Map([["default", project]]);
      const upstream = cannedUpstream(() => {
        made = new Map([["default", { ...project, createdAtMs: 2 }]]);
        return { body: JSON.stringify(openaiAnswer("Hello")) };
      });
      const stub = keeping({ snapshot: snapshot(true), durable, upstream });
      const first = stub.context.snapshot();
      Object.assign(stub.context, { snapshot: () => ({ ...first, projects: made }) });
      const response = await stub.respond({ ...OPENAI, input: "One." });
      expect(await response.json()).toMatchObject({ status: "completed", store: false });
      expect(response.headers.get("x-gateway-warnings")).toBe("response_not_kept");
      expect(kept).toEqual([]);
      await (await stub.respond({ ...OPENAI, input: "One." })).text();
      expect(kept).toHaveLength(1);
    });

    const { detectors } = compileContentLogs(
      true,
      [{ id: "default", tenantId: "default", name: "Default" }],
      new Map([["default", toScopeSettings(scopeSettings.parse({ content_log: { enabled: true } }))]]),
      new Map(),
    ).get("default")!;
    const redacting = { ...snapshot(true), contentLogs: new Map([["default", { ...rules, detectors }]]) };

    test("[d11.3, d12.8] a call that a person has approved keeps its place, also where its id looks like the number of a card", async () => {
      const kept: DurableObject[] = [];
      const durable: DurableStore = {
        keep: async (object) => void kept.push(object),
        find: async (_, id) => kept.find(({ ids }) => ids.includes(id)) ?? null,
        remove: () => Promise.resolve(),
      };
      const upstream = scriptedModel([
        { calls: [{ name: "sky__look", id: "4111111111111111" }] },
        { text: "It is blue." },
      ]);
      const tools = fakeToolServers({ sky: { look: { run: () => says("blue") } } });
      const stub = keeping({ snapshot: redacting, durable, upstream, tools });
      const asking = { tools: [{ type: "mcp", server_label: "sky", require_approval: "always" }] };
      const first = await stub.answer(asking);
      const request = first["output"].at(-1);
      expect(request.type).toBe("mcp_approval_request");
      const approval = { type: "mcp_approval_response", approval_request_id: request.id, approve: true };
      const second = await stub.answer({ ...asking, previous_response_id: first["id"], input: [approval] });
      expect(second["output"][0]).toMatchObject({ type: "mcp_call", approval_request_id: request.id, output: "blue" });
      await stub.answer({ ...asking, previous_response_id: second["id"], input: "Sure?" });
      const roles = ["user", "assistant", "tool", "assistant", "user"];
      expect(stub.messages().map(({ role }) => role)).toEqual(roles);
      expect(stub.messages()[2]).toMatchObject({ tool_call_id: request.id, content: "blue" });
    });

    test("[d10.3, d11.3, d12.8] a call that is not kept as a person has seen it is not run as approved, unless the client sends it itself", async () => {
      const kept: DurableObject[] = [];
      const durable: DurableStore = {
        keep: async (object) => void kept.push(JSON.parse(JSON.stringify(object))),
        find: async (_, id) => kept.find(({ ids }) => ids.includes(id)) ?? null,
        remove: () => Promise.resolve(),
      };
      const args = JSON.stringify({ to: "ada@example.com" });
      const upstream = scriptedModel([
        { calls: [{ name: "post__send", args }, { name: "post__look" }] },
        { text: "Done." },
      ]);
      const sent: unknown[] = [];
      const run = (given: unknown) => {
        sent.push(given);
        return says("sent");
      };
      const stub = keeping({
        snapshot: redacting,
        durable,
        upstream,
        tools: fakeToolServers({ post: { send: { run }, look: { run } } }),
      });
      const asking = { tools: [{ type: "mcp", server_label: "post", require_approval: "always" }] };
      const first = await stub.answer({ ...asking, input: "Write to Ada." });
      const requests = first["output"].filter(({ type }: { type: string }) => type === "mcp_approval_request");
      expect(requests[0].arguments).toBe(args);
      const approvals = requests.map(({ id }: { id: string }) => ({
        type: "mcp_approval_response",
        approval_request_id: id,
        approve: true,
      }));
      const reference = { type: "item_reference", id: requests[0].id };
      for (const [referring, param] of [
        [{ previous_response_id: first["id"], input: approvals }, "input[0].approval_request_id"],
        [
          {
            input: ["Write to Ada.", reference, approvals[0]].map((item) =>
              typeof item === "string" ? { role: "user", content: item } : item,
            ),
          },
          "input[2].approval_request_id",
        ],
      ] as const) {
        const refused = await stub.answer({ ...asking, ...referring });
        expect([refused["error"]?.param, refused["error"]?.message]).toEqual([
          param,
          expect.stringContaining("redacted"),
        ]);
      }
      expect(sent).toEqual([]);
      const denied = [{ ...approvals[0], approve: false }, approvals[1]];
      expect(await stub.answer({ ...asking, previous_response_id: first["id"], input: denied })).toMatchObject({
        status: "completed",
      });
      expect(sent).toEqual([{}]);
      const input = [{ role: "user", content: "Write to Ada." }, ...first["output"], ...approvals];
      expect(await stub.answer({ ...asking, input })).toMatchObject({ status: "completed" });
      expect(sent).toEqual([{}, { to: "ada@example.com" }, {}]);
    });

    test("[d11.3, d12.8] what a person has written under the name of a structural member is redacted in what is kept", async () => {
      const kept: DurableObject[] = [];
      const durable: DurableStore = {
        keep: async (object) => void kept.push(object),
        find: () => Promise.resolve(null),
        remove: () => Promise.resolve(),
      };
      const address = "ann@example.org";
      const mailing = {
        type: "function",
        name: "mail",
        parameters: { type: "object", properties: { id: { type: "string", description: address } } },
      };
      const stub = keeping({ snapshot: redacting, durable });
      const response = await stub.respond({
        ...OPENAI,
        input: [{ type: "message", id: "msg_1", role: "user", content: `To ${address}.` }],
        metadata: { id: address, role: address },
        tools: [mailing],
        tool_choice: "none",
      });
      const { id, usage, output } = (await response.json()) as Record<string, any>;
      const value = kept[0]!.value as Record<string, any>;
      expect(JSON.stringify(value)).not.toContain(address);
      expect(value["response"]).toMatchObject({ id, usage, object: "response", status: "completed" });
      expect(value["response"].output.map((item: any) => item.id)).toEqual(output.map((item: any) => item.id));
      expect(value["input"][0]).toMatchObject({ type: "message", id: "msg_1", role: "user", status: "completed" });
    });

    test("[d12.8] each scope can still say off, and store: false keeps nothing", async () => {
      const off = { ...on, responsesStore: "off" } as const;
      for (const [settings, body] of [
        [{ ...snapshot(true), settings: off }, {}],
        [snapshot(true), { store: false }],
      ] as const) {
        const response = await keeping({ snapshot: settings, durable: failing }).respond({ ...OPENAI, ...body });
        expect(((await response.json()) as Record<string, any>)["store"]).toBe(false);
        expect(response.headers.get("x-gateway-response-kept-until")).toBeNull();
        expect(response.headers.get("x-gateway-warnings")).toBeNull();
      }
    });
  });

  test("[d12.8] a response counts for the bounds with the input of the responses before it, which it holds when they are gone", () => {
    const kept = new KeptObjects({ now: () => START_MS, monotonic: () => 0 });
    const created = { projectMs: null, userMs: null };
    const owner = { tenantId: "acme", projectId: "one", tokenId: "token", userId: null, created };
    const long = { type: "message", role: "user", content: "x".repeat(3_000_000) };
    const short = { type: "message", role: "user", content: "And?" };
    const keep = (id: string, input: readonly (typeof long)[]) =>
      keepResponse(kept, { owner, response: { id, status: "completed", output: [] }, input });
    expect(keep("resp_0", [long])).toBe(true);
    // a tenant has room for eleven of them
    for (let number = 1; number <= 11; number++) expect(keep(`resp_${number}`, [long, short])).toBe(true);
    expect(kept.find("acme", "resp_0")).toBeNull();
    expect(keep("resp_12", [long, short, long])).toBe(false);
    kept.close();
  });
});
