// What Ollama's native chat API accepts of the common parameters: https://docs.ollama.com/api/chat, and the server's
// own types: https://github.com/ollama/ollama/blob/main/api/types.go
import { NATIVE, UNSUPPORTED, emulated, mapped, type Capability, type CapabilityTable } from "../../core/capability.ts";

const unsupported = (note: string): Capability => ({ ...UNSUPPORTED, note });
const native = (note: string): Capability => ({ ...NATIVE, note });
const option = (name: string, more = ""): Capability => mapped(`options.${name}${more}`);
const recorded = unsupported("the API has no field for it; the gateway keeps it in its record");
const completionOnly = unsupported("for completion targets only");
const noCounterpart = unsupported("no counterpart");

/**
 * The thinking of these models has levels and cannot be switched off: https://docs.ollama.com/capabilities/thinking
 */
const GPT_OSS = /(?:^|\/)gpt-oss/i;

export const capabilities: CapabilityTable = {
  cells: {
    text: mapped(
      "one text a message; several parts are joined by a blank line, as the server joins messages of one role",
    ),
    image_url: mapped("images[] as base64; the gateway fetches addresses; detail has no counterpart"),
    input_audio: mapped("images[] as base64, as the server's own /v1 does; models with audio only"),
    video_url: unsupported("no video in"),
    file: unsupported("no files; send text as a document"),
    document: emulated("its title and text stand in the message; PDF is refused"),
    temperature: option("temperature"),
    top_p: option("top_p"),
    n: emulated("as many calls side by side, each with the prompt of its own; the usage is their sum"),
    stream: native("sent always, because the server streams unless it is told not to"),
    stream_options: emulated("the last line has the counts; the gateway makes the last chunk of them"),
    stop: option("stop"),
    max_tokens: option("num_predict", "; thinking counts"),
    max_completion_tokens: option("num_predict", "; thinking counts"),
    presence_penalty: option("presence_penalty"),
    frequency_penalty: option("frequency_penalty"),
    logit_bias: noCounterpart,
    user: recorded,
    safety_identifier: recorded,
    response_format: mapped("format: json, or the schema; name and strict have no counterpart"),
    seed: option("seed"),
    tools: native("the server reads name, description and the simple keywords of the schema; strict is without effect"),
    tool_choice: { ...emulated("none: no tools are sent; a call cannot be forced"), values: ["none", "auto"] },
    parallel_tool_calls: unsupported("the API cannot forbid parallel calls"),
    logprobs: native("recent servers"),
    top_logprobs: native("recent servers"),
    reasoning_effort: {
      ...mapped("think: none -> false; minimal -> low, xhigh -> max; models that do not think refuse it"),
      values: ["none", "minimal", "low", "medium", "high", "xhigh", "max"],
    },
    verbosity: noCounterpart,
    modalities: unsupported("text out only"),
    audio: unsupported("text out only"),
    prediction: noCounterpart,
    service_tier: noCounterpart,
    store: noCounterpart,
    prompt_cache_key: unsupported("prompts are cached without being asked"),
    web_search_options: unsupported("another API of Ollama's cloud"),
    deployment_id: unsupported("for Azure only"),
    initial_prompt_value: completionOnly,
    roles: completionOnly,
    final_prompt_value: completionOnly,
    bos_token: completionOnly,
    eos_token: completionOnly,
    hf_model_name: completionOnly,
  },
  exceptions: [
    {
      models: GPT_OSS,
      cells: {
        reasoning_effort: {
          ...mapped("think: minimal -> low; this model's thinking cannot be switched off"),
          values: ["minimal", "low", "medium", "high"],
        },
      },
    },
  ],
  verified: { source: "https://docs.ollama.com/api/chat", date: "2026-11-20" },
};
