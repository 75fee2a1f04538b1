// MCP servers of Bifrost: registered tool servers here. https://docs.getbifrost.ai/mcp/overview
import { isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { nameOf } from "../draft.ts";
import { isOn, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { type Value, variable } from "../reference.ts";
import { addressOf, secretOf, variableOf } from "./environment.ts";
import { VARIABLE } from "../../config/environment.ts";

export function importToolServers(mcp: ForeignNode | undefined, context: ImportContext): void {
  for (const node of mcp?.members.get("client_configs")?.items ?? []) importServer(node, context);
}

function importServer(node: ForeignNode, context: ImportContext): void {
  const { claims, draft } = context;
  const { members } = node;
  const name = textOf(members.get("name")) ?? textOf(members.get("id")) ?? "server";
  const id = draft.freeName("tool_servers", nameOf(name));
  const at = `tool_servers.${id}`;
  const url = members.get("connection_string") ?? members.get("http_url");
  const program = members.get("stdio_config")?.members;
  const command = textOf(program?.get("command"));
  const isAddress = url !== undefined && (variableOf(url) !== null || isPlainAddress(textOf(url) ?? ""));
  if (command === null && !isAddress)
    return claims.without(node, "expected the address of a server, or the command of a program");
  const entry: Record<string, Value> = { require_approval: "never" };
  if (command === null) {
    entry["url"] = addressOf(url!, `${at}.url`, context);
    const headers = headersOf(members.get("headers"), id, at, context);
    if (Object.keys(headers).length > 0) entry["headers"] = headers;
    const kind = members.get("auth_type");
    if (["none", "headers"].includes(textOf(kind) ?? "")) claims.taken(kind, at);
  } else {
    entry["command"] = command;
    entry["args"] = (program?.get("args")?.items ?? []).map((item) => wordOf(item) ?? "");
    claims.taken(program?.get("command"), `${at}.command`);
    claims.taken(program?.get("args"), `${at}.args`);
    const names = (program?.get("envs")?.items ?? [])
      .flatMap((item) => textOf(item) ?? [])
      .filter((each) => VARIABLE.test(each));
    if (names.length > 0) entry["environment"] = Object.fromEntries(names.map((each) => [each, variable(each)]));
    claims.taken(program?.get("envs"), `${at}.environment`);
  }
  claims.taken(members.get("name"), at);
  claims.taken(members.get("connection_type"), at);
  const enabled = members.get("is_enabled");
  const isOff = enabled !== undefined && !isOn(enabled);
  if (isOff) entry["enabled"] = false;
  claims.taken(enabled, isOff ? `${at}.enabled` : at);
  const tools = members.get("tools_to_execute");
  const allowed = (tools?.items ?? []).flatMap((item) => textOf(item) ?? []);
  if (allowed.length > 0) entry["allowed_tools"] = allowed;
  claims.taken(tools, `${at}.allowed_tools`);
  draft.set("tool_servers", [id], entry);
  claims.without(
    members.get("tools_to_auto_execute"),
    "the gateway runs every tool that a call may use: docs/tools.md",
  );
  for (const key of ["id", "is_ping_available"]) claims.without(members.get(key), "there is no such setting");
}

function headersOf(
  headers: ForeignNode | undefined,
  id: string,
  at: string,
  context: ImportContext,
): Record<string, Value> {
  return Object.fromEntries(
    Array.from(headers?.members ?? []).flatMap(([name, node]): readonly (readonly [string, Value])[] => {
      const secret = secretOf(node, { name: `${id}_${name}`, to: `${at}.headers` }, context);
      return secret === null ? [] : [[name.toLowerCase(), secret]];
    }),
  );
}
