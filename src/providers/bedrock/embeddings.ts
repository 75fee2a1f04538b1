// Embeddings on Amazon Bedrock, which models take by InvokeModel in forms of their own:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
import { isObject, type JsonObject, listIn } from "../../core/json.ts";
import { BOTH, COHERE_INPUT_TYPES, DIMENSIONS, INPUT_TYPE, NEITHER } from "../tasks/embedding-parameters.ts";
import type { TaskForm } from "../interface/task-form.ts";
import type { Vector } from "../tasks/task-values.ts";
import { type AskedTexts, type TextEmbeddings, textEmbeddings } from "../tasks/text-embeddings.ts";
import { modelUrl } from "./address.ts";

/** `write` returns the body. */
function invoked({
  write,
  ...form
}: Pick<TextEmbeddings, "docs" | "mostInputs" | "takes" | "inputTypes" | "read"> & {
  readonly write: (asked: AskedTexts) => JsonObject;
}): TaskForm<Vector> {
  return textEmbeddings({
    label: "Amazon Bedrock",
    // where InvokeModel reports tokens for models whose answers do not: the page above
    tokenHeader: "x-amzn-bedrock-input-token-count",
    ...form,
    write: (asked, target) => ({ url: modelUrl(target, "invoke"), body: write(asked) }),
  });
}

function titan(takes: ReadonlySet<string>): TaskForm<Vector> {
  return invoked({
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html",
    mostInputs: 1,
    takes,
    write: ({ texts: [inputText = ""], dimensions }) => ({
      inputText,
      ...(dimensions !== undefined && { dimensions }),
    }),
    read: ({ embedding, inputTextTokenCount: tokens }) => ({ vectors: [embedding], tokens }),
  });
}

function cohere(takes: ReadonlySet<string>): TaskForm<Vector> {
  return invoked({
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html",
    mostInputs: 96,
    takes,
    inputTypes: COHERE_INPUT_TYPES,
    write: ({ texts, dimensions, inputType }) => ({
      texts,
      input_type: inputType ?? "search_document",
      ...(dimensions !== undefined && { output_dimension: dimensions }),
      ...(takes === BOTH && { embedding_types: ["float"] }),
    }),
    read: ({ embeddings: all }) => ({ vectors: isObject(all) ? all["float"] : all, tokens: undefined }),
  });
}

const nova = invoked({
  docs: "https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html",
  mostInputs: 1,
  takes: BOTH,
  inputTypes: {
    search_document: "GENERIC_INDEX",
    search_query: "GENERIC_RETRIEVAL",
    classification: "CLASSIFICATION",
    clustering: "CLUSTERING",
  },
  write: ({ texts: [value = ""], dimensions, inputType }) => ({
    taskType: "SINGLE_EMBEDDING",
    singleEmbeddingParams: {
      embeddingPurpose: inputType ?? "GENERIC_INDEX",
      ...(dimensions !== undefined && { embeddingDimension: dimensions }),
      text: { truncationMode: "NONE", value },
    },
  }),
  read({ embeddings: list, inputTokenCount: tokens }) {
    const [first] = listIn(list);
    return { vectors: [isObject(first) ? first["embedding"] : undefined], tokens };
  },
});

const TITAN_1 = titan(NEITHER);
const TITAN_2 = titan(DIMENSIONS);
const COHERE_3 = cohere(INPUT_TYPE);
const COHERE_4 = cohere(BOTH);

/** Profiles of several regions have a prefix, such as `us.cohere.embed-v4:0`. */
export function embeddings(model: string): TaskForm<Vector> | null {
  if (/amazon\.titan-embed-text-v2/.test(model)) return TITAN_2;
  if (/amazon\.titan-embed-(?:g1-)?text/.test(model)) return TITAN_1;
  if (/amazon\.nova.*embed/.test(model)) return nova;
  if (/cohere\.embed-v4/.test(model)) return COHERE_4;
  return /cohere\.embed/.test(model) ? COHERE_3 : null;
}
