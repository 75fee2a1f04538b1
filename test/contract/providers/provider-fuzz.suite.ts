// What no bytes and no name of a model change: a decoder gives an answer or one of its own two failures, every error has
// a class and a message, the work is in proportion to the size, and a request stays on its address. It is drawn at random
// once for each code that providers run (provider-code.ts).
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isObject, type JsonObject } from "../../../src/core/json.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { MalformedAnswer, StreamError } from "../../../src/providers/interface/upstream-failure.ts";
import { providers } from "../../../src/providers/registry.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";
import { printedSeed } from "../../harness/time/chance.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { anyModel, staysOnAddress, TAILS } from "./provider-addresses.ts";
import { FAILURE_CLASSES, modelsByForm, STATUSES, thrownBy } from "./provider-answers.suite.ts";
import { bodies, MOST_BYTES, SLOW_BODIES, streams } from "./provider-bytes.ts";
import { addressCode, answerCode, errorCode, oneOfEach, rowOf } from "./provider-code.ts";
import { examplesOf } from "./provider-examples.ts";
import type { WireExamples } from "./wire-examples.ts";

const RUNS = { numRuns: drawCount(200, 2000) };

export function providerFuzzSuite(): void {
  printedSeed("the wire forms of providers");
  describe("addresses", () => {
    test.each(oneOfEach(addressCode).map((provider) => [provider.id, provider] as const))(
      "%s: a request stays on the target's address, whatever the name of the model",
      (_, provider) => {
        const given = fc.property(anyModel, fc.constantFrom(...TAILS), (model, tail) =>
          staysOnAddress(provider, model, tail),
        );
        fc.assert(given, RUNS);
      },
    );
  });
  for (const [provider, path, model] of decoders())
    describe(`answers of ${provider.id} as ${model}`, () => answersSuite(provider, path, model));
  for (const provider of oneOfEach(errorCode)) describe(`errors of ${provider.id}`, () => errorsSuite(provider));
}

/** One model of each code that decodes answers. */
function decoders(): readonly (readonly [provider: Provider, path: string, model: string])[] {
  const all = [...providers.values()].flatMap((provider) =>
    [...modelsByForm(provider)].map(([path, model]) => [provider, path, model] as const),
  );
  const codeOf = ([provider, path]: (typeof all)[number]): string =>
    path.endsWith("/responses") ? "responses" : answerCode(provider);
  return [...Map.groupBy(all, codeOf).values()].map(([first]) => first!);
}

/** The examples of the form with the members in which the code of the provider's row looks beside OpenAI's own. */
function ownExamples(provider: Provider, path: string): WireExamples {
  const examples = examplesOf(provider, path);
  const row = rowOf(provider);
  if (row === undefined || path.endsWith("/responses")) return examples;
  const { usageAt, statusAt, causeAt, billedBeside, reasoningField = "reasoning_content" } = row;
  const billed = Object.values(billedBeside ?? {}).flat();
  const usage = { prompt_tokens: 4, completion_tokens: 3, ...Object.fromEntries(billed.map((name) => [name, 2])) };
  const own: JsonObject = {
    ...(billedBeside !== undefined && { usage }),
    ...(usageAt !== undefined && { usage: null, [usageAt[0]]: { [usageAt[1]]: usage } }),
    ...(statusAt !== undefined && { [statusAt[0]]: { [statusAt[1]]: 0, [statusAt[2]]: "" } }),
  };
  const owned = (value: JsonObject): JsonObject =>
    JSON.parse(JSON.stringify({ ...value, ...own }).replaceAll("reasoning_content", reasoningField)) as JsonObject;
  const caused = causeAt === undefined ? {} : { [causeAt[0]]: { [causeAt[1]]: '{"error":{"message":"behind"}}' } };
  return {
    answers: examples.answers.map((answer) => ({
      ...answer,
      whole: owned(answer.whole),
      events: answer.events.map(({ event, data }) => ({
        event,
        data: data === "[DONE]" ? data : JSON.stringify(owned(JSON.parse(data) as JsonObject)),
      })),
    })),
    errors: examples.errors.map(({ body, ...rest }) => ({
      ...rest,
      body: isObject(body["error"]) ? { ...body, error: { ...body["error"], ...caused } } : body,
    })),
  };
}

