// Guards on streams of Messages and Responses, whose clients read blocks in the order in which they come (promises 3.3
// and 8.1): what a guard holds of a text comes before the block that follows the text.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Operation } from "../../../src/engine/operation.ts";
import { guardText } from "../../../src/guards/guarded-text.ts";
import type { GuardPolicy } from "../../../src/core/configured/policy.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { type CannedAnswer, cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { fakeService, findingsOf } from "../../harness/servers/outside-guard.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import { dataOf } from "../../harness/sse.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";
import { chunk } from "../answers/played-stream.ts";

const MAIL = "ada@mail.example.org";
const MASKS = { name: "no-mail", guard: { classes: ["email"], action: "mask", on: "output" } };
const CALL = { index: 0, id: "c0", type: "function", function: { name: "f", arguments: "{}" } };
/** Its program is too large for the serving thread. */
const HEAVY = { name: "heavy", guard: { patterns: ["(?:a?){900}q", "(?:b?){900}q"], action: "mask", on: "output" } };

interface Block {
  readonly kind: "thinking" | "text" | "call";
  text: string;
}

/** What a client makes of the events, in their order. */
function blocksOf(events: readonly Record<string, any>[]): readonly Block[] {
  const blocks: Block[] = [];
  const open = (kind: Block["kind"]): void => void blocks.push({ kind, text: "" });
  const add = (kind: Block["kind"], text: string): void => {
    expect(blocks.at(-1)?.kind).toBe(kind);
    blocks.at(-1)!.text += text;
  };
  for (const { type, content_block: block, delta, item } of events) {
    if (type === "content_block_start") open(block.type === "tool_use" ? "call" : block.type);
    if (type === "content_block_delta" && delta.type === "text_delta") add("text", delta.text);
    if (type === "content_block_delta" && delta.type === "thinking_delta") add("thinking", delta.thinking);
    if (type === "response.output_item.added")
      open(item.type === "message" ? "text" : item.type === "reasoning" ? "thinking" : "call");
    if (type === "response.output_text.delta") add("text", delta);
    if (type === "response.reasoning_text.delta" || type === "response.reasoning_summary_text.delta")
      add("thinking", delta);
  }
  return blocks;
}

async function streamed(
  operation: Operation,
  chunks: readonly object[],
  policies: readonly object[] = [MASKS],
  answer: Partial<CannedAnswer> = {},
): Promise<{
  readonly events: readonly Record<string, any>[];
  readonly blocks: readonly Block[];
  readonly text: string;
}> {
  const body = eventStream(...chunks);
  const provider = cannedUpstream({
    headers: { "content-type": "text/event-stream" },
    body,
    chunk: "event",
    ...answer,
  });
  const service = fakeService(({ texts }: { texts: readonly string[] }) => findingsOf(texts, /secret\w*/g), provider);
  const stub = stubGateway({
    upstream: service.upstream,
    snapshot: { policies: policiesFor(...policies) },
  });
  const asked = operation === RESPONSES ? { input: HELLO } : { messages: HELLO, max_tokens: 99 };
  const response = await stub.call(operation, { model: "openai:m", stream: true, ...asked });
  const text = await response.text();
  const events = dataOf(text) as readonly Record<string, any>[];
  return { events, blocks: blocksOf(events), text };
}

const FORMS = [
  ["messages", MESSAGES],
  ["responses", RESPONSES],
] as const;
const ANSWERED: readonly Block[] = [
  { kind: "thinking", text: "I have thought about it" },
  { kind: "text", text: "The answer is forty two" },
  { kind: "call", text: "" },
];

