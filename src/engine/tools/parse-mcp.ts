// Parses the entries of `tools` that are tool servers (promise 10.1): the server, its allowed tools, and which of them
// need the client's approval. The format is that of https://platform.openai.com/docs/guides/tools-connectors-mcp
import type { RequestedToolServer } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ToolApproval } from "../../core/configured/tool.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { checkedHeaders } from "../fit/caller-headers.ts";

const MAX_SERVERS = 32;
const MAX_NAMES = 1000;
const MAX_NAME = 256;
const MAX_URL = 2000;
/** Every name that a tool server can be registered under is one. */
const LABEL = /^[A-Za-z0-9_.-]{1,64}$/;
/** RFC 6750, section 2.1, allows only a b64token. This accepts more, because many issuers do not comply. */
const AUTHORIZATION = /^[\x21-\x7e]{1,8192}$/;
const MEMBERS = [
  "type",
  "server_label",
  "server_url",
  "authorization",
  "headers",
  "allowed_tools",
  "require_approval",
] as const;
const NO_HEADERS: Readonly<Record<string, string>> = Object.freeze({});

export const isToolServer = (tool: Json | undefined): tool is JsonObject => isObject(tool) && tool["type"] === "mcp";

/** Throws `invalid_request` or `header_not_allowed` with the path. */
export function parseToolServers(tools: readonly Json[]): readonly RequestedToolServer[] {
  const found: RequestedToolServer[] = [];
  tools.forEach((tool, index) => {
    if (isToolServer(tool)) found.push(parseToolServer(tool, `tools[${index}]`, found));
  });
  return found;
}

function parseToolServer(tool: JsonObject, path: string, before: readonly RequestedToolServer[]): RequestedToolServer {
  for (const name of Object.keys(tool))
    if (!(MEMBERS as readonly string[]).includes(name) && tool[name] !== null)
      throw invalidRequest(
        `${path}.${name}`,
        `${path}.${name} is unknown. A tool of type mcp may have ${MEMBERS.join(", ")}.`,
      );
  if (before.length === MAX_SERVERS) throw invalidRequest(path, `tools may name at most ${MAX_SERVERS} tool servers.`);
  const label = tool["server_label"];
  if (typeof label !== "string" || !LABEL.test(label))
    throw invalid(`${path}.server_label`, "1 to 64 letters, digits, dots, underscores or dashes", label);
  const same = before.find((one) => one.label === label);
  if (same !== undefined)
    throw invalidRequest(
      `${path}.server_label`,
      `${path}.server_label is the same as in ${same.path}; name each tool server once.`,
    );
  const url = parseUrl(tool["server_url"] ?? null, `${path}.server_url`);
  return {
    label,
    url,
    headers: {
      ...parseHeaders(tool["headers"] ?? null, `${path}.headers`),
      ...parseAuthorization(tool["authorization"] ?? null, url, path),
    },
    allowedTools: parseAllowedTools(tool["allowed_tools"] ?? null, `${path}.allowed_tools`),
    approval: parseApproval(tool["require_approval"] ?? null, `${path}.require_approval`),
    path,
  };
}

function parseUrl(url: Json, path: string): string | null {
  if (url === null) return null;
  const expected = `an http or https address of at most ${MAX_URL} characters, without user name`;
  if (typeof url !== "string" || url.length > MAX_URL || !/^https?:\/\/[^\s\\]+$/i.test(url))
    throw invalid(path, expected, url);
  const parsed = URL.parse(url);
  if (parsed === null || parsed.username !== "" || parsed.password !== "")
    throw invalidRequest(path, `${path} must be ${expected}.`);
  return url;
}

function parseHeaders(headers: Json, path: string): Readonly<Record<string, string>> {
  if (headers === null) return NO_HEADERS;
  if (!isObject(headers)) throw invalid(path, "an object", headers);
  const checked = checkedHeaders(path, headers);
  const own = Object.keys(checked).find(
    (name) => name.startsWith("mcp-") || name === "accept" || name === "last-event-id",
  );
  if (own !== undefined)
    throw new GatewayError(
      "header_not_allowed",
      `${path}.${own} cannot be set by a caller, because the protocol uses it.`,
      { param: `${path}.${own}` },
    );
  return checked;
}

/** A credential is sent only to the address that the same entry gives (promise 2.9). */
function parseAuthorization(token: Json, url: string | null, path: string): Readonly<Record<string, string>> {
  if (token === null) return NO_HEADERS;
  if (typeof token !== "string" || !AUTHORIZATION.test(token))
    throw invalidRequest(
      `${path}.authorization`,
      `${path}.authorization must be an access token: visible ASCII without spaces.`,
    );
  if (url === null)
    throw invalidRequest(
      `${path}.authorization`,
      `${path}.authorization can only be sent with server_url; a registered tool server has its own credential.`,
    );
  return { authorization: `Bearer ${token}` };
}

function parseAllowedTools(allowed: Json, path: string): readonly string[] | null {
  if (allowed === null) return null;
  if (Array.isArray(allowed)) return toolNames(allowed, path);
  if (!isObject(allowed)) throw invalid(path, "a list of tool names, or an object with tool_names", allowed);
  return namesOfFilter(allowed, path);
}

function namesOfFilter(filter: JsonObject, path: string): readonly string[] {
  for (const name of Object.keys(filter))
    if (name !== "tool_names" && filter[name] !== null)
      throw invalidRequest(`${path}.${name}`, `${path}.${name} is unknown. Select tools by tool_names.`);
  return toolNames(filter["tool_names"] ?? null, `${path}.tool_names`);
}

function toolNames(names: Json, path: string): readonly string[] {
  if (!Array.isArray(names)) throw invalid(path, "an array of tool names", names);
  if (names.length > MAX_NAMES)
    throw invalidRequest(path, `${path} may have at most ${MAX_NAMES} names; got ${names.length}.`);
  names.forEach((name: Json, index) => {
    if (typeof name !== "string" || name.length < 1 || name.length > MAX_NAME)
      throw invalid(`${path}[${index}]`, `a string of 1 to ${MAX_NAME} characters`, name);
  });
  return names as readonly string[];
}

function parseApproval(approval: Json, path: string): ToolApproval | null {
  if (approval === null || approval === "always" || approval === "never") return approval;
  if (!isObject(approval)) throw invalid(path, '"always", "never", or an object with never or always', approval);
  const listed = (name: "never" | "always"): ReadonlySet<string> | null => {
    const filter = approval[name] ?? null;
    if (filter === null) return null;
    if (!isObject(filter)) throw invalid(`${path}.${name}`, "an object with tool_names", filter);
    return new Set(namesOfFilter(filter, `${path}.${name}`));
  };
  for (const name of Object.keys(approval))
    if (name !== "never" && name !== "always" && approval[name] !== null)
      throw invalidRequest(`${path}.${name}`, `${path}.${name} is unknown. Use never or always.`);
  const [neverFor, alwaysFor] = [listed("never"), listed("always")];
  return neverFor === null && alwaysFor === null ? null : { neverFor, alwaysFor: alwaysFor ?? new Set() };
}
