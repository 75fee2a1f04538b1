// Claude on Bedrock for clients that speak the Messages API: InvokeModel takes its body without model and stream, and
// answers in the same form, a stream in messages of AWS.
// https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html,
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
import type { ChatChunk, ChatRequest } from "../../core/chat.ts";
import { isObject, textOrEmpty } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { betasElsewhere } from "../anthropic/beta-names.ts";
import { CLAUDE_MESSAGES } from "../anthropic/native-messages.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { nativeBody } from "../native/native-body.ts";
import { type DecodeContext, type EncodedRequest, jsonPost } from "../interface/encoded-request.ts";
import type { NativeOperation } from "../interface/native-operation.ts";
import { decoderAround, type StreamDecoder } from "../interface/stream-decoder.ts";
import { StreamError } from "../interface/upstream-failure.ts";
import { parseSentObject } from "../answers/sent-json.ts";
import { modelUrl } from "./address.ts";
import { classifyError } from "./errors.ts";

/** Names may begin with a geography or be ARNs. */
const CLAUDE = /(?:^|[./])anthropic\.claude-/;
const MESSAGES_VERSION = "bedrock-2023-05-31";
/** Members that InvokeModel does not know, because its address says the same. */
const IN_ADDRESS = ["model", "stream"] as const;

export function nativeMessagesOf(model: string): NativeOperation | null {
  return CLAUDE.test(model) ? MESSAGES : null;
}

function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { "anthropic-beta": header, "anthropic-version": _ofAnthropic, ...headers } = target.headers;
  const own = request.written?.body["anthropic_beta"];
  const betas = [...new Set([...betasElsewhere(header), ...(Array.isArray(own) ? (own as readonly string[]) : [])])];
  const url = modelUrl(target, request.params.stream === true ? "invoke-with-response-stream" : "invoke");
  const body = nativeBody(request, [
    ...IN_ADDRESS.map((name) => ({ path: [name], value: undefined })),
    { path: ["anthropic_version"], value: MESSAGES_VERSION },
    ...(betas.length > 0 ? [{ path: ["anthropic_beta"], value: betas }] : []),
  ]);
  return { request: jsonPost(url, headers, body), memo: null };
}

/** Returns the event of the Messages API that a message of AWS holds; `null` for a message that holds none. */
function eventIn({ event: name, data }: SseEvent): SseEvent | null {
  if (name !== "chunk") return null;
  const payload = textOrEmpty(parseSentObject(data, "event")["bytes"]);
  const inside = Buffer.from(payload, "base64").toString();
  return { event: textOrEmpty(parseSentObject(inside, "event")["type"]), data: inside };
}

function openStream(context: DecodeContext): StreamDecoder {
  const inner = CLAUDE_MESSAGES.openStream(context);
  return decoderAround(inner, {
    push(event): readonly ChatChunk[] {
      if (event.event === "error" || /exception$/i.test(event.event))
        throw new StreamError(classifyError({ status: 200, body: event.data }, event.event));
      const inside = eventIn(event);
      return inside === null ? [] : inner.push(inside);
    },
    end: () => inner.end(),
  });
}

/** AWS's own wording in the form of the Messages API, because agents read it. */
function refusalIn(body: string): string | null {
  const sent = readErrorJson(body);
  const message = isObject(sent) ? (sent["message"] ?? sent["Message"]) : undefined;
  return typeof message === "string"
    ? JSON.stringify({ type: "error", error: { type: "invalid_request_error", message } })
    : null;
}

const MESSAGES: NativeOperation = {
  ...CLAUDE_MESSAGES,
  source: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html",
  framing: "aws-event-stream",
  clientQuery: [],
  lacksFeatures: true,
  answerHeaders: [],
  encodeRequest,
  openStream,
  eventIn,
  refusalIn,
};
