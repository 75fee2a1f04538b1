// Long requests under guards (promises 3.3, 5.8): the text stays in the thread that holds it, and what is blocked,
// masked, sent and recorded is the same as for a short one.
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type GuardThreads, openGuardThreads } from "../../../src/engine/guards/guard-threads.ts";
import { patientGuards } from "../../harness/patient-guards.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { guardsFor, policiesFor } from "../../policies/policy-documents.ts";
import { startGateway } from "../../harness/processes/gateway-process.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { seen, sentFrom } from "../seen-call.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const thread = openLongBodyThread(longBodyProgram());
const longRequests = openLongRequests(thread);
const guards = patientGuards(1);
afterAll(async () => {
  await Promise.all([thread.close(), guards.close()]);
});

const MAIL = "ada@mail.example.org";
const PADDING = "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(LONG_BODY_BYTES / 44));
const padded = (messages: readonly object[], more: object = {}): string =>
  JSON.stringify({ model: "openai:gpt-4o", messages: [{ role: "system", content: PADDING }, ...messages], ...more });
const user = (content: unknown): object => ({ role: "user", content });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The first provider fails, so that the entries of `fallbacks` are asked. */
const failing = cannedUpstream(({ url }) =>
  url.includes("openai.com") ? { status: 500, body: "{}" } : { body: JSON.stringify(openaiAnswer()) },
);

async function compared(body: string, policies: readonly object[], options: StubOptions = {}) {
  const all: StubOptions = { guards, snapshot: { policies: policiesFor(...policies) }, ...options };
  const [here, there] = [await seen(body, null, all), await seen(body, longRequests, all)];
  expect(there).toEqual(sentFrom(here, there));
  return there;
}

const mail = (guard: object = {}, more: object = {}): object => ({
  name: "mail",
  message: "No addresses.",
  ...more,
  guard: { on: "input", classes: ["email"], action: "mask", ...guard },
});

