// What an operation of the admin API is, as a value: the server serves it, the OpenAPI document describes it, the tests try it with every role.
import type { z } from "zod";
import type { LimitStore } from "../../admission/limit-store.ts";
import type { AdminCaller, Place } from "../../auth/grants.ts";
import type { Clock } from "../../core/clock.ts";
import type { Role } from "../../core/identity.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { ToolServers } from "../../mcp/tool-servers.ts";
import type { CallStore } from "../../store/calls.ts";
import type { ContentStore } from "../../store/content-store.ts";
import type { Reader } from "../../store/reader.ts";
import type { Actor, AuditNote } from "../../store/records.ts";
import type { Changed, ChangeOptions, Writer } from "../../store/writer.ts";

/** What the admin API needs of a store. */
export interface AdminStore extends Reader {
  note(actor: Actor, note: AuditNote): Promise<void>;
  change<T>(actor: Actor, work: (writer: Writer) => Promise<T>, options?: ChangeOptions): Promise<Changed<T>>;
}

/** What was said in calls, as far as tenants keep it. */
export type AdminContents = Pick<ContentStore, "find" | "keptUntilMs" | "count" | "remove">;

export interface AdminContext {
  readonly clock: Clock;
  readonly store: AdminStore;
  readonly version: string;
  /** Null: none are kept. */
  readonly calls: Pick<CallStore, "searchCalls" | "findCall" | "usage" | "usageTotals"> | null;
  /** Null: none are kept. */
  readonly contents: AdminContents | null;
  /** Null: nothing counts here. */
  readonly limits: Pick<LimitStore, "standing"> | null;
  readonly toolServers: ToolServers;
  snapshot(): Snapshot;
  /** Reads the store again, so that the next request sees what this one has written. */
  reload(): Promise<void>;
}

export interface AdminCall<Body, Query> {
  readonly caller: AdminCaller;
  /** In the place of the operation; for what the caller sees of many, `viewer`. */
  readonly role: Role;
  /** Null: the operation names no tenant and no project. */
  readonly place: Place | null;
  /** Of the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** ETags that the caller accepts; null: any. */
  readonly ifMatch: readonly string[] | null;
  readonly dryRun: boolean;
  readonly nowMs: number;
  readonly snapshot: Snapshot;
  /** A row of the audit log for a reading that has to be known of. */
  readonly note: (note: AuditNote) => Promise<void>;
}

export interface Answer {
  /** 200 if left out. 204 has no body. */
  readonly status?: 200 | 201 | 204;
  readonly body: JsonObject | null;
  /** What a repeat under the same idempotency key is answered, where the body holds a secret that is shown once. */
  readonly repeated?: JsonObject;
  readonly etag?: string;
  /** Other than JSON; the cursor of a page of it stands in a header. A stream is made while it is read. */
  readonly text?: {
    readonly contentType: string;
    readonly content: string | ReadableStream<Uint8Array>;
    readonly nextCursor: string | null;
  };
}

/** What is answered, without the headers that every answer has. */
export interface AdminReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream<Uint8Array> | null;
}

interface Described<Body extends z.ZodType, Query extends z.ZodType> {
  /** A key of ADMIN_OPERATIONS. */
  readonly id: string;
  /** Below the base of the admin API; `{tenant}` and `{project}` name the place. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly query?: Query;
  readonly body?: Body;
  /** What the OpenAPI document shows of the body, where the check itself comes in parts. */
  readonly described?: z.ZodType;
  /** No body at all is taken for `{}`. */
  readonly bodyOptional?: boolean;
  /** Of the answer's body; absent: there is none. */
  readonly answer?: z.ZodType;
  /** The place of an operation whose path names none. Null: of none. */
  placeOf?(body: z.output<Body>, caller: AdminCaller): Place | null;
}

export interface ReadOperation<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> extends Described<Body, Query> {
  readonly method: "get";
  run(call: AdminCall<z.output<Body>, z.output<Query>>, store: Reader): Promise<Answer>;
}
/** Runs in one transaction. What it throws leaves everything as it was. */
export interface WriteOperation<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
> extends Described<Body, Query> {
  readonly method: "post" | "put" | "patch" | "delete";
  /** Before the transaction: for what may take its time, such as a look-up of a name. */
  prepare?(call: AdminCall<z.output<Body>, z.output<Query>>): Promise<void>;
  run(call: AdminCall<z.output<Body>, z.output<Query>>, writer: Writer): Promise<Answer>;
}
/** With the types of its body and query forgotten. */
export type AdminOperation = ReadOperation | WriteOperation;

export function reading<Body extends z.ZodType, Query extends z.ZodType>(
  operation: Omit<ReadOperation<Body, Query>, "method">,
): AdminOperation {
  return { ...operation, method: "get" };
}
export function writing<Body extends z.ZodType, Query extends z.ZodType>(
  operation: WriteOperation<Body, Query>,
): AdminOperation {
  return operation;
}
