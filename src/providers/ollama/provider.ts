// Ollama's native chat API as a provider, on the user's own machine or in Ollama's cloud.
// https://docs.ollama.com/api/chat
import type { BlockType } from "../../core/chat.ts";
import type { Credential } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { PLAIN_DIALECT, PLAIN_PROVIDER, type Provider } from "../provider.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse, openStream } from "./decode.ts";
import { encodeRequest, RESERVED } from "./encode-request.ts";
import { classifyError } from "./errors.ts";

/** The server fetches no addresses. */
const INLINED: ReadonlySet<BlockType> = new Set(["image_url"]);

export const ollama: Provider = {
  ...PLAIN_PROVIDER,
  id: "ollama",
  catalogue: null,
  label: "Ollama",
  docs: "https://docs.ollama.com/api/chat",
  baseUrl: "http://localhost:11434",
  // OLLAMA_HOST is not used: it configures the server itself, and often holds no scheme and the address on which the
  // server listens.
  baseUrlVariables: ["OLLAMA_API_BASE"],
  keyVariables: ["OLLAMA_API_KEY"],
  framing: "ndjson",
  inlines: () => INLINED,
  capabilities,
  dialect: { ...PLAIN_DIALECT, blocks: ["refusal"], messageRules: ["empty_content"] },
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
