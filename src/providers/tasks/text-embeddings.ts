// Embeddings of vendors that take texts and answer with a list of vectors in the order of the texts. Each says how a
// request is written, and where vectors and tokens stand in an answer.
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { dimensionsIn, inputTypeIn, type InputTypeWords } from "./embedding-parameters.ts";
import type { Provider } from "../interface/provider.ts";
import type { TaskForm } from "../interface/task-form.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import type { Vector } from "./task-values.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { answerWith, inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "./task.ts";
import { orderedVectors } from "./vector.ts";

export interface AskedTexts {
  readonly texts: readonly string[];
  /** Undefined when the request does not say. */
  readonly dimensions: number | undefined;
  /** The vendor's word for what the texts are for; undefined when the request does not say. */
  readonly inputType: string | undefined;
  readonly request: ChatRequest;
}

export interface TextEmbeddings extends Pick<TaskForm<Vector>, "docs" | "mostInputs" | "takes" | "tokenHeader"> {
  readonly label: string;
  /** The vendor's words for what a text is for; absent where it has none. */
  readonly inputTypes?: InputTypeWords;
  write(asked: AskedTexts, target: Target): { readonly url: string; readonly body: JsonObject };
  /** `vectors` is a list unless the answer is none. */
  read(answer: JsonObject): {
    readonly vectors: Json | undefined | readonly (Json | undefined)[];
    readonly tokens: Json | undefined;
    readonly model?: Json | undefined;
  };
  /** How an error inside a 200 is known, and what it is. */
  readonly failure?: { readonly isIn: (answer: JsonObject) => boolean; readonly classify: Provider["classifyError"] };
}

export function textEmbeddings(form: TextEmbeddings): TaskForm<Vector> {
  const { docs, label, mostInputs, takes, tokenHeader, inputTypes, failure } = form;
  return {
    docs,
    mostInputs,
    takes,
    ...(tokenHeader !== undefined && { tokenHeader }),
    encode(request, target) {
      const texts = textInputs(request, label);
      const inputType = inputTypes === undefined ? undefined : inputTypeIn(inputTypes, request, label);
      const { url, body } = form.write({ texts, dimensions: dimensionsIn(request), inputType, request }, target);
      return { request: taskRequest(url, body, request, target, takes), memo: { inputs: texts.length } };
    },
    decode(body, context) {
      const answer = requireSentObject(parseNumbers(body), "answer");
      if (failure?.isIn(answer) === true) throw new StreamError(failure.classify({ status: 200, body }));
      const { vectors, tokens, model = null } = form.read(answer);
      return answerWith({ tokens: toldTokens(tokens), model }, () => {
        if (!Array.isArray(vectors)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
        return orderedVectors(vectors as readonly (Json | undefined)[], inputCount(context));
      });
    },
  };
}

/** Returns the member `name` of each object in a list. A value that is not a list is returned unchanged. */
export function membersOf(list: Json | undefined, name: string): Json | undefined | readonly (Json | undefined)[] {
  return Array.isArray(list) ? (list as readonly Json[]).map((one) => (isObject(one) ? one[name] : undefined)) : list;
}
