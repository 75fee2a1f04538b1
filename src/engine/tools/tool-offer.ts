// Lists the tools of tool servers and offers them under the names of promise 10.2: to the model of a call, and to clients
// of `/mcp`.
import type { FunctionTool, RequestedToolServer } from "../../core/chat.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { ToolApproval, ToolDefinition, ToolServer } from "../../core/configured/tool.ts";
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";
import { offeredCharacters, offeredFunction, offeredNames, toolPlace } from "./offered-tools.ts";
import type { OfferedTool } from "./run-tool.ts";

const MAX_TOOLS = 1000;
/** Of all tools that are offered, which each round writes: about what the list of one server may have. */
const MAX_CHARACTERS = 8 * 1_048_576;

/** What lists tools. */
export interface ToolLister {
  readonly context: { readonly toolServers: Pick<ToolServers, "list"> };
  readonly signal: CancelSignal;
  /** As in `Principal`. */
  readonly permitsTool?: Principal["permitsTool"] | undefined;
}

export interface Listing {
  readonly requested: RequestedToolServer;
  readonly server: ToolServer;
  /** The tools that the request allows. */
  readonly tools: readonly ToolDefinition[];
  readonly failure: GatewayError | null;
}

/** Lists the tools of a server. A failing server is reported, and the other servers are used (promise 10.4). */
export async function listed(
  requested: RequestedToolServer,
  server: ToolServer,
  { context, signal, permitsTool }: ToolLister,
): Promise<Listing> {
  try {
    const all = await context.toolServers.list(server, signal);
    const asked = requested.allowedTools === null ? null : new Set(requested.allowedTools);
    const allowed = all.filter(
      ({ name }) =>
        (asked === null || asked.has(name)) && (permitsTool === undefined || permitsTool(`${server.label}__${name}`)),
    );
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
export function requireSomeAnswer(listings: readonly Listing[]): void {
  const failed = listings.filter(({ failure }) => failure !== null);
  const [first] = failed;
  if (first === undefined) return;
  const labels = failed.map(({ server }) => server.label).join(", ");
  const { code, detail, message } = first.failure!;
  const { path } = first.requested;
  // the gateway wrote this message for the operator, and it names no host
  const reason = code === "address_not_allowed" ? ` ${message}` : "";
  throw new GatewayError(
    "tool_server_failed",
    `Could not list the tools of ${failed.length === 1 ? "the tool server" : "the tool servers"} ${labels}.${reason}`,
    {
      param: path === "" ? null : `${path}.server_label`,
      detail: `${message}${detail === null ? "" : ` ${detail}`}`,
      cause: first.failure,
    },
  );
}

/** Tools that are left out and named in the record. */
const MOST_NAMED = 10;

export interface Offer {
  /** The offered tools by the name of their function. */
  readonly tools: ReadonlyMap<string, OfferedTool>;
  readonly functions: readonly FunctionTool[];
  readonly warnings: readonly string[];
}

export function offer(listings: readonly Listing[]): Offer {
  let warnings: readonly string[] = [];
  if (listings.some(({ failure }) => failure !== null)) warnings = [...warnings, "tool_server_failed"];
  const all = listings.flatMap(({ requested, server, tools }) => tools.map((tool) => ({ requested, server, tool })));
  if (listings.some(lacksAllowed)) warnings = [...warnings, "allowed_tool_not_found"];
  const names = offeredNames(all.map(({ server, tool }) => ({ label: server.label, tool: tool.name })));
  const tools = new Map<string, OfferedTool>();
  const functions: FunctionTool[] = [];
  const leftOut: string[] = [];
  let left = MAX_CHARACTERS;
  for (const { requested, server, tool } of all) {
    const name = names.get(toolPlace(server.label, tool.name))!;
    const offered = left < 0 || functions.length === MAX_TOOLS ? null : offeredFunction(tool, name);
    if (offered !== null) left -= offeredCharacters(tool);
    // after the first tool without room, none is measured
    if (offered === null || left < 0) {
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

/** Whether the request allows a tool that a server which has answered does not have. */
function lacksAllowed({ requested: { allowedTools }, tools, failure }: Listing): boolean {
  if (failure !== null || allowedTools === null) return false;
  const names = new Set(tools.map(({ name }) => name));
  return !allowedTools.every((name) => names.has(name));
}

function needsApproval(approval: ToolApproval | null, server: ToolServer, tool: string, name: string): boolean {
  if (approval === null) return server.approval === "always";
  if (typeof approval === "string") return approval === "always";
  const isIn = (list: ReadonlySet<string>): boolean => list.has(tool) || list.has(name);
  if (isIn(approval.alwaysFor)) return true;
  return approval.neverFor === null ? server.approval === "always" : !isIn(approval.neverFor);
}
