// The estimate of tokens: the fast path for long texts counts like the slow one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { estimatePrompt, newTally, tally, tokensOf } from "../../src/accounting/estimate.ts";
import type { Message } from "../../src/core/chat.ts";
import { printedSeed } from "../harness/time/chance.ts";

const seed = printedSeed("estimate");

test("a text counts the same whole and cut into short pieces, also where a surrogate pair is split", () => {
  const character = fc.constantFrom("a", " ", "\u007f", "\u0080", "é", "字", "😀", "\ud83d", "\ude00");
  const text = fc
    .tuple(fc.array(character, { maxLength: 700 }), fc.boolean())
    .map(([all, isAscii]) => (isAscii ? "a".repeat(all.length) : all.join("")));
  fc.assert(
    fc.property(text, (whole) => {
      const [once, pieces] = [newTally(), newTally()];
      tally(once, whole);
      for (let at = 0; at < whole.length; at += 100) tally(pieces, whole.slice(at, at + 100));
      expect(once).toEqual(pieces);
    }),
    { seed, numRuns: 500 },
  );
  const counted = newTally();
  tally(counted, "abcd".repeat(1_000));
  expect(tokensOf(counted)).toBe(1_000);
});

test("a prompt is all that a model reads of its messages, in whichever member it stands", () => {
  const words = "Some words that the model is to read. ".repeat(100);
  const base64 = Buffer.from(words).toString("base64");
  const said = tokensOf({ ascii: words.length, other: 0 });
  const messages: Readonly<Record<string, object>> = {
    text: { role: "user", content: words },
    "a part": { role: "user", content: [{ type: "text", text: words }] },
    "a text file": {
      role: "user",
      content: [{ type: "file", file: { file_data: `data:text/plain;base64,${base64}` } }],
    },
    "a text file behind a long head": {
      role: "user",
      content: [{ type: "file", file: { file_data: `data:text/plain;name=${"n".repeat(300)};base64,${base64}` } }],
    },
    "a document": {
      role: "user",
      content: [{ type: "document", source: { type: "base64", media_type: "text/markdown", data: base64 } }],
    },
    reasoning: { role: "assistant", content: "x", reasoning_content: words },
    "what a vendor packed": {
      role: "assistant",
      content: "x",
      extra_content: { anthropic: { content: [{ text: words }] } },
    },
    "a call": {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: JSON.stringify({ words }) } }],
    },
  };
  for (const [what, message] of Object.entries(messages)) {
    const estimate = estimatePrompt([message as unknown as Message]);
    expect([what, estimate >= said, estimate < said * 1.05 + 20]).toEqual([what, true, true]);
  }
  // bytes that are no text are not counted as one
  const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } };
  expect(estimatePrompt([{ role: "user", content: [picture] } as unknown as Message])).toBeLessThan(300);
});
