// Embeddings in OpenAI's form, with what differs as data of a row:
// https://platform.openai.com/docs/api-reference/embeddings/create
import { isObject, type JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import { dimensionsIn, inputTypeIn } from "../../tasks/embedding-parameters.ts";
import type { TaskForm, Tasks } from "../../interface/task-form.ts";
import { StreamError } from "../../interface/upstream-failure.ts";
import type { Vector } from "../../tasks/task-values.ts";
import { requireSentObject } from "../../answers/sent-json.ts";
import {
  answerWith,
  inputCount,
  parseNumbers,
  taskMemoOf,
  taskRequest,
  textInputs,
  textsOrTokens,
  toldTokens,
} from "../../tasks/task.ts";
import { bytesOf, indexedVectors, vectorOf } from "../../tasks/vector.ts";
import type { EmbeddingRow } from "./embedding-row.ts";
import type { ErrorClassifier } from "../errors.ts";

interface EmbeddingProvider {
  readonly label: string;
  readonly row: EmbeddingRow;
  /** Returns the base address with the version that a bare host lacks. */
  readonly base: (target: Target) => string;
  readonly errors: ErrorClassifier;
}

export function openAICompatibleEmbeddings(of: EmbeddingProvider): NonNullable<Tasks["embeddings"]> {
  const forms = new Map((of.row.except ?? []).map((one) => [one, formOf(of, exceptional(of.row, one))]));
  const ordinary = formOf(of, of.row);
  return (model) => {
    const exception = of.row.except?.find(({ models }) => models.test(model));
    if (exception !== undefined) return forms.get(exception)!;
    return of.row.models === undefined || of.row.models.test(model) ? ordinary : null;
  };
}

function exceptional(
  row: EmbeddingRow,
  { lacks = [], ...own }: NonNullable<EmbeddingRow["except"]>[number],
): EmbeddingRow {
  const merged: Record<string, unknown> = { ...row, ...own };
  for (const name of lacks) delete merged[name];
  return merged as unknown as EmbeddingRow;
}

function formOf({ label, row, base, errors }: EmbeddingProvider, own: EmbeddingRow): TaskForm<Vector> {
  const takes = new Set([
    ...(own.dimensions === undefined ? [] : ["dimensions"]),
    ...(own.inputType === undefined ? [] : ["input_type"]),
    ...(own.user === true ? ["user"] : []),
    ...(own.deployments === true ? ["deployment_id"] : []),
  ]);
  return {
    docs: row.docs,
    mostInputs: own.mostInputs,
    takes,
    encode(request, target) {
      const { isSingle, encoding } = taskMemoOf(request);
      const inputs = own.tokens === true ? textsOrTokens(request) : textInputs(request, label);
      const dimensions = own.dimensions === undefined ? undefined : dimensionsIn(request);
      const field = own.inputType;
      const inputType = field === undefined ? undefined : (inputTypeIn(field.words, request, label) ?? field.otherwise);
      const { user } = request.params;
      const body: JsonObject = {
        ...(own.model === undefined ? { model: target.model } : own.model(target, request)),
        input: isSingle && inputs.length === 1 ? inputs[0]! : inputs,
        ...(encoding !== null && own.formats?.includes(encoding) === true && { encoding_format: encoding }),
        ...(dimensions !== undefined && { [own.dimensions!]: dimensions }),
        ...(inputType !== undefined && { [field!.name]: inputType }),
        ...(user !== undefined && own.user === true && { user }),
      };
      const url = own.address?.(target, request) ?? base(target) + (own.path ?? "/embeddings");
      return { request: taskRequest(url, body, request, target, CONSUMED), memo: { inputs: inputs.length } };
    },
    decode(body, context) {
      const value = parseNumbers(body);
      if (errors.isError(value)) throw new StreamError(errors.classifyParsed(200, value, body));
      const { data, usage, model } = requireSentObject(value, "answer");
      const { prompt_tokens: prompt, total_tokens: total } = isObject(usage) ? usage : {};
      const told = { tokens: toldTokens(prompt) ?? toldTokens(total), ...(isObject(usage) && { usage }), model };
      const vector = own.base64Holds === "int8" ? bytesOf : vectorOf;
      return answerWith(told, () => indexedVectors(data, inputCount(context), vector));
    },
  };
}

const CONSUMED: ReadonlySet<string> = new Set(["dimensions", "input_type"]);
