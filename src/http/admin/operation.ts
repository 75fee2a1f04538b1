// An operation of the admin API as a value: the server serves it, the OpenAPI document describes it, and the tests try
// it with every role.
import { z } from "zod";
import type { LimitStore } from "../../admission/limit-store.ts";
import type { AdminCaller, TenantOrProject } from "../../auth/grants.ts";
import type { CallingSession } from "../../auth/logins/recent-login.ts";
import type { ResponseCache } from "../../cache/response-cache.ts";
import type { Clock } from "../../core/clock.ts";
import type { AccessToken, Role } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { OperationName } from "../../core/operation.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { HeldBytes } from "../../engine/call/held-bytes.ts";
import type { Simulations } from "../../simulation/simulations.ts";
import type { IntegrationStatus } from "../../observe/integrations/integrations.ts";
import type { TargetStatus } from "../../observe/metrics/metrics.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";
import type { AuditReads } from "../../store/audit/audit-reads.ts";
import type { AuditSigner } from "../../store/audit/audit-signature.ts";
import type { CallStore } from "../../store/calls/calls.ts";
import type { ContentStore } from "../../store/calls/content-store.ts";
import type { DraftTable } from "../../store/configuration/kysely-drafts.ts";
import type { Reader } from "../../store/reader.ts";
import type { Actor, AuditNote } from "../../store/records.ts";
import { dryRunQuery } from "./schemas.ts";
import type { Turns } from "./turns.ts";
import type { Changed, ChangeOptions, Writer } from "../../store/writer.ts";

/** What is read before a change. */
export interface PreparingStore extends Reader {
  revision(): Promise<string>;
}

/** What was done before the transaction of a change. */
export interface Prepared<Found> {
  /** What the change gets of it. */
  readonly found: Found;
  /** The revision of the store on which it is based: the change is made only while nothing else was changed. */
  readonly basedOn?: string;
}

export interface AdminStore extends PreparingStore {
  readonly drafts: DraftTable;
  note(actor: Actor, note: AuditNote): Promise<void>;
  change<T>(actor: Actor, work: (writer: Writer) => Promise<T>, options?: ChangeOptions): Promise<Changed<T>>;
}

/** What was decided when the gateway was started. */
export interface StartedGateway {
  readonly configurationFile: string | null;
  readonly host: string;
  readonly port: number;
  readonly workers: number;
  readonly database: "sqlite" | "postgresql";
  readonly limitStore: "memory" | "valkey";
  readonly hasConsole: boolean;
  readonly calls: { readonly keepDays: number | null; readonly keepDetailsDays: number | null };
  readonly audit: { readonly keepDays: number | null; readonly keepRefusedDays: number | null };
}

/** The content of calls, as far as tenants keep it. */
export type AdminContents = Pick<ContentStore, "find" | "keptUntilMs" | "count" | "remove">;

export interface AdminContext {
  readonly clock: Clock;
  readonly store: AdminStore;
  readonly version: string;
  /** `null` when no calls are stored. */
  readonly calls: Pick<
    CallStore,
    "searchCalls" | "findCall" | "usage" | "histogram" | "facets" | "attempts" | "lastUses" | "prepareReports"
  > | null;
  /** `null` when no content is stored. */
  readonly contents: AdminContents | null;
  /** `null` when no limits are counted in this process. */
  readonly limits: Pick<LimitStore, "status"> | null;
  /** `null` when no calls are stored. */
  readonly simulations: Simulations | null;
  readonly auditReads: AuditReads;
  readonly toolServers: ToolServers;
  /** The states of targets that this machine knows. */
  targets(): Promise<readonly TargetStatus[]>;
  /** How deliveries to the integrations of this machine go. */
  integrations(): Promise<readonly IntegrationStatus[]>;
  /** Null while the gateway is ready, otherwise the reason why it is not. */
  notReady(): string | null;
  readonly started: StartedGateway;
  /** Makes a call for a caller who was identified already, also to a provider that is drained. */
  call(operation: OperationName, body: JsonObject, caller: CalledAs): Promise<Response>;
  /** `null` when answers are not kept. */
  readonly cache: Pick<ResponseCache, "purge"> | null;
  snapshot(): Snapshot;
  /** Takes over what was changed in the store, so that the next request sees the changes of this one. */
  follow(): Promise<void>;
  /** What the bodies of requests hold in memory while they arrive. */
  readonly held: Pick<HeldBytes, "hold" | "release">;
  /** Signs exports of the audit log. */
  readonly auditSigner: () => AuditSigner;
  /** The process is about to end, so that what stays open has to be closed. */
  isEnding(): boolean;
  /** Turns of requests with an idempotency key, where other processes take requests as well. */
  readonly turns?: Turns | undefined;
}

/** Who makes a call, and for which project. */
export interface CalledAs {
  readonly token: AccessToken;
  readonly projectId: string;
}

