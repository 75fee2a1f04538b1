// Handles one request of the admin API in order: identify the caller, check the role, parse the input, look for an
// earlier request with the same key, check the role again and run the operation in one transaction, let the snapshot
// follow, respond.
import { z } from "zod";
import type { Context, Hono } from "hono";
import { ADMIN_OPERATIONS } from "../../../auth/admin-operations.ts";
import {
  adminCaller,
  type AdminCaller,
  requireMoreThanOps,
  requireRole,
  nothingThere,
  type TenantOrProject,
  placeText,
} from "../../../auth/grants.ts";
import { callerWithin } from "../../../auth/caller-within.ts";
import { judgedParts, streamOf } from "../../../auth/judged-reading.ts";
import { type CallingSession, needsRecentLogin, requireRecentLogin, wayOf } from "../../../auth/logins/recent-login.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { AccessToken } from "../../../core/identity.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import { digestOf } from "../../../core/text/digest.ts";
import { CLI_AGENT } from "../../../core/version.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { Actor } from "../../../store/records.ts";
import { StoreError } from "../../../store/store-error.ts";
import { methodNotAllowed } from "../../method-not-allowed.ts";
import { ADMIN_BASE } from "../../paths.ts";
import { checked, type JsonBody, queryOf, readJsonBody } from "../input.ts";
import { openRefusalNotes, type RefusalNotes } from "./refusals.ts";
import { parseIfMatch } from "../schemas.ts";
import type {
  AdminCall,
  AdminContext,
  AdminOperation,
  AdminReply,
  Answer,
  Prepared,
  WriteOperation,
} from "../operation.ts";
import { answeredBefore, keptAnswer, type Repeatable } from "./repeats.ts";
import { openConcurrency } from "../../../core/concurrency/slots.ts";
import { holderOf } from "../../../engine/call/read-body.ts";
import { openTurns, type Turns } from "../turns.ts";
import { fromStoreError } from "./store-errors.ts";

export interface AdminEnv {
  readonly Bindings: AdminBindings;
}
type AdminHttp = Context<AdminEnv>;

/** What the surrounding server provides for one request on every path. */
export interface AdminBindings {
  /** The path of the request among those of the API. */
  readonly path: string;
  readonly session: CallingSession | null;
  consoleAddress(): string | null;
  /** Returns the caller's access token. Throws what the authentication throws. */
  identify(): Promise<AccessToken>;
  /** As `identify`, by what holds at a later time of a request whose answer goes on. */
  identifyAgain(): Promise<AccessToken>;
  /** The address of the client; null when it is unknown. */
  address(): string | null;
  reply(answer: AdminReply): Response;
}

/** Throws for an operation without a requirement, so that every operation that is served has a deliberate one. */
export function serveOperations(
  app: Hono<AdminEnv>,
  operations: readonly AdminOperation[],
  context: AdminContext,
): void {
  const notes = openRefusalNotes(context);
  const turns = context.turns ?? openTurns(openConcurrency());
  for (const operation of operations) {
    if (!ADMIN_OPERATIONS.has(operation.id)) throw new Error(`the operation ${operation.id} has no requirement`);
    app.on([operation.method.toUpperCase()], [routePath(operation.path)], async (c) =>
      c.env.reply(await handle(c, operation, { ...context, turns }, notes)),
    );
  }
}

interface Serving extends AdminContext {
  /** The queue of requests with an idempotency key. */
  readonly turns: Turns;
}

interface Attempt {
  readonly operation: AdminOperation;
  readonly caller: AdminCaller;
  readonly params: Readonly<Record<string, string>>;
  readonly actor: Actor;
}

/** Responds to the methods that a path does not support. */
export function refuseOtherMethods(app: Hono<AdminEnv>, operations: readonly AdminOperation[]): void {
  for (const [path, served] of Map.groupBy(operations, (operation) => operation.path)) {
    const allow = served.map(({ method }) => method.toUpperCase()).join(", ");
    app.all(routePath(path), (c) => {
      throw methodNotAllowed(allow, `${ADMIN_BASE}${path} takes ${allow}; got ${c.req.method}.`);
    });
  }
}

