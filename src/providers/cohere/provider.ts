// Cohere's chat API, version 2, as a provider. https://docs.cohere.com/reference/chat
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { PLAIN_DIALECT } from "../interface/dialect.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { encodeRequest, RESERVED } from "./encode-request.ts";
import { embeddings } from "./embeddings.ts";
import { rerank } from "./rerank.ts";
import { classifyError } from "./errors.ts";

export const cohere: Provider = {
  ...PLAIN_PROVIDER,
  requestIds: ["x-debug-trace-id", "x-request-id"],
  id: "cohere",
  label: "Cohere",
  docs: "https://docs.cohere.com/reference/chat",
  baseUrl: "https://api.cohere.com",
  keyVariables: ["COHERE_API_KEY", "CO_API_KEY"],
  capabilities,
  dialect: { ...PLAIN_DIALECT, blocks: ["thinking", "refusal"], messageRules: ["document_inline", "empty_content"] },
  conversation,
  reserved: RESERVED,
  // https://docs.cohere.com/docs/safety-modes
  guards: ["safety_mode"],
  encodeRequest,
  sign: keySigner(BEARER),
  decodeResponse,
  openStream,
  classifyError,
  // The vendor's own page says what a unit is, and no price: https://cohere.com/pricing
  searchUnits: [
    {
      models: ["rerank-v3.5"],
      nanoUsd: 2_000_000,
      source: "https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json",
      read: "2026-11-22",
    },
    {
      models: ["rerank-v4.0-fast"],
      nanoUsd: 2_000_000,
      source: "https://developer.puter.com/tutorials/cohere-api-pricing/",
      read: "2026-11-22",
    },
    {
      models: ["rerank-v4.0-pro"],
      nanoUsd: 2_500_000,
      source: "https://developer.puter.com/tutorials/cohere-api-pricing/",
      read: "2026-11-22",
    },
  ],
  tasks: { embeddings: () => embeddings, rerank: () => rerank },
};