describe.each(FORMS)("guards on streams of %s", (_name, form) => {
  test.each([
    ["masks", [MASKS]],
    ["searches in another thread", [MASKS, HEAVY]],
  ] as const)(
    "[d3.3, d8.1] where a guard %s, a text is complete before the text or the call that follows it",
    async (_does, policies) => {
      const got = await streamed(
        form,
        [
          chunk({ reasoning_content: "I have thought about it" }),
          ...["The answer ", "is forty two"].map((content) => chunk({ content })),
          chunk({ tool_calls: [CALL] }),
          chunk({}, "tool_calls"),
        ],
        policies,
      );
      expect(got.blocks).toEqual(ANSWERED);
    },
  );

  test("[d3.3, d8.1] the texts of one chunk end one after the other, also where the provider answers without a stream", async () => {
    const said = { reasoning_content: ANSWERED[0]!.text, content: ANSWERED[1]!.text, tool_calls: [CALL] };
    const inOne = await streamed(form, [chunk(said, "tool_calls")]);
    expect(inOne.blocks).toEqual(ANSWERED);
    const body = JSON.stringify(openaiAnswer("", { message: said, finish_reason: "tool_calls" }));
    const whole = await streamed(form, [], [MASKS], { headers: { "content-type": "application/json" }, body });
    expect(whole.blocks).toEqual(ANSWERED);
  });

  test("[d3.3] a match that is divided by another block is masked from there on, or ends the stream", async () => {
    const [begins, ends] = [MAIL.slice(0, 8), MAIL.slice(8)];
    const chunks = [
      chunk({ reasoning_content: `${"It is long. ".repeat(100)}Ask ${begins}` }),
      chunk({ content: "Hello" }),
      chunk({ reasoning_content: `${ends} and ${MAIL}` }),
      chunk({ content: " there" }),
      chunk({}, "stop"),
    ];
    const { blocks } = await streamed(form, chunks);
    expect(blocks.map(({ kind }) => kind)).toEqual(["thinking", "text", "thinking", "text"]);
    expect(blocks[0]!.text).toEndWith(`It is long. Ask ${begins}`);
    expect(blocks.slice(1).map(({ text }) => text)).toEqual(["Hello", "[email] and [email]", " there"]);
    const blocking = { ...MASKS, message: "Keep it out.", guard: { ...MASKS.guard, action: "block" } };
    const blocked = await streamed(form, chunks, [blocking]);
    expect(blocked.text).toContain("Keep it out.");
    expect(blocked.text).not.toContain(ends);
  });

  test("[d3.3] whatever comes in turns, blocks stay in order, and no match leaves as a whole", async () => {
    const [guard] = policiesFor(MASKS).of("default", "default")!.all as readonly GuardPolicy[];
    const masked = (text: string): string => guardText(text, [guard!], () => {});
    const word = fc.constantFrom(MAIL, "ada@ma", "il.example.org", "Ask ", " or ", "x", "@", ".org ");
    const kind = fc.constantFrom("reasoning_content", "content", "tool_calls");
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(kind, word), { minLength: 1, maxLength: 12 }), async (given) => {
        let calls = 0;
        const chunks = given.map(([name, text]) =>
          chunk({ [name]: name === "tool_calls" ? [{ ...CALL, index: calls, id: `c${calls++}` }] : text }),
        );
        const { blocks } = await streamed(form, [...chunks, chunk({}, "stop")]);
        const kinds = given.map(
          ([name]) => ({ reasoning_content: "thinking", content: "text", tool_calls: "call" })[name],
        );
        const expected = kinds.filter((one, at) => one === "call" || one !== kinds[at - 1]);
        expect(blocks.map((block) => block.kind)).toEqual(expected as Block["kind"][]);
        for (const [name, shown] of [
          ["reasoning_content", "thinking"],
          ["content", "text"],
        ] as const) {
          const all = blocks.filter((block) => block.kind === shown).map(({ text }) => text);
          const whole = given.flatMap(([one, text]) => (one === name ? [text] : [])).join("");
          // undivided, a text is what it would be as a whole; divided, a match is masked from the break on
          if (all.length === 1) expect(all[0]).toBe(masked(whole));
          expect(all.join("")).not.toContain(MAIL);
        }
      }),
      { numRuns: drawCount(20, 200) },
    );
  });

  test("[d16.4] a service judges a text to its end before the block that follows it", async () => {
    const service = { type: "request", url: "http://guard.test/judge" };
    const judged = { name: "judged", guard: { action: "mask", on: "output", service } };
    const { blocks } = await streamed(
      form,
      [
        chunk({ reasoning_content: "think of the secret" }),
        chunk({ content: "It is" }),
        chunk({ reasoning_content: " and secrets" }),
        chunk({ content: " well done" }, "stop"),
      ],
      [judged],
    );
    expect(blocks.map(({ kind, text }) => [kind, text])).toEqual([
      ["thinking", "think of the [masked]"],
      ["text", "It is"],
      ["thinking", " and [masked]"],
      ["text", " well done"],
    ]);
  });
});

test("[d3.3] citations have their places in the masked text, and come before the call that follows it", async () => {
  const text = `Ask ${MAIL} or ${MAIL}`;
  const start = text.lastIndexOf(MAIL);
  const place = { start_index: start, end_index: text.length };
  const annotations = [{ type: "url_citation", url_citation: { ...place, url: "https://x.example/", title: "t" } }];
  const chunks = [
    ...Array.from(text, (content) => chunk({ content })),
    chunk({ annotations }),
    chunk({ tool_calls: [CALL] }),
    chunk({}, "tool_calls"),
  ];
  const chat = await streamed(CHAT_COMPLETIONS, chunks);
  const [cited] = chat.events.flatMap(({ choices }) => choices).flatMap(({ delta }) => delta.annotations ?? []);
  expect("Ask [email] or [email]".slice(cited.url_citation.start_index, cited.url_citation.end_index)).toBe("[email]");
  const messages = await streamed(MESSAGES, chunks);
  expect(messages.blocks.map(({ kind, text: shown }) => [kind, shown])).toEqual([
    ["text", "Ask [email] or [email]"],
    ["call", ""],
  ]);
  const types = messages.events.map((event) => event["delta"]?.type ?? event["content_block"]?.type);
  expect(types.indexOf("citations_delta")).toBeLessThan(types.indexOf("tool_use"));
  expect(types.indexOf("citations_delta")).toBeGreaterThan(types.lastIndexOf("text_delta"));
});
