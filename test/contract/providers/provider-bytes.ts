// Bytes that a provider, a proxy before it or an attacker could send: any text, any JSON, answers of the wire form with a piece exchanged, and texts that
// make careless patterns and loops slow.
import fc from "fast-check";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import type { WireExamples } from "./wire-examples.ts";

const anyText = fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), fc.string({ maxLength: 200 }));
const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
/** What stands where it should not, more often than chance would have it. */
const oddValue: fc.Arbitrary<Json | undefined> = fc.oneof(
  fc.constantFrom<(Json | undefined)[]>(
    null,
    undefined,
    "",
    0,
    -1,
    1.5,
    1e308,
    true,
    [],
    {},
    [null],
    [[]],
    "null",
    "-",
    599,
    200,
  ),
  anyJson,
);

type Path = readonly (string | number)[];

function pathsOf(value: Json | undefined, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return [
    path,
    ...Object.entries(value).flatMap(([key, member]) =>
      pathsOf(member as Json, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

/** A copy with another value at the path; undefined takes the member away. */
function withValueAt(value: Json, path: Path, other: Json | undefined): Json | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return other;
  if (Array.isArray(value))
    return (value as readonly Json[])
      .flatMap((item, index) => (index === step ? [withValueAt(item, rest, other)] : [item]))
      .filter((item) => item !== undefined);
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([key, member]) => {
      const changed = key === step ? withValueAt(member as Json, rest, other) : (member as Json);
      return changed === undefined ? [] : [[key, changed]];
    }),
  );
}

/** One to three places of the value hold something else. */
function exchanged(value: JsonObject): fc.Arbitrary<string> {
  const change = fc.tuple(fc.nat(), oddValue);
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    let text: Json = value;
    for (const [at, other] of changes) {
      const paths = pathsOf(text);
      text = withValueAt(text, paths[at % paths.length]!, other) ?? null;
    }
    return JSON.stringify(text);
  });
}

/** Cut off anywhere. */
const shortened = (text: string): fc.Arbitrary<string> => fc.nat({ max: text.length }).map((end) => text.slice(0, end));

export function bodies({ answers, errors }: WireExamples): fc.Arbitrary<string> {
  const whole = [...answers.map((answer) => answer.whole), ...errors.map(({ body }) => body)];
  return fc.oneof(
    anyText,
    anyJson.map((value) => JSON.stringify(value)),
    ...whole.map(exchanged),
    ...whole.map((value) => shortened(JSON.stringify(value))),
  );
}

/** A stream of the form in which some events are exchanged, doubled, left out or out of order. */
export function streams({ answers }: WireExamples): fc.Arbitrary<readonly SseEvent[]> {
  const events = answers.flatMap((answer) => answer.events).filter(({ data }) => data !== "[DONE]");
  const name = fc.oneof(
    fc.constantFrom(...new Set(events.map(({ event }) => event))),
    fc.constantFrom("", "message", "error", "done"),
    anyText,
  );
  const strange = fc.record({
    event: name,
    data: fc.oneof(
      anyText.filter((text) => text !== ""),
      anyJson.map((value) => JSON.stringify(value)),
    ),
  });
  const changed = fc
    .constantFrom(...events)
    .chain(({ event, data }) =>
      (data.startsWith("{")
        ? exchanged(JSON.parse(data) as JsonObject)
        : shortened(data).filter((text) => text !== "")
      ).map((text) => ({ event, data: text })),
    );
  const [first] = events;
  return fc
    .array(
      fc.oneof(
        { weight: 4, arbitrary: fc.constantFrom(...events) },
        { weight: 3, arbitrary: changed },
        { weight: 1, arbitrary: strange },
      ),
      { maxLength: 12 },
    )
    .map((list) => [first!, ...list]);
}

/** To which an error body is read. */
export const MOST_BYTES = 256 * 1024;
const fill = (piece: string, bytes: number): string => piece.repeat(Math.ceil(bytes / piece.length));

/** Bodies of about so many bytes. What is said about them is not checked, only that it is said in time. */
export const SLOW_BODIES: readonly (readonly [name: string, body: (bytes: number) => string])[] = [
  ["nesting without end", (bytes) => fill("[", bytes)],
  ["nested errors", (bytes) => fill('{"error":', bytes)],
  ["one long word", (bytes) => fill("a", bytes)],
  ["white space", (bytes) => fill(" ", bytes)],
  ["tags that do not end", (bytes) => fill("<", bytes)],
  ["titles that do not end", (bytes) => `<html>${fill("<title", bytes)}`],
  ["titles without a word", (bytes) => `<html>${fill("<title>", bytes)}`],
  ...[
    "model ",
    "input token count ",
    "tokens 1 ",
    "exceeds the ",
    "prompt: ",
    "try again in ",
    "maximum context ",
    "rate limit",
    "0",
    '{\\"',
    "api key ",
  ].map(
    (words) =>
      [
        `a message of ${JSON.stringify(words)}`,
        (bytes: number) =>
          JSON.stringify({
            error: {
              message: fill(words, bytes),
              type: "invalid_request_error",
              status: "INVALID_ARGUMENT",
              code: 400,
            },
          }),
      ] as const,
  ),
];
