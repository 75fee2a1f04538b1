// Opens the tool session of a call (promises 10.1 to 10.3): finds the tool servers, lists their tools, offers them as
// functions, and collects the calls that the client has approved.
import { withMembers } from "../../core/request/request-source.ts";
import type {
  RequestedToolServer,
  ChatRequest,
  FunctionTool,
  Message,
  ToolCall,
  UnansweredCall,
} from "../../core/chat.ts";
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { isObject } from "../../core/json.ts";
import type { ToolApproval, ToolDefinition, ToolServer } from "../../core/configured/tool.ts";
import { toolServerFor } from "./requested-tool-server.ts";
import { offeredFunction, offeredNames, toolPlace, withChoice, withOfferedTools } from "./offered-tools.ts";
import { type OfferedTool, type ResultsSoFar, runTool, type ToolCaller } from "./run-tool.ts";
import { unansweredCalls, withOutcomes } from "./tool-turns.ts";
import type { NextRound, SessionServer, ToolCallOwner, ToolOutcome, ToolSession } from "./tool-session.ts";

const DEFAULT_ROUNDS = 10;
const MAX_TOOLS = 1000;
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
  const listings = await call.clock.waiting(
    Promise.all(servers.map(({ requested, server }) => listed(requested, server, call))),
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
  return {
    request,
    approved: approvedCalls(
      request.held?.unanswered ?? unansweredCalls(request.messages),
      ownerOf,
      new Set(sent.written?.approved),
    ),
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

interface Listing {
  readonly requested: RequestedToolServer;
  readonly server: ToolServer;
  /** The tools that the request allows. */
  readonly tools: readonly ToolDefinition[];
  readonly failure: GatewayError | null;
}

/** Lists the tools of a server. A failing server is reported, and the other servers are used (promise 10.4). */
async function listed(
  requested: RequestedToolServer,
  server: ToolServer,
  { context, signal }: ToolCaller,
): Promise<Listing> {
  try {
    const all = await context.toolServers.list(server, signal);
    const { allowedTools } = requested;
    const allowed = allowedTools === null ? all : all.filter(({ name }) => allowedTools.includes(name));
    // a server may list a name twice; the first one counts
    const names = new Set<string>();
    const tools = allowed.filter(({ name }) => !names.has(name) && names.add(name));
    return { requested, server, tools, failure: null };
  } catch (thrown) {
    if (signal.aborted) throw signal.reason;
    const error = asGatewayError(thrown);
    if (error.code === "address_not_allowed" && requested.url !== null)
      throw error.atField(`${requested.path}.server_url`);
    if (error.code === "internal_error") throw thrown;
    return { requested, server, tools: [], failure: error };
  }
}

/**
 * Throws `tool_server_failed` if a server failed. It is not an error if a server has no tools or the request allows
 * none.
 */
function requireSomeAnswer(listings: readonly Listing[]): void {
  const failed = listings.filter(({ failure }) => failure !== null);
  const [first] = failed;
  if (first === undefined) return;
  const labels = failed.map(({ server }) => server.label).join(", ");
  const { code, detail, message } = first.failure!;
  // the gateway wrote this message for the operator, and it names no host
  const reason = code === "address_not_allowed" ? ` ${message}` : "";
  throw new GatewayError(
    "tool_server_failed",
    `Could not list the tools of ${failed.length === 1 ? "the tool server" : "the tool servers"} ${labels}.${reason}`,
    {
      param: `${first.requested.path}.server_label`,
      detail: `${message}${detail === null ? "" : ` ${detail}`}`,
      cause: first.failure,
    },
  );
}

/** Tools that are left out and named in the record. */
const MOST_NAMED = 10;

interface Offer {
  /** The offered tools by the name of their function. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly functions: readonly FunctionTool[];
  readonly warnings: readonly string[];
}

function offer(listings: readonly Listing[]): Offer {
  let warnings: readonly string[] = [];
  if (listings.some(({ failure }) => failure !== null)) warnings = [...warnings, "tool_server_failed"];
  const all = listings.flatMap(({ requested, server, tools }) => tools.map((tool) => ({ requested, server, tool })));
  if (
    listings.some(
      ({ requested, tools, failure }) =>
        failure === null && requested.allowedTools?.some((name) => !tools.some((tool) => tool.name === name)) === true,
    )
  )
    warnings = [...warnings, "allowed_tool_not_found"];
  const names = offeredNames(all.map(({ server, tool }) => ({ label: server.label, tool: tool.name })));
  const tools = new Map<string, OfferedTool>();
  const functions: FunctionTool[] = [];
  const leftOut: string[] = [];
  for (const { requested, server, tool } of all) {
    const name = names.get(toolPlace(server.label, tool.name))!;
    const offered = offeredFunction(tool, name);
    if (offered === null || functions.length === MAX_TOOLS) {
      leftOut.push(name);
      continue;
    }
    tools.set(name, { name, server, tool, needsApproval: needsApproval(requested.approval, server, tool.name, name) });
    functions.push(offered);
  }
  if (leftOut.length > 0)
    warnings = [...warnings, "tool_left_out", ...leftOut.slice(0, MOST_NAMED).map((name) => `tool_left_out:${name}`)];
  return { tools, functions, warnings };
}

function needsApproval(approval: ToolApproval | null, server: ToolServer, tool: string, name: string): boolean {
  if (approval === null) return server.approval === "always";
  if (typeof approval === "string") return approval === "always";
  const isIn = (list: ReadonlySet<string>): boolean => list.has(tool) || list.has(name);
  if (isIn(approval.alwaysFor)) return true;
  return approval.neverFor === null ? server.approval === "always" : !isIn(approval.neverFor);
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
  return options.toolServers.find(({ label }) => name.startsWith(`${label}__`))?.label;
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
      throw new GatewayError(
        "invalid_request",
        `${path} waits for approval. To run it, name ${JSON.stringify(call.function.name)} in require_approval.never; otherwise answer it with a message of role tool.`,
        { param: path },
      );
  }
  if (approved.length > MAX_APPROVED)
    throw new GatewayError(
      "invalid_request",
      `At most ${MAX_APPROVED} approved tool calls are allowed at the end of messages; got ${approved.length}.`,
      { param: "messages" },
    );
  return approved;
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
