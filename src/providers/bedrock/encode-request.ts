// Encodes a chat request as a request to Converse or ConverseStream:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
import type { ChatParams, ChatRequest, ResponseFormat } from "../../core/chat.ts";
import { isObject, mergeObjects, type JsonObject, present } from "../../core/json.ts";
import { reservedParameter } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { planJsonOutput, type JsonOutput, type JsonOutputMemo } from "../claude/json-output.ts";
import { planThinking } from "../claude/reasoning-effort.ts";
import { leftOfTools } from "../claude/strict-tools.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import { type EncodedRequest, mappedNames, type WirePlaces, jsonPost } from "../interface/encoded-request.ts";
import { toolName } from "../conversation/tool-calls.ts";
import { modelUrl } from "./address.ts";
import { encodeConversation } from "./encode-messages.ts";
import { encodeTools } from "./encode-tools.ts";
import { familyOf, type FamilyFacts, type ReasoningForm } from "./models.ts";
import { encodeEffort } from "./reasoning.ts";

/** RESERVED_PATHS covers members of objects, such as the output bound. */
export const RESERVED: ReadonlySet<string> = new Set(["modelId", "messages", "system", "toolConfig", "stream"]);

/** Converse's own top-level fields. Every other name is a field of the model. */
const TOP_LEVEL: ReadonlySet<string> = new Set([
  "additionalModelRequestFields",
  "additionalModelResponseFieldPaths",
  "guardrailConfig",
  "inferenceConfig",
  "outputConfig",
  "performanceConfig",
  "promptVariables",
  "requestMetadata",
  "serviceTier",
]);

/**
 * The same reserved fields under the models' own names, with which a pass-through could otherwise bypass the gateway.
 */
const RESERVED_PATHS: readonly RegExp[] = [
  /^inferenceConfig\.maxTokens$/,
  /^additionalModelRequestFields\.(?:model|messages|system|prompt|max_tokens|max_tokens_to_sample|max_completion_tokens|max_gen_len|maxTokens|n|num_generations|numResults|stream|tools|tool_choice|toolConfig|mcp_servers)$/,
  /^additionalModelRequestFields\.inferenceConfig\.(?:maxTokens|max_new_tokens)$/,
  /^additionalModelRequestFields\.textGenerationConfig\.maxTokenCount$/,
];

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const facts = familyOf(target.model);
  const passed = placed(request.extra);
  const conversation = encodeConversation(request.messages, facts);
  const { params, left, forcingRefused } = planThinking(
    request.params,
    modelFieldsOf(passed),
    conversation.messages,
    facts.claude,
  );
  const json = planJsonOutput(params.response_format, {
    facts: { jsonSchema: facts.jsonSchema, forcedTools: facts.tools && facts.toolChoice !== "none" },
    forcingRefused,
    toolNames: (params.tools ?? []).map(toolName),
  });
  const { toolConfig, modelFields, answerTool } = encodeTools(
    withoutOwnChoice(request, conversation.usesTools),
    json,
    facts,
    conversation.usesTools,
  );
  const inferenceConfig = encodeInference(params);
  const maxTokens = params.max_completion_tokens ?? params.max_tokens;
  const additionalModelRequestFields = {
    ...modelFields,
    ...encodeEffort(params.reasoning_effort, facts, maxTokens, request.written?.reasoningSummary !== undefined),
  };
  const { service_tier: tier } = params;
  const encoded: JsonObject = {
    messages: conversation.messages,
    ...(conversation.system.length > 0 && { system: conversation.system }),
    ...(Object.keys(inferenceConfig).length > 0 && { inferenceConfig }),
    ...(toolConfig !== undefined && { toolConfig }),
    ...(json?.kind === "format" && { outputConfig: { textFormat: textFormat(json.format, params.response_format!) } }),
    ...(tier !== undefined && tier !== "auto" && { serviceTier: { type: tier } }),
    ...(Object.keys(additionalModelRequestFields).length > 0 && { additionalModelRequestFields }),
  };
  const memo: JsonOutputMemo = { answerTool };
  const url = modelUrl(target, params.stream === true ? "converse-stream" : "converse");
  return {
    request: jsonPost(url, target.headers, mergeObjects(encoded, passed, keepEncoded)),
    memo,
    left: [...left, ...(facts.jsonSchema ? leftOfTools(params.tools ?? []) : [])],
    // only explanations read it
    get mapped() {
      return mappedNames(params, placesOf(params, json, facts));
    },
  };
}

