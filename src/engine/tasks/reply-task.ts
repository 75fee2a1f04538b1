// Answers a task: a call whose answer is values for its inputs, and no generated text.
import type { ChatRequest } from "../../core/chat.ts";
import { inTurns, type Steps } from "../../core/concurrency/steps.ts";
import { targetName } from "../../core/target.ts";
import { recordNonStreaming, sendInTurns } from "../answer/reply-non-streaming.ts";
import type { Answered } from "../attempt/run-attempt.ts";
import type { Call } from "../call/call.ts";
import { replyExplained } from "../explain/explain.ts";
import { taskFormOf } from "../fit/task-parts.ts";
import { requireReadable } from "../guards/readable-inputs.ts";
import type { ReadyCall } from "../operation.ts";
import { completeReply } from "../plan/complete.ts";
import { type TaskResult, taskWork } from "./task-work.ts";

export interface AnsweredTask extends TaskResult {
  /** The request as its target got it. */
  readonly request: ChatRequest;
  readonly traceId: string;
  /** Another call has had the answer too, so that an id of the provider's is replaced (promise 13.5). */
  readonly isRepeated: boolean;
  readonly tokens: number;
  /** The target's name, for a client that named only a route. */
  readonly model: string;
}

/** Returns the JSON of the answer in pieces, none of which is long. */
export type TaskWriter = (answered: AnsweredTask) => Iterable<string>;

/** `isReadable` says whether guards can search the inputs. */
export async function replyTask(ready: ReadyCall, write: TaskWriter, isReadable = true): Promise<Response> {
  const { call, request, principal, headers, prepare, explains } = ready;
  if (!isReadable) requireReadable(request, call);
  if (explains) return replyExplained(prepare, request, principal, headers, call, null);
  return completeReply(prepare(request), call, taskWork(call), (answered) => reply(answered, call, write));
}

function reply(answered: Answered<TaskResult>, call: Call, write: TaskWriter): Promise<Response> {
  recordNonStreaming(answered, call);
  const { answer, attempt } = answered;
  const { fitted, resolved } = attempt;
  const { provider, target } = resolved;
  attempt.cached?.keep([], false, taskFormOf(fitted.request.form.task!, provider, target.model).tokenHeader);
  const writing = inTurns(
    joined(
      write({
        ...answer,
        tokens: answer.usage.prompt_tokens,
        request: fitted.request,
        traceId: call.traceId,
        isRepeated: attempt.cached?.isRepeated === true,
        model: targetName(target),
      }),
    ),
    call.context.clock,
  );
  return sendInTurns(null, writing, attempt, call, () => attempt.settle("success"));
}

function* joined(pieces: Iterable<string>): Steps<string> {
  const written: string[] = [];
  for (const piece of pieces) {
    written.push(piece);
    yield;
  }
  return written.join("");
}
