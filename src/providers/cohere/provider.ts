// Cohere's chat API, version 2, as a provider. https://docs.cohere.com/reference/chat
import type { Credential } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { PLAIN_DIALECT, PLAIN_PROVIDER, type Provider } from "../provider.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse } from "./decode-response.ts";
import { openStream } from "./decode-stream.ts";
import { encodeRequest, RESERVED } from "./encode-request.ts";
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
  conversation: () => conversation,
  sameShape: false,
  reserved: RESERVED,
  encodeRequest,
  sign,
  decodeResponse,
  openStream,
  classifyError,
};

function sign(request: UpstreamRequest, credential: Credential | null): UpstreamRequest {
  return credential === null
    ? request
    : { ...request, headers: { ...request.headers, authorization: `Bearer ${credential.secret}` } };
}
