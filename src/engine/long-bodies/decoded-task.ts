// Reads a provider's answer to one upstream request of a task. The thread of long bodies does this with long answers.
import type { TaskRules } from "../../core/chat.ts";
import type { Credential } from "../../core/target.ts";
import type { DecodeContext } from "../../providers/interface/encoded-request.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { TaskAnswer } from "../../providers/interface/task-form.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import { answerWithoutKeys } from "../answer/answer-keys.ts";
import { taskFormOf } from "../fit/task-parts.ts";

export interface TaskQuestion {
  readonly bytes: Uint8Array;
  readonly decode: DecodeContext;
  /** The id of the provider's implementation. */
  readonly family: string;
  /** The credential that the answer may have repeated. */
  readonly credential: Credential | null;
  readonly task: TaskRules;
}

/** Throws StreamError or MalformedAnswer. */
export function decodedTask(
  { bytes, decode, credential, task }: TaskQuestion,
  provider: Provider,
): TaskAnswer<unknown> {
  const form = taskFormOf(task, provider, decode.model);
  return form.decode(answerWithoutKeys(decodeUtf8(bytes), credential), decode);
}