function routePath(path: string): string {
  return ADMIN_BASE + path.replaceAll(/\{(\w+)\}/g, ":$1");
}

async function handle(
  c: AdminHttp,
  operation: AdminOperation,
  context: Serving,
  notes: RefusalNotes,
): Promise<AdminReply> {
  const token = await c.env.identify();
  const snapshot = context.snapshot();
  const caller = adminCaller(token, snapshot);
  const params = paramsOf(c);
  const attempt: Attempt = {
    operation,
    caller,
    params,
    actor: {
      tokenId: token.id,
      userId: token.userId,
      role: null,
      isOperator: caller.isOperator,
      tenantId: token.tenantId,
      address: c.env.address(),
      ...wayOfRequest(c),
    },
  };
  try {
    return await attempted(c, attempt, context, snapshot);
  } catch (thrown) {
    const error = thrown instanceof StoreError ? fromStoreError(thrown, paramOf(c)) : thrown;
    const place = namedPlace(params, snapshot);
    if (error instanceof GatewayError && (error.entry.status === 403 || concernsOtherTenant(attempt, error, place)))
      await notes.refused({ ...attempt, error, place });
    throw error;
  }
}

/** The command line says of itself what it is; whoever has its token could say the same. */
function wayOfRequest(c: AdminHttp): Pick<Actor, "via" | "sessionId"> {
  const { session } = c.env;
  if (session !== null) return wayOf(session);
  return { via: c.req.header("user-agent")?.startsWith(CLI_AGENT) === true ? "cli" : "api", sessionId: null };
}

/** `cursor` is the only parameter that a list passes to the store unchecked. */
function paramOf(c: AdminHttp): string | null {
  return c.req.method === "GET" && c.req.query("cursor") !== undefined ? "cursor" : null;
}

/** Whether the caller tried to change a resource of another tenant. */
function concernsOtherTenant(
  { operation, caller }: Attempt,
  error: GatewayError,
  place: TenantOrProject | null,
): boolean {
  return (
    error.code === "not_found" &&
    operation.isApart !== true &&
    place !== null &&
    place.tenantId !== caller.token.tenantId &&
    !caller.isOperator
  );
}

async function attempted(
  c: AdminHttp,
  { operation, caller: arrived, params, actor }: Attempt,
  context: Serving,
  snapshot: Snapshot,
): Promise<AdminReply> {
  requireMoreThanOps(arrived.token);
  const requirement = ADMIN_OPERATIONS.get(operation.id)!;
  const named =
    requirement.reach === "tenant" || requirement.reach === "project"
      ? (namedPlace(params, snapshot) ?? unnamedPlace(operation, params))
      : null;
  // A caller without the role gets no information about faults in the body.
  if (named !== null || operation.placeOf === undefined) requireRole(arrived, requirement, named);
  // An operator may name any tenant, and only the database knows which tenants exist.
  if (
    named !== null &&
    arrived.isOperator &&
    named.projectId === null &&
    (await context.store.findTenant(named.tenantId)) === null
  )
    throw nothingThere(placeText(named));
  const { query, sent, body } = await inputOf(c, operation, arrived, context, snapshot);
  const place = named ?? operation.placeOf?.(body, arrived) ?? null;
  const callerNow = async (): Promise<AdminCaller> => {
    const now = adminCaller(await c.env.identifyAgain(), context.snapshot());
    requireMoreThanOps(now.token);
    requireRole(now, requirement, place);
    return now;
  };
  // The body may have taken long to arrive.
  const caller = sent === null ? arrived : await callerNow();
  const role = requireRole(caller, requirement, place);
  if (needsRecentLogin(requirement, body)) requireRecentLogin(c.env.session, context.clock.now());
  const call: AdminCall = {
    caller,
    role,
    place,
    params,
    query,
    body,
    snapshot,
    ifMatch: parseIfMatch(c.req.header("if-match") ?? null),
    remark: typeof query["note"] === "string" ? query["note"] : null,
    dryRun: query["dry_run"] === "true",
    session: c.env.session,
    callerNow,
    consoleAddress: () => c.env.consoleAddress(),
    nowMs: context.clock.now(),
    note: (note) => context.store.note({ ...actor, role }, note),
  };
  if (operation.isApart === true) {
    return replyOf(await operation.run(call, context.store), call);
  }
  const repeatable = idempotency(c, sent, call);
  const changing = (): Promise<AdminReply> => change(operation, call, { ...actor, role }, context, repeatable);
  return repeatable === null ? await changing() : await context.turns(`${caller.token.id} ${repeatable.key}`, changing);
}

