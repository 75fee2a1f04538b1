// Lines in the thread of the sinks: parsed once for all of them, and kept parsed in bounded number.
import { expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { lineOf, readLine, recordedCall } from "../../../src/observe/integrations/integration-line.ts";
import { ParsedCalls } from "../../../src/observe/integrations/parsed-calls.ts";
import { prefixed } from "../../../src/observe/integrations/otlp/attributes.ts";
import { parseJson } from "../../../src/wire/json/json.ts";
import { recordOf } from "../../contract/store/call-records.ts";

test("a line has its type, its recipients, and the record and content unchanged, whatever they contain", () => {
  const record = recordOf({
    endUser: "tab\tline\nend\u2028",
    metadata: JSON.parse('{"__proto__":{"a":1},"t":"\\t\\n"}'),
  });
  const content = { messages: [{ role: "user" as const, content: "a\tb\nc" }], tools: [], answers: [] };
  const line = lineOf("end", 0b101, JSON.stringify(record), JSON.stringify(content));
  expect(line).not.toContain("\n");
  const { kind, mask, text } = readLine(line);
  expect([kind, mask]).toEqual(["end", 5]);
  expect(JSON.stringify(recordedCall(text))).toBe(JSON.stringify({ record, content }));
  expect(recordedCall(readLine(lineOf("end", 1, JSON.stringify(record), null)).text).content).toBe(null);
});
test("sinks that get the same line get the same call, and old lines are parsed again on request", () => {
  const parsed = new ParsedCalls();
  const lines = Array.from({ length: 5000 }, () => readLine(lineOf("end", 3, JSON.stringify(recordOf()), null)));
  const first = parsed.of(lines[0]!, 2);
  expect(parsed.of(lines[0]!, 2)).toBe(first);
  const call = first.call();
  expect(first.call()).toBe(call);
  for (const line of lines.slice(1)) parsed.of(line, 2).call();
  expect(first.call()).not.toBe(call);
  expect(first.call()).toEqual(call);
});

test("lines that all sinks have received are not kept parsed, and a call without content is the same for each", () => {
  const parsed = new ParsedCalls();
  const content = { messages: [{ role: "user" as const, content: "said" }], tools: [], answers: [] };
  const line = parsed.of(readLine(lineOf("end", 7, JSON.stringify(recordOf()), JSON.stringify(content))), 5);
  const [withContent, without, again] = [line.take(true), line.take(false), line.take(false)];
  expect([withContent.content, without.content]).toEqual([content, null]);
  expect([again, without.record]).toEqual([without, withContent.record]);
  expect(again).toBe(without);
  // the last of the three has asked
  expect(line.call()).not.toBe(withContent);
  expect(line.take(true)).toEqual(withContent);
});
test("[d11.1] the client's metadata keeps numbers beyond the precision of a double as text, for receivers of spans", () => {
  const metadata = parseJson(
    '{"order":12345678901234567890,"metadata":{"n":[1e400,0.5]},"small":1e-400,"plain":7}',
  ) as JsonObject;
  const { record } = recordedCall(
    readLine(lineOf("end", 1, JSON.stringify(recordOf({ metadata })), '{"messages":[],"tools":[],"answers":[]}')).text,
  );
  expect(JSON.stringify(record.metadata)).toBe(JSON.stringify(metadata));
  expect(prefixed("m.", record.metadata)).toEqual({
    "m.order": "12345678901234567890",
    "m.metadata": '{"n":[1e400,0.5]}',
    "m.small": "1e-400",
    "m.plain": 7,
  });
});
