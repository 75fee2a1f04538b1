// The command that does what a request of the admin API does, in the words of docs/cli.md. A test makes every request that the console shows
// with its command too, against a gateway.
import { shellQuoted } from "../format/shell-quoted.ts";
import type { Method } from "./api.ts";

export interface ShownRequest {
  readonly method?: Method;
  /** As the console asks it: `/v1/admin/...`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a request is about: the parts of its path and its query. */
interface Parsed {
  readonly method: Method;
  readonly place: readonly string[];
  /** Such as `routes` or `calls/facets`. */
  readonly noun: string;
  readonly id: string | null;
  /** Such as `rotate`. */
  readonly verb: string | null;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

const WORDS: Readonly<Record<string, string>> = {
  tenants: "tenant",
  projects: "project",
  users: "user",
  memberships: "member",
  providers: "provider",
  routes: "route",
  policies: "policy",
  limits: "limit",
  budgets: "budget",
  prices: "price",
  tool_servers: "tool-server",
  webhooks: "webhook",
  settings: "settings",
  claims: "claim",
  views: "view",
  sessions: "session",
  logins: "company-login",
  usage: "usage",
  calls: "call",
  limit_states: "limit-state",
  provider_health: "provider-health",
  drains: "drain",
  drafts: "draft",
  attention: "attention",
  integrations: "integration",
  gateway: "gateway",
  versions: "history",
};
/** Those of the caller, where the path names no place; and those that are in none. */
const OWN: ReadonlySet<string> = new Set(["sessions", "views", "gateway", "tenants", "projects"]);
/** Their removal is confirmed on the command line. */
const CONTAINING: ReadonlySet<string> = new Set(["users", "tenants", "projects"]);

/** Null where no command does it. */
export function commandOf(request: ShownRequest): string | null {
  const parsed = parsedRequest(request);
  if (parsed === null) return callWords(request);
  const words = ownWords(parsed) ?? nounWords(parsed);
  if (words === null) return null;
  const command = ["dragoman", ...words, ...parsed.place].map(shellQuoted).join(" ");
  // the text of a draft is what the command reads
  const isTyped = parsed.verb === "draft" && parsed.method === "PUT";
  return isTyped ? `printf %s ${shellQuoted(text(parsed.body["text"]))} | ${command}` : command;
}

/** Of the operations that every client may ask for. */
function callWords({ path, body = {}, headers = {} }: ShownRequest): string | null {
  const project = headers["x-gateway-project-id"];
  const place = project === undefined ? [] : ["--project", project];
  const explain = headers["x-gateway-explain"] === "true" ? ["--explain"] : [];
  const words =
    path === "/v1/chat/completions"
      ? ["chat", ...fieldFlags(body), ...explain, ...place]
      : path === "/v1/models" && project !== undefined
        ? ["models", ...place]
        : null;
  return words === null ? null : ["dragoman", ...words].map(shellQuoted).join(" ");
}

function parsedRequest({ method = "GET", path, body = {} }: ShownRequest): Parsed | null {
  const [address = "", query = ""] = path.split("?");
  const match = /^\/v1\/admin(?:\/(tenant|project)s\/([^/]+))?\/(\w+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(address);
  if (match === null) return null;
  const [, reach, of, noun, id, verb] = match;
  const ofAll = OWN.has(noun!) ? [] : noun === "audit" && id === "export" ? ["--gateway"] : ["--all"];
  return {
    method,
    place: reach !== undefined ? [`--${reach}`, decodeURIComponent(of!)] : ofAll,
    noun: noun!,
    id: id === undefined ? null : decodeURIComponent(id),
    verb: verb ?? null,
    query: new URLSearchParams(query),
    body,
  };
}

/** Of the nouns whose commands are no verbs of the admin API. */
const SPECIAL: Readonly<Record<string, (parsed: Parsed) => readonly string[] | null>> = {
  tokens: tokenWords,
  providers: providerWords,
  webhooks: webhookWords,
  webhook_deliveries: deliveryWords,
  tool_servers: toolWords,
  routes: versionedWords,
  policies: versionedWords,
  audit: auditWords,
  rollback: historyWords,
  diff: historyWords,
  cache: ({ method, id, body }) =>
    method === "POST" && id === "purge" ? ["cache", "purge", ...flagsOf(body, ["route", "key"])] : null,
  content: ({ method }) => (method === "DELETE" ? ["logs", "--purge-content"] : null),
  logs: logWords,
};

function ownWords(parsed: Parsed): readonly string[] | null {
  return SPECIAL[parsed.noun]?.(parsed) ?? null;
}

function tokenWords({ method, id, verb, query, body, place }: Parsed): readonly string[] | null {
  const isPersonal = place[0] === "--tenant";
  if (method === "GET" && id !== null) return ["token", "get", id];
  if (method === "GET")
    return [
      "token",
      "list",
      ...(isPersonal ? ["--personal"] : []),
      ...["state", "search"].flatMap((name) => (query.has(name) ? [`--${name}`, query.get(name)!] : [])),
    ];
  if (id !== null && method === "PATCH") return ["token", "update", id, ...fieldFlags(body)];
  if (id !== null) return verb === null ? null : ["token", verb, id, ...flagsOf(body, ["overlap_minutes"])];
  const { models: model, routes: route, tools: tool, permissions: permission, ip } = body;
  const lists = Object.entries({ model, route, tool, permission, ip }).flatMap(([flag, values]) =>
    Array.isArray(values) && values.length > 0 ? [`--${flag}`, ...values.map(String)] : [],
  );
  const owner = isPersonal ? ["--personal", "--user", text(body["user_id"])] : flagsOf(body, ["role"]);
  const days = flagsOf(body, ["expires_in_days"]);
  return ["token", "create", "--name", text(body["name"]), ...owner, ...days, ...lists];
}

function providerWords({ method, id, verb, query, body }: Parsed): readonly string[] | null {
  if (id === null || verb === null) return null;
  if (verb === "drain" && method === "DELETE") {
    const drained = query.get("model");
    return ["provider", "undrain", drained === null ? id : `${id}:${drained}`];
  }
  const model = body["model"] == null ? "" : `:${text(body["model"])}`;
  const note = body["note"] == null ? [] : ["--note", text(body["note"])];
  if (verb === "drain") return ["provider", "drain", id + model, "--for", `${text(body["minutes"])}m`, ...note];
  return verb === "test" ? ["provider", "test", id + model, ...flagsOf(body, ["operation"])] : null;
}

function webhookWords({ id, verb, body }: Parsed): readonly string[] | null {
  if (id === null || verb === null) return null;
  return ["webhook", verb, id, ...flagsOf(body, ["overlap_minutes"])];
}

function toolWords({ id, verb, body }: Parsed): readonly string[] | null {
  if (id === null || verb === null) return null;
  if (verb === "tools") return ["tools", "list", id];
  const given = body["arguments"] as Parsed["body"] | undefined;
  return verb === "call" ? ["tools", "call", id, text(body["tool"]), ...fieldFlags(given ?? {})] : ["tools", verb, id];
}

/** Drafts, versions and simulations of routes and policies. */
function versionedWords({ method, noun, id, verb, query, body }: Parsed): readonly string[] | null {
  if (id === null || verb === null) return null;
  const word = WORDS[noun]!;
  if (verb === "versions") return [word, "versions", id];
  if (verb === "rollback") return [word, "rollback", id, "--to", text(body["to"]), ...remarkFlags(query)];
  if (verb === "compare") return [word, "compare", id, ...flagsOf(Object.fromEntries(query), ["from", "to"])];
  if (verb === "draft")
    return [word, "draft", id, ...(method === "DELETE" ? ["--discard"] : method === "PUT" ? ["-f", "-"] : [])];
  if (verb !== "simulate") return null;
  const fields = (body[word] ?? {}) as Parsed["body"];
  const faults = (body["faults"] ?? []) as readonly Fault[];
  return [
    word,
    "simulate",
    id,
    ...fieldFlags(fields),
    ...(faults.length === 0 ? [] : ["--fault", ...faults.map(faultText)]),
    ...flagsOf(body, ["calls"]),
  ];
}

interface Fault {
  readonly target: string;
  readonly kind: string;
  readonly status?: number;
  readonly added_ms?: number;
  readonly share?: number;
}

/** Such as `a:b=status:529@0.5`. */
function faultText({ target, kind, status, added_ms: added, share }: Fault): string {
  const number = status ?? added;
  return `${target}=${kind}${number === undefined ? "" : `:${number}`}${share === undefined ? "" : `@${share}`}`;
}

function historyWords({ noun, query, body }: Parsed): readonly string[] | null {
  if (noun === "diff") return ["history", "diff", "--from", query.get("from") ?? "", "--to", query.get("to") ?? ""];
  return ["history", "rollback", "--to", text(body["to"]), ...remarkFlags(query)];
}

function auditWords({ id, query }: Parsed): readonly string[] {
  const given = Object.fromEntries(query);
  if (id === "verify") return ["audit", "verify"];
  if (id === "export") return ["audit", "export", ...flagsOf(given, ["from", "to"])];
  if (id !== "as_of") return ["audit", "list", ...listFlags(query)];
  const { at = "", project_id: project, ...narrowed } = given;
  return ["audit", "as-of", at, ...flagsOf({ ...narrowed, project }, ["project", "model", "route"])];
}

function logWords({ method, id, verb, query }: Parsed): readonly string[] | null {
  if (method !== "GET") return null;
  return ["logs", ...idOf(id), ...(verb === "content" ? ["--content"] : []), ...listFlags(query)];
}

function nounWords(parsed: Parsed): readonly string[] | null {
  const { method, noun, id, verb, query, body } = parsed;
  const isSums = noun === "calls" && (id === "histogram" || id === "facets");
  const word = isSums ? id : WORDS[noun];
  if (word === undefined) return null;
  if (method === "GET") {
    if (noun === "settings" || noun === "gateway") return [word, "get"];
    return id === null || isSums ? [word, "list", ...listFlags(query)] : verb === null ? [word, "get", id] : null;
  }
  if (verb !== null) return null;
  const remarks = remarkFlags(query);
  if (method === "DELETE") return [word, "delete", ...idOf(id), ...(CONTAINING.has(noun) ? ["--yes"] : []), ...remarks];
  if (noun === "memberships") return [word, "set", id!, "--role", text(body["role"])];
  if (method === "PATCH") return [word, "update", ...idOf(id), ...fieldFlags(body), ...remarks];
  if (method === "PUT") return [word, "replace", ...idOf(id), ...fieldFlags(body), ...remarks];
  // what has an id of its own choosing is called by it, and may have a name besides
  const { [body["id"] === undefined ? "name" : "id"]: called, ...fields } = body;
  return [word, "create", ...idOf(called), ...fieldFlags(fields), ...remarks];
}

function deliveryWords({ method, id, verb, query }: Parsed): readonly string[] | null {
  if (method !== "GET") return verb === "redeliver" ? ["webhook", "redeliver", id!] : null;
  return id === null ? ["webhook", "deliveries", ...mostOf(query)] : ["webhook", "delivery", id];
}

function listFlags(query: URLSearchParams): readonly string[] {
  const by = query.get("group_by");
  const order = query.get("order");
  const filters = [...query].filter(([name]) => !["limit", "cursor", "group_by", "order"].includes(name));
  return [
    ...mostOf(query),
    ...(by === null ? [] : ["--by", by]),
    ...(order === null ? [] : ["--order", order]),
    ...(filters.length === 0 ? [] : ["--filter", ...filters.map(([name, value]) => `${name}=${value}`)]),
  ];
}

const mostOf = (query: URLSearchParams): readonly string[] =>
  query.has("limit") ? ["--most", query.get("limit")!] : [];
/** Why a change is made. */
const remarkFlags = (query: URLSearchParams): readonly string[] =>
  flagsOf(Object.fromEntries(query), ["note", "override_tests"]);
/** Those that are set, such as `--overlap-minutes 60`. */
const flagsOf = (fields: Parsed["body"], names: readonly string[]): readonly string[] =>
  names.flatMap((name) => (fields[name] == null ? [] : [`--${name.replaceAll("_", "-")}`, text(fields[name])]));
const idOf = (id: unknown): readonly string[] => (id == null ? [] : [text(id)]);

/** JSON is YAML, which the command line reads. */
function fieldFlags(fields: Parsed["body"]): readonly string[] {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return set.length === 0 ? [] : ["--set", ...set.map(([name, value]) => `${name}=${JSON.stringify(value)}`)];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
