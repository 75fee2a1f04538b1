// Gemini models and users' own tuned models on Vertex AI: the same translation as for AI Studio, with Vertex's
// differences. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
import { type CapabilityTable, mapped } from "../../core/capability.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import { capabilities as geminiCapabilities, MODEL_EXCEPTIONS, conversation } from "../gemini/capabilities.ts";
import { decodeResponse } from "../gemini/decode-response.ts";
import { openStream } from "../gemini/decode-stream.ts";
import { LEFT_OUT_EMPTY } from "../gemini/encode-contents.ts";
import { encodeBody, joinedTexts } from "../gemini/encode-body.ts";
import { encodeServiceTier, wirePlaces } from "../gemini/encode-params.ts";
import { renamedFunctions } from "../gemini/encode-tools.ts";
import type { GeminiPlatform } from "../gemini/platform.ts";
import { PLAIN_DIALECT } from "../interface/dialect.ts";
import { type EncodedRequest, mappedNames, jsonPost } from "../interface/encoded-request.ts";
import { pathStep, vertexAddress } from "./address.ts";
import { type ModelsOfOneForm, ownName } from "./models.ts";

/** The version that Google's own client uses; it has function call ids and preview models. */
const DEFAULT_VERSION = "v1beta1";

/**
 * Fields that only one of the two services has: googleapis/js-genai, src/converters/_models_converters.ts. Tiers:
 * .../docs/flex-paygo, .../docs/priority-paygo.
 */
const VERTEX: GeminiPlatform = {
  tools: {
    google_search: "googleSearch",
    url_context: "urlContext",
    code_execution: "codeExecution",
    google_maps: "googleMaps",
    computer_use: "computerUse",
    enterprise_web_search: "enterpriseWebSearch",
  },
  filesApi: null,
  demandsMediaType: true,
  // "Cannot find field": https://github.com/vercel/ai/issues/14655
  combinesOnRequest: false,
  serviceTier: { place: "header", name: "x-vertex-ai-llm-shared-request-type" },
};

function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const model = ownName(target.model);
  const method = request.params.stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  const tier = encodeServiceTier(request.params.service_tier);
  const url = vertexAddress(target, {
    path: `${resourceOf(model)}:${method}`,
    version: DEFAULT_VERSION,
    express: !model.startsWith("endpoints/"),
  });
  const headers = { ...target.headers, ...(tier !== null && { [VERTEX.serviceTier.name]: tier }) };
  return {
    request: jsonPost(url, headers, encodeBody(request, model, VERTEX)),
    memo: renamedFunctions(request.params),
    mapped: mappedNames(request.params, wirePlaces(VERTEX)),
  };
}

/**
 * A tuned model is an endpoint of the user:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/models/gemini-use-supervised-tuning
 */
function resourceOf(model: string): string {
  const steps = model.split("/").map(pathStep).join("/");
  return /^(?:endpoints|publishers)\/./.test(model) ? steps : `publishers/google/models/${steps}`;
}

export const geminiModels: ModelsOfOneForm & { readonly capabilities: Pick<CapabilityTable, "cells" | "exceptions"> } =
  {
    encodeRequest,
    joinedTexts: (request, target) => joinedTexts(request, ownName(target.model), VERTEX),
    decodeResponse,
    openStream,
    leavesOutEmpty: () => LEFT_OUT_EMPTY,
    conversation: () => conversation,
    dialect: {
      ...PLAIN_DIALECT,
      messageRules: ["gs_address"],
      tools: Object.keys(VERTEX.tools),
      toolChoices: ["allowed_tools"],
    },
    capabilities: {
      cells: {
        ...geminiCapabilities.cells,
        image_url: mapped(
          "inlineData for data URIs; fileData for gs:// and http(s), fetched by Google, which obeys robots.txt; detail has no equivalent",
        ),
        video_url: mapped("fileData for gs://, YouTube and http(s) URLs; inlineData for data URIs"),
        file: mapped(
          "inlineData for file_data; fileData for a file_id that is a gs:// or http(s) URL, which must have a known media type",
        ),
        document: mapped("inlineData for base64, text for text, fileData for url, which must have a known media type"),
        user: {
          ...geminiCapabilities.cells.user,
          note: "the API has no field for it; it is only recorded by the gateway. For billing labels use the pass-through field labels",
        },
        service_tier: mapped(`the header ${VERTEX.serviceTier.name}: default is standard, auto is not sent`, [
          "auto",
          "default",
          "flex",
          "priority",
        ]),
      },
      exceptions: MODEL_EXCEPTIONS,
    },
  };
