// Encodes a ChatRequest as the body of generateContent, which is the same for AI Studio and Vertex. Pass-through fields
// go to the top level, and those that Google documents as members of generationConfig go there (promise 6.5).
// https://ai.google.dev/api/generate-content
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, isRawNumber, type Json, type JsonObject } from "../../core/json.ts";
import { reservedParameter, setByGateway, unsupportedValue } from "../../core/refusals.ts";
import { camelCase } from "../../core/text/camel-case.ts";
import type { JoinedText } from "../interface/encoded-request.ts";
import { encodeConversation } from "./encode-contents.ts";
import { encodeGenerationConfig, encodeServiceTier } from "./encode-params.ts";
import { encodeTools, wireName } from "./encode-tools.ts";
import type { GeminiPlatform } from "./platform.ts";

/**
 * Members of generationConfig that have no counterpart among the common parameters. Those of Vertex AI are in
 * https://github.com/googleapis/js-genai (interface GenerationConfig).
 */
const GENERATION_MEMBERS: ReadonlySet<string> = new Set([
  "topK",
  "thinkingConfig",
  "mediaResolution",
  "speechConfig",
  "imageConfig",
  "enableEnhancedCivicAnswers",
  "audioTimestamp",
  "audioTranscriptionConfig",
  "translationConfig",
  "enableAffectiveDialog",
  "routingConfig",
  "modelConfig",
]);

/**
 * Output bound, number of answers and streaming inside objects that may otherwise be passed through, each with the
 * common parameter to use instead.
 */
const RESERVED_INSIDE: Readonly<Record<string, string>> = {
  "generationConfig.maxOutputTokens": "max_completion_tokens",
  "generationConfig.candidateCount": "n",
  "toolConfig.functionCallingConfig.streamFunctionCallArguments": "stream",
};
/** Values that the gateway adds by itself, which a caller's pass-through replaces. */
const GIVES_WAY: ReadonlySet<string> = new Set([
  "generationConfig.thinkingConfig.includeThoughts",
  "toolConfig.includeServerSideToolInvocations",
]);
/** Objects that the gateway encodes too, so that a pass-through is merged into them. */
const MERGED: ReadonlySet<string> = new Set(["generationConfig", "toolConfig"]);

/** "Function calling with a response mime type: 'application/json' is unsupported": https://github.com/symfony/ai/issues/803 */
const BEFORE_3 = /^(?:.*\/)?gemini-[12][.-]/;

/** Throws GatewayError with the path of what cannot be encoded. */
export function encodeBody(request: ChatRequest, model: string, platform: GeminiPlatform): JsonObject {
  const { params } = request;
  const { systemInstruction, contents } = encodeConversation(request.messages, { model, platform, wireName });
  const { tools, toolConfig } = encodeTools(params, model, platform);
  const generationConfig = encodeGenerationConfig(params, model, request.written?.reasoningSummary !== undefined);
  if (tools.length > 0 && generationConfig["responseMimeType"] !== undefined && BEFORE_3.test(model))
    throw unsupportedValue(
      "response_format",
      "response_format cannot be combined with tools on this model; models from Gemini 3 on take both.",
    );
  const serviceTier = platform.serviceTier.place === "member" ? encodeServiceTier(params.service_tier) : null;
  const body: JsonObject = {
    ...(systemInstruction !== null && { systemInstruction }),
    contents,
    ...(tools.length > 0 && { tools }),
    ...(toolConfig !== null && { toolConfig }),
    ...(Object.keys(generationConfig).length > 0 && { generationConfig }),
    ...(serviceTier !== null && { [platform.serviceTier.name]: serviceTier }),
  };
  return Object.keys(request.extra).length === 0 ? body : withExtra(body, request.extra);
}

/**
 * Throws as encodeBody does. Guards have searched the text parts of a message as one text, so only documents that become
 * texts add to it.
 */
export function joinedTexts(
  { messages, blocks }: ChatRequest,
  model: string,
  platform: GeminiPlatform,
): readonly JoinedText[] {
  const joins: JoinedText[] = [];
  if (blocks.has("document")) encodeConversation(messages, { model, platform, wireName }, joins);
  return joins;
}

function withExtra(body: JsonObject, extra: JsonObject): JsonObject {
  const members = new Map(Object.entries(body));
  for (const [name, value] of Object.entries(extra)) {
    const field = camelCase(name);
    if (GENERATION_MEMBERS.has(field)) put(members, "generationConfig", { [field]: value! }, name);
    else if (MERGED.has(field)) put(members, field, value!, name);
    else put(members, members.has(field) ? field : name, value!, name);
  }
  return Object.fromEntries(members);
}

function put(members: Map<string, Json | undefined>, field: string, value: Json, name: string): void {
  if (value === null && members.has(field)) return;
  members.set(
    field,
    isObject(value) && MERGED.has(field)
      ? mergeObject(members.get(field), value, field, name)
      : mergeValue(members.get(field), value, field, name),
  );
}

/** Google accepts both spellings of a name but refuses a body that contains both. */
function mergeObject(there: Json | undefined, added: JsonObject, path: string, spelled: string): JsonObject {
  const members = new Map(isObject(there) ? Object.entries(there) : []);
  for (const [name, value] of Object.entries(added)) {
    const field = camelCase(name);
    const at = `${path}.${field}`;
    const common = RESERVED_INSIDE[at];
    if (common !== undefined && value !== null) throw setByGateway(`${spelled}.${name}`, common);
    const known = members.has(field) ? field : name;
    if (value === null && members.has(known)) continue;
    const deeper = isObject(value) && (isObject(members.get(known)) || at === "toolConfig.functionCallingConfig");
    members.set(
      known,
      deeper
        ? mergeObject(members.get(known), value, at, `${spelled}.${name}`)
        : mergeValue(members.get(known), value!, at, `${spelled}.${name}`),
    );
  }
  return Object.fromEntries(members);
}

function mergeValue(there: Json | undefined, added: Json, path: string, name: string): Json {
  if (there === undefined || GIVES_WAY.has(path) || equal(there, added)) return added;
  throw reservedParameter(
    name,
    `${name} would overwrite what a common parameter of the request says; send one of them.`,
  );
}

function equal(left: Json, right: Json): boolean {
  return left === right || (!isRawNumber(left) && JSON.stringify(left) === JSON.stringify(right));
}
