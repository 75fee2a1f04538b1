// Encodes a chat request as a request to the Messages API: https://platform.claude.com/docs/en/api/messages
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { mergeObjects, type JsonObject, present } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { conflict, keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import { type EncodedRequest, mappedNames, type WirePlaces, jsonPost } from "../interface/encoded-request.ts";
import { toolName } from "../conversation/tool-calls.ts";
import { betasOfBlocks, betasOfTools } from "./dialect.ts";
import { FILES_BETA } from "./encode-content.ts";
import { encodeConversation } from "./encode-messages.ts";
import { encodeTools, type EncodedTools } from "./encode-tools.ts";
import { planJsonOutput, type JsonOutput, type JsonOutputMemo } from "../claude/json-output.ts";
import { factsOf, type ModelFacts } from "../claude/models.ts";
import { encodeThinking, planThinking } from "../claude/reasoning-effort.ts";
import { leftOfTools } from "../claude/strict-tools.ts";
import { containerOf } from "./turn-content.ts";

export const API_VERSION = "2023-06-01";

/** A caller's `metadata` is never sent to a provider. */
export const RESERVED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "max_tokens",
  "stop_sequences",
  "stream",
  "tools",
  "tool_choice",
  "mcp_servers",
  "metadata",
]);

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { body, betas, ...others } = encodeMessagesBody(request, target, factsOf(target.model));
  const version = target.settings["api_version"] ?? API_VERSION;
  const headers = { "anthropic-version": version, ...headersWithBetas(target.headers, betas) };
  return { request: jsonPost(messagesUrl(target.baseUrl), headers, body), ...others };
}

/**
 * The body with all pass-through fields, for every platform that serves the Messages API. `facts` state what the model
 * accepts there; `betas` of the result are beta features that the body needs. Throws as encodeRequest does.
 */
export function encodeMessagesBody(request: ChatRequest, target: Target, facts: ModelFacts) {
  const { extra } = request;
  const conversation = encodeConversation(request.messages, facts);
  const { params, left, forcingRefused } = planThinking(request.params, extra, conversation.messages, facts);
  const json = planJsonOutput(params.response_format, {
    facts,
    forcingRefused,
    toolNames: (params.tools ?? []).map(toolName),
  });
  const tools = encodeTools(params, json);
  const maxTokens =
    params.max_completion_tokens ?? params.max_tokens ?? target.facts.maxOutputTokens ?? facts.maxOutputTokens;
  const container = extra["container"] === undefined ? containerOf(request.messages) : null;
  const encoded: JsonObject = {
    model: target.model,
    max_tokens: maxTokens,
    ...(conversation.system !== undefined && { system: conversation.system }),
    messages: conversation.messages,
    ...tools,
    ...encodeSampling(params),
    ...mergeObjects(
      encodeThinking(params.reasoning_effort, facts, maxTokens, request.written?.reasoningSummary !== undefined),
      json?.kind === "format" ? { output_config: { format: json.format } } : {},
      keepEncoded,
    ),
    ...(params.stream === true && { stream: true }),
    ...(container !== null && { container }),
  };
  return {
    body: withPassThrough(encoded, extra),
    betas: [
      ...(conversation.uploadedFiles ? [FILES_BETA] : []),
      ...betasOfBlocks(conversation.messages),
      ...betasOfTools((tools.tools ?? []).map((tool) => tool["type"])),
    ],
    memo: memoOf(json, tools),
    mapped: mappedNames(params, placesOf(params, json)),
    left: [...left, ...leftOfTools(params.tools ?? [])],
  };
}

function memoOf(json: JsonOutput, { tools }: EncodedTools): JsonOutputMemo {
  return { answerTool: json?.kind === "tool" && tools?.includes(json.tool) === true ? json.tool.name : null };
}

/** Some configured addresses end with the version, as the addresses of other vendors do. */
export function messagesUrl(baseUrl: string): string {
  return baseUrl.endsWith("/v1") ? `${baseUrl}/messages` : `${baseUrl}/v1/messages`;
}

/** Joins the caller's own beta features and those that the body needs into one header. */
export function headersWithBetas(headers: Target["headers"], betas: readonly string[]): Record<string, string> {
  const own = (headers["anthropic-beta"] ?? "").split(",").map((beta) => beta.trim());
  const all = [...new Set([...own, ...betas])].filter((beta) => beta !== "");
  return { ...headers, ...(all.length > 0 && { "anthropic-beta": all.join(",") }) };
}

function encodeSampling(params: ChatParams): JsonObject {
  const { temperature, top_p, stop, service_tier: tier } = params;
  const userId = params.safety_identifier ?? params.user;
  return present({
    temperature,
    top_p,
    stop_sequences: stopSequences(stop),
    metadata: userId === undefined ? undefined : { user_id: userId },
    service_tier: tier === "default" ? "standard_only" : tier,
  });
}

function withPassThrough(encoded: JsonObject, extra: JsonObject): JsonObject {
  const reserved = Object.keys(extra).find((name) => RESERVED.has(name));
  if (reserved !== undefined) throw conflict(reserved);
  return mergeObjects(encoded, extra, keepEncoded);
}

function placesOf({ safety_identifier: userId, service_tier: tier }: ChatParams, json: JsonOutput): WirePlaces {
  return [
    ["max_completion_tokens", "max_tokens"],
    ["stop", "stop_sequences"],
    ["safety_identifier", "metadata.user_id"],
    ["tools", "tools[].input_schema"],
    ["tool_choice", "tool_choice.type"],
    ["web_search_options", "tools"],
    ["reasoning_effort", "thinking"],
    ["stream_options", "the last chunk, made by the gateway"],
    userId === undefined && ["user", "metadata.user_id"],
    ["parallel_tool_calls", "tool_choice.disable_parallel_tool_use"],
    tier === "default" && ["service_tier", "service_tier standard_only"],
    json !== null && ["response_format", json.kind === "format" ? "output_config.format" : "a forced tool call"],
  ];
}
