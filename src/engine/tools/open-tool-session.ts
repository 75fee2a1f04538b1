// Opens the tool session of a call (promises 10.1 to 10.3): finds the tool servers, offers their tools as functions, and
// collects the calls that the client has approved.

// Decides (the answer): How does a tool call get its approval? By: `approvedCalls`. Also: at `/mcp`:
// `http/mcp/approval.ts`. Rule: The conversation comes back with the call and its name in `require_approval.never`,
// and nothing is stored. It does not matter who sends it. At `/mcp`, the question is stored, and only the token that
// asked it can answer.
import { invalidRequest } from "../../core/refusals.ts";
import { withMembers } from "../../core/request/request-source.ts";
import type { ChatRequest, Message, ToolCall, UnansweredCall } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import { isObject } from "../../core/json.ts";
import { toolServerFor } from "./requested-tool-server.ts";
import { inFunctionName, shortenedName, toolPlace, withChoice, withOfferedTools } from "./offered-tools.ts";
import { type ResultsSoFar, resultForModel, runTool, type ToolCaller } from "./run-tool.ts";
import { type Listing, listed, offer, type Offer, requireSomeAnswer, type ToolLister } from "./tool-offer.ts";
import { unansweredCalls, withOutcomes } from "./tool-turns.ts";
import type { NextRound, SessionServer, ToolCallOwner, ToolOutcome, ToolSession } from "./tool-session.ts";
import { searchedMessages } from "../guards/guard-request.ts";

const DEFAULT_ROUNDS = 10;
const MAX_APPROVED = 128;

/**
 * Returns null if the request names no tool server. Throws `tool_server_not_found`, `insufficient_role`,
 * `tool_server_failed`, `invalid_request` or a similar error with the path, or the signal's reason.
 */
export function openToolSession(
  sent: ChatRequest,
  principal: Principal,
  call: ToolCaller,
): Promise<ToolSession> | null {
  return sent.options.toolServers.length === 0 ? null : open(sent, principal, call);
}

async function open(sent: ChatRequest, principal: Principal, call: ToolCaller): Promise<ToolSession> {
  const servers = sent.options.toolServers.map((requested) => ({
    requested,
    server: toolServerFor(requested, principal, call.snapshot.toolServers),
  }));
  const { context, signal } = call;
  const lister: ToolLister = { context, signal, permitsTool: principal.permitsTool };
  const listings = await call.clock.waiting(
    Promise.all(servers.map(({ requested, server }) => listed(requested, server, lister))),
  );
  const { tools, functions, warnings } = offer(listings);
  if (tools.size === 0) requireSomeAnswer(listings);
  const names = new Map([...tools].map(([name, { server, tool }]) => [toolPlace(server.label, tool.name), name]));
  const maxRounds = sent.options.maxToolRounds ?? DEFAULT_ROUNDS;
  // with a maximum of one round, the first round is also the last, in which tools cannot be called
  const offering = withOfferedTools(sent, {
    requested: sent,
    functions,
    names,
    choice: maxRounds === 1 ? "none" : "asked",
  });
  const request = warnings.length === 0 ? offering : { ...offering, warnings: [...offering.warnings, ...warnings] };
  const own = new Set(
    (sent.params.tools ?? []).flatMap((tool) =>
      isObject(tool["function"]) && typeof tool["function"]["name"] === "string" ? [tool["function"]["name"]] : [],
    ),
  );
  const results: ResultsSoFar = { bytes: 0 };
  const ownerOfName = (name: string): ToolCallOwner => ownerOfFunction(name, tools, own, sent);
  // only function calls can run here; other forms are specific to a vendor
  const ownerOf = (toolCall: ToolCall): ToolCallOwner =>
    isObject(toolCall.function) ? ownerOfName(toolCall.function.name) : "client";
  // the form knows the tool of such a call, but not the name that it has among those of this call
  const asAsked = ({ call: toolCall, path }: UnansweredCall): UnansweredCall => {
    const place = sent.written?.asked?.get(toolCall.id);
    if (place === undefined) return { call: toolCall, path };
    const { name: plain } = toolCall.function;
    // a tool that is not offered any more must not run as another one
    const name = names.get(place) ?? (tools.has(plain) ? shortenedName(plain, place, new Set(tools.keys())) : plain);
    return { call: { ...toolCall, function: { ...toolCall.function, name } }, path };
  };
  const approved = await underGuards(
    approvedCalls(
      (request.held?.unanswered ?? unansweredCalls(request.messages)).map(asAsked),
      ownerOf,
      new Set(sent.written?.approved),
    ),
    call,
  );
  return {
    request,
    approved,
    maxRounds,
    maxCalls: sent.written?.maxToolCalls ?? null,
    servers: listings.map((listing) => sessionServer(listing, tools)),
    ownerOf,
    ownerOfName,
    run: (toolCall, round, onActivity, spanId, refused = null) =>
      runTool(toolCall, tools.get(toolCall.function.name) ?? null, {
        label: labelBefore(toolCall.function.name, sent) ?? "",
        round,
        onActivity,
        spanId,
        call,
        results,
        refused,
        write: resultForModel,
      }),
    next: nextRound,
  };
}

