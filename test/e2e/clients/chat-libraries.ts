// What Vercel's AI SDK and LangChain have to report of failures, whichever operation they ask for, in front of the
// scripted providers.
import type { AIMessageChunk } from "@langchain/core/messages";
import { APICallError, generateText, type LanguageModel, streamText } from "ai";
import { expect } from "bun:test";
import type { FamilyGateway } from "../operations/family-gateway.ts";

/** Returns what a call has thrown; null when it succeeded. */
export const errorOf = (call: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(call).then(
    () => null,
    (thrown: unknown) => thrown,
  );

/** Joins the chunks of a stream of LangChain. */
export async function joined(stream: Promise<AsyncIterable<AIMessageChunk>>): Promise<AIMessageChunk> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of await stream) whole = whole === undefined ? chunk : whole.concat(chunk);
  return whole!;
}

/** The AI SDK has status and words of failures before a stream, and the words of one within a stream. */
export async function expectAiSdkFailures(model: LanguageModel, stage: Pick<FamilyGateway, "goOn">): Promise<void> {
  for (const [word, status] of [
    ["#fail-rate-limit", 429],
    ["#fail-context", 400],
    ["#fail-server", 502],
  ] as const) {
    const failed = await errorOf(generateText({ model, prompt: word, maxRetries: 0 }));
    if (!APICallError.isInstance(failed)) throw new Error("the call did not fail as a call of the API");
    expect([word, failed.statusCode, failed.message !== ""]).toEqual([word, status, true]);
  }
  const raised: unknown[] = [];
  const broken = streamText({
    model,
    prompt: "#broken",
    maxRetries: 0,
    onError: ({ error }) => void raised.push(error),
  });
  const finishes: string[] = [];
  for await (const part of broken.stream) {
    if (part.type === "text-delta") stage.goOn();
    if (part.type === "finish") finishes.push(part.finishReason);
  }
  expect(JSON.stringify(raised)).toContain("The engine stopped.");
  expect(finishes.filter((finish) => finish !== "error")).toEqual([]);
}

/** `stream` asks LangChain for a stream that fails in its middle. */
export async function expectLangchainStreamFails(
  stream: Promise<AsyncIterable<AIMessageChunk>>,
  stage: Pick<FamilyGateway, "goOn">,
): Promise<void> {
  const reading = (async () => {
    for await (const { text } of await stream) if (text !== "") stage.goOn();
  })();
  expect(String(await errorOf(reading))).toContain("The engine stopped.");
}
