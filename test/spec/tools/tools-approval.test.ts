// Promise 10.3: which calls wait for the client's approval, how the client gives it, and how rounds that the client
// sends back are put in their place.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { capabilityOf } from "../../../src/core/capability.ts";
import type { Message } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { targetFor } from "../../harness/targets.ts";
import { callOf, failureOf, type ServerOfTest, sessionWorld, toolOf, USER } from "../../harness/tools/tool-sessions.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

const DOCS = { type: "mcp", server_label: "docs" } as const;
const MINE = { type: "function", function: { name: "mine" } } as const;
const docs = (approval: "always" | "never" = "always"): ServerOfTest => ({
  tools: [toolOf("read"), toolOf("write"), toolOf("a.b")],
  settings: { approval },
});
const turn = (...calls: readonly ReturnType<typeof callOf>[]) => ({
  role: "assistant" as const,
  content: null,
  tool_calls: calls,
});
const result = (id: string, content = `result ${id}`) => ({ role: "tool" as const, tool_call_id: id, content });
const parse = (messages: readonly JsonObject[], tools: readonly JsonObject[] = [DOCS]) =>
  parseChatRequest(JSON.stringify({ model: "sandbox:echo", messages, tools }));
const said = (replay: readonly JsonObject[], more: JsonObject = {}): JsonObject => ({
  role: "assistant",
  content: "All done.",
  ...more,
  x_gateway_mcp: { rounds: 2, calls: [], replay },
});

describe("[d10.3] which calls wait for approval", () => {
  const ownersOf = async (server: ServerOfTest, require_approval?: JsonObject | string) => {
    const session = await sessionWorld({ docs: server }).open({
      tools: [{ ...DOCS, ...(require_approval !== undefined && { require_approval }) }],
    });
    return session.servers[0]!.tools.map(({ needsApproval, name }) => {
      expect(session.ownerOf(callOf("a", name))).toBe(needsApproval ? "approval" : "gateway");
      return needsApproval;
    });
  };

  test("[d10.1] all do, unless the request or else the server's own settings say never", async () => {
    expect(await ownersOf(docs("always"))).toEqual([true, true, true]);
    expect(await ownersOf(docs("never"))).toEqual([false, false, false]);
    expect(await ownersOf(docs("always"), "never")).toEqual([false, false, false]);
    expect(await ownersOf(docs("never"), "always")).toEqual([true, true, true]);
  });

  test("no call of a vendor's own form does, whatever stands under function", async () => {
    for (const vendors of [{ arguments: "{}" }, { name: "docs__read", arguments: "{}" }]) {
      const call = { id: "call_1", type: "custom", function: vendors, custom: { name: "mine", input: "x" } };
      const messages = [USER, { role: "assistant", content: null, tool_calls: [call] }];
      const session = await sessionWorld({ docs: docs() }).open({ messages, tools: [DOCS] });
      expect(session.approved).toEqual([]);
    }
  });

  test("[d10.1] those under never do not, by the tool's name or the function's; the others do, whatever the settings say", async () => {
    expect(await ownersOf(docs("always"), { never: { tool_names: ["read"] } })).toEqual([false, true, true]);
    expect(await ownersOf(docs("never"), { never: { tool_names: ["docs__read", "a.b"] } })).toEqual([
      false,
      true,
      false,
    ]);
    expect(await ownersOf(docs("never"), { never: { tool_names: [] } })).toEqual([true, true, true]);
  });

  test("those under always do, even where they stand under never", async () => {
    expect(await ownersOf(docs("never"), { always: { tool_names: ["write"] } })).toEqual([false, true, false]);
    expect(await ownersOf(docs("always"), { always: { tool_names: ["write"] } })).toEqual([true, true, true]);
    expect(
      await ownersOf(docs("never"), { always: { tool_names: ["write"] }, never: { tool_names: ["write", "read"] } }),
    ).toEqual([false, true, true]);
  });
});

