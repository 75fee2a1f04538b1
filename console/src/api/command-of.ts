// The command that does what a request of the admin API does, in the words of docs/cli.md. A test makes every request that the console shows
// with its command too, against a gateway.
import { shellQuoted } from "../format/shell-quoted.ts";
import type { Method } from "./api.ts";

export interface ShownRequest {
  readonly method?: Method;
  /** As the console asks it: `/v1/admin/...`. */
  readonly path: string;
  readonly body?: Readonly<Record<string, unknown>> | undefined;
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
  users: "user",
  memberships: "member",
  providers: "provider",
  routes: "route",
  policies: "policy",
  limits: "limit",
  budgets: "budget",
  prices: "price",
  tool_servers: "tool-server",
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
  attention: "attention",
  integrations: "integration",
  gateway: "gateway",
};
/** Those of the caller, where the path names no place. */
const OWN: ReadonlySet<string> = new Set(["sessions", "views", "gateway"]);
/** Their removal is confirmed on the command line. */
const CONTAINING: ReadonlySet<string> = new Set(["users"]);

/** Null where no command does it. */
export function commandOf(request: ShownRequest): string | null {
  const parsed = parsedRequest(request);
  if (parsed === null) return null;
  const words = parsed.noun === "tokens" ? tokenWords(parsed) : (ofProvider(parsed) ?? nounWords(parsed));
  return words === null ? null : ["dragoman", ...words, ...parsed.place].map(shellQuoted).join(" ");
}

function parsedRequest({ method = "GET", path, body = {} }: ShownRequest): Parsed | null {
  const [address = "", query = ""] = path.split("?");
  const match = /^\/v1\/admin(?:\/(tenant|project)s\/([^/]+))?\/(\w+)(?:\/([^/]+))?(?:\/([^/]+))?$/.exec(address);
  if (match === null) return null;
  const [, reach, of, noun, id, verb] = match;
  const place = reach !== undefined ? [`--${reach}`, decodeURIComponent(of!)] : OWN.has(noun!) ? [] : ["--all"];
  return {
    method,
    place,
    noun: noun!,
    id: id === undefined ? null : decodeURIComponent(id),
    verb: verb ?? null,
    query: new URLSearchParams(query),
    body,
  };
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
  if (id !== null) return verb === null ? null : ["token", verb, id];
  const lists = Object.entries({ model: body["models"], route: body["routes"], ip: body["ip"] }).flatMap(
    ([flag, values]) => (Array.isArray(values) && values.length > 0 ? [`--${flag}`, ...values.map(String)] : []),
  );
  const owner = isPersonal ? ["--personal", "--user", text(body["user_id"])] : ["--role", text(body["role"])];
  const days = ["--expires-in-days", text(body["expires_in_days"])];
  return ["token", "create", "--name", text(body["name"]), ...owner, ...days, ...lists];
}

function ofProvider({ method, noun, id, verb, query, body }: Parsed): readonly string[] | null {
  if (noun !== "providers" || id === null || verb === null) return null;
  if (verb === "drain" && method === "DELETE") {
    const drained = query.get("model");
    return ["provider", "undrain", drained === null ? id : `${id}:${drained}`];
  }
  const model = body["model"] == null ? "" : `:${text(body["model"])}`;
  const note = body["note"] == null ? [] : ["--note", text(body["note"])];
  if (verb === "drain") return ["provider", "drain", id + model, "--for", `${text(body["minutes"])}m`, ...note];
  return verb === "test" ? ["provider", "test", id + model] : null;
}

function nounWords(parsed: Parsed): readonly string[] | null {
  const { method, noun, id, verb, query, body } = parsed;
  if (noun === "webhook_deliveries") return deliveryWords(parsed);
  if (noun === "logs") return method === "GET" ? ["logs", ...idOf(id), ...listFlags(query)] : null;
  const isSums = noun === "calls" && (id === "histogram" || id === "facets");
  const word = isSums ? id : WORDS[noun];
  if (word === undefined) return null;
  if (method === "GET") {
    if (noun === "settings" || noun === "gateway") return [word, "get"];
    return id === null || isSums ? [word, "list", ...listFlags(query)] : verb === null ? [word, "get", id] : null;
  }
  if (verb === "rollback") return [word, "rollback", id!, "--to", text(body["to"]), ...noteOf(body)];
  if (verb !== null) return null;
  if (method === "DELETE") return [word, "delete", ...idOf(id), ...(CONTAINING.has(noun) ? ["--yes"] : [])];
  if (noun === "memberships") return [word, "set", id!, "--role", text(body["role"])];
  if (method === "PATCH") return [word, "update", ...idOf(id), ...fieldFlags(body)];
  if (method !== "POST") return null;
  // what has an id of its own choosing is called by it, and may have a name besides
  const { [body["id"] === undefined ? "name" : "id"]: called, ...fields } = body;
  return [word, "create", ...idOf(called), ...fieldFlags(fields)];
}

function deliveryWords({ method, id, verb, query }: Parsed): readonly string[] | null {
  if (method === "GET" && id === null) return ["webhook", "deliveries", ...mostOf(query)];
  return verb === "redeliver" ? ["webhook", "redeliver", id!] : null;
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
const noteOf = ({ note }: Parsed["body"]): readonly string[] => (note == null ? [] : ["--note", text(note)]);
const idOf = (id: unknown): readonly string[] => (id == null ? [] : [text(id)]);

/** JSON is YAML, which the command line reads. */
function fieldFlags(fields: Parsed["body"]): readonly string[] {
  const set = Object.entries(fields).filter(([, value]) => value !== undefined);
  return set.length === 0 ? [] : ["--set", ...set.map(([name, value]) => `${name}=${JSON.stringify(value)}`)];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
