// Masks in what a client wrote: the changes that they make of the text are those of its value, and nothing else changes.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { editsBetween, guardedWritten } from "../../../src/engine/guards/guard-written.ts";
import { textGuard } from "../../../src/engine/guards/text-guard.ts";
import type { WrittenRequest } from "../../../src/core/chat.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { editedJson } from "../../../src/wire/json/json-edit.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { guardsFor } from "../../policies/policy-documents.ts";

const RUNS = drawCount(300, 3_000);
const MAIL = "ada@mail.example.org";
const written = (body: JsonObject): WrittenRequest => ({
  text: JSON.stringify(body),
  body,
  origins: { messages: [], tools: [] },
  untranslated: [],
  advisory: [],
  ownFields: [],
  added: {},
  memo: null,
});
const mask = textGuard(guardsFor({ on: "input", classes: ["email"], action: "mask" }), () => {});

describe("[d12.3] changes between two values", () => {
  test("make of the text of one the other", () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (one, other) => {
          const [before, after] = [one, other].map((each) => JSON.parse(JSON.stringify(each)) as JsonObject) as [
            JsonObject,
            JsonObject,
          ];
          // the body itself is never replaced as a whole
          const edits = editsBetween({ a: before }, { a: after }, []);
          expect(JSON.parse(editedJson(JSON.stringify({ a: before }), edits))).toEqual({ a: after });
        },
      ),
      { numRuns: RUNS },
    );
  });
});

test("[d3.3 d12.3] what a tool is called with, and what the caller says of a call, is text, whatever its members are called", () => {
  const key = "sk_live_0123456789abcdef0123456789abcdef";
  const input = { id: MAIL, type: MAIL, status: MAIL, url: MAIL, signature: key, encrypted_note: key, tags: [MAIL] };
  const body = {
    messages: [{ role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look_up", input }] }],
    metadata: input,
  };
  const guards = guardsFor({ on: "input", classes: ["email"], patterns: ["sk_live_\\w+"], action: "mask" });
  const { masks } = guardedWritten(
    written(body),
    textGuard(guards, () => {}),
  );
  const sent = JSON.parse(editedJson(JSON.stringify(body), masks!)) as typeof body;
  const masked = {
    id: "[email]",
    type: "[email]",
    status: "[email]",
    url: "[email]",
    signature: "[masked]",
    encrypted_note: "[masked]",
    tags: ["[email]"],
  };
  expect([sent.messages[0]!.content[0]!.input, sent.metadata] as object[]).toEqual([masked, masked]);
});

describe("[d3.3 d12.3] masks in a body", () => {
  /** Text in which an address can stand anywhere, and every place of a body that takes one. */
  const texts = fc.oneof(
    fc.string(),
    fc.constant(MAIL),
    fc.string().map((text) => `${text} ${MAIL} ${text}`),
  );
  const blocks = fc.array(
    fc.oneof(
      fc.record({ type: fc.constant("text"), text: texts, later: fc.dictionary(fc.constantFrom("a", "b"), texts) }),
      fc.record({
        type: fc.constant("tool_use"),
        id: fc.constant("t1"),
        name: fc.constant("send"),
        input: fc.dictionary(fc.constantFrom("to", "of"), fc.oneof(texts, fc.array(texts))),
      }),
      fc.record({
        type: fc.constant("function_call"),
        call_id: fc.constant("c"),
        arguments: texts.map((text) => JSON.stringify({ text })),
      }),
      fc.record({ type: fc.constant("function_call_output"), call_id: fc.constant("c"), output: texts }),
    ),
  );
  const bodies = fc.record({
    messages: fc.array(fc.record({ role: fc.constantFrom("user", "assistant"), content: fc.oneof(texts, blocks) })),
    input: fc.oneof(texts, blocks),
    instructions: texts,
    later: fc.array(fc.oneof(texts, fc.array(texts))),
  });

  test("leave no address, keep every byte of a body that has none, and change no other value", () => {
    fc.assert(
      fc.property(bodies, (drawn) => {
        const text = JSON.stringify(drawn);
        const body = JSON.parse(text) as JsonObject;
        const { masks } = guardedWritten(written(body), mask);
        const sent = editedJson(text, masks!);
        expect(sent).not.toContain(MAIL);
        if (!text.includes(MAIL)) expect(sent).toBe(text);
        // the same value with each address replaced, so that nothing else was
        const replaced = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll(MAIL, "[email]")) as Json;
        if (!/@/.test(text.replaceAll(MAIL, ""))) expect(JSON.parse(sent)).toEqual(replaced(body));
      }),
      { numRuns: RUNS },
    );
  });
});
