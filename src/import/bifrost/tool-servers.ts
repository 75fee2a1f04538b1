// MCP servers of Bifrost: registered tool servers here. https://docs.getbifrost.ai/mcp/overview
import { VARIABLE } from "../../config/environment.ts";
import { isOff, textOf, textsOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { variable } from "../reference.ts";
import { type Reasons, withoutMembers } from "../report.ts";
import { beginServer, headersIn } from "../tool-server-entry.ts";

export function importToolServers(mcp: ForeignNode | undefined, context: ImportContext): void {
  for (const node of mcp?.members.get("client_configs")?.items ?? []) importServer(node, context);
}

function importServer(node: ForeignNode, context: ImportContext): void {
  const { claims, draft } = context;
  const { members } = node;
  const name = textOf(members.get("name")) ?? textOf(members.get("id")) ?? "server";
  const url = members.get("connection_string") ?? members.get("http_url");
  const program = members.get("stdio_config")?.members;
  const server = beginServer(
    { name, node, url, command: program?.get("command"), args: program?.get("args") },
    context,
  );
  if (server === null) return;
  const { id, at, entry, isProgram } = server;
  if (isProgram) {
    const names = textsOf(program?.get("envs")).filter((each) => VARIABLE.test(each));
    if (names.length > 0) entry["environment"] = Object.fromEntries(names.map((each) => [each, variable(each)]));
    claims.taken(program?.get("envs"), `${at}.environment`);
  } else {
    const headers = headersIn(members.get("headers"), server, context);
    if (Object.keys(headers).length > 0) entry["headers"] = headers;
    const kind = members.get("auth_type");
    if (["none", "headers"].includes(textOf(kind) ?? "")) claims.taken(kind, at);
  }
  claims.taken(members.get("name"), at);
  claims.taken(members.get("connection_type"), at);
  const enabled = members.get("is_enabled");
  if (isOff(enabled)) entry["enabled"] = false;
  claims.taken(enabled, isOff(enabled) ? `${at}.enabled` : at);
  const tools = members.get("tools_to_execute");
  // https://docs.getbifrost.ai/mcp/filtering: without names, none can be used
  entry["allowed_tools"] = textsOf(tools);
  claims.taken(tools, `${at}.allowed_tools`);
  draft.set("tool_servers", [id], entry);
  withoutMembers(members, OF_SERVERS, claims);
}

const NO_SUCH = "there is no such setting";
const OF_SERVERS: Reasons = {
  tools_to_auto_execute: "the gateway runs every tool that a call may use: docs/tools.md",
  id: NO_SUCH,
  is_ping_available: NO_SUCH,
};
