// Promise 16.2 over several calls of one conversation, at vendors that keep prompts as theirs do: what is read and saved,
// why a call missed, and what guards, hedges and rounds of tools change about it.
import { afterAll, describe, expect, test } from "bun:test";
import type { PromptCaching } from "../../../src/core/configured/prompt-cache.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { OperationName } from "../../../src/core/operation.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { callLine } from "../../../src/observe/log.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { nativeFormOf } from "../../../src/providers/native-forms.ts";
import { cachingVendor } from "../../harness/servers/caching-vendor.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { type RouteParts, routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";
import { policiesFor } from "../../policies/policy-documents.ts";

type Body = Readonly<Record<string, unknown>>;

const MINUTE_MS = 60_000;
const SESSION = { "x-claude-code-session-id": "one" };
/** Above the least length that vendors cache. */
const LONG = "Be brief, and say what you did. ".repeat(200);
const TURNS: readonly Body[] = Array.from({ length: 12 }, (_, at) =>
  at % 2 === 0
    ? { role: "user", content: `Step ${at}: ${"look at the file. ".repeat(30)}` }
    : { role: "assistant", content: `Done ${at}.` },
);

interface World extends StubOptions {
  readonly promptCaching?: PromptCaching | null;
  readonly route?: RouteParts;
  readonly vendor?: ReturnType<typeof cachingVendor>;
  readonly keys?: readonly string[];
  /** What a request to the provider with this id waits for. */
  readonly held?: (id: string) => Promise<unknown> | null;
}

/** A route with two targets of Claude's vendor and one of OpenAI, in this order. */
function worldOf({
  promptCaching = "auto",
  route,
  vendor = cachingVendor(),
  keys = ["a"],
  held = () => null,
  ...options
}: World = {}) {
  const refusing = new Map<string, number>();
  const clock = turnedClock(1_800_000_000_000);
  const provider = (id: string, family: string) =>
    providerSettings({ id, family, credentials: keys.map((key) => storedKey(`${id}-${key}`)) });
  const canned = cannedUpstream(({ url, headers, body, bytes }) => {
    const refused = refusing.get(headers["x-api-key"] ?? "");
    if (refused !== undefined) return { status: refused, body: "{}" };
    const text = body === "" ? new TextDecoder().decode(bytes) : body;
    const { status, body: answer } = vendor.answer({
      path: new URL(url).pathname,
      headers,
      body: JSON.parse(text) as Record<string, unknown>,
    });
    return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(answer) };
  });
  const gateway = stubGateway({
    upstream: {
      async send(request, sending) {
        await held((request.headers["x-api-key"] ?? "").replace(/-.*/, ""));
        return canned.send(request, sending);
      },
    },
    clock,
    providers: [provider("one", "anthropic"), provider("two", "anthropic"), provider("openai", "openai")],
    ...options,
    snapshot: {
      ...options.snapshot,
      routes: new Map([
        ["r", routeOf("r", ["one:claude-sonnet-5", "two:claude-sonnet-5"], { promptCaching, ...route })],
        ["single", routeOf("single", ["one:claude-sonnet-5"], { promptCaching })],
        ["openai", routeOf("openai", ["openai:gpt-5"], { promptCaching })],
      ]),
    },
  });
  let at = 0;
  return {
    gateway,
    clock,
    vendor,
    /** The keys that are refused, each with a status. */
    refusing,
    wait: (ms: number) => clock.turnTo((at += ms) + 1_800_000_000_000),
    /** Returns what the record says of the last attempt of the call. */
    ask: async (body: Body, operation: Operation = CHAT_COMPLETIONS, headers: Record<string, string> = SESSION) => {
      const response = await gateway.call(operation, { model: "r", max_tokens: 9, ...body }, { headers });
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
      const record = gateway.records.at(-1)!;
      return { record, miss: record.attempts.at(-1)!.promptCacheMiss, usage: record.usage! };
    },
  };
}

const chat = (turns: number, changed: Partial<Record<number, Body>> = {}): Body => ({
  messages: [{ role: "system", content: LONG }, ...TURNS.slice(0, turns).map((turn, at) => changed[at] ?? turn)],
});
const message = (turns: number): Body => ({ system: LONG, messages: TURNS.slice(0, turns) });
const nativeResponse = (turns: number): Body => ({
  model: "openai",
  max_tokens: undefined,
  instructions: LONG,
  input: TURNS.slice(0, turns),
});
const readOf = ({
  usage,
}: {
  readonly usage: { readonly prompt_tokens_details?: { readonly cached_tokens?: number } };
}) => usage.prompt_tokens_details?.cached_tokens ?? 0;