interface Input {
  readonly query: Readonly<Record<string, unknown>>;
  readonly sent: JsonBody | null;
  readonly body: unknown;
}

/**
 * When the body names the place, faults in it are reported only to a caller who has the required role in the own
 * tenant. Operators have it everywhere.
 */
async function inputOf(
  c: AdminHttp,
  operation: AdminOperation,
  caller: AdminCaller,
  { held }: AdminContext,
  snapshot: Snapshot,
): Promise<Input> {
  try {
    const query = queryFor(operation, c.req.url);
    if (operation.body === undefined) return { query, sent: null, body: undefined };
    const sent =
      operation.bodyOptional === true && hasNoBody(c)
        ? NO_BODY
        : await readJsonBody(c.req.raw, snapshot.limits, holderOf(caller.token.tenantId, held));
    return { query, sent, body: checked(operation.body, sent.value) };
  } catch (thrown) {
    if (operation.placeOf !== undefined)
      requireRole(caller, ADMIN_OPERATIONS.get(operation.id)!, { tenantId: caller.token.tenantId, projectId: null });
    throw thrown;
  }
}

async function change(
  operation: WriteOperation,
  call: AdminCall,
  actor: Actor,
  context: AdminContext,
  repeatable: Repeatable | null,
): Promise<AdminReply> {
  const { id: tokenId } = call.caller.token;
  const before = repeatable === null ? null : await answeredBefore(context.store, tokenId, repeatable);
  if (before !== null) return before;
  try {
    const result = await prepared(operation, call, context, async ({ found, ...basis }) => {
      const changed = await context.store.change(
        actor,
        async (writer) => {
          if (call.remark !== null) writer.annotate(call.remark);
          const caller = await callerWithin(call.caller, writer);
          const role = requireRole(caller, ADMIN_OPERATIONS.get(operation.id)!, call.place);
          const answer = await operation.run({ ...call, caller, role }, writer, found);
          if (repeatable !== null)
            await writer.keepAnswer(keptAnswer(tokenId, repeatable, replyOf(withoutSecret(answer), call)));
          return replyOf(answer, call);
        },
        { dryRun: call.dryRun, ...basis },
      );
      return changed.result;
    });
    if (!call.dryRun) await context.follow();
    return result;
  } catch (thrown) {
    // Two requests with one key ran at the same time, and the other one was faster.
    const quicker =
      repeatable !== null && thrown instanceof StoreError && thrown.kind === "exists"
        ? await answeredBefore(context.store, tokenId, repeatable)
        : null;
    if (quicker !== null) return quicker;
    throw thrown;
  }
}

const MOST_PREPARATIONS = 5;

/** A change is prepared again where something else was changed meanwhile. */
async function prepared<T>(
  operation: WriteOperation,
  call: AdminCall,
  { store }: AdminContext,
  make: (before: Prepared<unknown>) => Promise<T>,
): Promise<T> {
  for (let turn = 1; ; turn++) {
    const before = (await operation.prepare?.(call, store)) ?? { found: undefined };
    try {
      return await make(before);
    } catch (thrown) {
      const isMoved = thrown instanceof StoreError && thrown.kind === "moved";
      if (!isMoved || turn === MOST_PREPARATIONS) throw thrown;
    }
  }
}

/** A secret is shown once and is not stored (promise 2.5). */
function withoutSecret({ repeated, ...answer }: Answer): Answer {
  return repeated === undefined ? answer : { ...answer, body: repeated };
}

