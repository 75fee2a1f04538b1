// Guards that take long (promise 3.3): they search in threads beside the serving thread, have a time limit, and end
// with the call. Their findings are the same as in the serving thread.
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openTurns } from "../../../src/guards/fair-turns.ts";
import { guardText, UNSEARCHED } from "../../../src/guards/guarded-text.ts";
import { GuardedChunks } from "../../../src/engine/guards/guarded-chunks.ts";
import { GuardedStream } from "../../../src/engine/guards/guarded-stream.ts";
import { type GuardThreads, openGuardThreads } from "../../../src/engine/guards/guard-threads.ts";
import { patientGuards } from "../../harness/patient-guards.ts";
import { guardedMessages } from "../../../src/engine/guards/guard-request.ts";
import { textGuard } from "../../../src/engine/guards/text-guard.ts";
import type { CallServices } from "../../../src/engine/guards/outside-verdicts.ts";
import { GuardScheduler } from "../../../src/engine/guards/guard-scheduler.ts";
import type { StreamUnderGuards } from "../../../src/engine/guards/stream-under-guards.ts";
import { targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import { routeOf } from "../../harness/routed.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { Cancellation } from "../../../src/core/concurrency/cancellation.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { ChatChunk, Message } from "../../../src/core/chat.ts";
import type { PolicyOutcome } from "../../../src/core/record/record.ts";
import type { GuardPolicy } from "../../../src/core/configured/policy.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { startGateway } from "../../harness/processes/gateway-process.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import { HELLO } from "../chat-calls.ts";
import { chunk, type Played, play } from "../answers/played-stream.ts";
import { drawCount } from "../../harness/time/long-run.ts";

/** Its program has some 2,000 instructions, nearly all of which look at each letter. */
const SLOW = "(?:a?){500}a{500}b";
/** Together more than a stream has looked at here. */
const HEAVY = ["(?:a?){900}q", "(?:b?){900}q", "(?:c?){400}q"];
const LETTERS = "a".repeat(60_000);
const ended: string[] = [];
const threads = patientGuards(1, (why) => void ended.push(why));
afterAll(async () => {
  await threads.close();
  expect(ended).toEqual([]);
});

const policiesOf = (...documents: readonly object[]): readonly GuardPolicy[] =>
  policiesFor(...documents).of("default", "default")!.all as readonly GuardPolicy[];
const slow = (more: object = {}, guard: object = {}): object => ({
  name: "slow",
  message: "Not this.",
  ...more,
  guard: { patterns: [SLOW], action: "block", ...guard },
});

test("[d3.3, d5.8] a stream with more texts than guards can hold fails, whatever members the provider puts them into", () => {
  const [policy] = policiesOf(slow({}, { patterns: ["secret"] }));
  const members: readonly ((number: number) => JsonObject)[] = [
    (number) => ({ [`own_${number}`]: "a" }),
    (number) => ({ own: { [`own_${number}`]: "a" } }),
    (number) => ({ reasoning_details: [{ type: "reasoning.text", index: number, text: "a" }] }),
  ];
  for (const delta of members) {
    const guarded = new GuardedChunks([policy!], () => {});
    const take = (number: number) => guarded.take({ choices: [{ index: 0, delta: delta(number) }] });
    for (let number = 0; number < 8192; number++) take(number);
    expect(() => take(8192)).toThrow("more than 8192 texts");
    // a text that has begun goes on
    take(0);
  }
});

describe("isolation of guards between callers", () => {
  test("[d3.3] [d5.8] while a tenant's guards search for seconds, other calls are served; the call whose guards run out of time is refused", async () => {
    const patterns = Array.from({ length: 50 }, (_, index) => `(?:a?){${450 + index}}a{500}b`);
    const gateway = await startGateway({
      config: `policies:\n  slow: { message: "Not this.", scope: { user: mallory }, guard: { on: input, action: block, patterns: ${JSON.stringify(patterns)} } }\n`,
    });
    try {
      const order: string[] = [];
      const attack = gateway
        .chat({ model: "sandbox:echo", user: "mallory", messages: [{ role: "user", content: LETTERS }] })
        .then(async (response) => {
          order.push("attack");
          return [response.status, ((await response.json()) as { error: { code: string; metadata: object } }).error];
        });
      for (let call = 0; call < 30; call++) {
        const response = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] });
        expect([
          response.status,
          ((await response.json()) as { choices: { message: { content: string } }[] }).choices[0]!.message.content,
        ]).toEqual([200, "hello"]);
        order.push("other");
      }
      const [status, error] = await attack;
      expect(order).toEqual([...Array.from({ length: 30 }, () => "other"), "attack"]);
      expect([status, error]).toMatchObject([
        403,
        { code: "policy_violation", message: "Not this.", metadata: { policy: "slow" } },
      ]);
      // what is left of the log is written at the end
      await gateway.stop();
      expect(gateway.lines().filter((line) => line["level"] === "error")).toEqual([]);
      expect(gateway.lines().find((line) => line["status"] === 403)).toMatchObject({
        policies: [
          {
            name: "slow",
            effect: "failed",
            why: "the guard could not check the text within its limits of time and matches",
          },
          { name: "slow", effect: "denied" },
        ],
      });
    } finally {
      await gateway.stop();
    }
  });

  test("[d3.3] the work ends when the client disconnects: the next task in the same thread need not wait for it", async () => {
    const left = new Cancellation();
    const guards = policiesOf(...Array.from({ length: 40 }, (_, index) => slow({ name: `slow${index}` })));
    const look = (signal: Cancellation | null): Promise<unknown> =>
      threads.search({ plain: [LETTERS.repeat(4)], json: [] }, guards, { tenantId: "acme", signal });
    const lookers = Array.from({ length: 5 }, () =>
      look(left).then(
        () => "looked",
        (reason: unknown) => reason,
      ),
    );
    const before = threads.search(
      { plain: ["ada@mail.example"], json: [] },
      policiesOf({ name: "mail", guard: { classes: ["email"], action: "mask" } }),
      { tenantId: "acme", signal: null },
    );
    // it has begun: a short one of the same tenant has had its turn
    expect((await before)?.numbers.length).toBe(5);
    left.abort(new GatewayError("client_closed", "The client left."));
    for (const reason of await Promise.all(lookers)) expect((reason as GatewayError).code).toBe("client_closed");
    expect(
      await threads.search({ plain: ["x"], json: [] }, guards.slice(0, 1), { tenantId: "acme", signal: null }),
    ).toMatchObject({ unsearched: [] });
  });

  test("[d3.3] tenants have equal shares of the thread, however much one of them sends", () => {
    let now = 0;
    const waiting: (() => void)[] = [];
    const turns = openTurns(
      () => now,
      (resume) => void waiting.push(resume),
    );
    const order: string[] = [];
    const work = (name: string, steps: number) =>
      function* (): Generator<void, string> {
        for (let step = 0; step < steps; step++) {
          now += 5;
          order.push(name);
          yield;
        }
        return name;
      };
    const over: string[] = [];
    const add = (tenantId: string, name: string, steps: number): (() => void) =>
      turns.add(
        tenantId,
        work(name, steps),
        (result) => void over.push(result),
        () => {},
      );
    for (let task = 0; task < 10; task++) add("mallory", `m${task}`, 100);
    add("ann", "a", 4);
    const leaves = add("bob", "b", 1000);
    for (let round = 0; round < 30; round++) waiting.shift()?.();
    expect(order.slice(0, 12).map((name) => name[0])).toEqual([
      "m",
      "a",
      "b",
      "m",
      "a",
      "b",
      "m",
      "a",
      "b",
      "m",
      "a",
      "b",
    ]);
    expect(over).toEqual(["a"]);
    leaves();
    const sofar = order.length;
    for (let round = 0; round < 20; round++) waiting.shift()?.();
    expect(order.slice(sofar).some((name) => name === "b")).toBe(false);
  });
});

