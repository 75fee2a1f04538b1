// The admin API over a real store and a real snapshot, without sockets: three tenants, people of every role, tokens of every kind.
import { HeldBytes } from "../../src/engine/call/held-bytes.ts";
import type { LimitStore } from "../../src/admission/limit-store.ts";
import type { TargetStatus } from "../../src/observe/metrics/metrics.ts";
import type { ResponseCache } from "../../src/cache/response-cache.ts";
import { join } from "node:path";
import { openMemoryLimits } from "../../src/admission/memory.ts";
import { createToken } from "../../src/auth/tokens/token-admin.ts";
import { openLogins } from "../../src/auth/logins/logins.ts";
import { openSecretCipher } from "../../src/config/secret-cipher.ts";
import { type Environment, readEnvironment } from "../../src/config/environment.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { type Permission, type Role, ROLES } from "../../src/core/identity.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { type ConsoleSources, createApp } from "../../src/http/app.ts";
import { openConsoleFiles } from "../../src/http/console/console-files.ts";
import type { KeptStores } from "../../src/operations/responses/keeping/kept-responses.ts";
import { BUILT_IN_MODELS, providers } from "../../src/providers/registry.ts";
import { loadConfiguration } from "../../src/snapshot/configuration.ts";
import { openSnapshotSource, type SnapshotSource } from "../../src/snapshot/source.ts";
import { openSimulations } from "../../src/simulation/simulations.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openAuditReads } from "../../src/store/audit/audit-reads.ts";
import { auditSigner } from "../../src/store/audit/audit-signature.ts";
import type { CallStore } from "../../src/store/calls/calls.ts";
import { type ContentStore, openContentStore } from "../../src/store/calls/content-store.ts";
import type { Store } from "../../src/store/store.ts";
import { type UpstreamClient, UpstreamFault } from "../../src/wire/upstream.ts";
import type { ToolServers } from "../../src/mcp/tool-servers.ts";
import { type DatabaseKind, SQLITE } from "./servers/databases.ts";
import { idleStanding } from "./standing.ts";

export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: any;
}

