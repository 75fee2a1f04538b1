// MCP servers of LiteLLM: registered tool servers here. https://docs.litellm.ai/docs/mcp
import { VARIABLE } from "../../config/environment.ts";
import { placed } from "../environment-texts.ts";
import { isOn, textOf, textsOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";
import { joined, type Value } from "../reference.ts";
import { always } from "../report.ts";
import { beginServer, headersIn, secretsIn, type ServerEntry } from "../tool-server-entry.ts";

const TRANSPORTS: Readonly<Record<string, string>> = { http: "streamable_http", sse: "sse", stdio: "stdio" };
const MOST_DESCRIPTION = 500;

export function importToolServers(servers: ForeignNode | undefined, context: ImportContext): void {
  for (const [name, node] of servers?.members ?? []) importServer(name, node, context);
}

function importServer(name: string, node: ForeignNode, context: ImportContext): void {
  const { claims, draft } = context;
  const { members } = node;
  const [url, command, args] = ["url", "command", "args"].map((key) => members.get(key));
  const server = beginServer({ name, node, url, command, args }, context);
  if (server === null) return;
  const { id, at, entry, isProgram } = server;
  if (isProgram) {
    const variables = [...(members.get("env")?.members ?? [])].filter(([variable]) => VARIABLE.test(variable));
    const environment = secretsIn(variables, server, "environment", context);
    if (Object.keys(environment).length > 0) entry["environment"] = environment;
  } else {
    const headers = headersOf(members, server, context);
    if (Object.keys(headers).length > 0) entry["headers"] = headers;
    const oauth = oauthOf(members, server, context);
    if (oauth !== null) entry["oauth"] = oauth;
  }
  const transport = TRANSPORTS[textOf(members.get("transport")) ?? ""];
  if (transport !== undefined && (transport === "stdio") === isProgram) {
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
  const tools = textsOf(members.get("allowed_tools"));
  if (tools.length > 0) {
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
  { id, at }: ServerEntry,
  { claims, texts }: ImportContext,
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
  const scope = textsOf(scopes).join(" ");
  return {
    token_url: url.value,
    client_id: clientId,
    client_secret: found.value,
    ...(scope !== "" && { scope }),
  };
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
  server: ServerEntry,
  context: ImportContext,
): Record<string, Value> {
  const { claims, texts } = context;
  const headers = headersIn(members.get("static_headers") ?? members.get("headers"), server, context);
  const type = members.get("auth_type");
  const scheme = SCHEMES[textOf(type) ?? ""];
  const value = members.get("auth_value") ?? members.get("authentication_token");
  const found = scheme === undefined ? null : texts.secret(value, `${server.id}_token`);
  const secret = placed(found, value, `${server.at}.headers`, claims);
  if (scheme === undefined || secret === null) return headers;
  const [header, words] = scheme;
  headers[header] = joined(words, secret);
  claims.taken(type, `${server.at}.headers`);
  return headers;
}