describe("text that could not be searched in time", () => {
  const messages = [{ role: "user", content: LETTERS.repeat(5) }];
  const hasty = openGuardThreads({ threads: 1, searchMs: 20, onEnded: (why) => ended.push(why) });
  afterAll(() => hasty.close());
  const call = async (
    policy: object,
  ): Promise<{
    readonly status: number;
    readonly outcomes: readonly PolicyOutcome[];
    readonly detail: string | null;
  }> => {
    const stub = stubGateway({
      snapshot: { policies: policiesFor(policy) },
      guards: hasty,
      upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("ok")) }),
    });
    const response = await stub.chat({ model: "openai:gpt-4o", messages });
    await response.text();
    return {
      status: response.status,
      outcomes: stub.records[0]!.policies,
      detail: stub.records[0]!.errorDetail ?? null,
    };
  };
  const why = "the guard could not check the text within its limits of time and matches";

  test("[d3.3] is blocked, unless the guard says on_error: allow; a guard in audit mode blocks nothing; every case stands in the record", async () => {
    expect(await call(slow())).toMatchObject({
      status: 403,
      outcomes: [
        { name: "slow", effect: "failed", why },
        { name: "slow", effect: "denied" },
      ],
    });
    expect(await call(slow({}, { action: "mask" }))).toMatchObject({ status: 403 });
    expect(await call(slow({}, { on_error: "allow" }))).toMatchObject({
      status: 200,
      outcomes: [{ name: "slow", effect: "failed", why }],
    });
    expect(await call(slow({ mode: "audit" }))).toMatchObject({
      status: 200,
      outcomes: [{ name: "slow", effect: "failed", why }],
    });
  });

  test("[d5.8] matches that are too many together are those of the guards with the most; one that blocks still blocks", async () => {
    const texts = ["a".repeat(60_000), `q${"a".repeat(3000)}`];
    const floods = (action: string): object => ({ name: action, guard: { patterns: ["a"], action } });
    const guards = policiesOf(
      floods("mask"),
      { name: "few", guard: { patterns: ["q"], action: "mask" } },
      floods("block"),
      { name: "some", guard: { patterns: ["aaa"], action: "mask" } },
    );
    const found = await threads.search({ plain: texts, json: [] }, guards, { tenantId: "acme", signal: null });
    const matches = Array.from({ length: found!.numbers.length / 5 }, (_, at) => [
      ...found!.numbers.subarray(5 * at, 5 * at + 4),
    ]);
    const of = (rank: number): readonly (readonly number[])[] => matches.filter(([, guard]) => guard === rank);
    expect(new Set(found!.unsearched)).toEqual(new Set([0, 2]));
    expect([of(0).length, of(1), of(2), of(3).length]).toEqual([
      36_999,
      [[1, 1, 0, 1]],
      [
        [0, 2, 0, 1],
        [1, 2, 1, 2],
      ],
      21_000,
    ]);
    const more = [...guards, ...policiesOf(floods("mask"))];
    const again = await threads.search({ plain: texts, json: [] }, more, { tenantId: "acme", signal: null });
    expect(new Set(again!.unsearched)).toEqual(new Set([0, 2, 4]));
    expect(again!.numbers.length / 5).toBe(100_000);
  });

  test("[d3.3] of a non-streaming answer and of a stream is treated alike: unsearched text is not sent, and with on_error: allow it is sent unchanged", async () => {
    // a thread that gives its answers too late
    const late = openGuardThreads({ threads: 1, waitMs: 0, onEnded: () => {} });
    for (const [onError, status] of [
      ["block", 403],
      ["allow", 200],
    ] as const) {
      const policies = policiesFor(slow({}, { on: "output", on_error: onError }));
      const text = LETTERS.repeat(2);
      const plain = stubGateway({
        snapshot: { policies },
        guards: late,
        upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer(text)) }),
      });
      const answer = await plain.chat({ model: "openai:gpt-4o", messages: HELLO });
      const body = (await answer.json()) as Record<string, any>;
      expect([
        onError,
        answer.status,
        answer.status === 200 ? body["choices"][0].message.content === text : body["error"].code,
      ]).toEqual([onError, status, status === 200 ? true : "policy_violation"]);
    }
    const refused = await streamed(
      [chunk({ content: "Hello" }), chunk({}, "stop")],
      [slow({}, { on: "output", patterns: HEAVY })],
      late,
    ).catch((thrown: unknown) => String(thrown));
    expect(refused).toContain("policy_violation");
    await late.close();
  });
});

