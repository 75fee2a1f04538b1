// Databricks: models of several makers behind one API, whose reasoning is requested, returned and sent back in the
// forms of their makers. https://docs.databricks.com/aws/en/machine-learning/model-serving/query-reason-models
import { defaultOnly, native } from "../../../core/capability.ts";
import type { ChatParams, ContentPart, Message } from "../../../core/chat.ts";
import { type Json, type JsonObject, objectsIn } from "../../../core/json.ts";
import { unsupportedValue } from "../../../core/refusals.ts";
import { mappedList } from "../../../core/request/mapped-list.ts";
import { TOP_P_DEFAULT_ONLY } from "../../claude/capabilities.ts";
import { GENERATIONS } from "../../claude/models.ts";
import { type Joins, joinTexts } from "../../conversation/join-texts.ts";
import { withoutEmptyAnswers } from "../quirks.ts";
import type { ModelDifferences, OpenAICompatibleRow, ParameterRewrite } from "../row.ts";
import { FILES, OPENAI_ONLY, without } from "../features.ts";

const LEAST_BUDGET = 1_024;
const BUDGETS: Readonly<Record<string, number>> = { minimal: LEAST_BUDGET, low: 2_048, medium: 8_192, high: 16_384 };

/** Claude and Gemini 2.5 reason within a budget, which has to be less than max_tokens. */
function databricksThinking(effort: Json, { max_tokens, max_completion_tokens }: ChatParams): JsonObject {
  if (effort === "none") return { thinking: { type: "disabled" } };
  const budget = BUDGETS[effort as string] ?? LEAST_BUDGET;
  const bound = max_completion_tokens ?? max_tokens ?? Number.MAX_SAFE_INTEGER;
  if (bound <= LEAST_BUDGET)
    throw unsupportedValue(
      "reasoning_effort",
      `reasoning_effort needs an output bound above ${LEAST_BUDGET} tokens on this model, which counts thinking into it; got ${bound}.`,
    );
  return {
    thinking: { type: "enabled", budget_tokens: Math.max(LEAST_BUDGET, Math.min(budget, Math.floor(bound * 0.8))) },
  };
}
const databricksEffort: ParameterRewrite = {
  note: "thinking, with a token budget",
  write: databricksThinking,
};

/**
 * Signed reasoning comes as a content block and has to be sent back as one. For other models reasoning is left out,
 * because they have no place for it.
 */
function databricksReasoning(messages: readonly Message[], joins: Joins): readonly Message[] {
  return mappedList(messages, (message) => {
    const { reasoning_details: details, ...rest } = message;
    if (message.role !== "assistant" || details === undefined) return message;
    const pieces = objectsIn(details);
    const signature = pieces
      .map((piece) => piece["signature"])
      .filter((each) => typeof each === "string")
      .join("");
    if (signature === "") return rest;
    const texts = pieces.map(({ text }) => text).filter((text) => typeof text === "string");
    const text = joinTexts(texts, "", joins);
    const { content } = rest;
    const parts = Array.isArray(content)
      ? (content as readonly ContentPart[])
      : typeof content === "string" && content !== ""
        ? [{ type: "text", text: content }]
        : [];
    return {
      ...rest,
      content: [{ type: "reasoning", summary: [{ type: "summary_text", text, signature }] }, ...parts],
    };
  });
}

/**
 * "text content blocks must be non-empty", which Claude answers to the empty text that the vendor itself gives beside
 * calls of tools, https://github.com/tidyverse/ellmer/issues/932. The vendor's own client writes a space in its place:
 * https://github.com/databricks/databricks-ai-bridge/pull/333
 */
function databricksMessages(messages: readonly Message[], model: string, joins: Joins): readonly Message[] {
  const written = databricksReasoning(messages, joins);
  return model.includes("claude") ? withoutEmptyAnswers(written, " ") : written;
}

/**
 * "Model us.anthropic.claude-opus-5 does not support the temperature parameter":
 * https://github.com/databricks-solutions/genie-ontology-readiness/pull/8
 */
const CLAUDE_WITHOUT_SAMPLING: readonly ModelDifferences[] = GENERATIONS.filter(({ facts }) => !facts.sampling).map(
  ({ models }) => ({ models, cells: { temperature: defaultOnly(1), top_p: TOP_P_DEFAULT_ONLY } }),
);

export const databricks: OpenAICompatibleRow = {
  id: "databricks",
  label: "Databricks",
  docs: "https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference",
  baseUrl: null,
  baseUrlVariables: ["DATABRICKS_HOST", "DATABRICKS_API_BASE"],
  keyVariables: ["DATABRICKS_TOKEN", "DATABRICKS_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/api-reference#embedding-task",
    // https://docs.databricks.com/aws/en/machine-learning/foundation-model-apis/limits
    mostInputs: 150,
  },
  conversation: {
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  },
  // The vendor's own variable holds the workspace's host.
  barePath: "/serving-endpoints",
  // Every chunk has usage without a request for it.
  lacks: [...without(OPENAI_ONLY, "service_tier"), ...FILES, "stream_options"],
  cells: {
    tools: native("at most 32 functions"),
    service_tier: native("priority, depending on the model"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  models: [
    {
      models: /claude-(3-7|(sonnet|haiku)-4|opus-4(?!-[78]))|gemini-2-5/,
      rewrites: { reasoning_effort: databricksEffort },
      cells: {
        reasoning_effort: { support: "mapped", note: databricksEffort.note, values: ["none", ...Object.keys(BUDGETS)] },
      },
    },
    ...CLAUDE_WITHOUT_SAMPLING,
    {
      models: /claude/,
      lacks: ["n", "reasoning_effort"],
      cells: {
        temperature: { support: "native", range: [0, 1] },
        response_format: native("json_object is not supported", ["json_schema"]),
        text: native("empty parts are not sent; an empty text beside calls of tools is sent as a space"),
      },
    },
  ],
  errors: [
    { class: "not_found", codes: ["resource_does_not_exist", "endpoint_not_found"] },
    { class: "rate_limit", codes: ["request_limit_exceeded"] },
    { class: "overloaded", codes: ["temporarily_unavailable"] },
  ],
  reads: ["reasoning_details"],
  leavesOutEmpty: /claude/,
  hooks: { messages: databricksMessages },
};
