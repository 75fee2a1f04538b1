// `dragoman token ...`: works on the database directly, even while a server runs on it, which sees the change within a
// second. When a gateway is named in place of a data folder, it works over its admin API.
import { resolve } from "node:path";
import { newAccessToken } from "../../auth/tokens/access-token.ts";
import { makeOwner } from "../../auth/first-identities.ts";
import { createToken, type IssuedToken, listTokens, revokeToken, rotateToken } from "../../auth/tokens/token-admin.ts";
import type { Environment } from "../../config/environment.ts";
import { systemClock } from "../../core/clock.ts";
import { POLL_MS } from "../../snapshot/source.ts";
import { COMMAND_LINE } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import type { Writer } from "../../store/writer.ts";
import { type DatabaseFlags, withAnyDatabase, withDatabase } from "./database.ts";
import { printError, printJson, printLine, printTable } from "../output.ts";

export interface StoreFlags extends DatabaseFlags {
  /** The address of a gateway, in place of a data folder. */
  readonly url?: string;
  readonly token?: string;
  readonly tenant?: string;
}
export interface RotateFlags extends StoreFlags {
  readonly project?: string;
  readonly overlapMinutes?: number;
}
export interface ListFlags extends StoreFlags {
  readonly project?: string;
}
export interface CreateFlags extends StoreFlags {
  readonly name: string;
  readonly project?: string;
  readonly role?: string;
  readonly permission?: readonly string[];
  readonly model?: readonly string[];
  readonly route?: readonly string[];
  readonly tool?: readonly string[];
  readonly ip?: readonly string[];
  readonly personal?: true;
  readonly user?: string;
  readonly expiresInDays?: number;
}

/** For the first start of a gateway, which takes it from its environment. */
export function printText(): void {
  printLine(newAccessToken("project").text);
}

export async function create(flags: CreateFlags, environment: Environment): Promise<void> {
  const request = {
    name: flags.name,
    personal: flags.personal === true,
    projectId: flags.project ?? null,
    userId: flags.user ?? null,
    role: flags.role ?? null,
    permissions: flags.permission ?? [],
    models: flags.model ?? [],
    routes: flags.route ?? [],
    tools: flags.tool ?? [],
    ipRanges: flags.ip ?? [],
    expiresInDays: flags.expiresInDays ?? null,
  };
  const make = async (store: Store): Promise<IssuedToken> =>
    (await store.change(COMMAND_LINE, (writer) => createToken(writer, request, systemClock.now()))).result;
  await printIssued(
    await (isForFirstOwner(flags) ? withOwner(flags, environment, make) : withStore(flags, environment, make)),
    flags,
  );
}

/** An administrator's token may be created before the server is started for the first time. */
function isForFirstOwner({ personal, role, user }: CreateFlags): boolean {
  return personal === true && role === "owner" && user === undefined;
}

function withOwner<T>(flags: DatabaseFlags, environment: Environment, work: (store: Store) => Promise<T>): Promise<T> {
  return withAnyDatabase(flags, environment, async ({ store }, dataFolder) => {
    if (await makeOwner(store))
      printError(
        `the database was empty, so the first tenant, project and owner were created (data in ${resolve(dataFolder)}); the first start of the server shows the project token`,
      );
    return await work(store);
  });
}

export async function rotate(id: string, flags: RotateFlags, environment: Environment): Promise<void> {
  const overlapMs = flags.overlapMinutes === undefined ? null : flags.overlapMinutes * 60_000;
  await printIssued(
    await withChange(flags, environment, (writer) => rotateToken(writer, id, { overlapMs }, systemClock.now())),
    flags,
  );
}

export async function revoke(id: string, flags: ListFlags, environment: Environment): Promise<void> {
  const record = await withChange(flags, environment, (writer) => revokeToken(writer, id, systemClock.now()));
  if (flags.json === true) printJson({ id: record.id, revoked_at: iso(record.revokedAtMs!) });
  else printLine(`The access token ${record.id} (${record.name}) is revoked.`);
}

export async function list(flags: ListFlags, environment: Environment): Promise<void> {
  const tokens = await withStore(flags, environment, (store) => listTokens(store, systemClock.now()));
  if (flags.json === true)
    printJson(
      tokens.map((token) => ({
        id: token.id,
        kind: token.kind,
        name: token.name,
        ...powersOf(token),
        state: token.state,
        created_at: iso(token.createdAtMs),
        expires_at: iso(token.expiresAtMs),
        revoked_at: token.revokedAtMs === null ? null : iso(token.revokedAtMs),
      })),
    );
  else
    printTable(
      ["ID", "NAME", "KIND", "OF", "ROLE", "PERMISSIONS", "STATE", "EXPIRES"],
      tokens.map((token) => [
        token.id,
        token.name,
        token.kind,
        token.projectId ?? token.userId ?? "",
        token.role ?? "-",
        token.permissions.join(",") || "-",
        token.state,
        iso(token.expiresAtMs).slice(0, 10),
      ]),
    );
}

/** Where a token is used, and what it may do there. */
const powersOf = (token: Omit<IssuedToken["record"], "secrets">) => ({
  tenant: token.tenantId,
  project: token.projectId,
  user: token.userId,
  role: token.role,
  permissions: token.permissions,
  models: token.models,
  routes: token.routes,
  tools: token.tools,
  ip: token.ipRanges,
});

/** Waits until a gateway that runs on the database has had time to read the token, because it is often used at once. */
async function printIssued({ id, text, record }: IssuedToken, flags: DatabaseFlags): Promise<void> {
  await Bun.sleep(2 * POLL_MS);
  if (flags.json === true)
    printJson({
      id,
      token: text,
      name: record.name,
      kind: record.kind,
      ...powersOf(record),
      expires_at: iso(record.expiresAtMs),
    });
  else
    printLine(
      `${text}\n\nThis is access token ${id} (${record.name}), valid until ${iso(record.expiresAtMs).slice(0, 10)}. It is shown only now.`,
    );
}

async function withChange<T>(
  flags: DatabaseFlags,
  environment: Environment,
  work: (writer: Writer) => Promise<T>,
): Promise<T> {
  return withStore(flags, environment, async (store) => (await store.change(COMMAND_LINE, work)).result);
}

function withStore<T>(flags: DatabaseFlags, environment: Environment, work: (store: Store) => Promise<T>): Promise<T> {
  return withDatabase(flags, environment, ({ store }) => work(store));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