describe("[d16.2] a conversation that goes on", () => {
  test.each([
    ["chat completions", CHAT_COMPLETIONS, chat],
    ["the Messages API", MESSAGES, message],
    ["the Responses API, at OpenAI", RESPONSES, nativeResponse],
  ] as const)("reads what it had before, by %s, and misses nothing", async (_, operation, body) => {
    const { ask, wait, vendor } = worldOf();
    const first = await ask(body(1), operation);
    expect(readOf(first)).toBe(0);
    for (const turns of [3, 5, 7, 9, 11]) {
      wait(MINUTE_MS);
      const { miss, usage } = await ask(body(turns), operation);
      expect(miss).toBeNull();
      expect(readOf({ usage })).toBeGreaterThan(usage.prompt_tokens / 2);
    }
    expect(vendor.billed.read / vendor.billed.prompt).toBeGreaterThan(0.7);
  });

  test("without prompt_cache nothing is noted, and Claude's vendor reads nothing", async () => {
    for (const promptCaching of [null, "off"] as const) {
      const { ask, gateway, vendor } = worldOf({ promptCaching });
      await ask(chat(1));
      expect((await ask(chat(3))).miss).toBeNull();
      expect(vendor.billed).toMatchObject({ read: 0, written: 0 });
      expect(gateway.context.routing.prompts.hashes).toBe(0);
    }
  });

  test("a call without a session is not noted either", async () => {
    const { ask, gateway } = worldOf();
    await ask(chat(3), CHAT_COMPLETIONS, {});
    expect(gateway.context.routing.prompts.hashes).toBe(0);
  });
});

