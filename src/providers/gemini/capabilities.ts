// What Google's generateContent accepts of the common parameters. Source: https://ai.google.dev/api/generate-content
// and the guides beside it.
import {
  FIRST_CALL_ALONE,
  type CapabilityException,
  type CapabilityTable,
  mapped,
  unsupported,
  UNSUPPORTED,
  same,
} from "../../core/capability.ts";
import {
  GEMINI_2_0,
  GEMINI_2_5,
  GEMINI_2_5_PRO,
  GEMMA_1_TO_3,
  IMAGE_MODELS,
  NO_THINKING,
  SPEECH_MODELS,
} from "./models.ts";
import { PROMPT_PARAMETERS } from "../conversation/prompt-parameters.ts";
import { isObject } from "../../core/json.ts";
import { conversationMembers, type ConversationMembers } from "../conversation/conversation-members.ts";

const servedHere = unsupported("the API has no field for it; it is only recorded by the gateway");
const noTools = same(UNSUPPORTED, "tools", "tool_choice", "parallel_tool_calls");
const effort = mapped(
  "generationConfig.thinkingConfig: thinkingLevel, or thinkingBudget 1,024, 1,024, 8,192 and 24,576 on Gemini 2.5; thoughts are included",
);

/** The differences between models that hold on every platform. */
export const MODEL_EXCEPTIONS: readonly CapabilityException[] = [
  { models: GEMMA_1_TO_3, cells: { ...noTools, response_format: UNSUPPORTED, web_search_options: UNSUPPORTED } },
  {
    models: SPEECH_MODELS,
    cells: { ...noTools, audio: mapped("a prebuilt voice in speechConfig; the format must be pcm16 (24 kHz)") },
  },
  { models: IMAGE_MODELS, cells: noTools },
  { models: NO_THINKING, cells: { reasoning_effort: UNSUPPORTED } },
  { models: GEMINI_2_5_PRO, cells: { reasoning_effort: { ...effort, values: ["minimal", "low", "medium", "high"] } } },
  {
    models: GEMINI_2_5,
    cells: { reasoning_effort: { ...effort, values: ["none", "minimal", "low", "medium", "high"] } },
  },
];

export const capabilities: CapabilityTable = {
  cells: {
    text: mapped("parts[].text"),
    image_url: mapped(
      "inlineData for data URIs; fileData for http(s), gs:// and Files API URLs, fetched by Google; detail has no equivalent",
    ),
    input_audio: mapped("inlineData; wav, mp3, aiff, aac, ogg, flac"),
    video_url: mapped("fileData for YouTube, http(s), gs:// and Files API URLs; inlineData for data URIs"),
    file: mapped("inlineData for file_data; fileData for a file_id that is a URL or files/..."),
    document: mapped("inlineData for base64, text for text, fileData for url"),
    temperature: mapped("generationConfig.temperature"),
    top_p: mapped("generationConfig.topP"),
    n: mapped("generationConfig.candidateCount"),
    stream: mapped("streamGenerateContent?alt=sse"),
    stream_options: mapped("every event reports the usage"),
    stop: mapped("generationConfig.stopSequences, at most 5"),
    ...same(mapped("generationConfig.maxOutputTokens, thinking included"), "max_tokens", "max_completion_tokens"),
    presence_penalty: mapped("generationConfig.presencePenalty, below 2; some models refuse it"),
    frequency_penalty: mapped("generationConfig.frequencyPenalty, below 2; some models refuse it"),
    ...same(
      UNSUPPORTED,
      "logit_bias",
      "verbosity",
      "audio",
      "prediction",
      "store",
      "deployment_id",
      ...PROMPT_PARAMETERS,
    ),
    ...same(servedHere, "user", "safety_identifier"),
    response_format: mapped(
      "generationConfig.responseMimeType with responseJsonSchema, or responseSchema before Gemini 2.0; before Gemini 3, cannot be combined with tools",
    ),
    seed: mapped("generationConfig.seed, a 32-bit integer"),
    tools: mapped("tools[].functionDeclarations"),
    tool_choice: mapped("toolConfig.functionCallingConfig: AUTO, NONE, ANY with allowedFunctionNames"),
    parallel_tool_calls: FIRST_CALL_ALONE,
    logprobs: mapped("generationConfig.responseLogprobs"),
    top_logprobs: mapped("generationConfig.logprobs"),
    reasoning_effort: { ...effort, values: ["minimal", "low", "medium", "high"] },
    modalities: mapped("generationConfig.responseModalities; anything but text requires an image or speech model"),
    service_tier: mapped("serviceTier: default is standard, auto is not sent", ["auto", "default", "flex", "priority"]),
    prompt_cache_key: unsupported("caching is automatic, or set with the pass-through field cachedContent"),
    web_search_options: mapped("tools[].googleSearch"),
  },
  exceptions: [
    {
      models: GEMINI_2_0,
      cells: {
        image_url: mapped(
          "inlineData; this model cannot read http(s) URLs, so the gateway fetches them; detail has no equivalent",
        ),
        document: mapped("inlineData for base64, text for text; the gateway fetches URLs"),
      },
    },
    ...MODEL_EXCEPTIONS,
  ],
  verified: { source: "https://ai.google.dev/api/generate-content", date: "2026-11-20" },
};

export const conversation: ConversationMembers = conversationMembers({
  source: "https://ai.google.dev/api/caching#Content",
  // Of the reasoning, only the signatures are sent back: https://ai.google.dev/gemini-api/docs/thought-signatures
  assistant: ["refusal", "images", "reasoning_content", "reasoning_details"],
  tool: ["name"],
  extraContent: ["google"],
  hasSignedReasoning: ({ extra_content: extra }) => isObject(extra) && isObject(extra["google"]),
});
