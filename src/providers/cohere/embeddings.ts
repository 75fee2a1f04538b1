// Cohere's embeddings, version 2: https://docs.cohere.com/reference/embed
import { isObject } from "../../core/json.ts";
import { BOTH, COHERE_INPUT_TYPES } from "../tasks/embedding-parameters.ts";
import { textEmbeddings } from "../tasks/text-embeddings.ts";
import { versionedPath } from "./address.ts";
import { classifyError } from "./errors.ts";

export const embeddings = textEmbeddings({
  docs: "https://docs.cohere.com/reference/embed",
  label: "Cohere",
  mostInputs: 96,
  takes: BOTH,
  inputTypes: COHERE_INPUT_TYPES,
  write: ({ texts, dimensions, inputType }, { model, baseUrl }) => ({
    url: versionedPath(baseUrl, "embed"),
    body: {
      model,
      texts,
      // the vendor requires it; clients of OpenAI's form mostly embed what is searched later
      input_type: inputType ?? "search_document",
      embedding_types: ["float"],
      ...(dimensions !== undefined && { output_dimension: dimensions }),
    },
  }),
  read: ({ embeddings: all, meta }) => ({
    vectors: isObject(all) ? all["float"] : all,
    tokens: isObject(meta) && isObject(meta["billed_units"]) ? meta["billed_units"]["input_tokens"] : undefined,
  }),
  failure: {
    isIn: ({ embeddings: all, message }) => all === undefined && typeof message === "string",
    classify: classifyError,
  },
});
