// Requests, targets and answers for the provider suite, on the real path: parsed, fitted, encoded; decoded, made
// strict.
import { StreamSerializer } from "../../../src/operations/chat/stream-serializer.ts";
import { StreamNormalizer } from "../../../src/engine/stream/stream-normalizer.ts";
import { fitRequest } from "../../../src/engine/fit/fit.ts";
import { parseChatRequest } from "../../../src/engine/request/parse.ts";
import { nonStreamingAnswer } from "../../../src/engine/answer/non-streaming-answer.ts";
import type { AnswerFrame } from "../../../src/engine/answer/strict-fields.ts";
import type { ChatRequest, Usage } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Principal } from "../../../src/core/identity.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Target } from "../../../src/core/target.ts";
import type { EncodedRequest } from "../../../src/providers/interface/encoded-request.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import { readStream } from "../../harness/sse.ts";
import { modelNames } from "../../spec/requests/parameter-samples.ts";
import type { SeenChoice } from "./wire-examples.ts";
import { targetFor } from "../../harness/targets.ts";

const EVERYTHING_ALLOWED: Principal = {
  tokenId: "t",
  tokenKind: "project",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer",
  permissions: new Set(["byo_endpoint", "custom_price", "debug"]),
  restrictions: null,
};
export const HELLO: readonly JsonObject[] = [{ role: "user", content: "Hello" }];

export function targetOf(provider: Provider, model = modelNames(provider)[0]!): Target {
  return targetFor(provider, { model, headers: { "x-of-caller": "kept" } });
}

export interface FitOptions {
  readonly model?: string;
  readonly dropParams?: boolean;
}

/** The request as the provider gets it. Throws GatewayError. */
export function fitted(
  provider: Provider,
  body: JsonObject,
  { model, dropParams = false }: FitOptions = {},
): ChatRequest {
  const target = targetOf(provider, model);
  const request = parseChatRequest(
    JSON.stringify({ model: `${provider.id}:${target.model}`, messages: HELLO, ...body }),
  );
  return fitRequest(request, provider, target, { dropParams, disableStopSequenceLimit: false }, EVERYTHING_ALLOWED)
    .request;
}

/** Throws GatewayError. */
export function encoded(provider: Provider, body: JsonObject, options: FitOptions = {}): EncodedRequest {
  return provider.encodeRequest(fitted(provider, body, options), targetOf(provider, options.model));
}

export function wireBody({ request }: EncodedRequest): JsonObject {
  return JSON.parse(request.body) as JsonObject;
}

/** All that a parameter can change. */
export function onTheWire({ request }: EncodedRequest): string {
  return `${request.url} ${JSON.stringify(request.headers)} ${request.body}`;
}

export function refusalOf(run: () => unknown): GatewayError | null {
  try {
    run();
    return null;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
}

export const frameOf = (provider: Provider, choices: number): AnswerFrame => ({
  traceId: "0af7651916cd43dd8448eb211c80319c",
  model: `${provider.id}:m`,
  route: "direct",
  nowSeconds: 1_760_000_000,
  sameShape: provider.sameShape,
  legacyFunctions: false,
  choices,
  leastChoices: 1,
  isRepeated: false,
});
const NO_FIGURES = (): Usage => ({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 });

/** What a client gets of a whole answer. */
export function choicesOfWhole(
  provider: Provider,
  whole: JsonObject,
  memo: unknown,
  model: string,
): readonly SeenChoice[] {
  const answer = provider.decodeResponse(JSON.stringify(whole), { model, memo });
  const { choices } = nonStreamingAnswer(answer, frameOf(provider, answer.choices.length), NO_FIGURES).body as {
    readonly choices: readonly Record<string, any>[];
  };
  return choices.map((choice) => seen(choice["message"] as JsonObject, choice["finish_reason"] as string));
}

/** What a client gets of a stream, put together. Fails when it is not complete. */
export function choicesOfStream(
  provider: Provider,
  events: readonly SseEvent[],
  memo: unknown,
  model: string,
  choices: number,
): readonly SeenChoice[] {
  const decoder = provider.openStream({ model, memo });
  const frame = frameOf(provider, choices);
  const normalizer = new StreamNormalizer(frame, new StreamSerializer(frame, false));
  let text = "";
  for (const event of events)
    if (event.data !== "[DONE]") for (const chunk of decoder.push(event)) text += normalizer.write(chunk);
  for (const chunk of decoder.end()) text += normalizer.write(chunk);
  if (!normalizer.isComplete) throw new Error("the stream is not complete");
  return assembled(readStream(text + normalizer.finish(normalizer.reported.usage ?? NO_FIGURES())).events);
}

function assembled(events: readonly Record<string, any>[]): readonly SeenChoice[] {
  const messages: Record<string, any>[] = [];
  const finishes: string[] = [];
  for (const { index, delta, finish_reason: finish } of events.flatMap(
    (event) => event["choices"] as readonly Record<string, any>[],
  )) {
    const message = (messages[index as number] ??= {});
    for (const name of ["content", "refusal", "reasoning_content"])
      if (typeof delta[name] === "string") message[name] = ((message[name] as string | undefined) ?? "") + delta[name];
    for (const name of ["reasoning_details", "annotations"])
      if (delta[name] !== undefined)
        message[name] = [...((message[name] as unknown[] | undefined) ?? []), ...delta[name]];
    for (const call of (delta.tool_calls ?? []) as readonly Record<string, any>[]) {
      const calls = (message["tool_calls"] ??= []) as Record<string, any>[];
      const known = (calls[call["index"] as number] ??= {
        id: call["id"],
        function: { name: call["function"].name, arguments: "" },
      });
      known["function"].arguments += call["function"].arguments as string;
    }
    if (finish !== null) finishes[index as number] = finish as string;
  }
  return messages.map((message, index) => seen(message, finishes[index]!));
}

function seen(message: Record<string, any>, finish: string): SeenChoice {
  const filled = (name: string): string | undefined =>
    typeof message[name] === "string" && message[name] !== "" ? message[name] : undefined;
  const list = (name: string): readonly any[] | undefined =>
    Array.isArray(message[name]) && message[name].length > 0 ? message[name] : undefined;
  const [text, refusal, reasoning, details, annotations, calls] = [
    filled("content"),
    filled("refusal"),
    filled("reasoning_content"),
    list("reasoning_details"),
    list("annotations"),
    list("tool_calls"),
  ];
  return {
    ...(text !== undefined && { text }),
    ...(refusal !== undefined && { refusal }),
    ...(reasoning !== undefined && { reasoning }),
    ...(details !== undefined && { details }),
    ...(calls !== undefined && {
      calls: calls.map((call) => ({
        name: call.function.name as string,
        arguments: call.function.arguments as string,
      })),
    }),
    ...(annotations !== undefined && { annotations }),
    finish,
  };
}
