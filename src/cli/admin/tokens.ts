// `dragoman token ...` over the admin API, for use on another machine than that of the database. What it prints is that
// of `database/token.ts`.
import type { Environment } from "../../config/environment.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { printJson, printLine, printYaml } from "../output.ts";
import {
  type CreateFlags,
  type ListFlags,
  printIssued,
  printRevoked,
  printTokens,
  type RotateFlags,
  type StoreFlags,
} from "../database/token.ts";
import { type AdminClient, type AdminRequest, type GatewayFlags, openAdminClient, RefusedRequest } from "./client.ts";
import { type InputFlags, readInput } from "./input.ts";
import { pathOf } from "./run.ts";

/** Personal tokens belong to the tenant, all others to a project. */
const tokensPath = (flags: Pick<StoreFlags, "tenant" | "project">): string => pathOf("tokens", null, flags);

export async function create(flags: CreateFlags, environment: Environment): Promise<void> {
  const personal = flags.personal === true;
  if (personal && flags.role !== undefined)
    throw new Error("A personal token has the roles of its user. Leave --role out, and name the user with --user.");
  if (personal && flags.user === undefined) throw new Error("Name the user of the personal token with --user.");
  const body: JsonObject = {
    name: flags.name,
    models: flags.model ?? [],
    routes: flags.route ?? [],
    tools: flags.tool ?? [],
    ip: flags.ip ?? [],
    permissions: flags.permission ?? [],
    expires_in_days: flags.expiresInDays ?? null,
    ...(personal ? { user_id: flags.user! } : { role: flags.role ?? null }),
  };
  const path = personal ? pathOf("tokens", null, flags, "tenant") : tokensPath({ project: flags.project ?? "default" });
  printIssued(await openAdminClient(flags, environment).send("POST", path, { body }), flags);
}

export async function show(id: string, flags: StoreFlags, environment: Environment): Promise<void> {
  const token = await openAdminClient(flags, environment).send("GET", pathOf("tokens", id, flags));
  if (flags.json === true) return printJson(token);
  printYaml(token);
}

export async function list(flags: ListFlags, environment: Environment): Promise<void> {
  printTokens(await listed(openAdminClient(flags, environment), flags), flags);
}

/**
 * The tokens of the project that the flags name; without a project, all tokens of the tenant that the caller may see,
 * personal ones first.
 */
async function listed(client: AdminClient, flags: ListFlags): Promise<readonly JsonObject[]> {
  const query = { state: flags.state, search: flags.search };
  if (flags.project !== undefined || flags.personal === true) return await client.list(tokensPath(flags), query);
  const projects = await client.list("/projects", flags.tenant === undefined ? {} : { tenant_id: flags.tenant });
  const tokens = [...(await personalTokens(client, flags, query))];
  for (const { id } of projects)
    if (typeof id === "string") tokens.push(...(await client.list(tokensPath({ project: id }), query)));
  return tokens;
}

/** Empty when the caller may not see the personal tokens of the tenant. */
async function personalTokens(
  client: AdminClient,
  flags: StoreFlags,
  query: AdminRequest["query"],
): Promise<readonly JsonObject[]> {
  try {
    return await client.list(tokensPath(flags), query);
  } catch (thrown) {
    if (thrown instanceof RefusedRequest && thrown.code === "insufficient_role") return [];
    throw thrown;
  }
}

export async function rotate(id: string, flags: RotateFlags, environment: Environment): Promise<void> {
  printIssued(
    await atToken(id, flags, environment, (client, path) =>
      client.send("POST", `${path}/rotate`, { body: { overlap_minutes: flags.overlapMinutes ?? null } }),
    ),
    flags,
  );
}

export async function revoke(id: string, flags: StoreFlags, environment: Environment): Promise<void> {
  const answer = await atToken(id, flags, environment, (client, path) => client.send("POST", `${path}/revoke`));
  printRevoked(answer, flags);
}

export async function update(
  id: string,
  { file, set, ...flags }: GatewayFlags & InputFlags & StoreFlags,
  environment: Environment,
): Promise<void> {
  const body = await readInput({ ...(file !== undefined && { file }), ...(set !== undefined && { set }) });
  const answer = await atToken(id, flags, environment, (client, path) => client.send("PATCH", path, { body }));
  if (flags.json === true) return printJson(answer);
  printLine(`The access token ${id} is changed.`);
}

/** When no project is named, the token may be a personal one, or one of the project `default`. */
async function atToken(
  id: string,
  flags: StoreFlags,
  environment: Environment,
  work: (client: AdminClient, path: string) => Promise<Json>,
): Promise<Json> {
  const client = openAdminClient(flags, environment);
  try {
    return await work(client, pathOf("tokens", id, flags));
  } catch (thrown) {
    if (
      !(thrown instanceof RefusedRequest) ||
      thrown.status !== 404 ||
      flags.project !== undefined ||
      flags.tenant !== undefined
    )
      throw thrown;
    return await work(client, pathOf("tokens", id, { project: "default" }));
  }
}
