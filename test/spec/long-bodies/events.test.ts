// Promise 5.8: single events of megabytes in a provider's stream. They are passed on whole, within bounds of what they
// contain.
import { describe, expect, test } from "bun:test";
import { piecesOf } from "../../../src/engine/long-bodies/written-in-turns.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";

const event = (content: string, more = ""): string =>
  `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"${content}"},"finish_reason":null}]${more}}\n\n`;
const LAST = `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;

interface Heard {
  readonly content: string;
  readonly error: string | null;
  readonly isDone: boolean;
  readonly code: string | null;
}

async function heard(stream: string): Promise<Heard> {
  const gateway = stubGateway({
    upstream: cannedUpstream({ body: stream, chunk: 65_536, headers: { "content-type": "text/event-stream" } }),
  });
  const reply = await gateway.chat({ model: "openai:m", stream: true, messages: [{ role: "user", content: "Hello" }] });
  const events = (await reply.text())
    .split("\n\n")
    .filter((line) => line.startsWith("data: {"))
    .map(
      (line) =>
        JSON.parse(line.slice(6)) as {
          error?: { code: string };
          choices?: { delta: { content?: string }; finish_reason: string | null }[];
        },
    );
  return {
    content: events.map(({ choices }) => choices?.[0]?.delta.content ?? "").join(""),
    error: events.find(({ error }) => error !== undefined)?.error?.code ?? null,
    isDone: events.some(({ choices }) => choices?.[0]?.finish_reason === "stop"),
    code: gateway.records[0]!.code,
  };
}

// what an event holds beside its list: itself, four members, a choice with three members and a content, and the list
const AROUND = 12;
const objects = (values: number): string => `,"odd":[${"{},".repeat(values - AROUND - 1)}{}]`;

describe("a long event of a stream", () => {
  for (const [what, written, said] of [
    ["base64", "iVBORw0KGgoAAAANSUhEUgAA".repeat(500_000), "iVBORw0KGgoAAAANSUhEUgAA".repeat(500_000)],
    ["1,000,000 escaped characters", "\\n".repeat(1_000_000), "\n".repeat(1_000_000)],
    ["other scripts", "Съешь ещё 🍵 ".repeat(300_000), "Съешь ещё 🍵 ".repeat(300_000)],
  ] as const)
    test(`[d5.8] is passed on whole: ${what}`, async () => {
      const { content, ...rest } = await heard(event("a") + event(written) + event("b") + LAST);
      expect(content === `a${said}b`).toBe(true);
      expect(rest).toEqual({ error: null, isDone: true, code: null });
    });

  test("[d5.8] is written in pieces that cut no character in two", () => {
    for (const text of ["", "a", "ab🍵", "a🍵b🍵🍵", "🍵".repeat(7), "\ud83c", "ab\ud83c", "\udf75\ud83c\udf75x"])
      for (const length of [2, 3, 4, 5]) {
        const pieces = [...piecesOf(text, length)];
        expect(pieces.join("")).toBe(text);
        expect(Buffer.concat(pieces.map((piece) => Buffer.from(piece)))).toEqual(Buffer.from(text));
      }
  });

  for (const [what, odd] of [
    ["values", objects(400_000)],
    ["numbers that no double holds", `,"odd":[${"12345678901234567890123456789,".repeat(10_000)}1]`],
  ] as const)
    test(`[d5.8] is passed on with as many ${what} as it may hold`, async () => {
      expect(await heard(event("a", odd) + LAST)).toEqual({ content: "a", error: null, isDone: true, code: null });
    });

  for (const [what, refused] of [
    ["escaped characters", event("\\n".repeat(1_000_001))],
    ["values", event("x", objects(400_001))],
    ["numbers that no double holds", event("x", `,"odd":[${"12345678901234567890,".repeat(30_000)}1]`)],
  ] as const)
    test(`[d5.8] with more ${what} is malformed, and what came before it in the same read is passed on first`, async () => {
      expect(await heard(event("a") + refused + event("b") + LAST)).toEqual({
        content: "a",
        error: "upstream_invalid_response",
        isDone: false,
        code: "upstream_invalid_response",
      });
      expect(await heard(event("a") + refused.trimEnd())).toEqual({
        content: "a",
        error: "upstream_invalid_response",
        isDone: false,
        code: "upstream_invalid_response",
      });
    });

  test("[d5.8] with invalid JSON is malformed like a short one", async () => {
    expect((await heard(event("a") + `data: {"choices":[${"x".repeat(600_000)}\n\n${LAST}`)).error).toBe(
      "upstream_invalid_response",
    );
  });
});