describe("a long request under guards", () => {
  const long = "z".repeat(20_000);
  const PLACES: Readonly<Record<string, { readonly body: string; readonly masked: number }>> = {
    "a text": { body: padded([user(`Write to ${MAIL}.`)]), masked: 200 },
    "a text at a piece's edge": { body: padded([user(`${"x".repeat(16_380)} ${MAIL} ${long}`)]), masked: 200 },
    "between two parts": {
      body: padded([
        user([
          { type: "text", text: "my card: ada@ma" },
          { type: "text", text: "il.example.org" },
        ]),
      ]),
      masked: 200,
    },
    "arguments of a call": {
      body: padded([
        user("x"),
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "c", type: "function", function: { name: "f", arguments: `{"to":"ada\\u0040mail.example.org"}` } },
          ],
        },
        { role: "tool", tool_call_id: "c", content: MAIL },
      ]),
      masked: 200,
    },
    "a file that is a text": {
      body: padded([
        user([{ type: "file", file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64(MAIL)}` } }]),
      ]),
      masked: 200,
    },
    "an address": {
      body: padded([user([{ type: "image_url", image_url: { url: `https://example.org/?to=${MAIL}` } }])]),
      masked: 403,
    },
    "the name of a member": { body: padded([{ ...user("x"), [MAIL]: 1 }], { model: "custom:m" }), masked: 200 },
    "a long member that passes through": { body: padded([user("x")], { odd: [MAIL, long] }), masked: 200 },
    "the name of such a member": { body: padded([user("x")], { model: "custom:m", [MAIL]: [long] }), masked: 200 },
    "names of two members of which one would take the other away": {
      body: padded([user("x")], { [MAIL]: [long], "bob@mail.example.org": 1 }),
      masked: 403,
    },
    "a parameter beside the conversation": { body: padded([user("x")], { stop: MAIL }), masked: 200 },
    "a function's name beside the conversation": {
      body: padded([user("x")], { tool_choice: { type: "function", function: { name: MAIL } } }),
      masked: 400,
    },
    nowhere: { body: padded([user("x")], { odd: [long] }), masked: 200 },
  };
  for (const [place, { body, masked }] of Object.entries(PLACES)) {
    test(`[d3.3] [d5.8] ${place}: masked, blocked and recorded like a short one`, async () => {
      expect(Buffer.byteLength(body)).toBeGreaterThan(LONG_BODY_BYTES);
      const found = place !== "nowhere" && masked !== 400;
      const inFile = place.startsWith("a file");
      const asMasked = await compared(body, [mail()]);
      expect(asMasked.status).toBe(masked);
      if (masked === 200) expect(asMasked.sent[0]!.body.includes(MAIL)).toBe(false);
      if (masked === 200 && found) expect(asMasked.sent[0]!.body).toContain(inFile ? base64("[email]") : "[email]");
      const blocked = await compared(body, [mail({ action: "block" })]);
      expect([blocked.status, blocked.sent.length]).toEqual(found ? [403, 0] : masked === 400 ? [400, 0] : [200, 1]);
      const audited = await compared(body, [mail({}, { mode: "audit" })]);
      expect(audited.status).toBe(masked === 400 ? 400 : 200);
      expect((audited.record as { policies: unknown }).policies).toEqual(
        found ? [{ name: "mail", effect: "would_deny" }] : [],
      );
    });
  }

  test("[d3.3] [d5.8] the placeholder of a long member is not searched as the caller's text", async () => {
    const body = padded([user("x")], { odd: ["z".repeat(20_000)] });
    const policy = { name: "ids", guard: { on: "input", patterns: ["held", "0b1f6a52"], action: "block" } };
    expect((await compared(body, [policy])).status).toBe(200);
  });

  test("[d3.3] [d5.8] a guard of one target refuses that target, and the others get what they may have", async () => {
    const body = padded([user(`Write to ${MAIL}.`)], { fallbacks: ["custom:b"], num_retries: 0 });
    const options: StubOptions = { upstream: failing };
    const masked = await compared(body, [mail({}, { scope: { provider: "custom" } })], options);
    expect(masked.sent.map((one) => one.body.includes(MAIL))).toEqual([true, false]);
    const blocked = await compared(body, [mail({ action: "block" }, { scope: { provider: "openai" } })], options);
    expect(blocked.sent.map(({ url }) => new URL(url).hostname)).not.toContain("api.openai.com");
  });

  test("[d3.3] [d5.8] text that could not be searched in time is blocked or passed on, as the guard says", async () => {
    const late = openGuardThreads({ threads: 1, waitMs: 0, onEnded: () => {} });
    const body = padded([user(MAIL)]);
    const why = "the guard could not check the text within its limits of time and matches";
    const policies = (onError: string): readonly object[] => [mail({ on_error: onError })];
    const blocked = await compared(body, policies("block"), { guards: late });
    expect([blocked.status, (blocked.record as { policies: unknown }).policies]).toEqual([
      403,
      [
        { name: "mail", effect: "failed", why },
        { name: "mail", effect: "denied" },
      ],
    ]);
    const passed = await compared(body, policies("allow"), { guards: late });
    expect([passed.status, (passed.record as { policies: unknown }).policies]).toEqual([
      200,
      [{ name: "mail", effect: "failed", why }],
    ]);
    await late.close();
  });

  test("[d3.3] [d5.8] a match of another guard beside it does not hide a match that is divided between parts", async () => {
    const body = padded([
      user([
        { type: "text", text: "ada@ma" },
        { type: "text", text: "il.example.org" },
      ]),
    ]);
    const words = { name: "words", mode: "audit", guard: { on: "input", patterns: ["il.example"], action: "mask" } };
    const { sent } = await compared(body, [mail(), words]);
    expect(sent[0]!.body).toContain('[{"type":"text","text":"[email]"},{"type":"text","text":"[email]"}]');
  });

  test("[d3.5 d5.8] what extends over several texts of one prompt is refused, and what does not is sent", async () => {
    const prompt = { model: "vllm-generate:m", roles: {} };
    const divided = await compared(padded([user("ada@mail."), user("example.org")], prompt), [mail()]);
    expect([divided.status, divided.sent]).toEqual([403, []]);
    const whole = await compared(padded([user(`${MAIL} `), user("example.org")], prompt), [mail()]);
    expect(whole.status).toBe(200);
  });

  test("[d3.5 d5.8] what extends over several texts that a provider joins is refused, and what does not is sent", async () => {
    const parts = (...texts: readonly string[]): object => user(texts.map((one) => ({ type: "text", text: one })));
    const target = { model: "morph:morph-v3-large" };
    const words = mail({ classes: undefined, patterns: ["ver\\nboten"] });
    const divided = await compared(padded([parts("ver", "boten")], target), [words]);
    expect([divided.status, divided.sent]).toEqual([403, []]);
    const whole = await compared(padded([parts(MAIL, "boten")], target), [words, mail()]);
    expect(whole.status).toBe(200);
    expect(whole.sent[0]!.body).toContain("[email]\\nboten");
  });
});

describe("a long request under guards, from outside", () => {
  test("[d3.3] [d5.8] a real gateway masks, blocks and records a long request like a short one, and goes on serving other calls", async () => {
    const gateway = await startGateway({
      config: `policies:
  mask: { scope: { user: masked }, guard: { on: input, classes: [email, card], action: mask } }
  block: { scope: { user: blocked }, message: "Not this.", guard: { on: input, classes: [email, card], action: block } }
`,
    });
    try {
      // on both sides of the pieces in which a guard looks at a text; the sandbox repeats 100,000 characters
      const edge = PADDING.slice(0, 16_384 * 5 - 8);
      const texts = [`${edge} ${MAIL} end`, `${edge} 4111 1111 1111 1111`, `${MAIL} 4111 1111 1111 1111`];
      const outcomes = await Promise.all(
        texts.flatMap((content) =>
          ["masked", "blocked", "free"].map(async (name) => {
            const response = await gateway.chat(
              JSON.parse(padded([user(content)], { model: "sandbox:echo", user: name })),
            );
            const body = (await response.json()) as Record<string, any>;
            return response.status === 200
              ? body["choices"][0].message.content
              : [response.status, body["error"].code, body["error"].message, body["error"].metadata];
          }),
        ),
      );
      const refused = [403, "policy_violation", "Not this.", { policy: "block" }];
      expect(outcomes).toEqual(
        texts.flatMap((content) => [
          content.replace(MAIL, "[email]").replace("4111 1111 1111 1111", "[card]"),
          refused,
          content,
        ]),
      );
    } finally {
      await gateway.stop();
    }
  });

  test("[d3.3] [d5.8] the search of a long request ends when its client leaves", async () => {
    const began = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const watched: GuardThreads = {
      ...guards,
      search(...asked) {
        const looked = guards.search(...asked);
        began.resolve();
        looked.then(() => ended.resolve("looked"), ended.resolve);
        return looked;
      },
    };
    const slow = Array.from({ length: 5 }, (_, index) => ({
      name: `slow${index}`,
      guard: { on: "input", patterns: [`(?:a?){${500 + index}}a{500}b`], action: "block" },
    }));
    const gateway = stubGateway({ guards: watched, longRequests, snapshot: { policies: policiesFor(...slow) } });
    const client = new AbortController();
    const answer = gateway.chat(padded([user("a".repeat(100_000))]), { signal: client.signal });
    await began.promise;
    client.abort();
    expect((await answer).status).toBe(499);
    expect(await ended.promise).toMatchObject({ code: "client_closed" });
    expect(gateway.records[0]).toMatchObject({ code: "client_closed", cancelled: true, policies: [] });
    // the thread is free for what comes after it
    const more = guardsFor({ classes: ["email"], action: "mask" });
    const asker = { tenantId: "default", signal: null };
    expect(await guards.search({ plain: [MAIL], json: [] }, more, asker)).toMatchObject({ unsearched: [] });
  });
});

describe("randomly generated long requests under guards", () => {
  const piece = fc.constantFrom(
    MAIL,
    "ada@ma",
    "il.example.org",
    "4111 1111 1111 1111",
    " ",
    "falcon12",
    "aaab",
    '"',
    "\\u0061",
    "é",
    "😀",
    "DE89 3704 0044 0532 0130 00",
    "q",
    '{"a":1234567}',
  );
  const text = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(""));
  const part = fc.oneof(
    text.map((one) => ({ type: "text", text: one })),
    text.map((one) => ({ type: "file", file: { filename: one, file_data: base64(one) } })),
  );
  const message = fc.oneof(
    text.map(user),
    fc.array(part, { minLength: 1, maxLength: 4 }).map(user),
    fc.tuple(text, text).map(([name, value]) => ({ ...user("x"), [`n${name}`]: value, n: 12_345_678 })),
    text.map((one) => ({
      role: "assistant",
      content: one,
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ a: one }) } }],
    })),
  );
  const answered = (messages: readonly object[]): readonly object[] =>
    messages.flatMap((one) => ("tool_calls" in one ? [one, { role: "tool", tool_call_id: "c", content: "x" }] : [one]));
  const policy = fc.record({
    mode: fc.constantFrom("enforce", "enforce", "audit"),
    action: fc.constantFrom("mask", "mask", "block"),
    looks: fc.constantFrom<object>(
      { classes: ["email"] },
      { classes: ["card", "iban"] },
      { patterns: ["(?i)falcon\\d*", "a+b"] },
      { patterns: ["\\d{3,}"] },
    ),
    scope: fc.constantFrom<object>({}, {}, { provider: "openai" }, { provider: "custom" }, { model: "gpt-4o" }),
  });

  test("[d3.3] [d5.8] are treated alike in conversations of all forms, under several guards, with fallbacks", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(message, { minLength: 1, maxLength: 4 }).map(answered),
        fc.array(policy, { minLength: 1, maxLength: 3 }),
        // of two that find something beside the messages, the one that finds it in what is held speaks first
        fc.oneof(
          text.map((one) => ({ stop: `s${one}`, odd: ["z".repeat(20_000)] })),
          text.map((one) => ({ odd: [one, "z".repeat(20_000)] })),
        ),
        fc.record({
          fallbacks: fc.constantFrom<readonly unknown[]>([], ["custom:b"], [{ model: "custom:b", user: MAIL }]),
        }),
        fc.boolean(),
        async (messages, drawn, beside, more, fails) => {
          const policies = drawn.map(({ mode, action, looks, scope }, index) => ({
            name: `p${index}`,
            mode,
            scope,
            guard: { on: "input", action, ...looks },
          }));
          await compared(
            padded(messages, { ...beside, ...more, num_retries: 0 }),
            policies,
            fails ? { upstream: failing } : {},
          );
        },
      ),
      { numRuns: drawCount(15, 40) },
    );
  });
});
