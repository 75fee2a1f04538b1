// What entries for MCP servers of other gateways have in common: each is an address, or a program with its arguments.
import { HEADER_VALUE } from "../config/sent-headers.ts";
import { httpAddress } from "../config/http-address.ts";
import { nameOf } from "./draft.ts";
import { placed } from "./environment-texts.ts";
import { textOf, wordOf } from "./figures.ts";
import type { ForeignNode } from "./foreign-file.ts";
import type { ImportContext } from "./gateway-import.ts";
import type { Value } from "./reference.ts";

export interface ForeignServer {
  readonly name: string;
  readonly node: ForeignNode;
  readonly url: ForeignNode | undefined;
  readonly command: ForeignNode | undefined;
  readonly args: ForeignNode | undefined;
}

export interface ServerEntry {
  readonly id: string;
  /** Where the entry stands in our configuration. */
  readonly at: string;
  readonly entry: Record<string, Value>;
  readonly isProgram: boolean;
}

/** Begins the entry of a server; `null` for one that has neither, about which the report then says so. */
export function beginServer(
  { name, node, url, command, args }: ForeignServer,
  { claims, draft, secrets, texts }: ImportContext,
): ServerEntry | null {
  const id = draft.freeName("tool_servers", nameOf(name));
  const at = `tool_servers.${id}`;
  const program = textOf(command);
  const entry: Record<string, Value> = { require_approval: "never" };
  if (program !== null) {
    entry["command"] = program;
    entry["args"] = (args?.items ?? []).map((item) => wordOf(item) ?? "");
    claims.taken(command, `${at}.command`);
    claims.taken(args, `${at}.args`);
    return { id, at, entry, isProgram: true };
  }
  const text = textOf(url) ?? "";
  if (url === undefined || (texts.variableOf(url) === null && !httpAddress.safeParse(text).success)) {
    claims.without(node, "expected the address of a server without user name, or the command of a program");
    return null;
  }
  if (text.includes("?")) {
    entry["url"] = secrets.keep(`${id}_url`, text);
    claims.changed(
      url,
      `${at}.url`,
      "the address has a query, which can hold a secret, and stands in a file of its own",
    );
  } else entry["url"] = placed(texts.address(url), url, `${at}.url`, claims)!;
  return { id, at, entry, isProgram: false };
}

/** A header may be a scheme and a key behind it, and a variable of a program is any text. */
const FORMS = { headers: HEADER_VALUE, environment: /^[^\0]{0,32768}$/ } as const;

/** Secrets by name, each of which stands in a file of its own unless it refers to the environment. */
export function secretsIn(
  nodes: Iterable<readonly [string, ForeignNode]>,
  { id, at }: ServerEntry,
  key: keyof typeof FORMS,
  { claims, texts }: ImportContext,
): Record<string, Value> {
  const secrets: Record<string, Value> = {};
  for (const [name, node] of nodes) {
    const secret = placed(texts.secret(node, `${id}_${name}`, undefined, FORMS[key]), node, `${at}.${key}`, claims);
    if (secret !== null) secrets[name] = secret;
  }
  return secrets;
}

/** The names of headers in lower case, as they are written. */
export function headersIn(
  headers: ForeignNode | undefined,
  server: ServerEntry,
  context: ImportContext,
): Record<string, Value> {
  const secrets = secretsIn(headers?.members ?? [], server, "headers", context);
  return Object.fromEntries(Object.entries(secrets).map(([name, secret]) => [name.toLowerCase(), secret]));
}
