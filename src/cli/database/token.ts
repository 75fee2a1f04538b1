// `dragoman token ...`: works on the database directly, even while a server runs on it, which sees the change within a
// second. When a gateway is named in place of a data folder, it works over its admin API. Both print the same.
import { resolve } from "node:path";
import { newAccessToken } from "../../auth/tokens/access-token.ts";
import { makeOwner } from "../../auth/first-identities.ts";
import { createToken, type IssuedToken, revokeToken, rotateToken } from "../../auth/tokens/token-admin.ts";
import type { Environment } from "../../config/environment.ts";
import { systemClock } from "../../core/clock.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { shownToken } from "../../http/admin/identity/token-shapes.ts";
import { POLL_MS } from "../../snapshot/source.ts";
import { everyRow, type TokenFilter } from "../../store/reader.ts";
import { COMMAND_LINE } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import type { Writer } from "../../store/writer.ts";
import { printError, printJson, printLine } from "../output.ts";
import { cell, printThings } from "../things.ts";
import { type DatabaseFlags, withAnyDatabase, withDatabase } from "./database.ts";

export interface StoreFlags extends DatabaseFlags {
  /** The address of a gateway, in place of a data folder. */
  readonly url?: string;
  readonly token?: string;
  readonly tenant?: string;
  readonly project?: string;
}
export interface RotateFlags extends StoreFlags {
  readonly overlapMinutes?: number;
}
export interface ListFlags extends StoreFlags {
  readonly personal?: true;
  readonly state?: NonNullable<TokenFilter["state"]>;
  readonly search?: string;
}
export interface CreateFlags extends StoreFlags {
  readonly name: string;
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

const COLUMNS = {
  ID: "id",
  NAME: "name",
  KIND: "kind",
  PROJECT: "project_id",
  USER: "user_id",
  ROLE: "role",
  PERMISSIONS: "permissions",
  STATE: "state",
  EXPIRES: "expires_at",
};

/** `tokens` as the admin API lists them. */
export function printTokens(tokens: readonly JsonObject[], { json }: StoreFlags): void {
  if (json === true) printJson(tokens);
  else printThings(COLUMNS, tokens);
}

/** `issued` as the admin API shows a new token. */
export function printIssued(issued: Json, { json }: StoreFlags): void {
  if (json === true) return printJson(issued);
  printLine(
    `${cell(issued, "token")}\n\nThis is access token ${cell(issued, "id")} (${cell(issued, "name")}), valid until ${cell(issued, "expires_at").slice(0, 10)}. It is shown only now.`,
  );
}

/** `token` as the admin API shows it. */
export function printRevoked(token: Json, { json }: StoreFlags): void {
  if (json === true) return printJson(token);
  printLine(`The access token ${cell(token, "id")} (${cell(token, "name")}) is revoked.`);
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
  const make = (store: Store): Promise<JsonObject> =>
    issuedBy(store, (writer) => createToken(writer, request, systemClock.now()));
  const issued = await (isForFirstOwner(flags) ? withOwner : withStore)(flags, environment, make);
  await isRead();
  printIssued(issued, flags);
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
  const issued = await withStore(flags, environment, (store) =>
    issuedBy(store, (writer) => rotateToken(writer, id, { overlapMs }, systemClock.now())),
  );
  await isRead();
  printIssued(issued, flags);
}

export async function revoke(id: string, flags: StoreFlags, environment: Environment): Promise<void> {
  const token = await withStore(flags, environment, async (store) => {
    const changed = await store.change(COMMAND_LINE, (writer) => revokeToken(writer, id, systemClock.now()));
    return shown(store, changed.result.id);
  });
  printRevoked(token, flags);
}

export async function list(flags: ListFlags, environment: Environment): Promise<void> {
  const { tenant, project, personal, state, search } = flags;
  const filter: TokenFilter = {
    ...(tenant !== undefined && { tenantId: tenant }),
    ...(project !== undefined && { projectId: project }),
    ...(personal === true && { kind: "personal" }),
    ...(state !== undefined && { state }),
    ...(search !== undefined && { search }),
  };
  const tokens = await withStore(flags, environment, (store) =>
    Array.fromAsync(everyRow((page) => store.listTokens(page, filter))),
  );
  const nowMs = systemClock.now();
  printTokens(
    tokens.map((token) => shownToken(token, nowMs)),
    flags,
  );
}

async function issuedBy(store: Store, issue: (writer: Writer) => Promise<IssuedToken>): Promise<JsonObject> {
  const { id, text } = (await store.change(COMMAND_LINE, issue)).result;
  return { ...(await shown(store, id)), token: text };
}

async function shown(store: Store, id: string): Promise<JsonObject> {
  return shownToken((await store.findToken(id))!, systemClock.now());
}

/** Waits until a gateway that runs on the database has had time to read the token, because it is often used at once. */
async function isRead(): Promise<void> {
  await Bun.sleep(2 * POLL_MS);
}

function withStore<T>(flags: DatabaseFlags, environment: Environment, work: (store: Store) => Promise<T>): Promise<T> {
  return withDatabase(flags, environment, ({ store }) => work(store));
}
