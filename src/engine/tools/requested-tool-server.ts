// Finds the tool server that an entry of `tools` names (promise 10.1): a registered server of the project, perhaps with
// additional headers of the request, or a server at an address that the request gives. Connections to the latter are
// shared only by calls with the same token, address and headers.
import type { RequestedToolServer } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { type Principal, roleAtLeast } from "../../core/identity.ts";
import type { ToolServer, ToolServerSet } from "../../core/configured/tool.ts";
import { insufficientRole, invalidRequest } from "../../core/refusals.ts";
import { digestOf } from "../../core/text/digest.ts";
import { DEFAULT_MAX_CONCURRENT, DEFAULT_MAX_RESULT_BYTES, DEFAULT_TIMEOUT_MS } from "../../mcp/compile-servers.ts";

/** Throws `tool_server_not_found`, `insufficient_role`, `header_not_allowed` or `invalid_request` with the path. */
export function toolServerFor(
  requested: RequestedToolServer,
  principal: Principal,
  servers: ToolServerSet,
): ToolServer {
  return requested.url === null
    ? registeredServer(requested, principal, servers)
    : ownServer(requested, requested.url, principal);
}

function registeredServer(
  { label, headers, path }: RequestedToolServer,
  principal: Principal,
  servers: ToolServerSet,
): ToolServer {
  const server = servers.of(principal.tenantId, principal.projectId).get(label);
  const param = `${path}.server_label`;
  if (server === undefined)
    throw new GatewayError(
      "tool_server_not_found",
      `No tool server of this project has the label ${JSON.stringify(label)}.`,
      { param },
    );
  if (server.role !== null && !roleAtLeast(principal.role, server.role))
    throw insufficientRole(
      `The tool server ${label} needs the role ${server.role} or higher; the role here is ${principal.role}.`,
      param,
    );
  return Object.keys(headers).length === 0 ? server : withHeaders(server, headers, path, principal);
}

/** Adds headers of the request. The caller cannot replace headers that the operator has configured. */
function withHeaders(
  server: ToolServer,
  headers: RequestedToolServer["headers"],
  path: string,
  principal: Principal,
): ToolServer {
  const { transport } = server;
  if (transport.kind === "stdio")
    throw invalidRequest(
      `${path}.headers`,
      `${path}.headers cannot be sent: the tool server ${server.label} is a local program, which takes no headers.`,
    );
  const configured = new Set(Object.keys(transport.headers).map((name) => name.toLowerCase()));
  const configuredName = Object.keys(headers).find((name) => configured.has(name));
  if (configuredName !== undefined)
    throw new GatewayError(
      "header_not_allowed",
      `${path}.headers.${configuredName} is set in the configuration of the tool server, and a request cannot replace it.`,
      { param: `${path}.headers.${configuredName}` },
    );
  return {
    ...server,
    key: `${server.key} for ${scopeOf(principal)} with ${digestOf(headers)}`,
    countedAs: server.key,
    tenantId: principal.tenantId,
    transport: { ...transport, headers: { ...transport.headers, ...headers } },
  };
}

function ownServer({ label, headers }: RequestedToolServer, url: string, principal: Principal): ToolServer {
  return {
    key: `request of ${scopeOf(principal)} ${digestOf({ url, headers })}`,
    tenantId: principal.tenantId,
    label,
    transport: { kind: "auto", url, headers, oauth: null, guarded: true },
    timeoutMs: DEFAULT_TIMEOUT_MS,
    maxResultBytes: DEFAULT_MAX_RESULT_BYTES,
    maxConcurrent: DEFAULT_MAX_CONCURRENT,
    allowedTools: null,
    role: null,
    approval: "always",
  };
}

function scopeOf({ tenantId, projectId, tokenId }: Principal): string {
  return `${tenantId}/${projectId}/${tokenId}`;
}
