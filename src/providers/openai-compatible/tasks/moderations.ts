// Moderations as their vendors serve them, whose categories are the vendors' own:
// https://platform.openai.com/docs/api-reference/moderations, https://docs.mistral.ai/api/endpoint/classifiers
import type { ChatRequest, Message } from "../../../core/chat.ts";
import type { Json, JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import { MalformedAnswer, StreamError, type TaskForm, type Tasks } from "../../provider.ts";
import { parseSentObject } from "../../answers/sent-json.ts";
import { taskMemoOf, taskRequest } from "../../tasks/task.ts";
import type { ErrorClassifier } from "../errors.ts";
import type { ModerationRow } from "./task-rows.ts";

interface ModerationProvider {
  readonly row: ModerationRow;
  readonly base: (target: Target) => string;
  readonly errors: ErrorClassifier;
}

export function compatibleModerations({ row, base, errors }: ModerationProvider): NonNullable<Tasks["moderations"]> {
  const form: TaskForm<JsonObject> = {
    docs: row.docs,
    mostInputs: Number.POSITIVE_INFINITY,
    takes: new Set(),
    encode(request: ChatRequest, target: Target) {
      const inputs = request.messages.map(inputOf);
      // the parts of one message are the whole list
      const input = taskMemoOf(request).isSingle ? inputs[0]! : inputs;
      const body: JsonObject = { model: target.model, input };
      return {
        request: taskRequest(`${base(target)}/moderations`, body, request, target, new Set()),
        memo: { inputs: inputs.length },
      };
    },
    decode(body) {
      const answer = parseSentObject(body, "answer");
      if (errors.isError(answer)) throw new StreamError(errors.classifyParsed(200, answer, body));
      if (!Array.isArray(answer["results"])) throw new MalformedAnswer("The provider's answer has no list of results.");
      return { values: [answer], tokens: null, model: answer["model"] };
    },
  };
  return () => form;
}

function inputOf({ content }: Message): Json {
  return content ?? "";
}
