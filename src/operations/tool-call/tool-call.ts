// The operation tools.call: a client of `/mcp` runs a tool of the project's tool servers (promise 16.3). It asks no
// provider, and is otherwise a call like any other: admitted by policies and limits, in the ledger before the tool runs,
// and recorded once.
import { answerHeaders } from "../../engine/answer/answer-frame.ts";
import type { Call } from "../../engine/call/call.ts";
import { BARE_ERRORS } from "../../engine/call/called-operation.ts";
import { withoutFiles } from "../../engine/content/content-size.ts";
import type { Operation, ReadyCall } from "../../engine/operation.ts";
import { registeredTools } from "../../engine/tools/registered-tools.ts";
import { type OfferedTool, runTool } from "../../engine/tools/run-tool.ts";
import { type RunningSession, ToolRuns } from "../../engine/tools/tool-runs.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { TOOL_CALL_FORM, type ToolCallMemo } from "./parse-tool-call.ts";
import { clientResult, resultForClient } from "./tool-result.ts";

/**
 * The answer: a result as the protocol has it, with the code of what failed other than in the tool itself, and the schema
 * that the tool's server gives for such results; or the tool that a person has to approve first.
 */
export type ToolCallAnswer =
  | { readonly result: JsonObject; readonly code: ErrorCode | null; readonly output_schema: JsonObject | null }
  | { readonly needs_approval: { readonly server_label: string; readonly tool: string } };

export const TOOL_CALL: Operation = {
  name: "tools.call",
  errors: BARE_ERRORS,
  form: TOOL_CALL_FORM,
  hasNoTarget: true,
  async reply({ call, request, principal }: ReadyCall): Promise<Response> {
    const { name, approved, can_ask: canAsk } = request.written!.memo as ToolCallMemo;
    const { tools, warnings } = await call.clock.waiting(registeredTools(principal, call, name));
    for (const warning of warnings) call.recorder.warned(warning);
    const offered = tools.get(name);
    if (offered === undefined)
      throw new GatewayError(
        "tool_not_found",
        `There is no tool ${JSON.stringify(name)} that this access token may call.`,
        { param: "name" },
      );
    const { label } = offered.server;
    if (offered.needsApproval && !approved) {
      if (canAsk) return sent({ needs_approval: { server_label: label, tool: offered.tool.name } }, call);
      throw new GatewayError(
        "approval_required",
        `The tool ${name} runs only after a person has approved the call, and this client cannot ask one. The operator can set require_approval: never for the tool server ${label}, or use a client that supports elicitation.`,
        { param: "name" },
      );
    }
    const reserved = await call.meter.reserveWithoutTarget();
    await call.lifetime.enterLedger();
    // a call that the ledger does not take has used nothing
    reserved.countCall();
    return sent(await ran(offered, request, call), call);
  },
};

async function ran(offered: OfferedTool, request: ChatRequest, call: Call): Promise<ToolCallAnswer> {
  const { messages } = call.policies?.requests.translated(request, null) ?? request;
  const results = { bytes: 0 };
  const session: RunningSession = {
    servers: [],
    maxCalls: null,
    run: (toolCall, round, onActivity, spanId, refused = null) =>
      runTool(toolCall, offered, {
        label: offered.server.label,
        round,
        onActivity,
        spanId,
        call,
        results,
        refused,
        write: resultForClient,
      }),
  };
  const [outcome] = await new ToolRuns(session, call).run(messages[0]!.tool_calls!, 1, () => {});
  const { shown, isError, code } = outcome!;
  // a file within the text of the result could not be told from text
  const content = JSON.stringify(withoutFiles(shown));
  call.content?.answered({ choices: [{ index: 0, message: { role: "assistant", content } }] });
  return { result: clientResult(shown, isError), code, output_schema: offered.tool.outputSchema ?? null };
}

function sent(answer: ToolCallAnswer, call: Call): Response {
  call.signal.throwIfAborted();
  call.recorder.firstContent();
  call.recorder.succeeded();
  // the head reports what remains of the limits after this call is settled
  call.meter.settle();
  const headers = answerHeaders(call, null, null, "application/json");
  call.lifetime.publish();
  return new Response(JSON.stringify(answer), { headers });
}
