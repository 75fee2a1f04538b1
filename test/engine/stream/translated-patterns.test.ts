// Events of providers with a form of their own that are rewritten as text give what parsing each of them gives (promises 8.1
// and 12.9), although the decoder counts and keeps their texts.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Credential } from "../../../src/core/target.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { createNdjsonParser } from "../../../src/wire/ndjson.ts";
import type { SseEvent, SseParser } from "../../../src/wire/sse.ts";
import { sameBothWays, type StreamOptions } from "./both-ways.ts";

const KEY = "sk-proj-4f8a1c7b9d2e6035";
const CREDENTIAL: Credential = { kind: "key", secret: KEY, fromCaller: false };
// the spelling of the provider shows that an event was not parsed and written again
const SPELLED = String.raw`caf\u00e9 \/`;
const spelled = (event: string): string => event.replace("@", () => SPELLED);

/** An event of Anthropic's form. */
const named = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const MESSAGE = { id: "msg_1", type: "message", role: "assistant", content: [], model: "m", stop_reason: null };
const begin = named("message_start", { message: { ...MESSAGE, usage: { input_tokens: 3, output_tokens: 1 } } });
const block = (index: number, content_block: object): string => named("content_block_start", { index, content_block });
const text = (index: number): string => block(index, { type: "text", text: "" });
const thinkingBlock = (index: number): string => block(index, { type: "thinking", thinking: "", signature: "" });
const call = (index: number, name = "f"): string =>
  block(index, { type: "tool_use", id: `c${index}`, name, input: {} });