function nextRound(
  before: ChatRequest,
  turn: Message | null,
  outcomes: readonly ToolOutcome[],
  isLast: boolean,
): NextRound {
  const offered = { ...before.offered!, choice: isLast ? ("none" as const) : ("auto" as const) };
  const { conversation, added, replay } = withOutcomes(before, turn, outcomes);
  const { messages, ...places } = conversation;
  const params = withChoice(before.params, offered);
  const request = { ...withMembers(before, { messages, params }), ...places, offered };
  return { request, added, replay };
}

/**
 * If the model calls an unknown function whose name begins like a tool of one of the servers, the model gets an error
 * as the result, because no client could run that function.
 */
function ownerOfFunction(
  name: string,
  tools: Offer["tools"],
  own: ReadonlySet<string>,
  sent: ChatRequest,
): ToolCallOwner {
  const offered = tools.get(name);
  if (offered !== undefined) return offered.needsApproval ? "approval" : "gateway";
  return !own.has(name) && labelBefore(name, sent) !== undefined ? "gateway" : "client";
}

function labelBefore(name: string, { options }: ChatRequest): string | undefined {
  return options.toolServers.find(({ label }) => name.startsWith(inFunctionName(`${label}__`)))?.label;
}

/** Throws `invalid_request` for a call that has neither a result nor an approval, because no provider accepts that. */
function approvedCalls(
  unanswered: readonly UnansweredCall[],
  ownerOf: (call: ToolCall) => ToolCallOwner,
  named: ReadonlySet<string>,
): readonly ToolCall[] {
  const approved: ToolCall[] = [];
  for (const { call, path } of unanswered) {
    const owner = ownerOf(call);
    if (owner === "gateway" || (owner === "approval" && named.has(call.id))) approved.push(call);
    else if (owner === "approval")
      throw invalidRequest(
        path,
        `${path} waits for approval. To run it, name ${JSON.stringify(call.function.name)} in require_approval.never; otherwise answer it with a message of role tool.`,
      );
  }
  if (approved.length > MAX_APPROVED)
    throw invalidRequest(
      "messages",
      `At most ${MAX_APPROVED} approved tool calls are allowed at the end of messages; got ${approved.length}.`,
    );
  return approved;
}

/** Returns the calls as guards let any target have them: what they mask reaches no tool either. */
async function underGuards(approved: readonly ToolCall[], { policies }: ToolCaller): Promise<readonly ToolCall[]> {
  if (approved.length === 0 || policies === null) return approved;
  const turns = searchedMessages([{ role: "assistant", content: null, tool_calls: approved }]);
  const [turn] = await policies.requests.apply(turns, null, "input");
  return turn!.tool_calls!;
}

function sessionServer({ requested, server, failure }: Listing, offered: Offer["tools"]): SessionServer {
  return {
    label: server.label,
    isRegistered: requested.url === null,
    failure: failure?.code ?? null,
    tools: [...offered.values()].flatMap(({ name, tool, server: { label }, needsApproval: needs }) =>
      label === server.label ? [{ tool: tool.name, name, needsApproval: needs, definition: tool }] : [],
    ),
  };
}
