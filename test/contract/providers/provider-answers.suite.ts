// What every provider does with answers: streamed and non-streaming ones agree, and every error has a message. Random
// bytes: provider-fuzz.suite.ts.
import { describe, expect, test } from "bun:test";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { modelNames } from "../../spec/requests/parameter-samples.ts";
import { examplesOf } from "./provider-examples.ts";
import { choicesOfStream, choicesOfWhole, encoded } from "./provider-requests.ts";

export function providerAnswersSuite(provider: Provider): void {
  for (const [path, model] of modelsByForm(provider))
    describe(`as ${model}`, () => {
      answerSuite(provider, path, model);
    });
  errorSuite(provider);
}

/** The first model, and the first of those that are asked in another form. */
export function modelsByForm(provider: Provider): ReadonlyMap<string, string> {
  const byPath = new Map<string, string>();
  for (const model of modelNames(provider)) {
    const path = pathOf(provider, model);
    if (byPath.size === 0 || path.endsWith("/responses")) byPath.set(path, byPath.get(path) ?? model);
  }
  return byPath;
}

function pathOf(provider: Provider, model: string): string {
  return new URL(encoded(provider, {}, { model }).request.url).pathname;
}

function answerSuite(provider: Provider, path: string, model: string): void {
  const { answers, errors } = examplesOf(provider, path);
  test.each(answers.map((example) => [example.name, example] as const))(
    "streamed and non-streaming answers agree: %s",
    (_, { asked = {}, whole, events, choices }) => {
      const { memo } = encoded(provider, asked, { model, dropParams: true });
      expect(choicesOfWhole(provider, whole, memo, model)).toEqual([...choices]);
      expect(choicesOfStream(provider, events, memo, model, choices.length)).toEqual([...choices]);
    },
  );
  test("two streams at once do not mix", () => {
    const [one, other] = [answers[0]!, answers[1]!];
    const decoders = [one, other].map(() => provider.openStream({ model, memo: null }));
    const alone = [one, other].map(({ events }) => said(provider, events, model));
    const mixed = [[], []] as unknown[][];
    for (let at = 0; at < Math.max(one.events.length, other.events.length); at++)
      [one, other].forEach(({ events }, index) => {
        const event = events[at];
        if (event !== undefined && event.data !== "[DONE]") mixed[index]!.push(...decoders[index]!.push(event));
      });
    decoders.forEach((decoder, index) => mixed[index]!.push(...decoder.end()));
    expect(mixed).toEqual(alone.map((chunks) => [...chunks]));
  });
  test.each(errors.map((error) => [error.message, error] as const))(
    "an error inside a 200 is the provider's failure: %s",
    (_, { event, body, message }) => {
      const decoder = provider.openStream({ model, memo: null });
      const streamed = thrownBy(() => decoder.push({ event, data: JSON.stringify(body) }));
      expect(streamed).toBeInstanceOf(StreamError);
      expect((streamed as StreamError).failure.message).toContain(message);
      const whole = thrownBy(() => provider.decodeResponse(JSON.stringify(body), { model, memo: null }));
      expect(whole).toBeInstanceOf(StreamError);
      expect((whole as StreamError).failure.message).toContain(message);
    },
  );
  test("an invalid answer is malformed, and no text of it is repeated", () => {
    for (const body of [
      "",
      "<html><title>It works: secret-word</title></html>",
      "secret-word",
      '"secret-word"',
      "7",
      "null",
      "[]",
      "{}",
      '{"secret-word": 1}',
      '{"choices"',
      "data: {}\n\n",
    ]) {
      const thrown = thrownBy(() => provider.decodeResponse(body, { model, memo: null }));
      if (thrown instanceof StreamError) continue;
      expect([body, thrown instanceof MalformedAnswer]).toEqual([body, true]);
      expect((thrown as Error).message).not.toContain("It works");
    }
  });
}

function said(
  provider: Provider,
  events: readonly { readonly event: string; readonly data: string }[],
  model: string,
): readonly unknown[] {
  const decoder = provider.openStream({ model, memo: null });
  return [...events.filter(({ data }) => data !== "[DONE]").flatMap((event) => decoder.push(event)), ...decoder.end()];
}

/** Undefined when nothing is thrown. */
export function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

export const FAILURE_CLASSES: readonly string[] = [
  "authentication",
  "permission",
  "not_found",
  "rate_limit",
  "quota",
  "context_length",
  "content_policy",
  "invalid_request",
  "overloaded",
  "server",
  "timeout",
];
const WORDS = "The sum of the parts is odd.";
/** Bodies that say something, in all the forms that vendors and the proxies before them have. */
const TELLING: readonly (readonly [form: string, body: string])[] = [
  ["a text", WORDS],
  ["a JSON string", JSON.stringify(WORDS)],
  [
    "{error: {message}}",
    JSON.stringify({ error: { message: WORDS, type: "some_error", code: "some_code", param: null } }),
  ],
  ["{error: text}", JSON.stringify({ error: WORDS })],
  ["{message}", JSON.stringify({ message: WORDS })],
  ["{detail: text}", JSON.stringify({ detail: WORDS })],
  ["{detail: [...]}", JSON.stringify({ detail: [{ loc: ["body", "n"], msg: WORDS, type: "value_error" }] })],
  ["a list with one error", JSON.stringify([{ error: { message: WORDS } }])],
  ["a list of texts", JSON.stringify([WORDS])],
  ["a page with a title", `<!DOCTYPE html><html><head><title>${WORDS}</title></head><body>secret-body</body></html>`],
];
/** Bodies that say nothing: then the status has to. */
const SILENT: readonly (readonly [form: string, body: string])[] = [
  ["nothing", ""],
  ["white space", " \n "],
  ["an empty object", "{}"],
  ["an empty list", "[]"],
  ["null", "null"],
  ["an empty error", '{"error":{}}'],
  ["an empty message", '{"error":{"message":""}}'],
  ["a page without a title", "<html><body></body></html>"],
];
export const STATUSES = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];

function errorSuite(provider: Provider): void {
  test("keeps the message of an error, in whatever form it is sent", () => {
    const faults: string[] = [];
    for (const [form, body] of TELLING)
      for (const status of STATUSES) {
        const { class: failureClass, message, param } = provider.classifyError({ status, body });
        if (!FAILURE_CLASSES.includes(failureClass)) faults.push(`${form}: the class is ${failureClass}`);
        if (!message.includes(WORDS) || /<html|secret-body/i.test(message))
          faults.push(`${form} with ${status}: ${message}`);
        if (param === "") faults.push(`${form}: param is empty`);
      }
    expect(faults).toEqual([]);
  });
  test("reports the status of an error without a message", () => {
    const faults = SILENT.flatMap(([form, body]) =>
      STATUSES.map((status) => [form, status, provider.classifyError({ status, body }).message] as const).filter(
        ([, status, message]) => !message.includes(String(status)),
      ),
    ).map(([form, status, message]) => `${form} with ${status}: ${JSON.stringify(message)}`);
    expect(faults).toEqual([]);
  });
  test("the status decides where nothing else does", () => {
    const classes = Object.fromEntries(
      [400, 401, 403, 404, 429, 500, 502, 503, 504].map((status) => [
        status,
        provider.classifyError({ status, body: "" }).class,
      ]),
    );
    expect(classes).toEqual({
      400: "invalid_request",
      401: "authentication",
      403: "permission",
      404: "not_found",
      429: "rate_limit",
      500: "server",
      502: "server",
      503: "overloaded",
      504: "timeout",
    });
  });
}