const delta = (index: number, members: object): string => named("content_block_delta", { index, delta: members });
const say = (piece: string, index = 0): string => delta(index, { type: "text_delta", text: piece });
const think = (piece: string, index = 0): string => delta(index, { type: "thinking_delta", thinking: piece });
const stop = (index: number): string => named("content_block_stop", { index });
const end =
  named("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 9 } }) +
  named("message_stop");
const anthropic = (source: string, options: StreamOptions = {}): Promise<string> =>
  sameBothWays(source, { provider: "anthropic", ...options });

describe("an event of Anthropic's form that differs from an earlier one only in its text", () => {
  test("[d8.1] is rewritten as text, with the provider's spelling", async () => {
    const shown = await anthropic(begin + text(0) + say("one") + spelled(say("@")) + say("two") + stop(0) + end);
    expect(shown).toContain(`"delta":{"content":"${SPELLED}"}`);
  });

  test("[d12.9] is so for thinking, whose whole text comes with its signature at the end of its block", async () => {
    const signed = delta(0, { type: "signature_delta", signature: "s" });
    const shown = await anthropic(
      begin +
        thinkingBlock(0) +
        think("one") +
        spelled(think("@")) +
        signed +
        stop(0) +
        text(1) +
        say("so", 1) +
        stop(1) +
        end,
    );
    expect(shown).toContain(`"delta":{"reasoning_content":"${SPELLED}"}`);
    expect(shown).toContain('"text":"onecafé /","signature":"s"');
  });

  test("[d8.1] is so for the answer that comes as the input of a tool", async () => {
    const input = (piece: string): string => delta(0, { type: "input_json_delta", partial_json: piece });
    const source = begin + call(0, "json_answer") + input("{") + spelled(input("@")) + input("}") + stop(0) + end;
    expect(await anthropic(source, { memo: { answerTool: "json_answer" } })).toContain(SPELLED);
  });

  test("[d8.1] counts for the places of citations behind it", async () => {
    const cited = delta(1, {
      type: "citations_delta",
      citation: { type: "web_search_result_location", url: "https://a.test", title: "a", cited_text: "x" },
    });
    const source = [text(0), say("one"), say("two"), stop(0), text(1), say("three", 1), say("four", 1), cited, stop(1)];
    const shown = await anthropic(begin + source.join("") + end);
    expect(shown).toContain('"start_index":6,"end_index":15');
  });

  test("[d8.1] is parsed where its block has ended, or another one has begun", async () => {
    const ends = [
      text(0),
      say("one"),
      say("two"),
      stop(0),
      say("three"),
      say("four"),
      call(1),
      say("five"),
      say("six"),
    ];
    await anthropic(begin + ends.join("") + end);
  });

  test("[d8.1] is parsed where its text also stands elsewhere in it", async () => {
    const other = delta(0, { type: "new_delta", text: "text_delta" });
    const shown = await anthropic(begin + text(0) + say("text_delta") + other + say("two") + stop(0) + end);
    expect(shown.split('"text_delta"')).toHaveLength(2);
  });

  test("[d6.5] never brings a key of the operator in pieces", async () => {
    const shown = await anthropic(begin + text(0) + Array.from(KEY, (letter) => say(letter)).join("") + stop(0) + end, {
      credential: CREDENTIAL,
    });
    const said = [...shown.matchAll(/"content":("[^"]*")/g)].map(([, one]) => JSON.parse(one!) as string);
    expect(said.join("")).toContain("[credential]");
    expect(said.join("")).not.toContain(KEY);
  });
});

test("[d8.1] an event of Cohere's form that differs from an earlier one only in its text is rewritten as text", async () => {
  const one = (content: object): string =>
    `event: content-delta\ndata: ${JSON.stringify({ type: "content-delta", index: 0, delta: { message: { content } } })}\n\n`;
  const source = [
    named("message-start", { id: "m", delta: { message: { role: "assistant" } } }),
    one({ thinking: "one" }),
    spelled(one({ thinking: "@" })),
    one({ text: "one" }),
    spelled(one({ text: "@" })),
    named("content-start", { index: 1, delta: { message: { content: { type: "text", text: "" } } } }),
    one({ text: "two" }),
    named("citation-start", {
      index: 0,
      delta: { message: { citations: { start: 0, end: 3, text: "two", content_index: 1, sources: [] } } },
    }),
    named("message-end", {
      delta: { finish_reason: "COMPLETE", usage: { tokens: { input_tokens: 1, output_tokens: 2 } } },
    }),
  ];
  const shown = await sameBothWays(source.join(""), { provider: "cohere" });
  expect(shown).toContain(`"delta":{"reasoning_content":"${SPELLED}"}`);
  expect(shown).toContain(`"delta":{"content":"${SPELLED}"}`);
});

/** Reads a format whose events are no text, here as lines of JSON. */
function messagesParser(): SseParser {
  const decoder = new TextDecoder();
  let held = "";
  return {
    push(bytes) {
      const lines = (held + decoder.decode(bytes, { stream: true })).split("\n");
      held = lines.pop()!;
      return lines.map((line) => JSON.parse(line) as SseEvent);
    },
    end: () => [],
  };
}
const sent = (event: string, members: object): string =>
  `${JSON.stringify({ event, data: JSON.stringify(members) })}\n`;
const part = (index: number, members: object, p: string): string =>
  sent("contentBlockDelta", { contentBlockIndex: index, delta: members, p });
const ended = (index: number): string => sent("contentBlockStop", { contentBlockIndex: index });
const stopped =
  sent("messageStop", { stopReason: "end_turn" }) +
  sent("metadata", { usage: { inputTokens: 1, outputTokens: 2, totalTokens: 3 }, metrics: { latencyMs: 4 } });
const bedrock = (source: string, options: StreamOptions = {}): Promise<string> =>
  sameBothWays(sent("messageStart", { role: "assistant" }) + source, {
    provider: "bedrock",
    parser: messagesParser,
    ...options,
  });

test("[d8.1] a message of Bedrock's form that differs from an earlier one only in its text and its padding is rewritten as text", async () => {
  const spelledPart = (members: object, p: string): string => {
    const { event, data } = JSON.parse(part(0, members, p)) as SseEvent;
    return `${JSON.stringify({ event, data: spelled(data) })}\n`;
  };
  const source = [
    part(0, { reasoningContent: { text: "one" } }, "abc"),
    spelledPart({ reasoningContent: { text: "@" } }, "abcdef"),
    part(0, { reasoningContent: { signature: "s" } }, "ab"),
    ended(0),
    part(1, { text: "one" }, "a"),
    ended(1),
    part(0, { text: "one" }, "a"),
    spelledPart({ text: "@" }, ""),
    spelledPart({ text: "@" }, "abcdefgh"),
    ended(0),
  ];
  const shown = await bedrock(source.join("") + stopped);
  expect(shown.split(`"delta":{"reasoning_content":"${SPELLED}"}`)).toHaveLength(2);
  expect(shown.split(`"delta":{"content":"${SPELLED}"}`)).toHaveLength(3);
  expect(shown).not.toContain("abc");
});

/** A line that was made at this time. */
const line = (atMs: number, message: object, members: object = {}): string => {
  const created = { model: "m", created_at: new Date(1_767_225_600_000 + atMs).toISOString() };
  return `${JSON.stringify({ ...created, message: { role: "assistant", ...message }, done: false, ...members })}\n`;
};
const lastLine = line(9, { content: "" }, { done: true, done_reason: "stop", prompt_eval_count: 3, eval_count: 4 });
const ollama = (source: string, options: StreamOptions = {}): Promise<string> =>
  sameBothWays(source, {
    provider: "ollama",
    parser: () => createNdjsonParser({ maxEventBytes: 1_000_000 }),
    ...options,
  });

test("[d8.1] a line of Ollama's form that differs from an earlier one only in its text and its time is rewritten as text", async () => {
  const lines = [
    line(1, { content: "", thinking: "one" }),
    line(2, { content: "", thinking: "two" }),
    spelled(line(3, { content: "", thinking: "@" })),
    line(4, { content: "one" }),
    spelled(line(5, { content: "@" })),
  ];
  const shown = await ollama(
    lines.join("") + lastLine + line(10, { content: "late" }) + line(11, { content: "later" }),
  );
  expect(shown).toContain(`"delta":{"reasoning_content":"${SPELLED}"}`);
  expect(shown).toContain(`"delta":{"content":"${SPELLED}"}`);
  expect(shown).not.toContain("late");
});

describe("any stream", () => {
  const piece = fc.oneof(
    { weight: 5, arbitrary: fc.string({ maxLength: 8 }) },
    { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
    fc.constantFrom("text", "text_delta", "0", '"', "\\", "\u2028", "\ud800", KEY.slice(0, 7), KEY),
  );
  const index = fc.constantFrom(0, 0, 0, 1, 2);
  const one = fc.oneof(
    { weight: 14, arbitrary: fc.tuple(piece, index).map(([said, at]) => say(said, at)) },
    { weight: 6, arbitrary: fc.tuple(piece, index).map(([said, at]) => think(said, at)) },
    {
      weight: 4,
      arbitrary: fc
        .tuple(piece, index)
        .map(([said, at]) => delta(at, { type: "input_json_delta", partial_json: said })),
    },
    { weight: 2, arbitrary: index.map(text) },
    index.map(thinkingBlock),
    fc.tuple(index, fc.constantFrom("f", "json_answer")).map(([at, name]) => call(at, name)),
    index.map((at) => block(at, { type: "server_tool_use", id: "s", name: "web_search", input: {} })),
    { weight: 2, arbitrary: index.map(stop) },
    index.map((at) => delta(at, { type: "signature_delta", signature: "s" })),
    index.map((at) => delta(at, { type: "citations_delta", citation: { type: "char_location", cited_text: "x" } })),
    fc.constantFrom(named("ping"), ": a comment\n\n", "data:\n\n", named("new_event"), begin),
  );
  const stream = fc
    .tuple(fc.array(one, { maxLength: 40 }), fc.constantFrom(end, end, end, ""))
    .map(([events, ending]) => begin + events.join("") + ending);

  test("[d8.1, d12.9] gives the same, however its bytes are cut and whether or not a key is searched for", async () => {
    await fc.assert(
      fc.asyncProperty(
        stream,
        fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 300 })),
        fc.constantFrom(null, CREDENTIAL),
        fc.constantFrom(null, { answerTool: "json_answer" }),
        async (source, cut, credential, memo) => void (await anthropic(source, { cut, credential, memo })),
      ),
      { numRuns: drawCount(400, 20_000) },
    );
  });

  const padding = fc.constantFrom("", "a", "ab", "abcdefg");
  const aMessage = fc.oneof(
    { weight: 12, arbitrary: fc.tuple(index, piece, padding).map(([at, said, p]) => part(at, { text: said }, p)) },
    {
      weight: 5,
      arbitrary: fc
        .tuple(index, piece, padding)
        .map(([at, said, p]) => part(at, { reasoningContent: { text: said } }, p)),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(index, piece, padding).map(([at, said, p]) => part(at, { toolUse: { input: said } }, p)),
    },
    { weight: 2, arbitrary: index.map(ended) },
    fc
      .tuple(index, fc.constantFrom("f", "json_answer"))
      .map(([at, name]) =>
        sent("contentBlockStart", { contentBlockIndex: at, start: { toolUse: { toolUseId: `c${at}`, name } } }),
      ),
    index.map((at) => part(at, { reasoningContent: { text: "x", signature: "s" } }, "a")),
    index.map((at) => part(at, { citation: { title: "t", sourceContent: [{ text: "x" }] } }, "a")),
    index.map((at) => part(at, { text: "x", citation: { title: "t" } }, "a")),
    index.map((at) => sent("contentBlockDelta", { contentBlockIndex: at, delta: { text: "no padding" } })),
    fc.constant(sent("newEvent", {})),
  );

  test("[d8.1] gives the same where its events are messages", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(fc.array(aMessage, { maxLength: 40 }), fc.constantFrom(stopped, stopped, "")),
        fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 300 })),
        fc.constantFrom(null, CREDENTIAL),
        fc.constantFrom(null, { answerTool: "json_answer" }),
        async ([events, ending], cut, credential, memo) =>
          void (await bedrock(events.join("") + ending, { cut, credential, memo })),
      ),
      { numRuns: drawCount(400, 20_000) },
    );
  });

  const said = fc.oneof(
    { weight: 10, arbitrary: piece.map((content) => ({ content })) },
    { weight: 4, arbitrary: piece.map((thinking) => ({ content: "", thinking })) },
    fc.tuple(piece, piece).map(([content, thinking]) => ({ content, thinking })),
    piece.map((content) => ({ content, tool_calls: [{ function: { name: "f", arguments: {} } }] })),
  );
  const aLine = fc.oneof(
    { weight: 16, arbitrary: fc.tuple(fc.nat(3000), said).map(([atMs, message]) => line(atMs, message)) },
    said.map((message) => line(0, message, { created_at: 2026 })),
    fc.constant(lastLine),
  );

  test("[d8.1] gives the same where its events are lines", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aLine, { maxLength: 40 }),
        fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 300 })),
        fc.constantFrom(null, CREDENTIAL),
        async (lines, cut, credential) => void (await ollama(lines.join("") + lastLine, { cut, credential })),
      ),
      { numRuns: drawCount(400, 20_000) },
    );
  });
});
