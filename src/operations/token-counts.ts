// What the operations that count the tokens of a request have in common: a count is that of the provider itself, or there
// is none (promise 12.11).
import { GatewayError } from "../core/errors.ts";
import type { OperationName } from "../core/operation.ts";
import type { AnswerForm, NativeAnswers } from "../engine/answer-form.ts";
import type { ReadyCall } from "../engine/operation.ts";
import { replyConversation } from "../engine/reply-conversation.ts";

/** `operation` is the field that a translation of the request names in its error, because it cannot be counted. */
export async function replyCount(ready: ReadyCall, answers: AnswerForm, operation: OperationName): Promise<Response> {
  try {
    return await replyConversation(ready, { ...answers, native: { ...answers.native!, edits: editsUnder(ready) } });
  } catch (thrown) {
    // no target of the call speaks the operation
    if (thrown instanceof GatewayError && thrown.param === operation)
      throw new GatewayError(
        "not_implemented",
        "There is no count of this request: the provider of this model does not count tokens before a call, or would be sent a translation of it, which x-gateway-explain shows. The gateway does not guess. Use the usage of an answer, or estimate the count yourself.",
      );
    throw thrown;
  }
}

/** Where guards search answers, only what both forms say passes, in which there is no text of the provider's. */
function editsUnder({ call: { snapshot, record } }: ReadyCall): NativeAnswers["edits"] {
  const policies = snapshot.policies.of(record.tenantId ?? "", record.projectId ?? "");
  if (policies === null || policies.outputGuards.length === 0) return () => [];
  return (count) =>
    Object.keys(count)
      .filter((name) => name !== "input_tokens" && !(name === "object" && count[name] === "response.input_tokens"))
      .map((name) => ({ path: [name], value: undefined }));
}