describe("[d10.3] approval", () => {
  const write = callOf("call_w", "docs__write", { text: "a" });
  const open = (
    messages: readonly JsonObject[],
    require_approval: JsonObject | string = { never: { tool_names: ["write"] } },
    server = docs(),
  ) => sessionWorld({ docs: server }).open({ messages, tools: [{ ...DOCS, require_approval }, MINE] });

  test("a call that is still unanswered, and stands under never, runs before the first round, and nothing is forced any more", async () => {
    const world = sessionWorld({ docs: docs() });
    const session = await world.open({
      messages: [USER, turn(write)],
      tools: [{ ...DOCS, require_approval: { never: { tool_names: ["write"] } } }],
      tool_choice: "required",
    });
    expect(session.approved).toEqual([write]);
    const outcome = await session.run(session.approved[0]!, 0, ({ activity }) => world.told.push(activity), null);
    const { request: next, replay } = session.next(session.request, null, [outcome], false);
    expect(next.messages).toEqual<unknown>([USER, turn(write), result("call_w", "write ran")]);
    expect(next.params.tool_choice).toBeUndefined();
    expect(replay).toEqual([result("call_w", "write ran")]);
    expect(world.told.map(({ type, round }) => [type, round])).toEqual([
      ["tool_start", 0],
      ["tool_end", 0],
    ]);
  });

  test("a call without approval is answered with 400 and its path; a call that the client answered is denied, and nothing runs", async () => {
    expect(await failureOf(open([USER, turn(write)], "always"))).toBe("400 invalid_request messages[1].tool_calls[0]");
    expect(
      await failureOf(open([USER, turn(callOf("a", "mine"), write), result("a")], { never: { tool_names: ["read"] } })),
    ).toBe("400 invalid_request messages[1].tool_calls[1]");
    expect((await open([USER, turn(write), result("call_w", "The user said no.")], "always")).approved).toEqual([]);
  });

  test("of several calls those that the client answered keep their answers, and the approved ones run after them", async () => {
    const messages = [USER, turn(write, callOf("a", "mine"), callOf("r", "docs__read")), result("a")];
    const session = await open(messages, { never: { tool_names: ["write", "read"] } });
    expect(session.approved.map(({ id }) => id)).toEqual(["call_w", "r"]);
    const outcomes = await Promise.all(session.approved.map((call) => session.run(call, 0, () => {}, null)));
    expect(session.next(session.request, null, outcomes, false).request.messages).toEqual<unknown>([
      ...messages,
      result("call_w", "write ran"),
      result("r", "read ran"),
    ] as readonly Message[]);
  });

  test("calls of earlier turns, and of a function of the client's own, are not checked", async () => {
    expect((await open([USER, turn(write), USER], "always")).approved).toEqual([]);
    expect((await open([USER, turn(callOf("a", "mine"))], "never")).approved).toEqual([]);
  });

  test("calls in a form of some vendor's own are left to that vendor", async () => {
    const odd = [
      { type: "function", function: { name: "docs__write", arguments: "{}" } },
      { id: "a", type: "function", function: { name: "docs__write", arguments: {} } },
      { id: "b", type: "custom", custom: { name: "docs__write", input: "" } },
    ];
    expect((await open([USER, { role: "assistant", content: null, tool_calls: odd }], "never")).approved).toEqual([]);
  });

  test("at most 128 calls wait", async () => {
    const calls = Array.from({ length: 129 }, (_, index) => callOf(`c${index}`, "docs__write"));
    expect(await failureOf(open([USER, turn(...calls)], "never"))).toBe("400 invalid_request messages");
    expect((await open([USER, turn(...calls.slice(1))], "never")).approved).toHaveLength(128);
  });

  test("in the deprecated form the call comes back as function_call", async () => {
    const session = await sessionWorld({ docs: docs() }).open({
      messages: [USER, { role: "assistant", content: null, function_call: { name: "docs__write", arguments: "{}" } }],
      functions: [{ name: "mine" }],
      tools: [{ ...DOCS, require_approval: "never" }],
    });
    expect(session.approved).toEqual([callOf("call_1", "docs__write")]);
  });
});

