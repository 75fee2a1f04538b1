// Events that are rewritten as text give what parsing each of them gives: the same events for the client, the same
// count of what was generated, the same figures and the same failure (promises 8.1, 8.7 and 8.8).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Credential } from "../../../src/core/target.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { sameBothWays, translated } from "./both-ways.ts";

const KEY = "sk-proj-4f8a1c7b9d2e6035";
const CREDENTIAL: Credential = { kind: "key", secret: KEY, fromCaller: false };

const frame = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_000_000, model: "m" };
const choice = (delta: object, more: object = {}) => ({
  index: 0,
  delta,
  logprobs: null,
  finish_reason: null,
  ...more,
});
const data = (event: object | string): string =>
  `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`;
const say = (content: string, more: object = {}): string => data({ ...frame, choices: [choice({ content })], ...more });
const end = data({ ...frame, choices: [choice({}, { finish_reason: "stop" })] }) + data("[DONE]");
const escaped = (text: string): string =>
  Array.from(text, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
const opening = say("") + say("one") + say("two");

describe("an event that differs from an earlier one only in its text", () => {
  // the spelling of the provider shows that the event was not parsed and written again
  const spelled = String.raw`caf\u00e9 \/`;

  test("[d8.1] is rewritten as text, with the provider's spelling", async () => {
    const text = await sameBothWays(opening + say("@").replace("@", () => spelled) + end);
    expect(text).toContain(`{"content":"${spelled}"}`);
  });

  test.each([
    ["obfuscation", ["ab", "", "cdefg"]],
    ["p", ["abcdefghijk", "a", "abc"]],
  ] as const)("[d8.1] is so where the provider pads its events: %s", async (name, paddings) => {
    const padded = (content: string, padding: string): string => say(content, { [name]: padding });
    const text = await sameBothWays(
      say("") +
        padded("one", "x") +
        padded("two", "xy") +
        paddings.map((padding) => padded("@", padding).replace("@", () => spelled)).join("") +
        end,
    );
    expect(text.split(`{"content":"${spelled}"}`).length).toBe(1 + paddings.length);
    for (const padding of paddings) expect(text).toContain(`"${name}":"${padding}","choices"`);
  });

  test("[d8.1] is so for reasoning, and for text after it", async () => {
    const think = (reasoning: string): string =>
      data({ ...frame, choices: [choice({ reasoning_content: reasoning })] }).replace("@", () => spelled);
    const answer = (content: string): string => say(content).replace("@", () => spelled);
    const source = [think("one"), think("two"), think("@"), answer("one"), answer("@"), think("@"), answer("@")];
    const text = await sameBothWays(source.join("") + end);
    expect(text.split(`{"reasoning_content":"${spelled}"}`).length).toBe(3);
    expect(text.split(`{"content":"${spelled}"}`).length).toBe(3);
  });

  test("[d8.7] is parsed where a vendor's field waits for the next event", async () => {
    const waiting = data({ ...frame, choices: [], x_note: "kept" });
    const text = await sameBothWays(opening + waiting + say("three") + say("four") + end);
    expect(text.match(/"x_note":"kept","choices":\[\{"index":0,"delta":\{"content":"three"/g)?.length).toBe(1);
  });

  test("[d8.8] is parsed where its service tier is another", async () => {
    const tier = (content: string, service_tier: string): string => say(content, { service_tier });
    await sameBothWays(
      say("") + ["default", "flex", "turbo", "turbo", "auto"].map((one) => tier("x", one)).join("") + end,
    );
  });

  test.each([
    ["a line end in a string", say("@").replace("@", "a\tb")],
    ["a wrong escape", say("@").replace("@", String.raw`\x41`)],
    ["half an escape", say("@").replace("@", String.raw`\u12`)],
    ["a quote that is missing", say("@").replace('@"', "@")],
    ["an error beside the text", say("three", { error: { message: "no", code: "x" } })],
  ])("[d8.3] fails as if it was parsed: %s", async (_, bad) => {
    await sameBothWays(opening + say("three") + bad + say("four") + end);
    expect((await translated(opening + bad + end)).seen.failure).not.toBeNull();
  });

  test("[d8.5] does not escape the bound of an event", async () => {
    const source = opening + say("x".repeat(500)) + end;
    await sameBothWays(source, { maxEventBytes: 400 });
    expect((await translated(source, { maxEventBytes: 400 })).seen.failure).toContain("400 bytes");
  });

  test("[d6.5] never brings a key of the operator, whole, in pieces or escaped", async () => {
    for (const pieces of [
      [KEY],
      ["my ", KEY.slice(0, 9), KEY.slice(9), " it is"],
      Array.from(KEY),
      [KEY.slice(0, 10), KEY.slice(10)].map(escaped),
    ]) {
      const source = opening + pieces.map((piece) => say("@").replace("@", () => piece)).join("") + say("after") + end;
      const text = await sameBothWays(source, { credential: CREDENTIAL });
      const said = text.split("\n\n").flatMap((event) => /"content":("[^"]*")/.exec(event)?.[1] ?? []);
      expect(said.map((piece) => JSON.parse(piece) as string).join("")).not.toContain(KEY);
    }
    const text = await sameBothWays(
      say("") + say("one", { p: "a" }) + say("two", { p: "b" }) + say("@", { p: KEY }) + end,
      {
        credential: CREDENTIAL,
      },
    );
    expect(text).not.toContain(KEY);
  });

  test("[d8.3] after [DONE] is not read", async () => {
    expect(await sameBothWays(opening + say("three") + end + say("four"))).not.toContain("four");
  });
});

describe("any stream", () => {
  const piece = fc.oneof(
    { weight: 6, arbitrary: fc.string({ maxLength: 12 }) },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        ",",
        ":",
        "content",
        "one",
        "m",
        '"',
        "\\",
        "\n",
        "\u2028",
        "\ud800",
        KEY,
        KEY.slice(0, 7),
      ),
    },
  );
  const extra = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    fc.record({ obfuscation: fc.string({ maxLength: 5 }) }),
    fc.record({ p: fc.stringMatching(/^[a-z,:]{0,5}$/), system_fingerprint: fc.constantFrom("fp_1", null) }),
    fc.record({ service_tier: fc.constantFrom("default", "turbo", null), usage: fc.constant(null) }),
    fc.record({ usage: fc.record({ prompt_tokens: fc.nat(9), completion_tokens: fc.nat(9) }) }),
    fc.record({ id: fc.constantFrom("a", "b"), created: fc.nat(9) }),
  );
  const delta = fc.oneof(
    { weight: 12, arbitrary: piece.map((content) => ({ content })) },
    { weight: 3, arbitrary: piece.map((content) => ({ reasoning_content: content })) },
    piece.map((refusal) => ({ refusal, content: null })),
    piece.map((content) => ({ role: "assistant", content })),
    fc.record({ content: piece, reasoning: piece }),
    piece.map((text) => ({ tool_calls: [{ index: 0, id: "c", function: { name: "f", arguments: text } }] })),
    fc.constant({}),
  );
  const event = fc.oneof(
    {
      weight: 12,
      arbitrary: fc
        .tuple(delta, extra, fc.constantFrom(0, 0, 0, 1), fc.boolean())
        .map(([one, more, index, spellsOut]) => {
          const text = JSON.stringify({ ...frame, choices: [choice(one, { index })], ...more });
          const words = /"content":"([^"\\]+)"/.exec(text)?.[1];
          return data(
            spellsOut && words !== undefined ? text.replace(`"${words}"`, () => `"${escaped(words)}"`) : text,
          );
        }),
    },
    extra.map((more) => data({ ...frame, choices: [], ...more })),
    fc.constantFrom(": a comment\n\n", "event: message\n", "id: 7\n", "retry: 1\n\n", "data:\n\n", "\n"),
    { weight: 1, arbitrary: fc.constantFrom(data("{"), data({ error: { message: "no" } }), data("[1]"), "data: ") },
  );
  const stream = fc
    .tuple(fc.array(event, { maxLength: 30 }), fc.constantFrom(end, end, end, ""), fc.constantFrom("\n", "\n", "\r\n"))
    .map(([events, ending, lineEnd]) => (events.join("") + ending).replaceAll("\n", lineEnd));

  test("[d8.1, d8.7, d8.8] gives the same, however its bytes are cut and whether or not a key is searched for", async () => {
    await fc.assert(
      fc.asyncProperty(
        stream,
        fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 300 })),
        fc.constantFrom(null, CREDENTIAL),
        async (source, cut, credential) => void (await sameBothWays(source, { cut, credential })),
      ),
      { numRuns: drawCount(400, 20_000) },
    );
  });
});
