// Encodes parameters as generationConfig and serviceTier. https://ai.google.dev/api/generate-content#generationconfig
import type { ChatParams, ResponseFormat } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { describe, isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import type { WirePlaces } from "../interface/encoded-request.ts";
import { takesJsonSchema, thinkingFor, thinksByItself } from "./models.ts";
import { openApiSubset } from "./schema-subset.ts";
import type { GeminiPlatform } from "./platform.ts";

const MAX_STOP_SEQUENCES = 5;
const INT32_MAX = 2_147_483_647;

/** Parameters whose values are sent unchanged under another name. */
const RENAMED = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["n", "candidateCount"],
  ["max_completion_tokens", "maxOutputTokens"],
  ["presence_penalty", "presencePenalty"],
  ["frequency_penalty", "frequencyPenalty"],
] as const;

export function wirePlaces({ serviceTier }: GeminiPlatform): WirePlaces {
  return [
    ...RENAMED.map(([name, wire]) => [name, `generationConfig.${wire}`] as const),
    ["max_tokens", "generationConfig.maxOutputTokens"],
    ["stream", "streamGenerateContent"],
    ["stream_options", "the usage of every event"],
    ["stop", "generationConfig.stopSequences"],
    ["seed", "generationConfig.seed"],
    ["response_format", "generationConfig.responseMimeType"],
    ["logprobs", "generationConfig.responseLogprobs"],
    ["top_logprobs", "generationConfig.logprobs"],
    ["reasoning_effort", "generationConfig.thinkingConfig"],
    ["modalities", "generationConfig.responseModalities"],
    ["audio", "generationConfig.speechConfig"],
    ["tools", "tools.functionDeclarations"],
    ["tool_choice", "toolConfig.functionCallingConfig"],
    ["web_search_options", "tools.googleSearch"],
    ["service_tier", serviceTier.name],
  ];
}

/** `showsReasoning`: the client asks for the text of the thinking. Throws GatewayError `unsupported_value` with the path. */
export function encodeGenerationConfig(
  params: ChatParams,
  model: string,
  showsReasoning = false,
): Record<string, Json> {
  const config: Record<string, Json> = {};
  for (const [name, wire] of RENAMED) {
    const value = params[name];
    if (value !== undefined) config[wire] = value;
  }
  if (config["maxOutputTokens"] === undefined && params.max_tokens !== undefined)
    config["maxOutputTokens"] = params.max_tokens;
  putStop(config, stopSequences(params.stop));
  if (params.seed !== undefined) config["seed"] = int32(params.seed);
  if (params.logprobs === true) {
    config["responseLogprobs"] = true;
    if (params.top_logprobs !== undefined && params.top_logprobs > 0) config["logprobs"] = params.top_logprobs;
  }
  if (params.response_format !== undefined) Object.assign(config, responseFormat(params.response_format, model));
  if (params.reasoning_effort !== undefined) config["thinkingConfig"] = thinkingConfig(params.reasoning_effort, model);
  else if (showsReasoning && thinksByItself(model)) config["thinkingConfig"] = { includeThoughts: true };
  if (params.modalities !== undefined) config["responseModalities"] = params.modalities.map(modality);
  if (params.audio !== undefined) config["speechConfig"] = speechConfig(params.audio);
  return config;
}

function refused(param: string, expected: string, value: Json | undefined): GatewayError {
  return unsupportedValue(param, `${param} must be ${expected} for this provider; got ${describe(value)}.`);
}

function putStop(config: Record<string, Json>, sequences: readonly string[] | undefined): void {
  if (sequences === undefined) return;
  if (sequences.length > MAX_STOP_SEQUENCES)
    throw refused("stop", `at most ${MAX_STOP_SEQUENCES} sequences`, sequences);
  config["stopSequences"] = sequences;
}

function int32(seed: Json): number {
  if (typeof seed !== "number" || Math.abs(seed) > INT32_MAX)
    throw refused("seed", `an integer from -${INT32_MAX} to ${INT32_MAX}`, seed);
  return seed;
}

function responseFormat(format: ResponseFormat, model: string): JsonObject {
  if (format.type === "text") return {};
  const responseMimeType = "application/json";
  if (format.type === "json_object") return { responseMimeType };
  const { schema, description } = format.json_schema;
  if (schema === undefined || schema === null) return { responseMimeType };
  const described =
    description === undefined || description === null || schema["description"] !== undefined
      ? schema
      : { ...schema, description };
  if (takesJsonSchema(model)) return { responseMimeType, responseJsonSchema: described };
  return { responseMimeType, responseSchema: openApiSubset(described, "response_format.json_schema.schema") };
}

function thinkingConfig(effort: string, model: string): JsonObject {
  const thinking = thinkingFor(model, effort);
  if (thinking === null) throw refused("reasoning_effort", "an effort that the model has", effort);
  return { ...thinking, ...(effort !== "none" && { includeThoughts: true }) };
}

function modality(word: string): string {
  if (word !== "text" && word !== "image" && word !== "audio")
    throw refused("modalities", `a list of "text", "image" and "audio"`, word);
  return word.toUpperCase();
}

/** The model returns raw 16-bit audio at 24 kHz: https://ai.google.dev/gemini-api/docs/speech-generation */
function speechConfig(audio: JsonObject): JsonObject {
  const { voice, format } = audio;
  if (format !== undefined && format !== null && format !== "pcm16") throw refused("audio.format", '"pcm16"', format);
  const voiceName = isObject(voice) ? voice["id"] : voice;
  if (typeof voiceName !== "string") throw refused("audio.voice", "the name of a prebuilt voice", voice);
  return { voiceConfig: { prebuiltVoiceConfig: { voiceName } } };
}

/** `auto` is the server's default behaviour, so it is not sent. */
export function encodeServiceTier(tier: string | undefined): string | null {
  if (tier === undefined || tier === "auto") return null;
  if (tier === "default") return "standard";
  if (tier === "flex" || tier === "priority") return tier;
  throw refused("service_tier", '"auto", "default", "flex" or "priority"', tier);
}
