// Vendors and servers of vectors and scores, which have no conversations.
import { openTable } from "../../conversation/conversation-members.ts";
import type { OpenAICompatibleRow } from "../row.ts";

const voyage: OpenAICompatibleRow = {
  id: "voyage",
  label: "Voyage AI",
  docs: "https://docs.voyageai.com/reference/embeddings-api",
  baseUrl: "https://api.voyageai.com/v1",
  keyVariables: ["VOYAGE_API_KEY"],
  hasOnlyTasks: true,
  embeddings: {
    docs: "https://docs.voyageai.com/reference/embeddings-api",
    // later models take 1,000; its first client libraries say 128
    mostInputs: 128,
    dimensions: "output_dimension",
    inputType: { name: "input_type", words: { search_document: "document", search_query: "query" } },
  },
  rerank: {
    docs: "https://docs.voyageai.com/reference/reranker-api",
    topN: "top_k",
    results: ["data", "relevance_score"],
  },
  conversation: openTable("https://docs.voyageai.com/reference/embeddings-api"),
};

const jina: OpenAICompatibleRow = {
  id: "jina",
  label: "Jina AI",
  docs: "https://jina.ai/embeddings/",
  baseUrl: "https://api.jina.ai/v1",
  keyVariables: ["JINA_API_KEY", "JINA_AI_API_KEY"],
  hasOnlyTasks: true,
  embeddings: {
    docs: "https://jina.ai/embeddings/",
    // the vendor's page names no bound
    mostInputs: 128,
    dimensions: "dimensions",
    inputType: {
      name: "task",
      words: {
        search_document: "retrieval.passage",
        search_query: "retrieval.query",
        classification: "classification",
        clustering: "separation",
        semantic_similarity: "text-matching",
      },
    },
  },
  rerank: { docs: "https://jina.ai/reranker/" },
  conversation: openTable("https://jina.ai/embeddings/"),
};

/** A server has one model, and ignores its name. */
const tei: OpenAICompatibleRow = {
  id: "tei",
  catalogue: null,
  label: "Text Embeddings Inference",
  docs: "https://huggingface.co/docs/text-embeddings-inference",
  baseUrl: "http://localhost:8080",
  keyVariables: [],
  hasOnlyTasks: true,
  embeddings: {
    docs: "https://huggingface.github.io/text-embeddings-inference/",
    path: "/v1/embeddings",
    // the default of --max-client-batch-size
    mostInputs: 32,
    dimensions: "dimensions",
  },
  rerank: {
    docs: "https://huggingface.github.io/text-embeddings-inference/",
    documents: "texts",
    topN: "none",
    isBare: true,
    results: ["results", "score"],
  },
  // its own words, with status 413, 422, 424 and 429
  errors: [
    { class: "invalid_request", codes: ["validation", "tokenizer", "empty"] },
    { class: "overloaded", codes: ["overloaded", "unhealthy"] },
    { class: "server", codes: ["backend"] },
  ],
  conversation: openTable("https://huggingface.co/docs/text-embeddings-inference"),
};

export const vectorServers: readonly OpenAICompatibleRow[] = [voyage, jina, tei];
