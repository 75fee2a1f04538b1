// Promise 16.4 through the whole gateway: guards whose texts are judged by a service.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { fakeToolServers, says, waitFor } from "../../harness/tools/fake-tools.ts";
import { fakeService, type FakeService, findingsOf } from "../../harness/servers/outside-guard.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { TOOL_CALL } from "../../../src/operations/tool-call/tool-call.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import type { UpstreamClient } from "../../../src/wire/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";
import { chunk, play, type Played } from "../answers/played-stream.ts";
import { scriptedModel } from "../tools/scripted-rounds.ts";

const SERVICE = { type: "request", url: "http://guard.test/judge", headers: { Authorization: "Bearer k" } } as const;
const policy = (guard: object = {}, more: object = {}): object => ({
  name: "judged",
  message: "Not this.",
  ...more,
  guard: { action: "mask", service: SERVICE, ...guard },
});
const secret = (body: { texts: readonly string[] }): object => findingsOf(body.texts, /secret\w*/g);

interface Stage {
  readonly stub: Stub;
  readonly service: FakeService;
}
function stage(
  document: object | readonly object[],
  judge: Parameters<typeof fakeService>[0] = secret,
  answer: object = openaiAnswer("Hello"),
  options: StubOptions = {},
): Stage {
  const service = fakeService(judge, options.upstream ?? cannedUpstream({ body: JSON.stringify(answer) }));
  const documents = Array.isArray(document) ? (document as object[]) : [document];
  const stub = stubGateway({
    ...options,
    upstream: service.upstream,
    snapshot: { ...options.snapshot, policies: policiesFor(...documents) },
  });
  return { stub, service };
}
const say = async ({ stub }: Stage, fields: object = {}): Promise<{ readonly status: number; readonly body: any }> => {
  const response = await stub.chat({ model: "openai:gpt-4o", messages: HELLO, ...fields });
  return { status: response.status, body: await response.json() };
};
const user = (content: unknown): object => ({ messages: [{ role: "user", content }] });
const toProvider = ({ stub }: Stage): any =>
  JSON.parse(stub.sent.find(({ url }) => !url.startsWith("http://guard.test"))!.body);

