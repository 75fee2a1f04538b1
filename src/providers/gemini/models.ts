// What a model's name reveals about the features it supports. Sources: https://ai.google.dev/gemini-api/docs/thinking,
// .../docs/openai (the table that maps reasoning_effort), .../docs/structured-output, .../docs/function-calling.

/**
 * The model's own part of a name: `models/gemini-3-flash-preview`, `google/gemini-3-flash-preview` and
 * `gemini-3-flash-preview` are the same.
 */
function bareName(model: string): string {
  return model.slice(model.lastIndexOf("/") + 1);
}

/** The oldest Gemma models on this API. They have no system instruction, no functions and no JSON mode. */
export const GEMMA_1_TO_3 = /^(?:.*\/)?gemma-[123]/;
/** Models that accept schemas only in the OpenAPI form. */
const BEFORE_JSON_SCHEMA = /^gemini-(1\.|pro$|pro-vision|ultra)/;
/**
 * Gemini 2.0 cannot read addresses at AI Studio: https://ai.google.dev/gemini-api/docs/file-input-methods#external-urls
 */
export const GEMINI_2_0 = /^(?:.*\/)?gemini-2\.0-/;
export const GEMINI_2_5 = /^(?:.*\/)?gemini-2\.5-(pro|flash)/;
export const GEMINI_2_5_PRO = /^(?:.*\/)?gemini-2\.5-pro/;
/** Models that answer with speech or images and accept no functions. */
export const SPEECH_MODELS = /-tts(-|$)/;
export const IMAGE_MODELS = /-image(-|$)/;
/** Models that refuse every thinking setting. */
export const NO_THINKING =
  /^(?:.*\/)?(gemma-[123]|gemini-(1\.|2\.0|pro$|pro-vision|ultra)|gemini-2\.5-flash-image|.*-tts(-|$))/;

export function takesJsonSchema(model: string): boolean {
  return !BEFORE_JSON_SCHEMA.test(bareName(model));
}

export function takesSystemInstruction(model: string): boolean {
  return !GEMMA_1_TO_3.test(model);
}

/**
 * From Gemini 3 on, thought signatures are required and function responses may hold media. A name that ends in
 * `-latest` without a generation counts as new.
 */
export function isGemini3OrLater(model: string): boolean {
  const name = bareName(model);
  const generation = /^gemini-(\d+)(?:\.\d+)?-/.exec(name)?.[1];
  if (generation !== undefined) return Number(generation) >= 3;
  return /^gemini-.*-latest$/.test(name);
}

/** Whether the name of the model says that it thinks by default. */
export function thinksByItself(model: string): boolean {
  const name = bareName(model);
  const isOfThinking = /^gemini-2\.5-(pro|flash(?!-lite))/.test(name) || isGemini3OrLater(name);
  return isOfThinking && !NO_THINKING.test(model);
}

/** Function calling has had the mode VALIDATED since 2.5. */
export function validatesFunctionCalls(model: string): boolean {
  return GEMINI_2_5.test(model) || isGemini3OrLater(model);
}

type Efforts = Readonly<Record<string, string | number>>;

const BUDGETS: Efforts = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };
const LEVELS: Efforts = { minimal: "minimal", low: "low", medium: "medium", high: "high" };
const LEVELS_FROM_LOW: Efforts = { ...LEVELS, minimal: "low" };
const LOW_OR_HIGH: Efforts = { minimal: "low", low: "low", medium: "high", high: "high" };

/**
 * `thinkingConfig` for a `reasoning_effort`, by the vendor's own table. `null` when the model does not have this
 * effort. Thinking cannot be switched off on 2.5 Pro and from Gemini 3 on. A name that reveals no generation is taken
 * for a current model.
 */
export function thinkingFor(
  model: string,
  effort: string,
): { readonly thinkingLevel: string } | { readonly thinkingBudget: number } | null {
  if (NO_THINKING.test(model)) return null;
  const value = effortsOf(bareName(model))[effort];
  if (value === undefined || (value === 0 && GEMINI_2_5_PRO.test(model))) return null;
  return typeof value === "number" ? { thinkingBudget: value } : { thinkingLevel: value };
}

function effortsOf(name: string): Efforts {
  if (/^gemini-(2\.5|robotics-er-1\.5)/.test(name)) return BUDGETS;
  if (name.startsWith("gemini-3-pro")) return LOW_OR_HIGH;
  // Flash refuses `minimal` from 3.7 on: https://github.com/BerriAI/litellm-docs/pull/1505
  if (/^gemini-(3\.\d+-pro|pro-latest|3\.([7-9]|\d\d)-flash(?!-lite))/.test(name)) return LEVELS_FROM_LOW;
  return LEVELS;
}