test("[d3.3] [d7.5] guards that run out of time in a stream say nothing about the target that others call", async () => {
  const late = openGuardThreads({ threads: 1, waitMs: 0, onEnded: () => {} });
  const breaker = { failures: 1, ratio: 0.01, windowMs: 60_000, openMs: 60_000 };
  const gateway = stubGateway({
    snapshot: {
      policies: policiesFor(slow({}, { on: "output", patterns: HEAVY, on_error: "allow" })),
      routes: new Map([[DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [], { breaker })]]),
    },
    guards: late,
    upstream: cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: eventStream(chunk({ content: "Hello" }), chunk({}, "stop")),
      chunk: "event",
    }),
  });
  const answer = await gateway.chat({ model: "openai:gpt-4o", messages: HELLO, stream: true });
  const text = await answer.text();
  expect([answer.status, text]).toEqual([500, expect.stringContaining('"internal_error"')]);
  expect(targetStandings(gateway.context.routing, performance.now()).map(({ state }) => state)).toEqual(["closed"]);
  await late.close();
});

describe("the thread finds exactly what the process finds", () => {
  const DOCUMENTS = [
    { name: "pii", guard: { classes: ["email", "card", "iban", "national_id", "secret"], action: "mask" } },
    {
      name: "words",
      guard: { patterns: ["(?i)falcon\\d*", "a+b", "(?:x|xy){2,40}z", "\\bend$"], action: "mask", mask: "[word]" },
    },
    // makes the stream go to a thread
    { name: "heavy", mode: "audit", guard: { patterns: ["(?:A?){900}Q", "(?:B?){900}Q"], action: "mask" } },
  ];
  const guards = policiesOf(...DOCUMENTS);
  const piece = fc.constantFrom(
    "ada@mail.example.org",
    "4111 1111 1111 1111",
    " ",
    "falcon12",
    "Falcon",
    "aaab",
    "xyxyz",
    "xxz",
    '"',
    "\\u0061",
    "é",
    "😀",
    "DE89 3704 0044 0532 0130 00",
    "end",
    "q",
    "aaaaq",
    '{"a":1234567}',
    ", ",
    "1",
  );
  const text = fc.array(piece, { maxLength: 30 }).map((pieces) => pieces.join(""));
  const looking = new GuardScheduler(threads, { tenantId: "acme", signal: null });

  test("[d5.8] many short texts under many guards are searched in the thread, because to begin each search costs too", async () => {
    const many = policiesOf(
      ...Array.from({ length: 100 }, (_, index) => ({
        name: `g${index}`,
        guard: { patterns: [`q${index}`], action: "mask" },
      })),
    );
    const look = (texts: readonly string[]): unknown =>
      looking.search(
        many,
        texts.join("").length,
        (visit) => texts.forEach((one) => visit(one, "plain")),
        (prior) => {
          const guard = textGuard(many, () => {}, prior);
          return texts.map((one) => guard(one, "plain")).at(-1);
        },
      );
    expect(look(["hi q7"])).toBe("hi [masked]");
    const long = look([...Array.from({ length: 1000 }, (_, index) => `hi ${index}`), "hi q7"]);
    expect(long).toBeInstanceOf(Promise);
    expect(await long).toBe("hi [masked]");
  });

  test("with long patterns, of which a few are prepared in each search, until all of them are ready", async () => {
    // texts that no other test has: a pattern is made ready once in a process
    const patterns = ["d", "e", "f", "g", "h"].map((letter) => `(?:${letter}?){900}Z`);
    const guard = policiesOf({ name: "ready", guard: { patterns, action: "block" } });
    const ready = (): number => guard[0]!.guard.detectors.filter(({ isReady }) => isReady).length;
    const outcomes: [isPromise: boolean, ready: number][] = [];
    for (let look = 0; look < 6; look++) {
      const looked = looking.search(
        guard,
        1,
        (visit) => visit("x", "plain"),
        () => true,
      );
      outcomes.push([looked instanceof Promise, ready()]);
      expect(await looked).toBe(true);
    }
    expect(outcomes.map(([isPromise]) => isPromise)).toEqual([true, true, true, true, false, false]);
    expect(outcomes.map(([, count]) => count)).toEqual([1, 2, 3, 4, 5, 5]);
  });

  test("[d3.3] in conversations of all forms", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom("user", "assistant", "tool"), text, text), { minLength: 1, maxLength: 5 }),
        async (turns) => {
          const messages = turns.map(([role, first, second]) =>
            role === "assistant"
              ? {
                  role,
                  content: first,
                  tool_calls: [
                    { id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: second }) } },
                  ],
                }
              : role === "tool"
                ? { role, tool_call_id: "c", content: first }
                : {
                    role,
                    content: [
                      { type: "text", text: first },
                      { type: "text", text: second },
                    ],
                  },
          ) as unknown as readonly Message[];
          const heard: string[][] = [[], []];
          const here = guardedMessages(
            messages,
            textGuard(guards, ({ name }) => heard[0]!.push(name)),
          );
          const ahead = await looking.searchInThread(guards, (guard) => guardedMessages(messages, guard));
          const away = guardedMessages(
            messages,
            textGuard(guards, ({ name }) => heard[1]!.push(name), ahead),
          );
          expect(away).toEqual(here);
          expect([...new Set(heard[1])].toSorted()).toEqual([...new Set(heard[0])].toSorted());
        },
      ),
      { numRuns: drawCount(20, 60) },
    );
  });

  test("[d3.3] in streams, wherever they are cut", async () => {
    const shownBy = async (
      under: StreamUnderGuards,
      batches: readonly (readonly ChatChunk[])[],
    ): Promise<Record<string, string>> => {
      const said: Record<string, string> = {};
      const note = (chunks: readonly ChatChunk[]): void => {
        for (const { choices } of chunks)
          for (const { index, delta } of (choices ?? []) as readonly { index: number; delta: Record<string, any> }[]) {
            for (const name of ["content", "reasoning_content", "refusal"])
              if (typeof delta[name] === "string")
                said[`${index} ${name}`] = (said[`${index} ${name}`] ?? "") + delta[name];
            for (const one of (delta["tool_calls"] ?? []) as readonly Record<string, any>[])
              said[`${index} call ${one["index"]}`] =
                (said[`${index} call ${one["index"]}`] ?? "") + (one["function"]?.arguments ?? "");
          }
      };
      for (const batch of batches) note(await under.take(batch));
      note(await under.end());
      return Object.fromEntries(Object.entries(said).filter(([, words]) => words !== ""));
    };
    const delta = fc.oneof(
      fc.tuple(fc.constantFrom("content", "reasoning_content"), text).map(([name, words]) => ({ [name]: words })),
      fc.tuple(fc.constant(0), text).map(([index, words]) => ({
        tool_calls: [{ index, id: `c${index}`, function: { name: `f${index}`, arguments: JSON.stringify(words) } }],
      })),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.tuple(fc.nat(1), delta), { maxLength: 4 }), { maxLength: 6 }),
        async (given) => {
          const batches = given.map((batch) => batch.map(([index, one]) => ({ choices: [{ index, delta: one }] })));
          const light = guards.slice(0, 2);
          const here = await shownBy(
            looking.stream(light, () => {}),
            batches,
          );
          const away = await shownBy(
            looking.stream(guards, () => {}),
            batches,
          );
          expect(away).toEqual(here);
          for (const [key, words] of Object.entries(here)) {
            const [index, name] = key.split(" ") as [string, string];
            const whole = batches
              .flat()
              .flatMap(({ choices }) =>
                (choices as readonly { index: number; delta: Record<string, any> }[]).filter(
                  (one) => String(one.index) === index,
                ),
              )
              .map(({ delta: one }) =>
                name === "call"
                  ? ((one["tool_calls"] ?? []) as readonly Record<string, any>[])
                      .filter((call) => `call ${call["index"]}` === key.slice(2))
                      .map((call) => call["function"].arguments as string)
                      .join("")
                  : ((one[name] as string | undefined) ?? ""),
              )
              .join("");
            expect([key, words]).toEqual([key, guardText(whole, light, () => {}, { isJson: name === "call" })]);
          }
        },
      ),
      { numRuns: drawCount(20, 60) },
    );
  });

  describe("a chunk is searched in pieces, wherever its texts are", () => {
    const deltaOf = (delta: JsonObject): ChatChunk => ({ choices: [{ index: 0, delta }] });
    const PLACES: Readonly<Record<string, (text: string) => ChatChunk>> = {
      content: (said) => deltaOf({ content: said }),
      reasoning: (said) => deltaOf({ reasoning_details: [{ type: "reasoning.text", index: 0, text: said }] }),
      "reasoning with its signature": (said) =>
        deltaOf({ reasoning_details: [{ type: "reasoning.text", index: 0, text: said, signature: "c2lnbmVk" }] }),
      "arguments of a call": (said) =>
        deltaOf({
          tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: JSON.stringify({ a: said }) } }],
        }),
      "a vendor's member of a call": (said) =>
        deltaOf({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: "{}", extra: said } }] }),
      "a vendor's member of a delta": (said) => deltaOf({ extra: said }),
      "a member of an object": (said) => deltaOf({ extra: { inner: { text: said } } }),
      "a list of a delta": (said) => deltaOf({ extra: ["x", said] }),
      "a choice": (said) => ({ choices: [{ index: 0, delta: { content: "x" }, extra: said }] }),
      "a chunk": (said) => ({ choices: [{ index: 0, delta: { content: "x" } }], extra: [said] }),
      usage: (said) => ({ choices: [], usage: { prompt_tokens: 1, extra: said } as never }),
    };
    const places = Object.entries(PLACES);
    /** The texts of the answer, each with its pieces joined. */
    const textsOf = (chunks: readonly ChatChunk[]): Readonly<Record<string, string>> => {
      const texts: Record<string, string> = {};
      const walk = (value: unknown, name: string): void => {
        if (typeof value === "string") {
          if (["content", "text", "extra", "arguments"].includes(name)) texts[name] = (texts[name] ?? "") + value;
        } else if (Array.isArray(value)) for (const item of value) walk(item, name);
        else if (typeof value === "object" && value !== null)
          for (const [inner, member] of Object.entries(value)) walk(member, inner);
      };
      walk(chunks, "");
      return texts;
    };

    test.each(places)(
      "[d3.3] %s: what it shows and what guards find is the same as at once",
      async (_name, chunkOf) => {
        // its program makes the pieces short, and finds nothing
        const short = { name: "short", mode: "audit", guard: { patterns: ["(?:A?){450}Q"], action: "mask" } };
        const here = policiesOf(DOCUMENTS[1]!, short);
        for (const under of [here, policiesOf(DOCUMENTS[1]!, short, DOCUMENTS[2]!)])
          await fc.assert(
            fc.asyncProperty(fc.array(text, { minLength: 10, maxLength: 40 }), async (words) => {
              const given = chunkOf(words.join(" "));
              const [found, foundAtOnce]: Set<string>[] = [new Set(), new Set()];
              const atOnce = new GuardedChunks(here, ({ name }) => foundAtOnce!.add(name));
              const expected = [...atOnce.take(given), ...atOnce.end()];
              const stream = looking.stream(under, ({ name }) => found!.add(name));
              expect(textsOf([...(await stream.take([given])), ...(await stream.end())])).toEqual(textsOf(expected));
              expect([...found!]).toEqual([...foundAtOnce!]);
            }),
            { numRuns: drawCount(10, 40) },
          );
      },
    );

    const service = {
      name: "asked",
      guard: { action: "mask", service: { type: "request", url: "https://guard.test" } },
    };
    const services = {
      judge: (_policy: unknown, texts: readonly string[]) =>
        Promise.resolve({ findings: texts.map(() => []), failure: null }),
    } as unknown as CallServices;
    const asking = new GuardScheduler(threads, { tenantId: "acme", signal: null, services });
    test.each([
      ...places.map(([name, chunkOf]) => [name, chunkOf, () => looking.stream(policiesOf(slow()), () => {})] as const),
      ...places.map(
        ([name, chunkOf]) =>
          [`beside a service, ${name}`, chunkOf, () => asking.stream(policiesOf(slow(), service), () => {})] as const,
      ),
    ])("[d5.8] %s: other calls have their turns meanwhile", async (_name, chunkOf, open) => {
      const stream = open();
      let turns = 0;
      let isOver = false;
      const turn = (): void => {
        turns += 1;
        if (!isOver) setImmediate(turn);
      };
      setImmediate(turn);
      await stream.take([chunkOf("a".repeat(5000))]);
      isOver = true;
      // some 2,000 steps for each letter, and some hundred thousand in each turn
      expect(turns).toBeGreaterThan(20);
    });

    test.each(places)("[d3.3] %s: when the time is over, every text passes once, searched or not", (_name, chunkOf) => {
      const said = "4111 is no card, and ada no address. ".repeat(40);
      const given = [chunkOf(said), chunkOf("and the rest")];
      const guard = { patterns: ["(?:A?){450}Q", "ada no addresses"], action: "mask", on_error: "allow" };
      for (let ends = 1; ; ends++) {
        const failed: unknown[] = [];
        const under = policiesOf({ name: "late", guard });
        const stream = new GuardedStream(under, (_policy, failure) => failed.push(failure), 1);
        let asked = 0;
        const steps = stream.search(given, true, () => (++asked < ends ? 0 : 1));
        let step = steps.next();
        while (step.done !== true) step = steps.next();
        expect([ends, textsOf(step.value)]).toEqual([ends, textsOf(given)]);
        if (failed.length === 0) {
          expect(ends).toBeGreaterThan(3);
          break;
        }
        expect(failed).toEqual([UNSEARCHED]);
      }
    });
  });

  // more work than is done in the serving thread, and less than would not be begun there
  const long = `${"DE89 ".repeat(4000)}DE89 3704 0044 0532 0130 00 ada@mail.example.org`;
  const searched = `${"DE89 ".repeat(4000)}[iban] [email]`;
  const classes = ["iban", "email"];
  test.each([
    ["mask", 200, { name: "long", effect: "masked" }],
    ["block", 403, { name: "long", effect: "denied" }],
    ["audit", 200, { name: "long", effect: "would_deny" }],
  ] as const)(
    "[d3.3] through the whole gateway: a search that turns out long finds what a short one finds, in a request and in an answer (%s)",
    async (what, status, outcome) => {
      for (const on of ["input", "output"])
        for (const onError of ["block", "allow"]) {
          const [mode, action] = what === "audit" ? ["audit", "mask"] : ["enforce", what];
          const stub = stubGateway({
            snapshot: {
              policies: policiesFor({ name: "long", mode, guard: { on, classes, action, on_error: onError } }),
            },
            guards: threads,
            upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer(on === "output" ? long : "ok")) }),
          });
          const messages = on === "input" ? [{ role: "user", content: long }] : HELLO;
          const response = await stub.chat({ model: "openai:gpt-4o", messages });
          const said = (await response.json()) as { choices?: [{ message: { content: string } }] };
          const passed = on === "output" ? said.choices?.[0].message.content : stub.sent[0]?.body;
          expect([on, onError, response.status, stub.records[0]!.policies]).toEqual([on, onError, status, [outcome]]);
          if (what === "block") expect(JSON.stringify(said)).not.toContain("DE89");
          else expect(String(passed)).toContain(what === "mask" ? searched : long);
        }
    },
  );

  test("[d3.3] through the whole gateway: a stream under heavy guards carries the provider's text with what is masked masked, finish reason and usage", async () => {
    const events = [
      chunk({ role: "assistant", content: "Ask ada@ma" }),
      chunk({ content: "il.example.org or fal" }),
      chunk({ content: "con7." }),
      chunk({}, "stop"),
    ];
    const masked = await streamed(
      events,
      DOCUMENTS.map((document) => ({ ...document, guard: { ...document.guard, on: "output" } })),
    );
    expect([masked.content, masked.error, masked.done, masked.faults]).toEqual([
      "Ask [email] or [word].",
      null,
      true,
      [],
    ]);
    expect(masked.stub.records[0]).toMatchObject({
      finishReasons: ["stop"],
      policies: [
        { name: "pii", effect: "masked" },
        { name: "words", effect: "masked" },
      ],
    });
    const blocked = await streamed(events, [
      { name: "stop", guard: { on: "output", action: "block", patterns: ["falcon", ...HEAVY] } },
    ]);
    expect([blocked.content.includes("fal"), blocked.error?.["code"], blocked.done]).toEqual([
      false,
      "policy_violation",
      true,
    ]);
  });

  test("[d3.2] a stream under heavy guards that one of two of the same name ends has the message of that one", async () => {
    const guard = { on: "output", action: "block" };
    const blocked = await streamed(
      [chunk({ role: "assistant", content: "Well, " }), chunk({ content: "falcon7." }), chunk({}, "stop")],
      [
        { name: "same", message: "Not this.", guard: { ...guard, patterns: HEAVY } },
        { name: "same", message: "Not that.", guard: { ...guard, patterns: ["falcon"] } },
      ],
    );
    expect(blocked.error?.["message"]).toBe("Not that.");
  });
});

function streamed(events: readonly object[], documents: readonly object[], guards?: GuardThreads): Promise<Played> {
  return play(events, {
    stub: {
      snapshot: { policies: policiesFor(...documents) },
      ...(guards !== undefined && { guards }),
      upstream: cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(...events),
        chunk: "event",
      }),
    },
  });
}
