// What Cohere's chat API accepts of the common parameters (https://docs.cohere.com/reference/chat), by model:
// https://docs.cohere.com/docs/models
import { NATIVE, UNSUPPORTED, emulated, mapped, type Capability, type CapabilityTable } from "../../core/capability.ts";
import { BEFORE_R7B, NOT_THINKING, TEXT_ONLY, WITHOUT_TOOLS } from "./models.ts";

const unsupported = (note: string): Capability => ({ ...UNSUPPORTED, note });
const native = (note: string): Capability => ({ ...NATIVE, note });
const recorded = unsupported("the API has no field for it; the gateway keeps it in its record");
const completionOnly = unsupported("for completion targets only");
const noCounterpart = unsupported("no counterpart");

export const capabilities: CapabilityTable = {
  cells: {
    text: native("text blocks"),
    image_url: native("an address or a data URI, with detail; vision models only"),
    input_audio: unsupported("no audio in"),
    video_url: unsupported("no video in"),
    file: unsupported("no files; send text as a document"),
    document: mapped(
      "text of a user's message as documents[].data.text with its title, which the answer may cite; in a tool's result a document block; PDF is refused",
    ),
    temperature: { ...native("0 to 1; the provider's default is 0.3"), range: [0, 1] },
    top_p: { ...mapped("p, 0.01 to 0.99; 1 means not set, and the provider's default is 0.75"), range: [0.01, 0.99] },
    n: unsupported("one answer a call"),
    stream: native("stream"),
    stream_options: emulated("the usage is always at the end of the stream; the gateway makes the last chunk of it"),
    stop: mapped("stop_sequences, at most 5"),
    max_tokens: native("thinking counts"),
    max_completion_tokens: mapped("max_tokens; thinking counts"),
    presence_penalty: { ...native("0 to 1"), range: [0, 1] },
    frequency_penalty: { ...native("0 to 1"), range: [0, 1] },
    logit_bias: noCounterpart,
    user: recorded,
    safety_identifier: recorded,
    response_format: mapped(
      "type json_object, with the schema as `json_schema`, and as `schema` for older servers; name and strict have no counterpart; the provider refuses it beside tools or documents",
    ),
    seed: { ...native("not below 0"), range: [0, 2 ** 64] },
    tools: mapped("as they are; strict on any function becomes strict_tools, which holds for all of them"),
    tool_choice: mapped("required -> REQUIRED, none -> NONE, a function -> that tool alone and REQUIRED"),
    parallel_tool_calls: unsupported("the API cannot forbid parallel calls"),
    logprobs: mapped("one entry for each piece of text; the log probability of a piece of several tokens is their sum"),
    top_logprobs: noCounterpart,
    reasoning_effort: {
      ...mapped(
        "thinking: none -> disabled; minimal and low -> token_budget 1,024, medium -> 8,192, high -> enabled without a bound",
      ),
      values: ["none", "minimal", "low", "medium", "high"],
    },
    verbosity: noCounterpart,
    modalities: unsupported("text out only"),
    audio: unsupported("text out only"),
    prediction: noCounterpart,
    service_tier: unsupported("no tiers; the pass-through field priority orders requests"),
    store: noCounterpart,
    prompt_cache_key: unsupported("prompts are cached without being asked"),
    web_search_options: noCounterpart,
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
      models: WITHOUT_TOOLS,
      cells: {
        tools: unsupported("this model has no tool use"),
        tool_choice: unsupported("this model has no tool use"),
      },
    },
    {
      models: BEFORE_R7B,
      cells: {
        tool_choice: {
          ...emulated("none: no tools are sent; models before Command R7B cannot be forced to call one"),
          values: ["none", "auto"],
        },
      },
    },
    { models: NOT_THINKING, cells: { reasoning_effort: unsupported("this model does not think") } },
    { models: TEXT_ONLY, cells: { image_url: unsupported("this model takes text only") } },
  ],
  verified: { source: "https://docs.cohere.com/reference/chat", date: "2026-11-20" },
};
