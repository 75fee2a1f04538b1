// What only Converse understands (promise 5.7): its own blocks and tools, which a caller may send as `{"type":
// "<name>", "<name>": {...}}`, and the tools that Claude knows by a dated type.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
import type { Dialect } from "../interface/dialect.ts";

/** Blocks in the vendor's own form. */
export const BLOCKS_AS_THEY_ARE: readonly string[] = [
  "image",
  "video",
  "audio",
  "guardContent",
  "cachePoint",
  "searchResult",
  "citationsContent",
  "reasoningContent",
  "toolUse",
  "toolResult",
  "json",
];
/** Tools in the vendor's own form. */
export const TOOLS_AS_THEY_ARE: readonly string[] = ["systemTool", "cachePoint", "toolSpec"];

export const dialect: Dialect = {
  // `guarded_text` is the name that other gateways use for a text that a guardrail has to inspect.
  blocks: [...BLOCKS_AS_THEY_ARE, "guarded_text", "refusal"],
  tools: [...TOOLS_AS_THEY_ARE, "computer_*", "bash_*", "text_editor_*"],
  toolChoices: ["any", "tool"],
  messageRules: ["s3_address"],
};
