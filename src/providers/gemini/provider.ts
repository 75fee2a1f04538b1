// Google's Gemini API (AI Studio): its address, its key and its provider description. Vertex uses the translation in
// this folder too. https://ai.google.dev/api/generate-content
import type { BlockType, ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import { keySigner } from "../credentials/key-header.ts";
import { PLAIN_DIALECT } from "../interface/dialect.ts";
import { type EncodedRequest, mappedNames, jsonPost } from "../interface/encoded-request.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { API_VERSION, versionedBase } from "./address.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { encodeBody, joinedTexts } from "./encode-body.ts";
import { LEFT_OUT_EMPTY } from "./encode-contents.ts";
import { wirePlaces } from "./encode-params.ts";
import { renamedFunctions } from "./encode-tools.ts";
import { embeddings } from "./embeddings.ts";
import { classifyError } from "./errors.ts";
import { GEMINI_2_0 } from "./models.ts";
import { AI_STUDIO, GEMINI_GUARDS, GEMINI_PRICE_FACTORS } from "./platform.ts";

const DEFAULT_VERSION = "v1beta";

function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const url = addressOf(target, request.params.stream === true);
  return {
    request: jsonPost(url, target.headers, encodeBody(request, target.model, AI_STUDIO)),
    memo: renamedFunctions(request.params),
    mapped: mappedNames(request.params, wirePlaces(AI_STUDIO)),
  };
}

/** `models/gemini-3-flash` is the name that the API itself lists. */
function ownName(model: string): string {
  return model.replace(/^models\/(?=.)/, "");
}

function addressOf(target: Target, stream: boolean): string {
  const name = /^(models|tunedModels)\//.test(target.model) ? target.model : `models/${target.model}`;
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `${versionedBase(target, DEFAULT_VERSION)}/${path}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

/** Every model reads YouTube addresses for videos and Files API addresses for files, so those are not fetched. */
const FETCHED_FOR_GEMINI_2_0: ReadonlySet<BlockType> = new Set(["image_url", "document"]);

export const gemini: Provider = {
  ...PLAIN_PROVIDER,
  priceFactors: GEMINI_PRICE_FACTORS,
  leavesOutEmpty: () => LEFT_OUT_EMPTY,
  id: "gemini",
  vendor: "gcp.gemini",
  label: "Google Gemini",
  docs: "https://ai.google.dev/api/generate-content",
  baseUrl: "https://generativelanguage.googleapis.com",
  keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
  settings: [
    {
      ...API_VERSION,
      meaning: `Version of the API, which is part of the URL. The default is ${DEFAULT_VERSION}, unless the base URL ends in a version.`,
    },
  ],
  ownName,
  inlines: (model) => (GEMINI_2_0.test(model) ? FETCHED_FOR_GEMINI_2_0 : PLAIN_PROVIDER.inlines()),
  capabilities,
  conversation: () => conversation,
  dialect: {
    ...PLAIN_DIALECT,
    messageRules: ["gs_address", "files_address"],
    tools: Object.keys(AI_STUDIO.tools),
    toolChoices: ["allowed_tools"],
  },
  // encode-body.ts checks the output bound, number of answers and streaming, which are inside objects.
  reserved: new Set(["model", "contents", "systemInstruction", "system_instruction", "tools"]),
  guards: GEMINI_GUARDS,
  encodeRequest,
  joinedTexts: (request, target) => joinedTexts(request, target.model, AI_STUDIO),
  sign: keySigner({ header: "x-goog-api-key", prefix: "" }),
  catalogue: "google",
  // Only Vertex AI serves the catalogue's other models.
  listed: /^(gemini|gemma)-(?!live)/,
  decodeResponse,
  openStream,
  classifyError,
  tasks: { embeddings: () => embeddings },
};
