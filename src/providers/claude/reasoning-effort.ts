// Encodes `reasoning_effort` as thinking. https://platform.claude.com/docs/en/build-with-claude/effort,
// .../extended-thinking, .../adaptive-thinking
import type { ChatParams } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import type { ModelFacts } from "./models.ts";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The values of `reasoning_effort` that a model accepts. */
export function acceptedEfforts({ thinking, thinkingOff }: Pick<ModelFacts, "thinking" | "thinkingOff">): string[] {
  return EFFORTS.filter((effort) =>
    effort === "none" ? thinkingOff !== null : effort !== "max" || thinking === "adaptive",
  );
}

/** The smallest budget that the vendor accepts. */
const MIN_BUDGET = 1_024;
/**
 * Thinking tokens for each effort on models that have a budget. Above 32,000 the vendor advises against waiting for the
 * answer.
 */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: MIN_BUDGET,
  low: 4_096,
  medium: 10_000,
  high: 24_000,
  xhigh: 32_000,
};
/** The part of `max_tokens` that thinking may use up, so that an answer still fits. */
const BUDGET_SHARE = 0.8;

const BUDGETS_TEXT = Object.entries(BUDGETS)
  .map(([effort, tokens]) => `${tokens.toLocaleString("en-US")} for ${effort}`)
  .join(", ");

/** Says for the documentation what is sent to a model that thinks. */
export function effortNote({ thinking }: Pick<ModelFacts, "thinking">): string {
  return thinking === "budget"
    ? `thinking.budget_tokens: ${BUDGETS_TEXT}, and at most ${BUDGET_SHARE * 100} % of max_tokens; not sent where the model goes on with calls that it has not thought about, and not beside a tool_choice that forces a call`
    : "thinking.type adaptive and output_config.effort, where a level that the model does not have is its nearest one";
}

/**
 * Returns the top-level members `thinking` and `output_config`. `isShown`: the client asks for the text of the thinking.
 * Throws GatewayError `unsupported_value` when a budget does not fit into `maxTokens`.
 */
export function encodeThinking(
  effort: string | undefined,
  facts: ModelFacts,
  maxTokens: number,
  isShown: boolean,
): JsonObject {
  if (effort === undefined) return {};
  if (effort === "none") return { thinking: { type: facts.thinkingOff ?? "disabled" } };
  const level = effortLevel(effort, facts);
  const outputConfig = level === null ? {} : { output_config: { effort: level } };
  // newer models leave the text out unless they are asked for it
  if (facts.thinking === "adaptive")
    return { thinking: { type: "adaptive", ...(isShown && { display: "summarized" }) }, ...outputConfig };
  return { thinking: { type: "enabled", budget_tokens: budgetWithin(effort, maxTokens) }, ...outputConfig };
}

/**
 * The common effort values include more levels than older models have. The lowest and highest map to the vendor's
 * lowest and highest.
 */
function effortLevel(effort: string, { efforts }: ModelFacts): string | null {
  if (efforts.length === 0) return null;
  if (efforts.includes(effort)) return effort;
  if (effort === "minimal") return efforts[0]!;
  return effort === "xhigh" || effort === "max" ? efforts.at(-1)! : effort;
}

function budgetWithin(effort: string, maxTokens: number): number {
  if (maxTokens <= MIN_BUDGET)
    throw unsupportedValue(
      "reasoning_effort",
      `reasoning_effort needs an output bound above ${MIN_BUDGET} tokens on this model, which counts thinking into it; got ${maxTokens}.`,
    );
  return Math.max(MIN_BUDGET, Math.min(BUDGETS[effort] ?? MIN_BUDGET, Math.floor(maxTokens * BUDGET_SHARE)));
}

/** A turn with content blocks of the Messages API, or of Converse. */
interface BlockTurn {
  readonly role: string;
  readonly content: string | readonly JsonObject[];
}

/**
 * Whether a model with a budget would refuse to think: it does not go on with a turn that calls tools and does not begin with
 * thinking, such as one that another model has written. "Expected `thinking` or `redacted_thinking`, but found `tool_use`":
 * https://platform.claude.com/docs/en/build-with-claude/extended-thinking, https://github.com/anomalyco/opencode/issues/3077
 */
function refusesThinking(
  effort: string | undefined,
  turns: readonly BlockTurn[],
  { thinking }: Pick<ModelFacts, "thinking">,
): boolean {
  if (thinking !== "budget" || effort === undefined || effort === "none") return false;
  const { content = "" } = turns.findLast(({ role }) => role === "assistant") ?? {};
  if (typeof content === "string") return false;
  const calls = content.some((block) => block["type"] === "tool_use" || block["toolUse"] !== undefined);
  const isThinking = ({ type, reasoningContent }: JsonObject): boolean =>
    type === "thinking" || type === "redacted_thinking" || reasoningContent !== undefined;
  return calls && !isThinking(content[0]!);
}

function withoutEffort({ reasoning_effort: _left, ...params }: ChatParams): ChatParams {
  return params;
}

/** Throws GatewayError `unsupported_value` for a choice that forces a tool call beside thinking that refuses it. */
function requireFreeChoice({ tool_choice: choice }: ChatParams, thinksUnforced: boolean): void {
  if (!thinksUnforced || choice === undefined || choice === "auto" || choice === "none") return;
  if (isObject(choice) && (choice["type"] === "auto" || choice["type"] === "none")) return;
  throw unsupportedValue(
    "tool_choice",
    "tool_choice cannot force a tool call beside reasoning on this model. Use auto, or leave out reasoning_effort.",
  );
}

/** True when the request turns on thinking on a model that then refuses forced tool calls. */
function thinkingRefusesForcing(
  effort: string | undefined,
  passedThrough: JsonObject,
  { thinking: way, forcedBesideThinking }: Pick<ModelFacts, "thinking" | "forcedBesideThinking">,
): boolean {
  if (way === "none" || forcedBesideThinking) return false;
  const { thinking } = passedThrough as { readonly thinking?: { readonly type?: unknown } | null };
  return (effort !== undefined && effort !== "none") || thinking?.type === "enabled" || thinking?.type === "adaptive";
}

/** How thinking goes with the rest of a request. */
export interface PlannedThinking {
  /** The parameters that are sent. */
  readonly params: ChatParams;
  /** What is not sent, by its name in chat completions. */
  readonly left: readonly string[];
  /** Whether the vendor refuses a forced tool call in this request. */
  readonly forcingRefused: boolean;
}

/** `facts` are `null` for models of other makers. Throws GatewayError `unsupported_value`. */
export function planThinking(
  given: ChatParams,
  passedThrough: JsonObject,
  turns: readonly BlockTurn[],
  facts: ModelFacts | null,
): PlannedThinking {
  if (facts === null) return { params: given, left: [], forcingRefused: false };
  const isLeft = refusesThinking(given.reasoning_effort, turns, facts);
  const params = isLeft ? withoutEffort(given) : given;
  const forcingRefused = thinkingRefusesForcing(params.reasoning_effort, passedThrough, facts);
  requireFreeChoice(params, forcingRefused && facts.thinking === "budget");
  return { params, left: isLeft ? ["reasoning_effort"] : [], forcingRefused };
}
