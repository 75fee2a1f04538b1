// Answers a call with generated text: explained, streamed or not, in one round or in several rounds of tools.

// Decides (the answer): Who runs the tools of a server that the caller names by address? By: `leavesServers`. Rule:
// The vendor, where a target speaks the operation, its form has such tools, no registered server is named, and the token
// is not restricted to tools; else the gateway.
import { nonStreaming, replyNonStreaming } from "./answer/reply-non-streaming.ts";
import { replyExplained } from "./explain/explain.ts";
import type { AnswerForm } from "./answer-form.ts";
import type { Call } from "./call/call.ts";
import { sealingForm } from "./carriers/sealing-form.ts";
import type { ReadyCall } from "./operation.ts";
import { complete, completeReply } from "./plan/complete.ts";
import { replyStream, streaming } from "./stream/reply-stream.ts";
import { replyNonStreamingRounds } from "./tools/non-streaming-rounds.ts";
import { openToolSession } from "./tools/open-tool-session.ts";
import { replyStreamedRounds } from "./tools/streamed-rounds.ts";
import { ToolRounds } from "./tools/tool-rounds.ts";
import type { ToolSession } from "./tools/tool-session.ts";

export async function replyConversation(ready: ReadyCall, own: AnswerForm): Promise<Response> {
  const { call, request, principal, headers, prepare, explains } = ready;
  // clients of chat completions get what their provider has sent
  const form = own.isEngines ? own : sealingForm(own, call.context.carriers, principal);
  const opening = leavesServers(ready) ? null : openToolSession(request, principal, call);
  const judged = opening === null ? null : judgedSession(opening, call);
  if (explains) return replyExplained(prepare, request, principal, headers, call, await judged);
  const isStreamed = request.params.stream === true;
  if (judged !== null) {
    const rounds = judged.then((session) => {
      form.stream.tools?.listed(session.servers);
      return new ToolRounds(session, prepare, call);
    });
    return isStreamed ? replyStreamedRounds(rounds, call, form.stream) : replyNonStreamingRounds(rounds, call, form);
  }
  if (isStreamed) return replyStream(complete(prepare(request), call, streaming(call, form)), call, form.stream);
  return completeReply(prepare(request), call, nonStreaming(call), (answered) =>
    replyNonStreaming(answered, call, form),
  );
}

/** Returns the session once the services of guards have judged what its tool servers add to the request. */
async function judgedSession(opening: Promise<ToolSession>, { services, policies }: Call): Promise<ToolSession> {
  const session = await opening;
  if (services !== null) await policies!.requests.askAbout(session.request);
  return session;
}

/**
 * Whether the tool servers of the request are left to the vendor: all of them are the caller's own, and a target speaks
 * the operation, whose form has such tools (promise 12.3). A vendor does not know to which tools a token is restricted.
 */
function leavesServers({ request, principal, prepare }: ReadyCall): boolean {
  const { toolServers } = request.options;
  const { leavesServers: isLeaving } = request.form;
  if (
    isLeaving !== true ||
    principal.permitsTool !== undefined ||
    toolServers.length === 0 ||
    toolServers.some(({ url }) => url === null)
  )
    return false;
  return prepare(request, true).stages.some(({ candidates }) => candidates.some((candidate) => candidate.isNative()));
}