export interface AdminWorld {
  readonly store: Store;
  readonly calls: CallStore;
  readonly contents: ContentStore;
  readonly limits: LimitStore;
  readonly source: SnapshotSource;
  /**
   * Texts of tokens by name: `acme.owner`, ..., `acme.site.maintainer`, ..., `default.owner` (the operator), `default.boss` (an owner, and no operator), `beta.owner`, ...; `acme.reader` and `acme.site.reader` are
   * viewers with the permission `read_content`, `default.scraper` is a project token with the permission `ops`.
   */
  readonly tokens: ReadonlyMap<string, string>;
  /** `as`: a name of `tokens`, or null for no token. */
  send(
    as: string | null,
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Told>;
  fetch(request: Request, peer?: string): Promise<Response>;
  /** A statement from outside, past the store. */
  read(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

export interface AdminWorldOptions {
  readonly file?: string | null;
  readonly clock?: Clock;
  /** SQLite, if left out. */
  readonly kind?: DatabaseKind;
  /** One whose every server has a tool `echo`, if left out. */
  readonly toolServers?: ToolServers;
  /** There is none, if left out. */
  readonly cache?: Pick<ResponseCache, "purge">;
  /** Where the built files of the console are; nowhere, if left out. */
  readonly consoleFolder?: string;
  /** Answers calls of models that come through the console. */
  readonly consoleCall?: ConsoleSources["call"];
  /** What operations keep of calls; nothing, if left out. */
  readonly kept?: KeptStores;
  /** The states of targets; there are none, if left out. */
  readonly targets?: () => Promise<readonly TargetStatus[]>;
  /** The environment, in which keys of providers may be; it is empty, if left out. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The process is about to end; it is not, if left out. */
  readonly isEnding?: () => boolean;
  /** Stands between the API, with the sessions of the console, and the store. */
  readonly between?: (store: Store) => Store;
  /** Stands between the snapshot and the store. */
  readonly followed?: (store: Store) => Store;
  /** Makes tenants, projects and users in an empty store, and returns the texts of tokens by name; those of `AdminWorld.tokens`, if left out. */
  readonly people?: (store: Store, nowMs: number) => Promise<ReadonlyMap<string, string>>;
}

const ECHOING: ToolServers = {
  list: () =>
    Promise.resolve([{ name: "echo", title: null, description: "Says it back.", inputSchema: { type: "object" } }]),
  call: (_server, _tool, args) =>
    Promise.resolve({
      parts: [{ kind: "text", text: JSON.stringify(args) }],
      blocks: [{ type: "text", text: JSON.stringify(args) }],
      structured: undefined,
      isError: false,
      bytes: 10,
    }),
  test: () =>
    Promise.resolve({
      transport: "streamable_http",
      protocolVersion: "2025-11-25",
      name: "echoing",
      version: null,
      connectMs: 1,
      listMs: 1,
      tools: 1,
    }),
  onListChanged: () => () => {},
  configured: () => {},
  close: () => Promise.resolve(),
};

const MASTER_KEY = new Uint8Array(32).fill(7);
const PROJECTS = [
  ["acme", "site"],
  ["acme", "app"],
  ["beta", "lab"],
] as const;

export async function openAdminWorld({
  file = null,
  clock = systemClock,
  kind = SQLITE,
  toolServers = ECHOING,
  cache,
  kept,
  targets,
  consoleFolder = "/nowhere",
  consoleCall = () => Promise.reject(new Error("this world serves no calls")),
  variables = {},
  isEnding = () => false,
  between = (store) => store,
  followed = (store) => store,
  people = peopleOfRoles,
}: AdminWorldOptions = {}): Promise<AdminWorld> {
  const database = await kind.create();
  const cipher = openSecretCipher([MASTER_KEY]);
  const store = await database.openStore({ cipher, clock });
  await store.migrate();
  const calls = database.openCalls();
  const contents = openContentStore({ calls, cipher, now: () => clock.now() });
  const simulations = openSimulations({ place: database.place });
  const auditReads = openAuditReads(database.place);
  const limits = openMemoryLimits({ clock });
  const tokens = await people(store, clock.now());
  const environment: Environment = readEnvironment(variables);
  const families = [...providers.values()];
  const problems: string[] = [];
  const source = await openSnapshotSource({
    loaded: loadConfiguration({ file, families, environment }),
    store: followed(store),
    families,
    environment,
    onProblem: ({ message }) => problems.push(message),
  });
  const upstream: UpstreamClient = {
    send: () => Promise.reject(new UpstreamFault("connection", "this test has no upstream")),
  };
  const logins = openLogins({
    upstream,
    clock,
    onFault: () => {},
  });
  const seen = between(store);
  const app = createApp({
    clock,
    version: "1.2.3",
    snapshot: () => source.current(),
    models: { providers, builtIn: BUILT_IN_MODELS },
    logins,
    metrics: () => Promise.resolve({ text: "", contentType: "text/plain" }),
    notReady: () => null,
    standing: async () => ({ ...idleStanding(), ...(targets !== undefined && { targets: await targets() }) }),
    refuseUnserved: () => Promise.reject(new Error("this world serves no calls")),
    ...(kept !== undefined && { kept }),
    console: {
      store: seen,
      upstream,
      warn: () => {},
      files: openConsoleFiles((name) => join(consoleFolder, name)),
      settings: () => source.configuration().console,
      call: consoleCall,
    },
    admin: {
      store: seen,
      limits,
      calls,
      contents,
      simulations,
      auditReads,
      families,
      providers,
      snapshot: () => source.current(),
      configuration: () => source.configuration(),
      follow: () => source.follow(),
      isEnding: () => isEnding(),
      toolServers,
      cache: cache ?? null,
      held: new HeldBytes(() => "The bodies hold too much."),
      started: {
        configurationFile: null,
        host: "127.0.0.1",
        port: 4100,
        workers: 1,
        database: "sqlite",
        limitStore: "memory",
        hasConsole: true,
        calls: { keepDays: 90, keepDetailsDays: 30 },
        audit: { keepDays: null, keepRefusedDays: 400 },
      },
      auditSigner: () => auditSigner(null, MASTER_KEY),
      // this world serves no calls
      call: () =>
        Promise.resolve(Response.json({ error: { code: "store_unavailable", message: "no" } }, { status: 503 })),
    },
  });
  const fetch = async (request: Request, peer = "192.0.2.1"): Promise<Response> => await app.fetch(request, { peer });
  return {
    store,
    calls,
    contents,
    limits,
    source,
    tokens,
    fetch,
    read: (sql) => database.read(sql),
    async send(as, method, path, body, headers = {}) {
      const authorization = as === null ? {} : { authorization: `Bearer ${tokens.get(as) ?? as}` };
      const text = body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body);
      const sent = text === undefined ? {} : { body: text, headers: { "content-type": "application/json" } };
      const response = await fetch(
        new Request(`http://gateway.test${path}`, {
          method,
          ...sent,
          headers: { ...authorization, ...sent.headers, ...headers },
        }),
      );
      const told = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text: told,
        body: told.startsWith("{") && isJson(response) ? (JSON.parse(told) as JsonObject) : null,
      };
    },
    async close() {
      source.close();
      await calls.close();
      await simulations.close();
      await auditReads.close();
      await limits.close();
      await store.close();
      await database.dispose();
    },
  };
}

const isJson = ({ headers }: Response): boolean => /[/+]json/.test(headers.get("content-type") ?? "");

/** Users are called `<tenant>-<role>`, those with a role in one project only `<project>-<role>`. */
async function peopleOfRoles(store: Store, nowMs: number): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  await store.createFirst({
    tenant: { id: "default", name: "Default" },
    project: { id: "default", tenantId: "default", name: "Default" },
    user: { id: "owner", tenantId: "default", name: "Owner", isOperator: true },
    membership: { userId: "owner", tenantId: "default", projectId: null, role: "owner" },
    token: {
      id: "first0000000",
      kind: "project",
      name: "first",
      tenantId: "default",
      projectId: "default",
      userId: null,
      role: "developer",
      permissions: [],
      models: [],
      routes: [],
      tools: [],
      ipRanges: [],
      secrets: [{ sha256: new Uint8Array(32), retiresAtMs: null }],
      createdAtMs: nowMs,
      lifetimeMs: 1,
      expiresAtMs: nowMs + 1,
      revokedAtMs: null,
    },
  });
  await store.change(LOCAL_ACTOR, async (writer) => {
    const personal = async (
      name: string,
      tenantId: string,
      projectId: string | null,
      role: Role,
      permissions: readonly Permission[] = [],
    ): Promise<void> => {
      const userId = name.replaceAll(".", "-");
      await writer.createUser({ id: userId, tenantId, name: userId, isOperator: name === "default.owner" });
      await writer.putMembership({ userId, tenantId, projectId, role });
      texts.set(name, (await createToken(writer, { name, personal: true, userId, permissions }, nowMs)).text);
    };
    for (const id of ["acme", "beta"]) await writer.createTenant({ id, name: id });
    for (const [tenantId, id] of PROJECTS) await writer.createProject({ id, tenantId, name: id });
    for (const tenantId of ["default", "acme", "beta"])
      for (const role of ROLES) await personal(`${tenantId}.${role}`, tenantId, null, role);
    await personal("default.boss", "default", null, "owner");
    await personal("acme.reader", "acme", null, "viewer", ["read_content"]);
    texts.set(
      "acme.site.reader",
      (
        await createToken(
          writer,
          { name: "reader", projectId: "site", role: "viewer", permissions: ["read_content"] },
          nowMs,
        )
      ).text,
    );
    texts.set(
      "default.scraper",
      (
        await createToken(
          writer,
          { name: "scraper", projectId: "default", role: "viewer", permissions: ["ops"] },
          nowMs,
        )
      ).text,
    );
    for (const role of ["viewer", "developer", "maintainer"] as const) {
      await personal(`site-only.${role}`, "acme", "site", role);
      for (const [tenantId, projectId] of PROJECTS)
        texts.set(
          `${tenantId}.${projectId}.${role}`,
          (await createToken(writer, { name: role, projectId, role }, nowMs)).text,
        );
    }
  });
  return texts;
}
