// Anthropic's Messages API as a provider. https://platform.claude.com/docs/en/api/messages
import { keySigner } from "../credentials/key-header.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { dialect } from "./dialect.ts";
import { LEFT_OUT_EMPTY } from "../content-blocks/turns.ts";
import { API_VERSION, encodeRequest, RESERVED } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { NATIVE_COUNT } from "./native-count.ts";
import { MESSAGES_FORM, NATIVE_MESSAGES } from "./native-messages.ts";
import { CLAUDE_MARKS } from "../claude/cache-marks.ts";
import { factsOf } from "../claude/models.ts";
import type { PricedTool } from "../../core/configured/hosted-tool.ts";
import type { PriceFactor } from "../../core/configured/price.ts";
import { GATEWAY } from "../../core/params.ts";

/**
 * The prices of tools that the vendor runs. Running code is billed by the hour and has none here. The versions of each:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-reference
 */
const SOURCE = "https://platform.claude.com/docs/en/about-claude/pricing";

const HOSTED_TOOLS: readonly PricedTool[] = [
  {
    kind: "web_search",
    types: ["web_search_20250305", "web_search_20260209", "web_search_20260318"],
    nanoUsd: 10_000_000,
    source: SOURCE,
  },
  {
    kind: "web_fetch",
    types: ["web_fetch_20250910", "web_fetch_20260209", "web_fetch_20260309", "web_fetch_20260318"],
    nanoUsd: 0,
    source: SOURCE,
  },
];

const PRICE_FACTORS: readonly PriceFactor[] = [
  { told: "inference_geo", values: ["us"], times: [11, 10], source: SOURCE },
  { told: "speed", values: ["fast"], times: [2, 1], source: SOURCE },
];

export const anthropic: Provider = {
  ...PLAIN_PROVIDER,
  requestIds: ["request-id"],
  leavesOutEmpty: () => LEFT_OUT_EMPTY,
  id: "anthropic",
  label: "Anthropic",
  docs: "https://platform.claude.com/docs/en/api/messages",
  baseUrl: "https://api.anthropic.com",
  keyVariables: ["ANTHROPIC_API_KEY"],
  settings: [
    {
      name: "api_version",
      variables: [],
      field: "api_version",
      meaning: `The header anthropic-version. The default is ${API_VERSION}.`,
    },
  ],
  facts: (model) => ({ maxOutputTokens: factsOf(model).maxOutputTokens }),
  capabilities,
  dialect,
  conversation: () => conversation,
  cacheMarks: () => CLAUDE_MARKS,
  reserved: RESERVED,
  // a chat completion cannot pass the others through
  privileged: new Set(MESSAGES_FORM.privileged.filter((name) => !RESERVED.has(name) && !Object.hasOwn(GATEWAY, name))),
  // The client's anthropic-version is not forwarded, because the version has to match the gateway's own encoding.
  clientHeaders: ["anthropic-beta"],
  encodeRequest,
  hostedTools: HOSTED_TOOLS,
  priceFactors: PRICE_FACTORS,
  // every address of this form speaks the operation, because it is the provider's only form
  native: (operation) =>
    operation === "messages" ? NATIVE_MESSAGES : operation === "messages.count_tokens" ? NATIVE_COUNT : null,
  sign: keySigner({ header: "x-api-key", prefix: "" }),
  decodeResponse,
  openStream,
  classifyError,
};