describe("[d16.2] why a call missed", () => {
  test("a message was changed: its number is told, in the record and in the log", async () => {
    const { ask } = worldOf();
    await ask(chat(5));
    const { miss, record } = await ask(chat(7, { 0: { role: "user", content: "Something else." } }));
    // the system text is the first message
    expect(miss).toEqual({ why: "prompt_changed", at: 2 });
    expect(JSON.parse(callLine(record))).toMatchObject({
      attempts: [{ prompt_cache_miss: { why: "prompt_changed", at: 2 } }],
    });
  });

  test("the system text at the beginning of a chat completion was changed", async () => {
    const { ask } = worldOf();
    await ask(chat(5));
    const { messages } = chat(7) as { readonly messages: readonly Body[] };
    const dated = { messages: [{ role: "system", content: `Today is Monday. ${LONG}` }, ...messages.slice(1)] };
    expect((await ask(dated)).miss).toEqual({ why: "prompt_changed", at: "system" });
  });

  test("the system text of the Messages API was changed, or the tools were", async () => {
    const { ask } = worldOf();
    await ask(message(5), MESSAGES);
    const dated = { ...message(7), system: `Today is Monday. ${LONG}` };
    expect((await ask(dated, MESSAGES)).miss).toEqual({ why: "prompt_changed", at: "system" });
    const tools = [{ name: "look", input_schema: { type: "object" } }];
    expect((await ask({ ...dated, tools }, MESSAGES)).miss).toEqual({ why: "prompt_changed", at: "tools" });
  });

  test("the instructions of a native response were changed; where its vendor reads on up to the change, it missed nothing", async () => {
    const { ask, gateway } = worldOf();
    await ask(nativeResponse(5), RESPONSES);
    expect(gateway.sent.at(-1)!.url).toEndWith("/responses");
    const changed = { ...nativeResponse(7), input: [{ role: "user", content: "Other." }, ...TURNS.slice(1, 7)] };
    expect((await ask(changed, RESPONSES)).miss).toBeNull();
    const all = { ...changed, instructions: `Other. ${LONG}` };
    expect((await ask(all, RESPONSES)).miss).toEqual({ why: "prompt_changed", at: "system" });
  });

  describe("is told by the same numbers, whether the call is translated or not", () => {
    const result = (id: string) => [
      { role: "assistant", content: [{ type: "tool_use", id, name: "look", input: {} }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: id, content: "Seen." },
          { type: "text", text: "On." },
        ],
      },
    ];
    const messages = [TURNS[0]!, ...result("toolu_1"), ...result("toolu_2"), TURNS[1]!, TURNS[2]!];
    const call = (id: string) => [
      { type: "function_call", call_id: id, name: "look", arguments: "{}" },
      { type: "function_call_output", call_id: id, output: "Seen." },
    ];
    const input = [TURNS[0]!, ...call("call_1"), ...call("call_2"), TURNS[1]!, TURNS[2]!];
    const FORMS = [
      ["the Messages API", MESSAGES, "r", "openai", "system", "messages", messages],
      ["the Responses API", RESPONSES, "openai", "r", "instructions", "input", input],
    ] as const;
    test.each(FORMS)("by %s", async (_, operation, native, translated, system, list, turns) => {
      for (const model of [native, translated]) {
        const body = (changed: Body = {}): Body => ({
          model,
          ...(operation === RESPONSES && { max_tokens: undefined }),
          [system]: LONG,
          [list]: turns,
          ...changed,
        });
        const missOf = async (changed: Body) => {
          const { ask, vendor, gateway } = worldOf();
          await ask(body(), operation);
          vendor.forget();
          const { miss } = await ask(body(changed), operation);
          expect(gateway.sent.at(-1)!.url.endsWith(operation.name)).toBe(model === native);
          return miss;
        };
        expect(await missOf({ [system]: `Other. ${LONG}` })).toEqual({ why: "prompt_changed", at: "system" });
        for (const index of [0, 5, 6]) {
          const changed = turns.map((turn, at) => (at === index ? { ...turn, content: "Other." } : turn));
          expect(await missOf({ [list]: changed })).toEqual({ why: "prompt_changed", at: index + 1 });
        }
        expect(await missOf({ [list]: turns.slice(0, 5) })).toEqual({ why: "prompt_changed", at: 6 });
      }
    });
  });

  test("a conversation of which the vendor has a part is not compared", () => {
    const prompt = (form: OperationName, body: JsonObject) => nativeFormOf(form)!.prompt(body);
    const body = { instructions: "Be brief.", input: "And now?" };
    expect(prompt("responses", body)).toEqual({ tools: undefined, system: "Be brief.", turns: "And now?" });
    expect(prompt("responses", { ...body, previous_response_id: null })).not.toBeNull();
    for (const kept of ["previous_response_id", "conversation", "prompt"])
      expect(prompt("responses", { ...body, [kept]: "id_1" })).toBeNull();
    expect(prompt("messages", { messages: [] })).toEqual({ tools: undefined, system: undefined, turns: [] });
    expect(prompt("messages", { messages: [], thread: { id: "thread_1" } })).toBeNull();
  });

  test("marks of the client that move on change nothing", async () => {
    const { ask } = worldOf();
    const marked = (turns: number): Body => {
      const block = { type: "text", text: TURNS[turns - 1]!["content"], cache_control: { type: "ephemeral" } };
      return { ...message(turns), messages: [...TURNS.slice(0, turns - 1), { role: "user", content: [block] }] };
    };
    await ask(marked(3), MESSAGES);
    const { miss, usage } = await ask(marked(5), MESSAGES);
    expect(miss).toBeNull();
    expect(readOf({ usage })).toBeGreaterThan(1024);
  });

  test("the call before went to another target, which is told", async () => {
    const { ask, refusing } = worldOf();
    await ask(chat(3));
    refusing.set("one-a", 500);
    const { miss, record } = await ask(chat(5));
    expect(record.attempts.map(({ provider }) => provider)).toEqual(["one", "two"]);
    expect(miss).toEqual({ why: "other_target", earlier: "one:claude-sonnet-5" });
    refusing.clear();
    expect((await ask(chat(11))).miss).toEqual({ why: "other_target", earlier: "two:claude-sonnet-5" });
  });

  test("the vendor keeps no prompt that long", async () => {
    const { ask, wait, vendor } = worldOf();
    await ask(chat(3));
    wait(9 * MINUTE_MS);
    vendor.forget();
    expect((await ask(chat(5))).miss).toEqual({ why: "too_old", agoMs: 9 * MINUTE_MS });
  });

  test("the vendor has dropped it before its time", async () => {
    const { ask, wait, vendor } = worldOf();
    await ask(chat(3));
    wait(MINUTE_MS);
    vendor.forget();
    const { miss, record } = await ask(chat(5));
    expect(miss).toEqual({ why: "not_found" });
    expect(record.cost).not.toBeNull();
  });

  test("the call before used another key, which was set aside since", async () => {
    const { ask, gateway, refusing } = worldOf({ keys: ["a", "b"] });
    const asked = (turns: number): Body => ({ ...chat(turns), model: "single" });
    await ask(asked(3));
    refusing.set(gateway.sent.at(-1)!.headers["x-api-key"]!, 401);
    expect((await ask(asked(5))).miss).toEqual({ why: "other_credential" });
  });

  const thread = openLongBodyThread(longBodyProgram());
  const longRequests = openLongRequests(thread);
  afterAll(() => thread.close());

  test.each([
    ["chat completions", CHAT_COMPLETIONS, (turns: number) => chat(turns)],
    ["the Messages API", MESSAGES, message],
  ] as const)("[d5.8] of a long body, by %s, the same is told", async (_, operation, body) => {
    const long = { role: "user", content: "x".repeat(LONG_BODY_BYTES) };
    const longer = (turns: number, first: Body): Body => {
      const asked = body(turns);
      const messages = asked["messages"] as readonly Body[];
      const at = messages.findIndex(({ role }) => role === "user");
      return { ...asked, messages: [...messages.slice(0, at), first, ...messages.slice(at + 1)] };
    };
    const told = [];
    for (const options of [{}, { longRequests }]) {
      const { ask } = worldOf(options);
      await ask(longer(3, long), operation);
      const on = await ask(longer(5, long), operation);
      const off = await ask(longer(7, { ...long, content: `${long.content}y` }), operation);
      told.push([on.miss, readOf(on) > 1024, off.miss]);
    }
    const at = operation === CHAT_COMPLETIONS ? 2 : 1;
    expect(told[0]).toEqual([null, true, { why: "prompt_changed", at }]);
    expect(told[1]).toEqual(told[0]);
  });
});

