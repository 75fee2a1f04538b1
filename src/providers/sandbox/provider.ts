// The sandbox as a provider: OpenAI's wire form, answered by the server in this process (upstream.ts). It needs no key
// and no network.
import { openTable } from "../conversation/conversation-members.ts";
import { LIKE_OPENAI } from "../openai-compatible/tasks/embedding-row.ts";
import { openAICompatibleProvider } from "../openai-compatible/provider.ts";
import type { Provider } from "../interface/provider.ts";
import { SANDBOX_SCHEME } from "./upstream.ts";

export const sandbox: Provider = openAICompatibleProvider({
  id: "sandbox",
  inlines: [],
  catalogue: null,
  label: "Sandbox",
  docs: "https://platform.openai.com/docs/api-reference/chat",
  baseUrl: `${SANDBOX_SCHEME}//here`,
  keyVariables: [],
  moderations: { docs: "https://platform.openai.com/docs/api-reference/moderations" },
  rerank: { docs: "https://docs.cohere.com/reference/rerank" },
  embeddings: { docs: "https://platform.openai.com/docs/api-reference/embeddings", ...LIKE_OPENAI },
  conversation: openTable("https://platform.openai.com/docs/api-reference/chat"),
  takesDeveloper: true,
  lacks: ["logprobs", "top_logprobs", "logit_bias", "modalities", "audio", "prediction", "web_search_options"],
});

export interface BuiltInModel {
  readonly id: string;
  readonly name: string;
  /** Set for a model that exists to try out failures. `GET /models` lists it only when the configuration names it. */
  readonly fails?: true;
}

/** The sandbox's models. The numbers in their names may be replaced by others. */
export const SANDBOX_MODELS: readonly BuiltInModel[] = [
  { id: "echo", name: "Echo: repeats the last user message" },
  {
    id: "assistant",
    name: "Assistant: calls the first function, answers in JSON if requested, otherwise echoes",
  },
  { id: "agent", name: "Agent: looks, writes a file, reads and changes it with a coding client's tools" },
  { id: "words-500", name: "Words: that many words" },
  { id: "tools", name: "Tools: calls the first function" },
  { id: "json", name: "JSON: an object, or one that matches the schema" },
  { id: "embed-256", name: "Embeddings: vectors of that length, near to each other where texts have words in common" },
  { id: "rerank", name: "Rerank: scores by the words that a document has in common with the query" },
  { id: "moderation", name: "Moderation: flags texts that contain the word harmful" },
  { id: "slow-2000", name: "Slow: waits that many milliseconds, then echoes" },
  { id: "fail-429", name: "Fails with that status", fails: true },
  { id: "fail-500", name: "Fails with that status", fails: true },
  { id: "stall", name: "Stall: begins to answer, then sends nothing more", fails: true },
  { id: "cut", name: "Cut: drops the connection in the middle of the answer", fails: true },
  { id: "garbage", name: "Garbage: sends something that is not a valid answer", fails: true },
];
