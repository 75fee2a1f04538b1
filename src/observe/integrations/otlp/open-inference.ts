// The attributes of OpenInference, in addition to those of OpenTelemetry, for receivers that read them.
// https://arize-ai.github.io/openinference/spec/semantic_conventions.html
import type { Message, ToolCall, Usage } from "../../../core/chat.ts";
import type { CallContent, AnswerContent } from "../../../core/configured/content.ts";
import { type CallRecord, figureOf, usedBy } from "../../../core/record/record.ts";
import { type AttributeValue, type Attributes, cut, merged } from "./attributes.ts";
import type { Dialect } from "./call-spans.ts";
import { calledTool } from "./span-content.ts";

export const openInference: Dialect = ({ record, content }, part) => {
  if (part.of === "tool")
    return { "openinference.span.kind": "TOOL", "tool.name": cut(part.run.tool), "tool_call.id": cut(part.run.callId) };
  if (part.of === "call")
    return {
      "openinference.span.kind": "CHAIN",
      ...callAttributes(record),
      ...(content !== null && contentAttributes(content)),
    };
  const { provider, vendor, model } = part.attempt;
  const usage = usedBy(part.attempt, record);
  if (record.operation === "embeddings")
    return { "openinference.span.kind": "EMBEDDING", "embedding.model_name": cut(model), ...tokenCounts(usage) };
  if (record.operation === "rerank")
    return { "openinference.span.kind": "RERANKER", "reranker.model_name": cut(model), ...tokenCounts(usage) };
  return {
    "openinference.span.kind": "LLM",
    "llm.provider": vendor ?? provider,
    "llm.system": vendor ?? provider,
    "llm.model_name": cut(model),
    ...tokenCounts(usage),
  };
};

function callAttributes({ endUser, metadata }: CallRecord): Attributes {
  return { "user.id": endUser ?? undefined, metadata: metadata === null ? undefined : JSON.stringify(metadata) };
}

function tokenCounts(usage: Usage | null): Attributes {
  if (usage === null) return {};
  return {
    "llm.token_count.prompt": usage.prompt_tokens,
    "llm.token_count.completion": usage.completion_tokens,
    "llm.token_count.total": usage.total_tokens,
    "llm.token_count.prompt_details.cache_read": figureOf(usage.prompt_tokens_details?.cached_tokens),
    "llm.token_count.prompt_details.cache_write": figureOf(usage.prompt_tokens_details?.cache_write_tokens),
    "llm.token_count.completion_details.reasoning": figureOf(usage.completion_tokens_details?.reasoning_tokens),
  };
}

function contentAttributes({ messages, answers }: CallContent): Attributes {
  const attributes: Record<string, AttributeValue | undefined> = {
    "input.value": JSON.stringify({ messages }),
    "input.mime_type": "application/json",
    "output.value": JSON.stringify(answers),
    "output.mime_type": "application/json",
  };
  for (const [index, message] of messages.entries())
    Object.assign(attributes, messageAttributes(`llm.input_messages.${index}.message.`, message));
  for (const [index, answer] of answers.entries())
    Object.assign(attributes, messageAttributes(`llm.output_messages.${index}.message.`, messageOf(answer)));
  return attributes;
}

function messageOf({ content, toolCalls }: AnswerContent): Message {
  return { role: "assistant", content, ...(toolCalls.length > 0 && { tool_calls: toolCalls }) };
}

function messageAttributes(
  prefix: string,
  { role, content, name, tool_calls: calls = [], tool_call_id: callId }: Message,
): Attributes {
  const text =
    content === null || content === undefined || typeof content === "string" ? content : JSON.stringify(content);
  return {
    [`${prefix}role`]: role,
    [`${prefix}content`]: text ?? undefined,
    [`${prefix}name`]: name,
    [`${prefix}tool_call_id`]: callId,
    ...merged(calls.map((call, index) => callOf(`${prefix}tool_calls.${index}.tool_call.`, call))),
  };
}

function callOf(prefix: string, call: ToolCall): Attributes {
  const { name, input } = calledTool(call);
  return {
    [`${prefix}id`]: call.id,
    [`${prefix}function.name`]: name,
    [`${prefix}function.arguments`]: input,
  };
}