function replyOf({ status = 200, body, etag, text }: Answer, { dryRun, callerNow }: AdminCall): AdminReply {
  const headers: Record<string, string> = {
    "cache-control": "no-store",
    ...(etag !== undefined && { etag }),
    ...(dryRun && { "x-gateway-dry-run": "true" }),
  };
  if (text !== undefined) {
    const { contentType, content } = text;
    const isMade = typeof content === "string" || content instanceof ReadableStream;
    return {
      status,
      headers: {
        ...headers,
        "content-type": contentType,
        // proxies would hold back what is produced while it is read
        ...(typeof content !== "string" && { "x-accel-buffering": "no" }),
        ...text.headers,
      },
      body: isMade ? content : streamOf(judgedParts(content, callerNow)),
    };
  }
  return body === null
    ? { status: 204, headers, body: null }
    : {
        status: dryRun ? 200 : status,
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      };
}

const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

function idempotency(c: AdminHttp, sent: JsonBody | null, call: AdminCall): Repeatable | null {
  const key: string | undefined = c.req.header("idempotency-key");
  if (key === undefined || call.dryRun) return null;
  if (!IDEMPOTENCY_KEY.test(key))
    throw invalidRequest(
      "idempotency-key",
      "The header idempotency-key must have 1 to 255 printable characters without spaces.",
    );
  const { pathname, search } = new URL(c.req.url);
  return {
    key,
    requestHash: digestOf([c.req.method, pathname + search, c.req.header("if-match") ?? "", sent?.text ?? ""]),
  };
}

const NO_BODY: JsonBody = { text: "", value: {} };

function hasNoBody(c: AdminHttp): boolean {
  return (
    c.req.header("content-type") === undefined &&
    (c.req.header("content-length") ?? "0") === "0" &&
    c.req.header("transfer-encoding") === undefined
  );
}

const NO_QUERY = z.strictObject({});

/**
 * Throws `invalid_request`; for a parameter that is not known, it names those that are. A blank value would count as the
 * number 0.
 */
function queryFor({ query = NO_QUERY }: AdminOperation, url: string): Readonly<Record<string, unknown>> {
  const given = queryOf(url);
  const known = Object.keys(query.shape);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  const blank = Object.keys(given).find((name) => given[name]!.trim() === "");
  if (unknown === undefined && blank !== undefined)
    throw invalidRequest(blank, `The query parameter ${blank} has no value. Give it one, or leave it out.`);
  if (unknown === undefined) return checked(query, given);
  const name = unknown.slice(0, 100);
  throw invalidRequest(
    name,
    `Unknown query parameter ${JSON.stringify(name)}. ${known.length === 0 ? "There are none here." : `Those that are known here: ${known.join(", ")}.`}`,
  );
}

/** Null when the path names no place, or one that does not exist. */
function namedPlace(params: Readonly<Record<string, string>>, snapshot: Snapshot): TenantOrProject | null {
  const { tenant, project } = params;
  if (tenant !== undefined) return { tenantId: tenant, projectId: null };
  const known = project === undefined ? undefined : snapshot.projects.get(project);
  return known === undefined ? null : { tenantId: known.tenantId, projectId: known.id };
}

/** A project that does not exist gets the same response as one of another tenant. */
function unnamedPlace(operation: AdminOperation, params: Readonly<Record<string, string>>): null {
  if (params["project"] !== undefined) throw nothingThere(`project ${params["project"]}`);
  if (operation.placeOf === undefined) throw nothingThere("such place");
  return null;
}

function paramsOf(c: AdminHttp): Readonly<Record<string, string>> {
  const params = Object.entries(c.req.param() as Record<string, string>);
  // Ids have no other characters and are not longer, so that only plain text reaches the store and the log.
  const odd = params.find(([, value]) => !/^[A-Za-z0-9_.:@+-]{1,200}$/.test(value));
  if (odd !== undefined) throw nothingThere(`${odd[0]} with such an id (ids have 1 to 200 letters, digits and _.:@+-)`);
  return Object.fromEntries(params);
}