const isOwnFault = (thrown: unknown): boolean =>
  thrown === undefined || thrown instanceof StreamError || thrown instanceof MalformedAnswer;

function requireOwnFault(thrown: unknown): void {
  if (!isOwnFault(thrown)) throw thrown;
  if (thrown instanceof StreamError) expect(thrown.failure.message.trim()).not.toBe("");
}

function answersSuite(provider: Provider, path: string, model: string): void {
  const examples = ownExamples(provider, path);
  const context = { model, memo: null };
  test("non-streaming answers of any bytes give an answer, a failure of the provider or a malformed answer, and nothing else", () => {
    const given = fc.property(bodies(examples), (body) =>
      requireOwnFault(
        thrownBy(() => {
          const answer = provider.decodeResponse(body, context);
          expect(Array.isArray(answer.choices)).toBe(true);
          for (const choice of answer.choices)
            expect([isObject(choice), isObject(choice) && isObject(choice.message)]).toEqual([true, true]);
        }),
      ),
    );
    fc.assert(given, RUNS);
  });
  test("streams of any events give chunks, a failure of the provider or a malformed answer, and nothing else", () => {
    const given = fc.property(streams(examples), (events) =>
      requireOwnFault(
        thrownBy(() => {
          const decoder = provider.openStream(context);
          const chunks = events.flatMap((event) => decoder.push(event));
          for (const chunk of [...chunks, ...decoder.end()])
            expect([isObject(chunk), Array.isArray(chunk.choices)]).toEqual([true, true]);
        }),
      ),
    );
    fc.assert(given, RUNS);
  });
  test("answers take time in proportion to their size, whatever they contain", () =>
    isInProportion({
      decodeResponse: (body) => provider.decodeResponse(body, context),
      openStream: (body) => provider.openStream(context).push({ event: "", data: body }),
      "openStream, event error": (body) => provider.openStream(context).push({ event: "error", data: body }),
    }));
}

function errorsSuite(provider: Provider): void {
  test("any bytes get a class and a message", () => {
    const given = fc.property(bodies(ownExamples(provider, "")), fc.constantFrom(...STATUSES, 200), (body, status) => {
      const { class: failureClass, message, param, nativeCode } = provider.classifyError({ status, body });
      expect(FAILURE_CLASSES).toContain(failureClass);
      expect(typeof message).toBe("string");
      expect(message.trim()).not.toBe("");
      for (const word of [param, nativeCode]) expect(word === null || typeof word === "string").toBe(true);
    });
    fc.assert(given, RUNS);
  });
  test("errors take time in proportion to their size, whatever they contain", () =>
    isInProportion({ classifyError: (body) => provider.classifyError({ status: 400, body }) }));
}

async function isInProportion(ways: Readonly<Record<string, (body: string) => unknown>>): Promise<void> {
  const given = SLOW_BODIES.flatMap(([name, bodyOf]) =>
    Object.entries(ways).map(([way, run]) => ({ name: `${way}: ${name}`, bodyOf, run })),
  );
  const grown = (some: typeof given): Promise<number> =>
    growth(
      (bytes) => some.map(({ bodyOf, run }) => ({ body: bodyOf(bytes), run })),
      (made) => {
        for (const { body, run } of made) requireOwnFault(thrownBy(() => run(body)));
      },
      MOST_BYTES / 4,
    );
  const slow: string[] = [];
  if ((await grown(given)) >= MOST_GROWTH)
    for (const one of given) slow.push(`${one.name}: ${Math.round(await grown([one]))} times`);
  expect(slow).toEqual([]);
}
