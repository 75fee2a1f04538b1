// Ollama's native chat API as a provider, on the user's own machine or in Ollama's cloud.
// https://docs.ollama.com/api/chat
import type { BlockType } from "../../core/chat.ts";
import { BEARER, keySigner } from "../credentials/key-header.ts";
import { nativeOperations } from "../openai-compatible/native.ts";
import { PLAIN_DIALECT } from "../interface/dialect.ts";
import { PLAIN_PROVIDER, type Provider } from "../interface/provider.ts";
import { serverAddress } from "./address.ts";
import { capabilities, conversation } from "./capabilities.ts";
import { decodeResponse, openStream } from "./decode.ts";
import { encodeRequest, joinedTexts, RESERVED } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { DIMENSIONS } from "../tasks/embedding-parameters.ts";
import { textEmbeddings } from "../tasks/text-embeddings.ts";

/** The server fetches no addresses. */
const INLINED: ReadonlySet<BlockType> = new Set(["image_url"]);

/**
 * A name without a registry, a user or a tag has these (https://docs.ollama.com/api#model-names), and letter case does not
 * count (https://github.com/ollama/ollama/pull/7676).
 */
function ownName(model: string): string {
  return model
    .toLowerCase()
    .replace(/^(?:registry\.ollama\.ai\/)?(?:library\/)?(?=.)/, "")
    .replace(/(?<=.):latest$/, "");
}

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
  ownName,
  inlines: () => INLINED,
  capabilities,
  dialect: { ...PLAIN_DIALECT, blocks: ["refusal"], messageRules: ["empty_content"] },
  conversation: () => conversation,
  reserved: RESERVED,
  native: nativeOperations(
    {
      messages: { path: "v1/messages", source: "https://docs.ollama.com/api/anthropic-compatibility" },
      responses: { path: "v1/responses", source: "https://docs.ollama.com/api/openai-compatibility" },
    },
    (_parsed, body) => classifyError({ status: 200, body }),
    serverAddress,
  ),
  encodeRequest,
  joinedTexts,
  sign: keySigner(BEARER),
  decodeResponse,
  openStream,
  classifyError,
  tasks: { embeddings: () => embeddings },
};

const embeddings = textEmbeddings({
  docs: "https://docs.ollama.com/api/embed",
  label: "Ollama",
  mostInputs: 2048,
  takes: DIMENSIONS,
  write: ({ texts, dimensions }, target) => ({
    url: `${serverAddress(target)}/api/embed`,
    body: { model: target.model, input: texts, ...(dimensions !== undefined && { dimensions }) },
  }),
  read: ({ embeddings: vectors, prompt_eval_count: tokens, model }) => ({ vectors, tokens, model }),
  failure: { isIn: ({ error }) => typeof error === "string", classify: classifyError },
});
