// Ollama's native chat API as a provider, on a machine of one's own or in Ollama's cloud. https://docs.ollama.com/api/chat
import type { BlockType } from "../../core/chat.ts";
import type { Credential } from "../../core/target.ts";
import type { UpstreamRequest } from "../../wire/upstream.ts";
import { PLAIN_DIALECT, PLAIN_PROVIDER, type Provider } from "../provider.ts";
import { capabilities } from "./capabilities.ts";
import { conversation } from "./conversation.ts";
import { decodeResponse, openStream } from "./decode.ts";
import { encodeRequest, RESERVED } from "./encode-request.ts";
import { classifyError } from "./errors.ts";

/** The server fetches nothing. */
const INLINED: ReadonlySet<BlockType> = new Set(["image_url"]);

export const ollama: Provider = {
  ...PLAIN_PROVIDER,
  id: "ollama",
  catalogue: null,
  label: "Ollama",
  docs: "https://docs.ollama.com/api/chat",
  baseUrl: "http://localhost:11434",
  // not OLLAMA_HOST: it is the server's own, often without a scheme and with the address that the server listens on
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
