// Replicate's predictions as a provider: https://replicate.com/docs/reference/http. A request creates a prediction, and
// the answer is read from the prediction or from its stream.
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { RESERVED } from "../openai-compatible/provider.ts";
import { PROMPT_MEMBERS } from "../prompt-template/prompt.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { capabilities } from "./capabilities.ts";
import { encodeRequest, joinedTexts } from "./encode-request.ts";
import { decodeResponse, errors, followUp, openStream } from "./prediction.ts";

export const replicate: Provider = {
  ...PLAIN_PROVIDER,
  id: "replicate",
  label: "Replicate",
  docs: "https://replicate.com/docs/reference/http",
  baseUrl: "https://api.replicate.com",
  keyVariables: ["REPLICATE_API_TOKEN"],
  capabilities,
  conversation: () => PROMPT_MEMBERS,
  reserved: new Set(["version", ...RESERVED]),
  // An address that Replicate calls.
  privileged: new Set(["webhook"]),
  encodeRequest,
  joinedTexts,
  sign: keySigner(BEARER),
  followUp,
  decodeResponse,
  openStream,
  classifyError: errors.classify,
};
