// The tools of a project's registered tool servers as one list, for clients that call them without a model (promise 16.3).
// The names are those that a model would see, and the token narrows the list.
import type { RequestedToolServer } from "../../core/chat.ts";
import { LATE, within } from "../../core/concurrency/timeout.ts";
import type { ToolServer, ToolServerSet } from "../../core/configured/tool.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Principal, roleAtLeast } from "../../core/identity.ts";
import { labelPrefix } from "./offered-tools.ts";
import { type Listing, listed, offer, type Offer, requireSomeAnswer, type ToolLister } from "./tool-offer.ts";

/** What lists the tools of a project. */
export interface RegisteredToolLister extends Pick<ToolLister, "context" | "signal"> {
  readonly snapshot: { readonly toolServers: Pick<ToolServerSet, "of"> };
}

/** How long a list waits for a server before it leaves the server out. */
const MOST_WAIT_MS = 10_000;

/**
 * Returns the tools that the caller may run. A server that fails, or does not answer within 10 s, is left out. With
 * `name`, only the servers are asked whose tool may have that name. Throws `tool_server_failed` if no tool is left for
 * that reason, or if the tool with that name may be one of a server that failed, or the signal's reason.
 */
export async function registeredTools(
  principal: Pick<Principal, "tenantId" | "projectId" | "role" | "permitsTool">,
  { snapshot, context, signal }: RegisteredToolLister,
  name: string | null = null,
): Promise<Offer> {
  const servers = [...snapshot.toolServers.of(principal.tenantId, principal.projectId).values()].filter(
    ({ role, label }) =>
      (role === null || roleAtLeast(principal.role, role)) && (name === null || name.startsWith(labelPrefix(label))),
  );
  const lister: ToolLister = { context, signal, permitsTool: principal.permitsTool };
  const listings = await Promise.all(servers.map((server) => listedInTime(server, lister)));
  const offered = offer(listings);
  // of two servers `a` and `a__b`, one could otherwise get the calls of the other while that is away
  const mayBeAnothers =
    name !== null &&
    listings.some(({ server: { label }, failure }) => failure !== null && name.startsWith(`${label}__`));
  if (offered.tools.size === 0 || mayBeAnothers) requireSomeAnswer(listings);
  return offered;
}

async function listedInTime(server: ToolServer, lister: ToolLister): Promise<Listing> {
  const requested = wholeServer(server.label);
  const listing = await within(listed(requested, server, lister), MOST_WAIT_MS);
  if (listing !== LATE) return listing;
  const failure = new GatewayError("tool_timeout", `The tool server ${server.label} did not list its tools in time.`);
  return { requested, server, tools: [], failure };
}

/** What a request would say that narrows nothing and leaves approval to the settings of the server. */
function wholeServer(label: string): RequestedToolServer {
  return { label, url: null, headers: {}, allowedTools: null, approval: null, path: "" };
}