function encodeInference(params: ChatParams): JsonObject {
  return present({
    maxTokens: params.max_completion_tokens ?? params.max_tokens,
    temperature: params.temperature,
    topP: params.top_p,
    stopSequences: stopSequences(params.stop),
  });
}

/**
 * Converse takes the schema as a JSON string:
 * https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
 */
function textFormat({ schema }: JsonObject, format: ResponseFormat): JsonObject {
  const { name, description } =
    format.type === "json_schema" ? format.json_schema : { name: "answer", description: undefined };
  return {
    type: "json_schema",
    structure: {
      jsonSchema: { name, schema: JSON.stringify(schema), ...(typeof description === "string" && { description }) },
    },
  };
}

/** Puts pass-through fields in their places. Null means "not set". */
function placed(extra: JsonObject): JsonObject {
  const names = Object.keys(extra);
  if (names.length === 0) return extra;
  const top = Object.fromEntries(
    names.filter((name) => TOP_LEVEL.has(name) && extra[name] !== null).map((name) => [name, extra[name]]),
  );
  const own = Object.fromEntries(names.filter((name) => !TOP_LEVEL.has(name)).map((name) => [name, extra[name]]));
  const passed =
    Object.keys(own).length === 0 ? top : mergeObjects(top, { additionalModelRequestFields: own }, keepEncoded);
  refuseReserved(passed, "");
  return passed;
}

function refuseReserved(value: JsonObject, path: string): void {
  for (const [name, member] of Object.entries(value)) {
    const at = path === "" ? name : `${path}.${name}`;
    if (member !== null && RESERVED_PATHS.some((reserved) => reserved.test(at)))
      throw reservedParameter(at, `${at} is what the gateway itself sends; use the common parameter for it.`);
    // No reserved path is deeper.
    if (isObject(member) && at.split(".").length < 3) refuseReserved(member, at);
  }
}

function modelFieldsOf({ additionalModelRequestFields: fields }: JsonObject): JsonObject {
  return isObject(fields) ? fields : {};
}

/**
 * In the last round of a call with tool servers, the gateway sets tool_choice to `none`. Converse has no such choice
 * and requires the tools when the conversation uses them, so the choice is left out.
 */
function withoutOwnChoice({ params, offered }: ChatRequest, usesTools: boolean): ChatParams {
  if (!usesTools || offered?.choice !== "none") return params;
  const { tool_choice: _none, ...others } = params;
  return others;
}

/** The field of each family for `reasoning_effort`. */
const EFFORT_FIELDS: Readonly<Partial<Record<ReasoningForm, string>>> = {
  nova: "reasoningConfig",
  gpt_oss: "reasoning_effort",
  openai: "reasoning.effort",
  qwen: "reasoning_config",
};

function placesOf({ parallel_tool_calls: parallel }: ChatParams, json: JsonOutput, facts: FamilyFacts): WirePlaces {
  const fields = "additionalModelRequestFields";
  return [
    ["max_completion_tokens", "inferenceConfig.maxTokens"],
    ["temperature", "inferenceConfig.temperature"],
    ["top_p", "inferenceConfig.topP"],
    ["stop", "inferenceConfig.stopSequences"],
    ["tools", "toolConfig.tools"],
    ["tool_choice", "toolConfig.toolChoice"],
    parallel === false && ["parallel_tool_calls", `${fields}.tool_choice.disable_parallel_tool_use`],
    ["service_tier", "serviceTier.type"],
    ["reasoning_effort", `${fields}.${facts.claude === null ? EFFORT_FIELDS[facts.reasoning] : "thinking"}`],
    json !== null && ["response_format", json.kind === "format" ? "outputConfig.textFormat" : "a forced tool call"],
  ];
}
