// Decodes predictions and their streams: https://replicate.com/docs/reference/http and
// https://replicate.com/docs/topics/predictions/streaming
import type { ChatAnswer, ChatChunk, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, jsonIn, isText } from "../../core/json.ts";
import { errorClassifier } from "../openai-compatible/errors.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { chunkOf, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import type { FollowUp } from "../answers/follow-up.ts";
import { parseSentJson } from "../answers/sent-json.ts";
import { mainTokenCount, usageOfText } from "../../core/record/token-count.ts";
import type { ReplicateMemo } from "./encode-request.ts";

/** Classifies the messages of failed predictions: https://replicate.com/docs/topics/predictions/lifecycle */
export const errors = errorClassifier({
  errors: [
    { class: "overloaded", text: /queue is full|out of capacity/i },
    { class: "content_policy", text: /NSFW|flagged as sensitive/i },
  ],
});

const ID = /^[A-Za-z0-9]{10,64}$/;
const STREAM_PATH = /^\/[A-Za-z0-9._~/-]{1,512}$/;
const PENDING: ReadonlySet<unknown> = new Set(["starting", "processing"]);
/** The interval of the vendor's own client. */
const POLL_MS = 500;
const OWN_BASE = "https://api.replicate.com";
/** The hosts of streams. The first is used unless the response names the other. */
const STREAM_HOSTS = ["stream.replicate.com", "streaming.api.replicate.com"];

/**
 * Polls the prediction again, or requests its stream. The response supplies an id and a path, both of which are
 * checked, and never the host. The vendor runs a prediction to its end, unless it is cancelled:
 * https://replicate.com/docs/reference/http#predictions.cancel
 */
export function followUp(body: string, { memo }: DecodeContext): FollowUp | null {
  const prediction = predictionOf(body);
  if (!PENDING.has(prediction["status"])) return null;
  const { baseUrl, stream } = memo as ReplicateMemo;
  const address = stream ? streamAddress(prediction, baseUrl) : null;
  const { id } = prediction;
  const own = typeof id === "string" && ID.test(id) ? `${baseUrl}/v1/predictions/${id}` : null;
  const headers = { accept: "application/json" };
  const ending = own === null ? {} : { ending: { url: `${own}/cancel`, headers, body: "" } };
  if (address !== null)
    return {
      request: {
        method: "GET",
        url: address,
        headers: { accept: "text/event-stream", "cache-control": "no-store" },
        body: "",
      },
      waitMs: 0,
      ...ending,
    };
  if (own === null) throw new MalformedAnswer("The provider's prediction has no valid id.");
  return { request: { method: "GET", url: own, headers, body: "" }, waitMs: POLL_MS, ...ending };
}

/** `null` for a model that does not stream: its answer then comes in one piece. */
function streamAddress({ urls }: JsonObject, baseUrl: string): string | null {
  const given = isObject(urls) ? urls["stream"] : undefined;
  if (typeof given !== "string") return null;
  const url = URL.parse(given);
  if (url === null || !STREAM_PATH.test(url.pathname) || url.pathname.includes(".."))
    throw new MalformedAnswer("The provider's prediction has an invalid stream URL.");
  if (baseUrl !== OWN_BASE) return baseUrl + url.pathname;
  return `https://${STREAM_HOSTS.find((host) => host === url.host) ?? STREAM_HOSTS[0]!}${url.pathname}`;
}

/** Throws StreamError for an error and MalformedAnswer for a body that is not a prediction. */
function predictionOf(body: string): JsonObject {
  const parsed = parseSentJson(body, "answer");
  if (!isObject(parsed) || typeof parsed["status"] !== "string") {
    if (errors.isError(parsed)) throw new StreamError(errors.classifyParsed(200, parsed, body));
    throw new MalformedAnswer("The provider's answer is not a prediction.");
  }
  return parsed;
}

export function decodeResponse(body: string): ChatAnswer {
  const { id, status, output, error, metrics } = predictionOf(body);
  if (status !== "succeeded") throw failureOf(status, error);
  const usage = usageOf(metrics);
  return {
    ...(typeof id === "string" && { id }),
    choices: [{ index: 0, message: { content: textOf(output) }, finish_reason: "stop" }],
    ...(usage !== null && { usage }),
  };
}

function failureOf(status: Json | undefined, error: Json | undefined): StreamError | MalformedAnswer {
  if (PENDING.has(status)) return new MalformedAnswer("The provider's prediction is not finished.");
  if (status !== "failed" && status !== "canceled" && status !== "aborted")
    return new MalformedAnswer("The provider's prediction has an unknown status.");
  const message =
    typeof error === "string" && error.trim() !== "" ? error : `The prediction ended with the status ${status}.`;
  return new StreamError(errors.classifyParsed(200, { error: message }, message));
}

/** The output is a text or a list of its pieces. Any other output is returned as JSON. */
function textOf(output: Json | undefined): string {
  if (typeof output === "string") return output;
  if (output === null || output === undefined) return "";
  if (Array.isArray(output) && (output as readonly Json[]).every((piece) => typeof piece === "string"))
    return output.join("");
  return JSON.stringify(output);
}

function usageOf(metrics: Json | undefined): Usage | null {
  const { input_token_count: prompt, output_token_count: generated } = isObject(metrics) ? metrics : {};
  return typeof prompt === "number" && typeof generated === "number"
    ? usageOfText(mainTokenCount(prompt), mainTokenCount(generated))
    : null;
}

export function openStream(): StreamDecoder {
  return {
    isPlainText: true,
    push({ event, data }): readonly ChatChunk[] {
      switch (event) {
        case "output":
          return [chunkOf({ content: data })];
        case "error":
          throw new StreamError(errors.classify({ status: 200, body: data }));
        case "done":
          return ended(data);
        default:
          // Logs and undocumented events are ignored.
          return [];
      }
    },
    end: () => [],
  };
}

/** The data is `{}`, or gives the reason why the prediction ended early. */
function ended(data: string): readonly ChatChunk[] {
  const reason = reasonOf(data);
  if (reason !== null)
    throw new StreamError(errors.classifyParsed(200, { error: `The prediction was ended: ${reason}.` }, data));
  return [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }];
}

function reasonOf(data: string): string | null {
  const parsed = jsonIn(data);
  return isObject(parsed) && isText(parsed["reason"]) ? parsed["reason"] : null;
}
