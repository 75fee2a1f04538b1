// Google Vertex AI: one provider for Gemini, Claude, Mistral and open models, each in its own wire form, which the
// model's name selects. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
import type { CapabilityTable } from "../../core/capability.ts";
import { RESERVED as CLAUDE_RESERVED } from "../anthropic/encode-request.ts";
import { CLAUDE_MARKS } from "../claude/cache-marks.ts";
import { gemini } from "../gemini/provider.ts";
import { GEMINI_GUARDS, GEMINI_PRICE_FACTORS } from "../gemini/platform.ts";
import { keySigner } from "../credentials/key-header.ts";
import type { Dialect } from "../interface/dialect.ts";
import { MISTRAL_GUARDS } from "../openai-compatible/rows/mistral.ts";
import { NO_ROLE } from "../interface/provider-declaration.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import type { PriceFactor } from "../../core/configured/price.ts";
import { GLOBAL_ADDRESS, isRegional, SETTINGS } from "./address.ts";
import { CLAUDE_INLINES, claudeModels } from "./claude-models.ts";
import { embeddings } from "./embeddings.ts";
import { classifyError } from "./errors.ts";
import { type ModelsOfOneForm, CLAUDE, MISTRAL, OPEN, ownName, type WireForm, wireFormOf } from "./models.ts";
import { MODEL_ARMOR } from "./model-armor.ts";
import { geminiModels } from "./gemini-models.ts";
import { NATIVE_CLAUDE } from "./native-messages.ts";
import { mistralModels, openModels } from "./open-models.ts";

const FORMS: Readonly<Record<WireForm, ModelsOfOneForm>> = {
  gemini: geminiModels,
  claude: claudeModels,
  mistral: mistralModels,
  open: openModels,
};

function modelsLike(model: string): ModelsOfOneForm {
  return FORMS[wireFormOf(model)];
}

/** Cells of one form apply only to its models, so each form lists all of its cells, behind that form's exceptions. */
const capabilities: CapabilityTable = {
  cells: geminiModels.capabilities.cells,
  exceptions: [
    { models: OPEN, cells: openModels.capabilities.cells },
    { models: MISTRAL, cells: mistralModels.capabilities.cells },
    ...claudeModels.capabilities.exceptions,
    { models: CLAUDE, cells: claudeModels.capabilities.cells },
    ...geminiModels.capabilities.exceptions,
  ],
  verified: {
    source: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
    date: "2026-11-20",
  },
};

function joined(pick: (dialect: Dialect) => readonly string[]): readonly string[] {
  return [...new Set(Object.values(FORMS).flatMap(({ dialect }) => pick(dialect)))];
}

/** Claude since Sonnet 4.5, Haiku 4.5 and Opus 4.5, and Gemini since 3.5 with 3.1 Flash-Lite and 3.1 Flash Image. */
const REGIONAL: PriceFactor = {
  told: "place",
  values: ["regional"],
  models:
    /claude-(?:(?:sonnet|haiku|opus)-(?:4-[5-9]|[5-9])|fable|mythos)|gemini-(?:3\.1-flash-(?:lite|image)|3\.[5-9]|[4-9])/,
  times: [11, 10],
  source: "https://cloud.google.com/vertex-ai/generative-ai/pricing",
};

export const vertex: Provider = {
  ...PLAIN_PROVIDER,
  requestIds: ["request-id", "x-request-id"],
  priceFactors: [...GEMINI_PRICE_FACTORS, REGIONAL],
  isRegional,
  leavesOutEmpty: (model) => modelsLike(model).leavesOutEmpty?.(model) ?? NO_ROLE,
  id: "vertex",
  vendor: "gcp.vertex_ai",
  catalogue: "google",
  label: "Google Vertex AI",
  docs: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
  baseUrl: GLOBAL_ADDRESS,
  keyVariables: ["GOOGLE_VERTEX_API_KEY"],
  credentials: ["key", "google"],
  settings: SETTINGS,
  ownName,
  inlines: (model) => (wireFormOf(model) === "claude" ? CLAUDE_INLINES : PLAIN_PROVIDER.inlines()),
  capabilities,
  dialect: {
    blocks: joined(({ blocks }) => blocks),
    tools: joined(({ tools }) => tools),
    toolChoices: joined(({ toolChoices }) => toolChoices),
    messageRules: joined(({ messageRules }) => messageRules),
  },
  dialectOf: (model) => modelsLike(model).dialect,
  conversation: (target) => modelsLike(target.model).conversation(target),
  cacheMarks: ({ model }) => (wireFormOf(model) === "claude" ? CLAUDE_MARKS : null),
  reserved: new Set([...gemini.reserved, ...CLAUDE_RESERVED, ...mistralModels.reserved, "anthropic_version"]),
  // https://docs.cloud.google.com/model-armor/model-armor-vertex-integration
  guards: [...GEMINI_GUARDS, "modelArmorConfig", "model_armor_config", ...MISTRAL_GUARDS],
  encodeRequest: (request, target) => modelsLike(target.model).encodeRequest(request, target),
  joinedTexts: (request, target) => modelsLike(target.model).joinedTexts?.(request, target) ?? [],
  native: (operation, model) => (operation === "messages" && wireFormOf(model) === "claude" ? NATIVE_CLAUDE : null),
  sign: keySigner({ header: "x-goog-api-key", prefix: "" }),
  decodeResponse: (body, context, value) => modelsLike(context.model).decodeResponse(body, context, value),
  openStream: (context) => modelsLike(context.model).openStream(context),
  classifyError,
  tasks: { embeddings },
  judging: { model_armor: MODEL_ARMOR },
};