describe("[d16.2] with other features", () => {
  const MAIL = "ada@mail.example.org";

  test.each([
    ["chat completions", CHAT_COMPLETIONS, chat],
    ["the Messages API", MESSAGES, message],
  ] as const)(
    "[d3.3] what a guard masks is masked under the marks, by %s, and is the same in the next call",
    async (_, operation, body) => {
      const policies = policiesFor({ name: "no-pii", guard: { on: "input", classes: ["email"], action: "mask" } });
      const { ask, gateway } = worldOf({ snapshot: { policies } });
      const asked = (turns: number): Body => {
        const { messages, ...rest } = body(turns) as { readonly messages: readonly Body[] };
        return {
          ...rest,
          messages: messages.map((turn) => ({ ...turn, content: `${turn["content"] as string} Write to ${MAIL}.` })),
        };
      };
      await ask(asked(3), operation);
      const { miss, usage } = await ask(asked(5), operation);
      expect(miss).toBeNull();
      expect(readOf({ usage })).toBeGreaterThan(1024);
      const { body: sent } = gateway.sent.at(-1)!;
      expect(sent).toContain('"cache_control"');
      expect(sent).not.toContain(MAIL);
    },
  );

  test("[d10.2] each round of tools reads what the round before has written", async () => {
    const asks = { type: "tool_use", id: "toolu_1", name: "sky__weather", input: {} };
    const vendor = cachingVendor(({ messages }) =>
      (messages as readonly Body[]).length < 5 ? [asks] : [{ type: "text", text: "It rains." }],
    );
    const tools = fakeToolServers({ sky: { weather: { run: () => says("Rain. ".repeat(400)) } } });
    const { ask, gateway } = worldOf({ vendor, tools });
    const { record } = await ask({ ...chat(1), tools: [{ type: "mcp", server_label: "sky" }] });
    expect(record.rounds).toBe(3);
    const reads = record.attempts.map(({ usage }) => usage!.prompt_tokens_details!.cached_tokens ?? 0);
    expect(reads[0]).toBe(0);
    expect(reads[1]).toBeGreaterThan(1024);
    expect(reads[2]).toBeGreaterThanOrEqual(reads[1]!);
    expect(record.attempts.map(({ promptCacheMiss }) => promptCacheMiss)).toEqual([null, null, null]);
    for (const { body } of gateway.sent) expect(body.match(/"cache_control"/g)!.length).toBeLessThanOrEqual(3);
  });

  test("[d7.10] a hedge at another target is sent the same marks, and it alone answers", async () => {
    const asked = Promise.withResolvers<void>();
    const held = (id: string): Promise<void> | null => {
      if (id === "one") return asked.promise;
      asked.resolve();
      return null;
    };
    const { ask, gateway } = worldOf({ held, route: { hedge: { after: 1, maxExtra: 1 } } });
    const { record, miss } = await ask(chat(3));
    expect(record.attempts.map(({ provider }) => provider)).toEqual(["one", "two"]);
    expect(miss).toBeNull();
    const [first, second] = gateway.sent.map(({ body }) => body);
    expect(first).toContain('"cache_control"');
    expect(second).toBe(first);
  });
});