describe("a service on input", () => {
  test("[d16.4] is asked with the texts of the request, once, and what it finds is masked by its spans", async () => {
    const on = stage(policy({ on: "input" }));
    expect((await say(on, user("😀 the secret7 is out"))).status).toBe(200);
    expect(on.service.asked).toEqual([
      {
        url: SERVICE.url,
        headers: expect.objectContaining({ authorization: "Bearer k", "content-type": "application/json" }),
        body: { policy: "judged", place: "input", texts: ["😀 the secret7 is out"] },
      },
    ]);
    expect(toProvider(on).messages).toEqual([{ role: "user", content: "😀 the [masked] is out" }]);
    expect(on.stub.records[0]).toMatchObject({
      policies: [{ name: "judged", effect: "masked" }],
      guardServices: [
        {
          policy: "judged",
          type: "request",
          place: "input",
          requests: 1,
          characters: 21,
          found: ["WORD"],
          failures: 0,
        },
      ],
    });
  });

  test("[d16.4] blocks where it finds something, and no provider is called", async () => {
    const on = stage(policy({ on: "input", action: "block" }));
    expect(await say(on, user("a secret"))).toMatchObject({
      status: 403,
      body: { error: { code: "policy_violation", message: "Not this.", metadata: { policy: "judged" } } },
    });
    expect(on.stub.sent.map(({ url }) => url)).toEqual([SERVICE.url]);
    expect((await say(on, user("nothing here"))).status).toBe(200);
  });

  test("[d16.4] only reports in audit mode", async () => {
    const on = stage(policy({ on: "input" }, { mode: "audit" }));
    expect((await say(on, user("a secret"))).status).toBe(200);
    expect(toProvider(on).messages[0].content).toBe("a secret");
    expect(on.stub.records[0]!.policies).toEqual([{ name: "judged", effect: "would_deny" }]);
  });

  test("[d16.4] a finding without a span concerns the whole text; the guard's own mask is used", async () => {
    const on = stage(policy({ on: "input", mask: "(gone)" }), (body) => ({
      findings: [{ text: (body.texts as string[]).indexOf("a secret"), label: "X" }],
    }));
    await say(on, { messages: [...(user("a secret") as any).messages, { role: "user", content: "fine" }] });
    expect(toProvider(on).messages.map((message: any) => message.content)).toEqual(["(gone)", "fine"]);
  });

  test("[d16.4] judges names of members and ids not at all, and JSON arguments and parts of messages as texts", async () => {
    const on = stage(policy({ on: "input" }));
    await say(on, {
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "one sec" },
            { type: "text", text: "ret two" },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_secret", type: "function", function: { name: "look", arguments: '{"a":"secret"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_secret", content: "done" },
      ],
      other_member: { inside_this: "text" },
    });
    expect(on.service.asked[0]!.body.texts.toSorted()).toEqual(
      ["done", "one sec", "one secret two", "ret two", "text", '{"a":"secret"}'].toSorted(),
    );
    const { messages } = toProvider(on);
    expect(messages[0].content.map(({ text }: any) => text)).toEqual(["one [masked]", " two"]);
    expect(messages[1].tool_calls[0]).toMatchObject({ id: "call_secret", function: { arguments: '{"a":"[masked]"}' } });
  });

  test.each(["anthropic:claude-sonnet-5", "openai:gpt-4o"])(
    "[d16.4] the input of a tool is one JSON text in the Messages API too, and is masked where the provider gets it: %s",
    async (model) => {
      const input = { city: 'the "secret7" isle', deep: [{ note: "\tsecret8\u00e9" }], plain: "fine" };
      const messages = [
        { role: "user", content: "fine" },
        { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "done" }] },
      ];
      const answer = model.startsWith("anthropic")
        ? {
            id: "msg_1",
            type: "message",
            role: "assistant",
            model: "m",
            content: [{ type: "text", text: "Hello" }],
            stop_reason: "end_turn",
            stop_sequence: null,
            usage: { input_tokens: 1, output_tokens: 1 },
          }
        : openaiAnswer("Hello");
      const on = stage(policy({ on: "input" }), secret, answer);
      const response = await on.stub.call(MESSAGES, { model, max_tokens: 9, messages });
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 });
      // a message that says what a value says is judged as a message
      const asked = on.service.asked.flatMap(({ body }) => body.texts);
      expect([asked.length, new Set(asked)]).toEqual([3, new Set(["done", "fine", JSON.stringify(input)])]);
      const sent = toProvider(on).messages[1];
      const masked = model.startsWith("anthropic")
        ? sent.content[0].input
        : JSON.parse(sent.tool_calls[0].function.arguments);
      expect(masked).toEqual({ city: 'the "[masked]" isle', deep: [{ note: "\t[masked]é" }], plain: "fine" });
    },
  );

  test("[d16.4] together with a guard of the gateway's own, each sees the text as it was sent", async () => {
    const on = stage([
      policy({ on: "input" }),
      { name: "mail", guard: { on: "input", classes: ["email"], action: "mask" } },
    ]);
    await say(on, user("secret of ada@mail.example.org"));
    expect(on.service.asked[0]!.body.texts).toEqual(["secret of ada@mail.example.org"]);
    expect(toProvider(on).messages[0].content).toBe("[masked] of [email]");
  });

  test("[d16.4] costs by the configured price, and a call of a project without such guards records nothing", async () => {
    const price = { per_request: 0.001, per_1000_characters: 0.0005 };
    const on = stage(policy({ on: "input", service: { ...SERVICE, price } }));
    await say(on, user("x".repeat(1001)));
    expect(on.stub.records[0]!.guardServices[0]!.costNanoUsd).toBe(1_000_000 + 2 * 500_000);
    // a part of a thousand counts in each request
    const apart = stage(policy({ on: "input", service: { ...SERVICE, price } }));
    await say(apart, { messages: Array.from({ length: 1001 }, (_, at) => ({ role: "user", content: `t${at}` })) });
    expect(apart.stub.records[0]!.guardServices[0]).toMatchObject({
      requests: 2,
      characters: 3890 + 5,
      costNanoUsd: 2 * 1_000_000 + (4 + 1) * 500_000,
    });
    const without = stage({ name: "mail", guard: { classes: ["email"], action: "mask" } });
    await say(without);
    expect(without.stub.records[0]!.guardServices).toEqual([]);
  });
});

