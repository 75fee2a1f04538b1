// The input of a call in pieces: at each of them it says the same as a reading of all that has come.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { CallInput } from "../../../src/operations/messages/call-input.ts";
import { parseObject } from "../../../src/providers/conversation/tool-calls.ts";

const json = fc.oneof(
  fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value)),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  fc.constantFrom(
    '{"a":"}\\"{"}',
    ' \n{"a":[{},{}]} ',
    "{]",
    "[}",
    '{"a":1}}',
    '"{}"',
    "null",
    "{}{}",
    '{"a":"\\\\"}',
    "x{}",
  ),
);

test("[d12.4] an input is complete with the piece with which it becomes an object, and is written from its beginning", () => {
  fc.assert(
    fc.property(json, fc.array(fc.nat({ max: 5 })), (text, lengths) => {
      const input = new CallInput("");
      let at = 0;
      let written = "";
      let wasComplete = false;
      for (const length of [...lengths, text.length]) {
        const piece = text.slice(at, at + length);
        at += length;
        input.add(piece);
        const sent = text.slice(0, at);
        written += input.takeUnwritten();
        wasComplete ||= parseObject(sent) !== null;
        expect([input.text, input.isComplete, written]).toEqual([sent, wasComplete, /^\s*\{/.test(sent) ? sent : ""]);
      }
    }),
    { numRuns: 500 },
  );
});
