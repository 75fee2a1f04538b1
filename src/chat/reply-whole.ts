// A provider's whole answer -> the JSON answer of the client.
import { estimatedUsage } from "../accounting/estimate.ts";
import { type OpenAnswer, closeAttempt } from "./attempt.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "./call.ts";
import type { FittedRequest } from "./fit.ts";
import type { Resolved } from "./resolve.ts";
import { wholeAnswer, type WholeAnswer } from "./whole-answer.ts";

export async function replyWhole(open: OpenAnswer, fitted: FittedRequest, resolved: Resolved, call: Call): Promise<Response> {
  const answer = await readAnswer(open, fitted, resolved, call);
  const { record } = call;
  record.finishReasons = [...answer.finishReasons];
  record.nativeFinishReasons = [...answer.nativeFinishReasons];
  record.usage = answer.usage;
  record.usageSource = answer.usageEstimated ? "estimated" : "provider";
  if (answer.usageEstimated) record.warnings = [...record.warnings, "usage_estimated"];
  record.firstContentMs = open.attempt.firstContentMs = open.attempt.totalMs = call.elapsedMs();
  record.status = 200;
  const body = JSON.stringify(answer.body);
  const headers = answerHeaders(call, fitted, resolved.target, "application/json");
  call.publish();
  return new Response(body, { headers });
}

async function readAnswer(open: OpenAnswer, fitted: FittedRequest, resolved: Resolved, call: Call): Promise<WholeAnswer> {
  try {
    const text = await call.waiting(open.response.body.text(call.snapshot.limits.maxAnswerBytes));
    const answer = resolved.provider.decodeResponse(text, open.decode);
    return wholeAnswer(answer, answerFrame(call, fitted, resolved), (generated) => estimatedUsage(fitted.request.messages, generated));
  } catch (thrown) {
    open.response.body.cancel();
    throw closeAttempt(open.attempt, thrown, resolved, call);
  }
}