describe("[d16.4] a service of a guard for certain targets", () => {
  const ofModel = (model: string, more: object = {}): object =>
    policy({ on: "both", ...more }, { scope: { model: `openai:${model}` } });
  const tools = fakeToolServers({ desk: { find: { run: () => says("the secret9 of the desk") } } });
  const routes = new Map(
    [
      routeOf("falls", ["openai:other"], { fallbacks: ["openai:gpt-4o"] }),
      routeOf("hands", ["openai:other"], { fallbacks: ["route:falls"] }),
      routeOf("refused", ["openai:other"], { contentPolicyFallbacks: ["route:falls"] }),
      routeOf("longer", ["openai:other"], { contextWindowFallbacks: new Map([["openai:other", "openai:gpt-4o"]]) }),
      routeOf("when", [{ name: "openai:gpt-4o", when: "request.stream" }, "openai:other"]),
      routeOf("round", ["openai:other"], { contentPolicyFallbacks: ["route:around"] }),
      routeOf("around", ["openai:other"], { contentPolicyFallbacks: ["route:round"] }),
    ].map((route) => [route.name, route]),
  );
  const askedAt = async (fields: object): Promise<number> => {
    const on = stage(ofModel("gpt-4o", { on: "input" }), secret, openaiAnswer("Hello"), { snapshot: { routes } });
    const { status } = await say(on, { ...user("the secret7 is out"), ...fields });
    expect(status).toBe(200);
    return on.service.asked.length;
  };

  test("is not asked about calls that can reach no such target", async () => {
    expect(await askedAt({ model: "openai:other" })).toBe(0);
    expect(await askedAt({ model: "when" })).toBe(0);
    expect(await askedAt({ model: "round" })).toBe(0);
    expect(await askedAt({ model: "openai:other", fallbacks: ["openai:third"] })).toBe(0);
  });

  test("is asked where a target or a fallback is in its scope", async () => {
    expect(await askedAt({ model: "openai:gpt-4o" })).toBe(1);
    for (const model of ["falls", "hands", "refused", "longer"]) expect(await askedAt({ model })).toBe(1);
    expect(await askedAt({ model: "openai:other", fallbacks: ["openai:gpt-4o"] })).toBe(1);
  });

  test("is not asked about a tool call at /mcp, which reaches no model", async () => {
    const on = stage([ofModel("gpt-4o"), policy({ on: "input" })], secret, {}, { tools });
    const asked = { type: "function_call", name: "desk__find", arguments: { text: "a secret" }, approved: true };
    expect((await on.stub.call(TOOL_CALL, { ...asked, can_ask: false })).status).toBe(200);
    // the guard for every target is asked about the arguments once, and about the result
    expect(on.service.asked.map(({ body }) => body.texts)).toEqual([
      ['{"text":"a secret"}'],
      ["the secret9 of the desk"],
    ]);
  });
});

describe("a service on answers and results of tools", () => {
  test("[d16.4] masks an answer, and blocks one", async () => {
    const masks = stage(policy({ on: "output" }), secret, openaiAnswer("It is secret1."));
    expect((await say(masks)).body.choices[0].message.content).toBe("It is [masked].");
    expect(masks.service.asked[0]!.body.place).toBe("output");
    const blocks = stage(policy({ on: "output", action: "block" }), secret, openaiAnswer("It is secret1."));
    expect((await say(blocks)).status).toBe(403);
  });

  test("[d16.4] judges an answer that repeats a text of the request as an answer", async () => {
    const word = "the codeword";
    // such a guardrail has filters for answers that it has not for requests
    const on = stage(
      policy({ action: "block" }),
      (body) => (body.place === "output" ? findingsOf(body.texts as string[], /codeword/g) : { findings: [] }),
      openaiAnswer(word),
    );
    expect((await say(on, user(word))).status).toBe(403);
    expect(on.service.asked.map(({ body }) => body.place)).toEqual(["input", "output"]);
  });

  test("[d16.4] masks the result of a tool before the model reads it", async () => {
    const upstream = scriptedModel([{ calls: [{ name: "desk__find" }] }, { text: "There is one." }]);
    const on = stage(
      policy({ on: "input" }),
      secret,
      {},
      {
        upstream,
        providers: [
          providerSettings({
            id: "up",
            family: "custom",
            baseUrl: "http://up.test/v1",
            credentials: [storedKey("key")],
          }),
        ],
        tools: fakeToolServers({ desk: { find: { run: () => says("the secret9 of the desk") } } }),
      },
    );
    const tools = [{ type: "mcp", server_label: "desk", require_approval: "never" }];
    expect((await say(on, { model: "up:m", tools })).status).toBe(200);
    expect(on.service.asked.map(({ body }) => body.place)).toContain("tool_result");
    const last = JSON.parse(on.stub.sent.findLast(({ url }) => url.startsWith("http://up.test"))!.body);
    expect(last.messages.at(-1).content).toBe("the [masked] of the desk");
  });

  test("[d9.4] [d16.4] judges the tools of tool servers for an explanation too, which shows what would be sent", async () => {
    const on = stage(
      policy({ on: "input" }),
      (body) => findingsOf(body.texts as string[], /Does find/g),
      {},
      {
        permissions: ["debug"],
        tools: fakeToolServers({ desk: { find: { run: () => says("There is one.") } } }),
      },
    );
    const response = await on.stub.chat(
      {
        model: "openai:gpt-4o",
        messages: HELLO,
        tools: [{ type: "mcp", server_label: "desk", require_approval: "never" }],
      },
      { headers: { "x-gateway-explain": "true" } },
    );
    const explained = (await response.json()) as any;
    expect([response.status, explained.targets[0].request.body.tools[0].function.description]).toEqual([
      200,
      "[masked].",
    ]);
    expect(on.service.asked.map(({ body }) => body.place)).toEqual(["input", "input"]);
  });
});

