// Text, calls and reasoning that a provider interleaves stand in its order in plain answers of responses and messages, as
// in streams (promise 12.4); answers of chat completions keep the form that they have.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { responseFaults } from "../../operations/responses/response-schemas.ts";

type Block = Readonly<Record<string, any>>;

/** The vendors' blocks, and what a client shall see of each: its kind and its text. */
interface Vendor {
  readonly model: string;
  readonly body: (blocks: readonly Block[]) => object;
  /** Returns the blocks in the order that the vendor's form can tell. */
  readonly told?: (blocks: readonly Block[]) => readonly Block[];
  /** Whether it signs what it thinks. */
  readonly signs: boolean;
}

const ofType = (blocks: readonly Block[], isCall: boolean): readonly Block[] =>
  blocks.filter(({ type }) => (type === "tool_use") === isCall);

const VENDORS: Readonly<Record<string, Vendor>> = {
  anthropic: {
    model: "anthropic:m",
    signs: true,
    body: (content) => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content,
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    }),
  },
  bedrock: {
    model: "bedrock:anthropic.m",
    signs: true,
    body: (blocks) => ({
      output: {
        message: {
          role: "assistant",
          content: blocks.map(({ type, text, thinking, signature, id, name, input }) => {
            if (type === "text") return { text };
            return type === "thinking"
              ? { reasoningContent: { reasoningText: { text: thinking, signature } } }
              : { toolUse: { toolUseId: id, name, input } };
          }),
        },
      },
      stopReason: "end_turn",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
  },
  gemini: {
    model: "gemini:gemini-3-pro",
    signs: false,
    body: (blocks) => {
      const parts = blocks.map(({ type, text, thinking, name, input }) => {
        if (type === "text") return { text };
        return type === "thinking" ? { text: thinking, thought: true } : { functionCall: { name, args: input } };
      });
      return { candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }] };
    },
  },
  cohere: {
    model: "cohere:command-a-reasoning-08-2025",
    signs: false,
    body: (blocks) => {
      const calls = ofType(blocks, true).map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      }));
      const message = {
        role: "assistant",
        content: ofType(blocks, false),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
      return { id: "c_1", message, finish_reason: calls.length > 0 ? "TOOL_CALL" : "COMPLETE" };
    },
    told: (blocks) => [...ofType(blocks, false), ...ofType(blocks, true)],
  },
};

const blocks = fc
  .array(fc.constantFrom("text", "thinking", "tool_use"), { minLength: 1, maxLength: 6 })
  .map((kinds): readonly Block[] =>
    kinds.map((type, at) => {
      if (type === "text") return { type, text: `Text ${at}.` };
      if (type === "thinking") return { type, thinking: `Thought ${at}.`, signature: `c2ln${at}` };
      return { type, id: `toolu_${at}`, name: "look", input: { at } };
    }),
  );

/** Texts that follow one another are one, and so is reasoning in the order of its pieces. */
function shown(list: readonly Block[]): readonly string[] {
  const lines: string[] = [];
  for (const { type, text, thinking, input } of list) {
    const line = type === "tool_use" ? `call ${input.at}` : type === "text" ? `text ${text}` : `thought ${thinking}`;
    if (type === "text" && lines.at(-1)?.startsWith("text ") === true) lines.push(lines.pop()! + String(text));
    else lines.push(line);
  }
  return lines;
}

/** Reasoning of several blocks is joined in responses. */
function joined(lines: readonly string[]): readonly string[] {
  const all: string[] = [];
  for (const line of lines)
    if (line.startsWith("thought ") && all.at(-1)?.startsWith("thought ") === true)
      all.push(all.pop()! + line.slice("thought ".length));
    else all.push(line);
  return all;
}

async function answered(vendor: string, list: readonly Block[], operation: typeof RESPONSES, body: object) {
  const { model, body: written } = VENDORS[vendor]!;
  const settings = { id: vendor, family: vendor, credentials: [storedKey("key")], native: [] };
  const stub = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: JSON.stringify(written(list)) }),
    providers: [providerSettings({ ...settings, ...(vendor === "bedrock" && { settings: { region: "eu-west-1" } }) })],
  });
  const response = await stub.call(operation, { model, ...body });
  const text = await response.text();
  expect([response.status, text]).toEqual([200, text]);
  const answer: any = JSON.parse(text);
  return answer;
}

const ASKED = [{ role: "user", content: "Look." }];

describe.each(Object.keys(VENDORS))("[d12.4] the order of a turn from %s", (vendor) => {
  const { signs, told: toldBy = (list) => list } = VENDORS[vendor]!;
  // only signatures keep blocks apart
  const join = signs ? (lines: readonly string[]) => lines : joined;

  test("is that of the items of a response", async () => {
    await fc.assert(
      fc.asyncProperty(blocks, async (list) => {
        const body = { input: ASKED, store: false, include: ["reasoning.encrypted_content"] };
        const response = await answered(vendor, list, RESPONSES, body);
        expect(responseFaults(response)).toEqual([]);
        const lines = response.output.flatMap(({ type, content, summary, arguments: text }: Block) => {
          if (type === "message") return content.map((part: Block) => `text ${part["text"]}`);
          if (type === "reasoning") return summary.map((part: Block) => `thought ${part["text"]}`);
          return [`call ${JSON.parse(text).at}`];
        });
        expect(joined(lines)).toEqual(joined(shown(toldBy(list))));
      }),
      { numRuns: drawCount(40, 500) },
    );
  });

  test("is that of the blocks of a message, with the signature of each", async () => {
    await fc.assert(
      fc.asyncProperty(blocks, async (list) => {
        const { content } = await answered(vendor, list, MESSAGES, { messages: ASKED, max_tokens: 9 });
        // what only the vendor can read of the whole turn follows it
        expect(join(shown(content.filter(({ type }: Block) => type !== "redacted_thinking")))).toEqual(
          join(shown(toldBy(list))),
        );
        for (const { type, signature } of content)
          if (type === "thinking") expect(signature.startsWith("dragoman1.")).toBe(signs);
      }),
      { numRuns: drawCount(40, 500) },
    );
  });

  test("does not show in a chat completion", async () => {
    const list = [
      { type: "text", text: "One." },
      { type: "tool_use", id: "toolu_1", name: "look", input: { at: 1 } },
      { type: "text", text: "Two." },
    ];
    const { choices } = await answered(vendor, list, CHAT_COMPLETIONS, { messages: ASKED });
    const { extra_content: _carried, ...message } = choices[0].message;
    expect(Object.keys(message)).toEqual(["role", "content", "refusal", "tool_calls"]);
    expect(message.content).toBe("One.Two.");
  });
});
