// MCP servers of LiteLLM: registered tool servers here. https://docs.litellm.ai/docs/mcp
import { isPlainAddress } from "../../providers/credentials/credential-settings.ts";
import { nameOf } from "../draft.ts";
import { isOn, textOf, wordOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Value } from "../reference.ts";
import { always } from "../report.ts";
import type { EnvironmentTexts } from "./environment.ts";
import { VARIABLE } from "../../config/environment.ts";

const TRANSPORTS: Readonly<Record<string, string>> = { http: "streamable_http", sse: "sse", stdio: "stdio" };
const MOST_DESCRIPTION = 500;

export function importToolServers(
  servers: ForeignNode | undefined,
  context: ImportContext,
  texts: EnvironmentTexts,
): void {
  for (const [name, node] of servers?.members ?? []) importServer(name, node, context, texts);
}

function importServer(name: string, node: ForeignNode, context: ImportContext, texts: EnvironmentTexts): void {
  const { claims, draft } = context;
  const { members } = node;
  const id = draft.freeName("tool_servers", nameOf(name));
  const at = `tool_servers.${id}`;
  const command = textOf(members.get("command"));
  const url = textOf(members.get("url"));
  const address = texts.variableOf(members.get("url"));
  if (command === null && address === null && (url === null || !isPlainAddress(url)))
    return claims.without(node, "expected the address of a server, or the command of a program");
  const entry: Record<string, Value> = { require_approval: "never" };
  if (command !== null) {
    entry["command"] = command;
    claims.taken(members.get("command"), `${at}.command`);
    const args = members.get("args");
    entry["args"] = (args?.items ?? []).map((item) => wordOf(item) ?? "");
    claims.taken(args, `${at}.args`);
    const environment = environmentOf(members.get("env"), id, at, context, texts);
    if (Object.keys(environment).length > 0) entry["environment"] = environment;
  } else {
    const found = texts.address(members.get("url")!);
    entry["url"] = found.value;
    claims.moved(members.get("url"), `${at}.url`, found.how);
    const headers = headersOf(members, id, at, context, texts);
    if (Object.keys(headers).length > 0) entry["headers"] = headers;
    const oauth = oauthOf(members, id, at, context, texts);
    if (oauth !== null) entry["oauth"] = oauth;
  }
  const transport = TRANSPORTS[textOf(members.get("transport")) ?? ""];
  if (transport !== undefined && (transport === "stdio") === (command !== null)) {
    entry["transport"] = transport;
    claims.taken(members.get("transport"), `${at}.transport`);
  }
  const description = textOf(members.get("description"));
  if (description !== null) {
    const kept = description.slice(0, MOST_DESCRIPTION);
    entry["description"] = kept;
    const how = kept === description ? null : `it is cut after ${MOST_DESCRIPTION} characters`;
    claims.moved(members.get("description"), `${at}.description`, how);
  }
  const tools = members.get("allowed_tools")?.items.flatMap((item) => textOf(item) ?? []);
  if (tools !== undefined && tools.length > 0) {
    entry["allowed_tools"] = tools;
    claims.taken(members.get("allowed_tools"), `${at}.allowed_tools`);
  }
  if (isOn(members.get("allow_all_keys")))
    claims.taken(members.get("allow_all_keys"), always("tool servers of the file, which all callers may use"));
  draft.set("tool_servers", [id], entry);
}

/** Client credentials: LiteLLM asks for a token itself where the server has an id, a secret and the address for it. */
function oauthOf(
  members: ReadonlyMap<string, ForeignNode>,
  id: string,
  at: string,
  { claims }: ImportContext,
  texts: EnvironmentTexts,
): Value | null {
  const [type, client, secret, address, scopes] = [
    "auth_type",
    "client_id",
    "client_secret",
    "token_url",
    "scopes",
  ].map((name) => members.get(name));
  if (textOf(type) !== "oauth2" || address === undefined) return null;
  const name = texts.variableOf(client);
  const clientId = name === null ? textOf(client) : texts.referenceTo(name, "unset");
  const found = texts.secret(secret, `${id}_client_secret`, "unset");
  if (clientId === null || found === null) return null;
  const url = texts.address(address);
  for (const node of [type, client, scopes]) claims.taken(node, `${at}.oauth`);
  claims.moved(secret, `${at}.oauth`, found.how);
  claims.moved(address, `${at}.oauth`, url.how);
  const scope = (scopes?.items ?? []).flatMap((item) => textOf(item) ?? []).join(" ");
  return {
    token_url: url.value,
    client_id: clientId,
    client_secret: found.value,
    ...(scope !== "" && { scope }),
  };
}

function environmentOf(
  env: ForeignNode | undefined,
  id: string,
  at: string,
  { claims }: ImportContext,
  texts: EnvironmentTexts,
): Record<string, Value> {
  const environment: Record<string, Value> = {};
  for (const [name, node] of env?.members ?? []) {
    const found = VARIABLE.test(name) ? texts.secret(node, `${id}_${name}`) : null;
    if (found === null) continue;
    environment[name] = found.value;
    claims.moved(node, `${at}.environment`, found.how);
  }
  return environment;
}

/** How `auth_type` and the credential beside it stand in the header `authorization`, or in one of their own. */
const SCHEMES: Readonly<Record<string, readonly [header: string, scheme: string]>> = {
  bearer_token: ["authorization", "Bearer "],
  token: ["authorization", "token "],
  authorization: ["authorization", ""],
  api_key: ["x-api-key", ""],
};

function headersOf(
  members: ReadonlyMap<string, ForeignNode>,
  id: string,
  at: string,
  { claims }: ImportContext,
  texts: EnvironmentTexts,
): Record<string, Value> {
  const headers: Record<string, Value> = {};
  for (const [name, node] of (members.get("static_headers") ?? members.get("headers"))?.members ?? []) {
    const found = texts.secret(node, `${id}_${name}`);
    if (found === null) continue;
    headers[name.toLowerCase()] = found.value;
    claims.moved(node, `${at}.headers`, found.how);
  }
  const type = members.get("auth_type");
  const scheme = SCHEMES[textOf(type) ?? ""];
  const value = members.get("auth_value") ?? members.get("authentication_token");
  const found = scheme === undefined ? null : texts.secret(value, `${id}_token`);
  if (scheme === undefined || found === null) return headers;
  const [header, words] = scheme;
  headers[header] = joined(words, found.value);
  claims.taken(type, `${at}.headers`);
  claims.moved(value, `${at}.headers`, found.how);
  return headers;
}