describe("a service without a verdict", () => {
  const faults: readonly (readonly [name: string, answer: CannedAnswer | object, why: string])[] = [
    ["says nonsense", { body: "<html>" }, "the service's answer is not JSON"],
    ["says other JSON", { verdict: "fine" }, "the service's answer has no list `findings`"],
    [
      "finds spans outside of the text",
      { findings: [{ text: 0, start: 0, end: 99 }] },
      "has a finding outside of its text",
    ],
    ["finds spans backwards", { findings: [{ text: 0, start: 3, end: 1 }] }, "are not whole numbers in their order"],
    ["finds something in a text that was not sent", { findings: [{ text: 7 }] }, "in a text that was not sent"],
    ["refuses", { status: 500, body: "{}" }, "answered with the status 500"],
    ["answers with a gigabyte", { body: `"${"x".repeat(5_000_000)}"` }, "could not be asked"],
  ];
  for (const [name, answer, why] of faults)
    test(`[d16.4] ${name}: the call is refused, unless on_error allows it, and the record says why`, async () => {
      const blocks = stage(policy({ on: "input" }), () => answer);
      expect((await say(blocks, user("hello"))).status).toBe(403);
      const [failed, denied] = blocks.stub.records[0]!.policies;
      expect([failed!.effect, denied!.effect]).toEqual(["failed", "denied"]);
      expect(failed!.why).toContain(why);
      expect(blocks.stub.records[0]!.guardServices[0]!.failures).toBe(1);
      const allows = stage(policy({ on: "input", on_error: "allow" }), () => answer);
      expect((await say(allows, user("hello"))).status).toBe(200);
      expect(toProvider(allows).messages[0].content).toBe("hello");
    });

  test("[d16.4] is slow: its time limit ends the wait", async () => {
    const on = stage(policy({ on: "input", service: { ...SERVICE, timeout_s: 0.02 } }), () => new Promise(() => {}));
    expect((await say(on, user("hello"))).status).toBe(403);
    expect(on.stub.records[0]!.policies[0]!.why).toBe("the service gave no verdict within 0.02 s");
  });

  test("[d16.4] is not asked any more once it has failed often", async () => {
    const on = stage(policy({ on: "input" }), () => ({ status: 500, body: "{}" }));
    for (let call = 0; call < 8; call++) await say(on, user(`hello ${call}`));
    expect(on.service.asked.length).toBe(5);
    expect(on.stub.records.at(-1)!.policies[0]!.why).toContain("is not asked for a while");
  });

  test("[d7.5] [d16.4] is asked as before after many calls whose time was over while they waited for a turn", async () => {
    const on = stage(
      policy({ on: "input", service: { ...SERVICE, max_concurrent: 1, timeout_s: 0.3 } }),
      async (body) => {
        if (body.texts[0] !== "hello again") await Bun.sleep(200);
        return { findings: [] };
      },
    );
    const calls = Array.from({ length: 20 }, (_, index) => say(on, user(`hello ${index}`)));
    const refused = (await Promise.all(calls)).filter(({ status }) => status === 403);
    expect(refused.length).toBeGreaterThan(10);
    expect((await say(on, user("hello again"))).status).toBe(200);
  });

  test("[d7.5] [d16.4] that answers nobody is not asked any more, also where nearly all calls waited for their turn", async () => {
    const on = stage(
      policy({ on: "input", service: { ...SERVICE, max_concurrent: 1, timeout_s: 0.1 } }),
      () => new Promise(() => {}),
    );
    await Promise.all(Array.from({ length: 8 }, (_, index) => say(on, user(`hello ${index}`))));
    await say(on, user("hello again"));
    expect(on.stub.records.at(-1)!.policies[0]!.why).toContain("is not asked for a while");
  });

  test("[d7.5] [d16.4] that is too slow for the parts of long texts is not asked any more, where none of them waits for other texts", async () => {
    const on = stage(policy({ on: "input", service: { ...SERVICE, max_concurrent: 1, timeout_s: 0.1 } }), async () => {
      await Bun.sleep(60);
      return { findings: [] };
    });
    // two requests
    const long = "hello ".repeat(50_000);
    for (let call = 0; call < 6; call++) await say(on, user(long));
    expect(on.stub.records.at(-1)!.policies[0]!.why).toContain("is not asked for a while");
  });

  test("[d16.4] that fails with the options of one guard is asked by other guards as before", async () => {
    const presidio = (name: string, language: string): object => ({
      name,
      guard: {
        on: "input",
        action: "mask",
        on_error: "allow",
        service: { type: "presidio", url: "http://guard.test", language },
      },
    });
    const on = stage([presidio("good", "en"), presidio("bad", "xx")], (body) =>
      body.language === "xx" ? { status: 500, body: "{}" } : [[{ entity_type: "PERSON", start: 0, end: 3, score: 1 }]],
    );
    for (let call = 0; call < 8; call++) await say(on, user(`Ada ${call}`));
    expect(on.stub.sent.at(-1)!.body).toContain("[masked] 7");
    expect(on.service.asked.filter(({ body }) => body.language === "xx").length).toBe(5);
  });

  test("[d16.4] half of a surrogate pair is sent to it as a replacement character, and to the provider as it came", async () => {
    const on = stage(policy({ on: "input" }));
    await say(on, user("\ud83d secret \ude00"));
    expect(on.service.asked[0]!.body.texts).toEqual(["\ufffd secret \ufffd"]);
    expect(toProvider(on).messages[0].content).toBe("\ud83d [masked] \ude00");
  });

  test("[d16.4] never has more requests in flight than it may", async () => {
    let [now, most] = [0, 0];
    const on = stage(policy({ on: "input", service: { ...SERVICE, max_concurrent: 2 } }), async () => {
      most = Math.max(most, ++now);
      await Bun.sleep(1);
      now -= 1;
      return { findings: [] };
    });
    const calls = Array.from({ length: 8 }, (_, index) => say(on, user(`hello ${index}`)));
    expect((await Promise.all(calls)).map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect([on.service.asked.length, most]).toEqual([8, 2]);
  });
});

describe("a service on a stream", () => {
  const windows = (more: object = {}): object => ({
    ...SERVICE,
    window_characters: 10,
    overlap_characters: 6,
    ...more,
  });
  const played = async (
    pieces: readonly string[],
    document: object,
    judge: Parameters<typeof fakeService>[0] = secret,
  ): Promise<Played & { readonly service: FakeService }> => {
    const body = eventStream(...pieces.map((content) => chunk({ content })), chunk({}, "stop"));
    const provider = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" });
    const service = fakeService(judge, provider);
    const one = await play([], { stub: { upstream: service.upstream, snapshot: { policies: policiesFor(document) } } });
    return { ...one, service };
  };
  const said = ({ choices }: Played): string => choices.map(({ text }) => text).join("");

  test("[d16.4] masks what is divided between windows, however the provider cuts its chunks", async () => {
    const text = "a word, then secret1 and more words, secret22 at last, and secret";
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 30 }),
        fc.integer({ min: 9, max: 40 }),
        async (sizes, window) => {
          const cut: string[] = [];
          for (let at = 0, turn = 0; at < text.length; turn++) {
            const size = sizes[turn % sizes.length]!;
            cut.push(text.slice(at, at + size));
            at += size;
          }
          const service = windows({ window_characters: window, overlap_characters: 8 });
          const one = await played(cut, policy({ on: "output", service }));
          expect(said(one)).toBe(text.replaceAll(/secret\w*/g, "[masked]"));
          expect(one.faults).toEqual([]);
        },
      ),
      { numRuns: drawCount(20, 300) },
    );
  });

  test("[d16.4] nothing leaves before its verdict, and a block ends the stream", async () => {
    const sent: string[] = [];
    const one = await played(
      ["all fine here ", "and here too ", "but secret now ", "never sent"],
      policy({ on: "output", action: "block", service: windows() }),
      (body) => {
        sent.push(...(body.texts as string[]));
        return secret(body);
      },
    );
    expect("all fine here and here too but secret".startsWith(said(one))).toBe(true);
    expect(said(one)).not.toContain("secret");
    const judged = sent.join("\n");
    for (const piece of said(one).match(/.{1,4}/g) ?? []) expect(judged).toContain(piece);
    expect(one.text).toContain("policy_violation");
    expect(one.stub.records[0]!.policies).toEqual([{ name: "judged", effect: "denied" }]);
  });

  test("[d7.2 d7.5 d16.4] an answer that waits for its verdict has begun: no limit for the first content ends it, and no hedge is started", async () => {
    const body = eventStream(chunk({ content: "all fine " }), chunk({ content: "here" }), chunk({}, "stop"));
    const provider = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" });
    const slow: UpstreamClient = {
      async send(request, options) {
        const response = await provider.send(request, options);
        let reads = 0;
        const read = async (): Promise<Uint8Array | null> => {
          if (++reads === 2) await waitFor(900, options.signal);
          return response.body.read();
        };
        return { ...response, body: { ...response.body, read } };
      },
    };
    const { upstream } = fakeService(secret, slow);
    const service = windows({ window_characters: 500 });
    const gateway = routedGateway(
      [routeOf("r", ["up0:m", "up1:m"], { hedge: { after: 300, maxExtra: 1 }, timeouts: { firstTokenMs: 400 } })],
      {},
      { upstream, snapshot: { policies: policiesFor(policy({ on: "output", service })) } },
    );
    const text = await (await gateway.chat({ route: "r", messages: HELLO, stream: true })).text();
    expect(text).toContain("all fine here");
    expect(gateway.records[0]!.attempts.map(({ provider: id, code }) => [id, code])).toEqual([["up0", null]]);
  });

  test("[d16.4] a service that fails ends the stream, or lets it pass where on_error allows", async () => {
    const fails = (_body: unknown, nth: number): object => (nth === 2 ? { status: 500, body: "{}" } : { findings: [] });
    const pieces = ["all fine here ", "and here too ", "and on it goes"];
    const blocks = await played(pieces, policy({ on: "output", service: windows() }), fails);
    expect(blocks.text).toContain("policy_violation");
    expect(said(blocks).length).toBeLessThan("all fine here ".length);
    const allows = await played(pieces, policy({ on: "output", on_error: "allow", service: windows() }), fails);
    expect(said(allows)).toBe(pieces.join(""));
    expect(allows.stub.records[0]!.policies).toMatchObject([{ name: "judged", effect: "failed" }]);
  });

  test("[d16.4] a vendor's own members that come in one piece are judged before they leave", async () => {
    const body = eventStream(
      chunk({ content: "hello", notes: [{ title: "a secret title" }] }),
      chunk({ content: " you" }, "stop"),
    );
    const provider = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" });
    const service = fakeService(secret, provider);
    const policies = policiesFor(policy({ on: "output", service: windows() }), {
      name: "title",
      guard: { on: "output", patterns: ["title"], action: "mask" },
    });
    const one = await play([], { stub: { upstream: service.upstream, snapshot: { policies } } });
    expect(said(one)).toBe("hello you");
    expect(one.text).toContain("a [masked] [masked]");
    expect(one.text).not.toContain("secret");
  });

  test("[d16.4] the text of signed reasoning is judged before the signature ends it", async () => {
    const detail = { type: "reasoning.text", index: 0 };
    const body = eventStream(
      chunk({ reasoning_details: [{ ...detail, text: "think of the sec" }] }),
      chunk({ reasoning_details: [{ ...detail, text: "ret", signature: "c2lnbmF0dXJl" }] }),
      chunk({ content: "done" }, "stop"),
    );
    const provider = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" });
    const service = fakeService(secret, provider);
    const policies = policiesFor(policy({ on: "output", service: windows({ window_characters: 500 }) }));
    const one = await play([], { stub: { upstream: service.upstream, snapshot: { policies } } });
    expect(one.text).not.toContain('"ret');
    expect(one.text).toContain("[masked]");
  });
});