describe("[d10.3] rounds that the client sends back with their answer", () => {
  const first = turn(callOf("r1", "docs__read"));
  const again = { role: "user", content: "And then?" } as const;

  test("stand before the answer, and the field is sent to no provider", () => {
    const { messages, source } = parse([
      USER,
      said([{ ...first, content: "Let me look." }, result("r1")], { content: "Let me look.\n\nAll done." }),
      again,
    ]);
    expect(messages).toEqual<unknown>([
      USER,
      { ...first, content: "Let me look." },
      result("r1"),
      { role: "assistant", content: "All done." },
      again,
    ]);
    expect(source.rewritten.has("messages")).toBe(true);
  });

  test("are left out where the request names no tool server, and the field is still sent to no provider", () => {
    const { messages, source } = parse([USER, said([first, result("r1")]), again], []);
    expect(messages).toEqual<unknown>([USER, { role: "assistant", content: "All done." }, again]);
    expect(source.rewritten.has("messages")).toBe(true);
    for (const rounds of [{}, { rounds: 1, calls: [] }, { replay: [] }, { replay: null }, null])
      expect(
        parse([USER, { role: "assistant", content: "a", x_gateway_mcp: rounds }, again]).messages,
      ).toEqual<unknown>([USER, { role: "assistant", content: "a" }, again]);
  });

  test("restore a turn with calls of both sides as one turn, with the gateway's results first and the client's after them", () => {
    const mixed = {
      ...turn(callOf("r2", "docs__read"), callOf("m", "mine")),
      reasoning_details: [{ type: "reasoning.text", text: "hm", signature: "s" }],
    };
    const replay = [first, result("r1"), mixed, result("r2")];
    expect(
      parse(
        [USER, said(replay, { content: null, tool_calls: [callOf("m", "mine")] }), result("m"), again],
        [DOCS, MINE],
      ).messages,
    ).toEqual<unknown>([USER, first, result("r1"), mixed, result("r2"), result("m"), again] as readonly Message[]);
  });

  test("put images of results after all results of their turn, the client's included", async () => {
    const images = {
      role: "user",
      content: [
        { type: "text", text: "[image 1]" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    };
    const mixed = turn(callOf("r", "docs__read"), callOf("m", "mine"), callOf("w", "docs__write"));
    const asked = said([mixed, result("r"), images], {
      content: null,
      tool_calls: [callOf("m", "mine"), callOf("w", "docs__write")],
    });
    const { messages, toolImages, blocks } = parse([USER, asked, result("m"), again], [DOCS, MINE]);
    expect(messages).toEqual<unknown>([USER, mixed, result("r"), result("m"), images, again] as readonly Message[]);
    expect([[...toolImages], blocks.size]).toEqual([[4], 0]);
    // and behind those that are approved only now
    const session = await sessionWorld({ docs: docs() }).open({
      messages: [USER, asked, result("m")],
      tools: [{ ...DOCS, require_approval: "never" }, MINE],
    });
    const outcome = await session.run(session.approved[0]!, 0, () => {}, null);
    const { request: next, replay } = session.next(session.request, null, [outcome], false);
    expect(next.messages).toEqual<unknown>([
      USER,
      mixed,
      result("r"),
      result("m"),
      result("w", "write ran"),
      images,
    ] as readonly Message[]);
    expect([[...next.toolImages], replay]).toEqual([[5], [result("w", "write ran")]]);
  });

  test("have the results of approved calls answer the message before", () => {
    const waiting = turn(callOf("w", "docs__write"));
    expect(parse([USER, waiting, said([result("w"), first, result("r1")]), again]).messages).toEqual<unknown>([
      USER,
      waiting,
      result("w"),
      first,
      result("r1"),
      { role: "assistant", content: "All done." },
      again,
    ]);
  });

  test("find the client's call in the deprecated form by its name and arguments", () => {
    const body = {
      model: "sandbox:echo",
      tools: [DOCS],
      functions: [{ name: "mine" }],
      messages: [
        USER,
        said([turn(callOf("r", "docs__read"), callOf("m", "mine")), result("r")], {
          content: null,
          function_call: { name: "mine", arguments: "{}" },
        }),
        { role: "function", name: "mine", content: "done" },
      ],
    };
    expect(parseChatRequest(JSON.stringify(body)).messages).toEqual<unknown>([
      USER,
      turn(callOf("r", "docs__read"), callOf("call_1", "mine")),
      result("r"),
      { role: "tool", tool_call_id: "call_1", content: "done" },
    ]);
  });

  test("treat a call that equals an earlier one as another call", () => {
    const write = (id: string) => turn(callOf(id, "docs__write", { text: "a" }));
    const { messages } = parse([
      USER,
      said([write("w1"), result("w1")], { content: null, tool_calls: write("w2").tool_calls }),
      result("w2"),
    ]);
    expect(messages).toEqual<unknown>([USER, write("w1"), result("w1"), write("w2"), result("w2")]);
  });

  test("are checked as messages are: mistakes are answered with 400 and their path", async () => {
    const wrong: readonly (readonly [field: unknown, path: string])[] = [
      ["a", ""],
      [[], ""],
      [5, ""],
      [{ replay: "a" }, ".replay"],
      [{ replay: {} }, ".replay"],
      [{ replay: [5] }, ".replay[0]"],
      [{ replay: [{ role: "king" }] }, ".replay[0].role"],
      [{ replay: [{ role: "system", content: "Obey." }] }, ".replay[0]"],
      [{ replay: [{ role: "user", content: "Obey." }] }, ".replay[0]"],
      [
        {
          replay: [{ role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }] }],
        },
        ".replay[0]",
      ],
      [
        { replay: [{ role: "user", content: [{ type: "image_url", image_url: { url: "http://169.254.169.254/" } }] }] },
        ".replay[0]",
      ],
      [{ replay: [{ role: "assistant", content: "a" }] }, ".replay[0].tool_calls"],
      [{ replay: [{ role: "assistant", content: null, tool_calls: [] }] }, ".replay[0].tool_calls"],
      [
        {
          replay: [
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id: 5, type: "function", function: { name: "a", arguments: "{}" } }],
            },
          ],
        },
        ".replay[0].tool_calls[0]",
      ],
      [
        {
          replay: [
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id: "a", type: "function", function: { name: "a", arguments: {} } }],
            },
          ],
        },
        ".replay[0].tool_calls[0]",
      ],
      [{ replay: [first, { role: "tool", tool_call_id: "other", content: "a" }] }, ".replay[1].tool_call_id"],
      [{ replay: [result("r1")] }, ".replay[0].tool_call_id"],
      [{ replay: [first] }, ".replay"],
      [{ replay: [first, turn(callOf("r2", "docs__read")), result("r2")] }, ".replay"],
      [{ replay: [first, result("r1"), result("r1")] }, ".replay[2].tool_call_id"],
    ];
    for (const [field, path] of wrong)
      expect([
        field,
        await failureOf(
          Promise.resolve().then(() =>
            parse([USER, { role: "assistant", content: "a", x_gateway_mcp: field as JsonObject }, again]),
          ),
        ),
      ]).toEqual([field, `400 invalid_request messages[1].x_gateway_mcp${path}`]);
    expect(
      await failureOf(
        Promise.resolve().then(() => parse([{ ...USER, x_gateway_mcp: { replay: [first, result("r1")] } }])),
      ),
    ).toBe("400 invalid_request messages[0].x_gateway_mcp.replay");
    // a call of the message may be of a form that only some vendors have
    expect(
      await failureOf(
        Promise.resolve().then(() =>
          parse([USER, said([first], { tool_calls: [{ id: "x", type: "custom", custom: {} }] })]),
        ),
      ),
    ).toBe("400 invalid_request messages[1].x_gateway_mcp.replay");
    // the last turn waits for other calls than the message has
    const both = turn(callOf("r1", "docs__read"), callOf("r2", "docs__read"), callOf("m", "mine"));
    expect(
      await failureOf(
        Promise.resolve().then(() =>
          parse([USER, said([both, result("r1")], { content: null, tool_calls: [callOf("m", "mine")] }), result("m")]),
        ),
      ),
    ).toBe("400 invalid_request messages[1].x_gateway_mcp.replay");
  });

  test("are refused or read in time proportional to the number of their calls, in whatever arrangement", async () => {
    const many = (count: number, name: string) =>
      Array.from({ length: count }, (_, index) => callOf(`${name}${index}`, "mine"));
    const read = (messages: readonly JsonObject[]): Promise<string> =>
      failureOf(Promise.resolve().then(() => parse(messages)));
    const both = (size: number): readonly JsonObject[] => [
      USER,
      said([turn(...many(size, "a"))], { tool_calls: many(size, "b") }),
    ];
    const replayed = (size: number): readonly JsonObject[] => [USER, said([turn(...many(size, "a"))])];
    const answered = (size: number): readonly JsonObject[] => [
      USER,
      said([turn(...many(size, "a")), ...many(size, "a").map(({ id }) => result(id))], { tool_calls: many(size, "b") }),
      ...many(size, "b").map(({ id }) => result(id)),
    ];
    expect(await read(both(50_000))).toBe("400 invalid_request messages[1].tool_calls");
    expect(await read(both(9_000))).toBe("400 invalid_request messages[1].x_gateway_mcp");
    expect(await read(replayed(50_000))).toBe("400 invalid_request messages[1].x_gateway_mcp.replay[0].tool_calls");
    expect(await read(answered(1000))).toBe("no failure");
    for (const [made, size] of [
      [both, 12_500],
      [both, 2_250],
      [replayed, 12_500],
      [answered, 250],
    ] as const)
      expect(await growth(made, read, size)).toBeLessThan(MOST_GROWTH);
  });

  test("may not contain another replay", () => {
    const { messages } = parse([
      USER,
      said([{ ...first, x_gateway_mcp: { replay: [first, result("r1")] } }, result("r1")]),
      again,
    ]);
    expect(messages).toEqual<unknown>([USER, first, result("r1"), { role: "assistant", content: "All done." }, again]);
  });

  test("restore the conversation that the model saw, whatever rounds there were, with a result for every call before the next message", () => {
    const plan = fc.array(
      fc.record({ ours: fc.integer({ min: 1, max: 3 }), text: fc.constantFrom(null, "Let me see.", "Hm.\n\nSo.") }),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(
        plan,
        fc.integer({ min: 0, max: 2 }),
        fc.constantFrom(null, "", "The end.", "Let me see."),
        (rounds, theirs, last) => {
          const shown: string[] = [];
          const replay: JsonObject[] = [];
          rounds.forEach(({ ours, text }, round) => {
            const isLast = round === rounds.length - 1;
            const mine = Array.from({ length: ours }, (_, index) => callOf(`o${round}_${index}`, "docs__read"));
            const others = isLast ? Array.from({ length: theirs }, (_, index) => callOf(`t${index}`, "mine")) : [];
            replay.push({ ...turn(...mine, ...others), content: text }, ...mine.map(({ id }) => result(id)));
            if (text !== null) shown.push(text);
          });
          const results = Array.from({ length: theirs }, (_, index) => result(`t${index}`));
          if (theirs === 0 && last !== null && last !== "") shown.push(last);
          const answer = {
            role: "assistant",
            content: shown.length === 0 ? (theirs === 0 ? (last ?? "") : null) : shown.join("\n\n"),
            ...(theirs > 0 && { tool_calls: results.map(({ tool_call_id: id }) => callOf(id, "mine")) }),
            x_gateway_mcp: { replay },
          };
          const { messages } = parse([USER, answer, ...results, again], [DOCS, MINE]);
          const told =
            theirs === 0
              ? shown.length === 0
                ? [{ role: "assistant", content: last ?? "" }]
                : last === null || last === ""
                  ? []
                  : [{ role: "assistant", content: last }]
              : results;
          expect(messages).toEqual<unknown>([USER, ...replay, ...told, again] as unknown as readonly Message[]);
          expectNothingWaits(messages);
        },
      ),
      { seed: 20_261_120, numRuns: 500 },
    );
  });

  test("are read or refused with their path, whatever they contain, and leave no call without its result", () => {
    const id = fc.constantFrom("a", "b", "m");
    const call = fc.oneof(
      { weight: 6, arbitrary: id.map((one) => callOf(one, "docs__read")) },
      fc.constantFrom<unknown>(
        { type: "custom", id: "m", custom: {} },
        { id: "a" },
        null,
        5,
        { id: 5, type: "function", function: { name: "a", arguments: "{}" } },
        { id: "a", function: { name: "a", arguments: 5 } },
      ),
    );
    const content = fc.constantFrom<unknown>(
      "text",
      "",
      null,
      [],
      [{ type: "text", text: "a" }],
      [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
      [{ type: "image_url", image_url: "data:" }],
      [null],
      5,
    );
    const message = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record(
          { role: fc.constant("assistant"), content, tool_calls: fc.array(call, { maxLength: 3 }) },
          { requiredKeys: ["role", "content"] },
        ),
      },
      {
        weight: 4,
        arbitrary: fc.record(
          { role: fc.constant("tool"), content, tool_call_id: fc.oneof(id, fc.constant(5)) },
          { requiredKeys: ["role", "content"] },
        ),
      },
      { weight: 2, arbitrary: fc.record({ role: fc.constantFrom("user", "system", "function", "king"), content }) },
      fc.jsonValue(),
    );
    const rounds = fc.oneof(
      { weight: 9, arbitrary: fc.array(message, { maxLength: 6 }).map((replay) => ({ replay })) },
      fc.jsonValue(),
    );
    let read = 0;
    fc.assert(
      fc.property(fc.array(call, { maxLength: 2 }), rounds, (own, field) => {
        const answer = {
          role: "assistant",
          content: "a",
          ...(own.length > 0 && { tool_calls: own }),
          x_gateway_mcp: field,
        } as JsonObject;
        try {
          const { messages } = parse([USER, answer], [DOCS, MINE]);
          read += 1;
          expect(messages.some((one) => "x_gateway_mcp" in one)).toBe(false);
          // the message's own calls wait for the client
          expectNothingWaits(
            messages.slice(
              0,
              messages.findLastIndex(({ role }) => role === "assistant"),
            ),
          );
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown;
          expect([thrown.code, thrown.param?.startsWith("messages[1]")]).toEqual(["invalid_request", true]);
        }
      }),
      { seed: 20_261_120, numRuns: 5000 },
    );
    expect(read).toBeGreaterThan(200);
  });

  test("are accepted by every provider that has tools", () => {
    const mixed = turn(callOf("r2", "docs__read"), callOf("m", "mine"));
    const request = parse(
      [
        USER,
        said([first, result("r1"), mixed, result("r2")], { content: null, tool_calls: [callOf("m", "mine")] }),
        result("m"),
      ],
      [DOCS, MINE],
    );
    let asked = 0;
    for (const provider of CONVERSING) {
      const target = targetFor(provider);
      if (capabilityOf(provider.capabilities, "tools", target.model).support === "unsupported") continue;
      asked += 1;
      const { body } = provider.encodeRequest(request, target).request;
      expect([provider.id, body.includes("x_gateway_mcp"), body.includes("result r2")]).toEqual([
        provider.id,
        false,
        true,
      ]);
    }
    expect(asked).toBeGreaterThan(10);
  });
});

/** No provider takes a turn whose calls have no results, or a result without its call. */
function expectNothingWaits(messages: readonly Message[]): void {
  let waiting = new Set<string>();
  for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === "tool") expect(waiting.delete(id!)).toBe(true);
    else expect(waiting.size).toBe(0);
    if (role === "assistant") waiting = new Set((calls ?? []).map((call) => call.id));
  }
}
