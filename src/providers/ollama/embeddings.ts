// Ollama's embeddings: https://docs.ollama.com/api/embed
import { DIMENSIONS } from "../tasks/embedding-parameters.ts";
import { textEmbeddings } from "../tasks/text-embeddings.ts";
import { classifyError } from "./errors.ts";

export const embeddings = textEmbeddings({
  docs: "https://docs.ollama.com/api/embed",
  label: "Ollama",
  mostInputs: 2048,
  takes: DIMENSIONS,
  write: ({ texts, dimensions }, { baseUrl, model }) => ({
    url: baseUrl.endsWith("/api") ? `${baseUrl}/embed` : `${baseUrl}/api/embed`,
    body: { model, input: texts, ...(dimensions !== undefined && { dimensions }) },
  }),
  read: ({ embeddings: vectors, prompt_eval_count: tokens, model }) => ({ vectors, tokens, model }),
  failure: { isIn: ({ error }) => typeof error === "string", classify: classifyError },
});
