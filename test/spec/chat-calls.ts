// Calls of the whole gateway for the chapters on validation, parameters and addresses: a valid request, a provider that
// answers in its own wire form whatever it is asked, and the answer.
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway, type StubOptions } from "../harness/in-process.ts";
import type { UpstreamRequest } from "../../src/wire/upstream.ts";
import { CATALOGUE, type ErrorCode } from "../../src/core/errors.ts";
import { helloFromBedrock, inPayloadParts } from "../harness/servers/aws-events.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../harness/servers/upstream.ts";
import { helloFromNative } from "./operations/native-hellos.ts";
import { helloFromPrompt } from "./cache/prompt-hellos.ts";

export const HELLO = [{ role: "user", content: "Hello" }] as const;

/** One model of each wire family. */
export const MODELS = {
  openai: "openai:gpt-4o",
  anthropic: "anthropic:claude-sonnet-4-5",
  gemini: "gemini:gemini-2.5-flash",
} as const;
export const FAMILIES = Object.values(MODELS);

export const WEATHER = {
  name: "weather",
  description: "Weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;
export const TOOL = { type: "function", function: WEATHER } as const;

export interface ErrorMembers {
  readonly message: string;
  readonly type: string;
  readonly param: string | null;
  readonly code: ErrorCode;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Null on a success. */
  readonly error: ErrorMembers | null;
  /** `<status> <code> <param>` of an error, `200` of a success. */
  readonly outcome: string;
  /** Body of the last request that this call sent to the provider; null when it sent none, or one without a body. */
  readonly wire: Readonly<Record<string, any>> | null;
  readonly request: UpstreamRequest | null;
}

/** A gateway whose providers all say "Hello", plain or streamed, or call the function that they are offered when the conversation says so. */
export function answeringGateway(options: StubOptions = {}): Stub {
  return stubGateway({
    upstream: cannedUpstream(helloFrom),
    // ids of files need the second one
    permissions: ["byo_endpoint", "vendor_objects"],
    ...options,
  });
}

/** Sends the fields beside a model and a conversation, or a text as it is. Throws when an error is not in the one form that errors have. */
export async function ask(
  stub: Stub,
  fields: Readonly<Record<string, unknown>> | string,
  headers: Record<string, string> = {},
): Promise<Asked> {
  const before = stub.sent.length;
  const response = await stub.chat(
    typeof fields === "string" ? fields : { model: MODELS.openai, messages: HELLO, ...fields },
    { headers },
  );
  const text = await response.text();
  const request = stub.sent.length > before ? stub.sent.at(-1)! : null;
  const error = response.status < 400 ? null : readError(response.status, response.headers, text);
  const outcome = error === null ? String(response.status) : `${response.status} ${error.code} ${error.param}`;
  return {
    status: response.status,
    headers: response.headers,
    text,
    error,
    outcome,
    request,
    wire: request === null || request.body === "" ? null : (JSON.parse(request.body) as Record<string, any>),
  };
}

/** The error of an answer; throws unless body and head are what promise 5.1 says of every error. */
export function readError(status: number, headers: Headers, text: string): ErrorMembers {
  const body = JSON.parse(text) as { readonly error: ErrorMembers; readonly x_gateway_trace_id: string };
  const { error, x_gateway_trace_id: traceId } = body;
  const entry = CATALOGUE[error.code];
  const faults = [
    Object.keys(body).join() !== "error,x_gateway_trace_id" && "members of the body",
    !Object.keys(error).every((name) => ["message", "type", "param", "code", "metadata"].includes(name)) &&
      "members of the error",
    (typeof error.message !== "string" || error.message === "") && "message",
    error.param !== null && typeof error.param !== "string" && "param",
    (entry as unknown) === undefined && "code",
    entry?.type !== error.type && "type",
    entry?.status !== status && "status",
    !/^[0-9a-f]{32}$/.test(traceId) && "trace id",
    headers.get("x-request-id") !== traceId && "x-request-id",
    headers.get("x-gateway-trace-id") !== traceId && "x-gateway-trace-id",
    headers.get("content-type") !== "application/json" && "content type",
  ].filter((fault) => fault !== false);
  if (faults.length > 0) throw new Error(`${status} with wrong ${faults.join(", ")}: ${text.slice(0, 500)}`);
  return error;
}

const ANTHROPIC_MESSAGE = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_sequence: null };
const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;

function helloFrom(request: UpstreamRequest): CannedAnswer {
  const native = helloFromNative(request);
  if (native !== null) return native;
  const prompted = helloFromPrompt(request);
  if (prompted !== null) return prompted;
  const body = JSON.parse(request.body) as Readonly<Record<string, any>>;
  const calls = request.body.includes("call the function");
  if (/\/messages$|\/anthropic\/models\/.*:(rawP|streamRawP)redict$/.test(request.url))
    return helloFromAnthropic(body["stream"] === true, calls);
  if (request.url.endsWith("/invocations-response-stream"))
    return inPayloadParts(helloFrom({ ...request, url: "container" }));
  if (/:(streamG|g)enerateContent/.test(request.url)) return helloFromGemini(request.url.includes("alt=sse"), calls);
  if (/\/converse(-stream)?$/.test(request.url)) return helloFromBedrock(request.url.endsWith("-stream"), calls);
  const call = { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } };
  if (body["stream"] !== true && !request.url.includes("_stream"))
    return {
      body: JSON.stringify(
        calls ? openaiAnswer(null, { finish_reason: "tool_calls", message: { tool_calls: [call] } }) : openaiAnswer(),
      ),
    };
  const usage = { usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 }, choices: [] };
  const delta = calls
    ? { role: "assistant", tool_calls: [{ index: 0, ...call }] }
    : { role: "assistant", content: "Hello" };
  return {
    headers: { "content-type": "text/event-stream" },
    body: eventStream(openaiChunk(delta), openaiChunk({}, calls ? "tool_calls" : "stop"), openaiChunk({}, null, usage)),
  };
}

function helloFromAnthropic(streamed: boolean, calls: boolean): CannedAnswer {
  const usage = { input_tokens: 5, output_tokens: 2 };
  const input = { city: "Paris" };
  const block = calls ? { type: "tool_use", id: "toolu_1", name: "weather", input } : { type: "text", text: "Hello" };
  const stop = calls ? "tool_use" : "end_turn";
  if (!streamed) return { body: JSON.stringify({ ...ANTHROPIC_MESSAGE, content: [block], stop_reason: stop, usage }) };
  const delta = calls
    ? { type: "input_json_delta", partial_json: JSON.stringify(input) }
    : { type: "text_delta", text: "Hello" };
  return {
    headers: { "content-type": "text/event-stream" },
    body:
      event("message_start", { message: { ...ANTHROPIC_MESSAGE, content: [], stop_reason: null, usage } }) +
      event("content_block_start", {
        index: 0,
        content_block: calls ? { ...block, input: {} } : { type: "text", text: "" },
      }) +
      event("content_block_delta", { index: 0, delta }) +
      event("content_block_stop", { index: 0 }) +
      event("message_delta", { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 2 } }) +
      event("message_stop", {}),
  };
}

function helloFromGemini(streamed: boolean, calls: boolean): CannedAnswer {
  const part = calls ? { functionCall: { name: "weather", args: { city: "Paris" } } } : { text: "Hello" };
  const answer = JSON.stringify({
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
    modelVersion: "m",
    responseId: "r1",
  });
  return streamed
    ? { headers: { "content-type": "text/event-stream" }, body: `data: ${answer}\r\n\r\n` }
    : { body: answer };
}