export interface AdminCall<Body = unknown, Query = Readonly<Record<string, unknown>>> {
  readonly caller: AdminCaller;
  /** The caller's role in the place of the operation; `viewer` where the caller sees several places. */
  readonly role: Role;
  /** `null` when the operation concerns no tenant and no project. */
  readonly place: TenantOrProject | null;
  /** Path parameters by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** ETags that the caller accepts; `null` accepts any. */
  readonly ifMatch: readonly string[] | null;
  readonly dryRun: boolean;
  /** Why the caller makes the change; `null` when it does not say. */
  readonly remark: string | null;
  /** The session of the console with which the request came; `null` for a request with a token. */
  readonly session: CallingSession | null;
  /**
   * The caller by what holds now, for answers that go on. Throws when the token or session has ended, or the role that
   * the operation needs.
   */
  readonly callerNow: () => Promise<AdminCaller>;
  /** Where browsers reach the console; `null` where it is not served. */
  readonly consoleAddress: () => string | null;
  readonly nowMs: number;
  readonly snapshot: Snapshot;
  /** Adds a row to the audit log for a reading that has to be recorded. */
  readonly note: (note: AuditNote) => Promise<void>;
}

export interface Answer {
  /** The default is 200. */
  readonly status?: 200 | 201;
  /** `null` is answered with the status 204. */
  readonly body: JsonObject | null;
  /** The body for a repeat under the same idempotency key, when `body` holds a secret that is shown once. */
  readonly repeated?: JsonObject;
  readonly etag?: string;
  /**
   * A body that is not JSON; headers say what it has no place for. Parts are made while they are read, for as
   * long as the caller has the right to them. What makes a stream of its own judges that itself, and says why it ends.
   */
  readonly text?: {
    readonly contentType: string;
    readonly content: string | AsyncGenerator<Uint8Array, void, void> | ReadableStream<Uint8Array>;
    readonly headers?: Readonly<Record<string, string>>;
  };
}

/** The reply without the headers that every response has. */
export interface AdminReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array> | null;
}

interface Described<Body extends z.ZodType, Query extends z.ZodObject> {
  /** A key of ADMIN_OPERATIONS. */
  readonly id: string;
  /** Relative to the base of the admin API; `{tenant}` and `{project}` name the place. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  /** The body's schema in the OpenAPI document, when the check itself is done in parts. */
  readonly described?: z.ZodType;
  /** Whether an absent body counts as `{}`. */
  readonly bodyOptional?: boolean;
  /** The schema of the response body; absent when the response has none, or is no JSON. */
  readonly answer?: z.ZodType;
  /** The media type of a response that is no JSON. */
  readonly textType?: string;
  /** The response is a stream of events, whose data have this schema. */
  readonly events?: z.ZodType;
  /** The place of an operation whose path names none; `null` when it has no place. */
  placeOf?(body: z.output<Body>, caller: AdminCaller): TenantOrProject | null;
}

export interface ReadOperation<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodObject = z.ZodObject,
> extends Described<Body, Query> {
  /** It changes nothing of what a snapshot, a version or the audit log is made of. */
  readonly isApart: true;
  /** `post` where the question is too long for an address; `put` and `delete` of what is no configuration. */
  readonly method: "get" | "post" | "put" | "delete";
  run(call: AdminCall<z.output<Body>, z.output<Query>>, store: Reader): MaybePromise<Answer>;
}
/** Runs in one transaction. When it throws, nothing is changed. */
export interface WriteOperation<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodObject = z.ZodObject,
  Found = unknown,
> extends Described<Body, Query> {
  readonly isApart?: false;
  readonly method: "post" | "put" | "patch" | "delete";
  /**
   * Runs before the transaction, for work that may take long, such as a DNS lookup. What is based on a revision is run
   * again where something else was changed meanwhile.
   */
  prepare?(call: AdminCall<z.output<Body>, z.output<Query>>, store: PreparingStore): Promise<Prepared<Found>>;
  run(call: AdminCall<z.output<Body>, z.output<Query>>, writer: Writer, found: Found): MaybePromise<Answer>;
}
/** An operation without the types of its body and query. */
export type AdminOperation = ReadOperation | WriteOperation;

export function reading<Body extends z.ZodType, Query extends z.ZodObject>(
  operation: Omit<ReadOperation<Body, Query>, "method" | "isApart">,
): AdminOperation {
  return { ...operation, isApart: true, method: "get" };
}
/** Answers a question that stands in the body, or keeps what is no configuration. */
export function apart<Body extends z.ZodType, Query extends z.ZodObject>(
  operation: Omit<ReadOperation<Body, Query>, "isApart">,
): AdminOperation {
  return { ...operation, isApart: true };
}
/** Every write can be tried without a change; `further` is what its query has beside that. */
export function writing<
  Body extends z.ZodType,
  Further extends z.core.$ZodShape = Record<string, never>,
  Found = undefined,
>({
  further,
  ...operation
}: Omit<WriteOperation<Body, z.ZodObject<Further>, Found>, "query"> & { readonly further?: Further }): AdminOperation {
  return { ...operation, query: z.strictObject({ ...dryRunQuery, ...further }) };
}

/** What an operation concerns: the whole gateway, one tenant, or one project. */
export type Reach = "operator" | "tenant" | "project";
export const PLACES: Readonly<
  Record<Reach, { readonly name: string; readonly base: string; readonly scopeText: string }>
> = {
  operator: { name: "", base: "", scopeText: "the gateway, of all tenants" },
  tenant: { name: "Tenant", base: "/tenants/{tenant}", scopeText: "the tenant" },
  project: { name: "Project", base: "/projects/{project}", scopeText: "the project" },
};
/** The places below the gateway, with operations that are the same in a tenant and in a project. */
export const PLACES_BELOW = [PLACES.tenant, PLACES.project];
