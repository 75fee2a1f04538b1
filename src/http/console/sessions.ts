// Opens, finds and ends sessions of the console (promise 14.2). A session is looked up in the database at each request,
// so that it ends everywhere at once.

// Decides (who may call, and with what): When does a session of the console end? By: `currentSession`. Also:
// `auth/logins/console-sessions.ts` (`sessionToken`), `console-settings.ts`. Rule: After `console.session_idle_s` without
// use and `console.session_max_s` after the login; at once when its token ends or its rights are others. The roles that
// the claims of a company login gave are those of the login; at once when the settings of the issuer change.
import {
  type LoggedIn,
  newSessionSecret,
  rightsOf,
  secretHash,
  sessionToken,
} from "../../auth/logins/console-sessions.ts";
import { requireAddress } from "../../auth/client-address.ts";
import { runsGateway } from "../../auth/grants.ts";
import { GatewayError } from "../../core/errors.ts";
import { newSpanId } from "../../core/ids.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { AuditNote, Actor } from "../../store/records.ts";
import type { StoredSession } from "../../store/identity/sessions.ts";
import type { ConsoleContext } from "./console-context.ts";

export interface OpenSession {
  readonly session: StoredSession;
  /** What the session may do now. */
  readonly token: AccessToken;
  /** When it ends if it is not used any more. */
  readonly idleEndsAtMs: number;
}

export interface NewSession extends OpenSession {
  /** Goes into the cookie, and nowhere else. */
  readonly secret: string;
}

const MAX_BROWSER = 200;
/** The time of the last use is kept as exactly as this, and as this share of the idle time where that is less. */
const SEEN_EVERY_MS = 60_000;
const SEEN_SHARE = 0.1;

/** A login always gets a session of its own; the one that the browser had before is ended. */
export async function openSession(
  { way, token, identity, endsAtMs }: LoggedIn,
  from: { readonly address: string | null; readonly headers: Headers; readonly former: string | null },
  { clock, store, ...context }: ConsoleContext,
): Promise<NewSession> {
  const { sessionIdleMs, sessionMaxMs } = context.settings();
  const nowMs = clock.now();
  const secret = newSessionSecret();
  const session: StoredSession = {
    id: `ses_${newSpanId()}`,
    secretHash: secret.hash,
    way,
    tenantId: token.tenantId,
    userId: token.userId,
    tokenId: way === "token" ? token.id : null,
    identity,
    rights: rightsOf(token, context.snapshot()),
    address: from.address,
    browser: from.headers.get("user-agent")?.slice(0, MAX_BROWSER) ?? null,
    startedAtMs: nowMs,
    seenAtMs: nowMs,
    endsAtMs: Math.min(nowMs + sessionMaxMs, endsAtMs),
  };
  const former = from.former === null ? null : await store.sessions.findSession(secretHash(from.former));
  await store.sessions.openSession(session);
  if (former !== null) await store.sessions.endSession(former.id);
  const opened = { session, token, idleEndsAtMs: nowMs + sessionIdleMs, secret: secret.text };
  await store.note(actorOf(opened, from.address, context.snapshot()), sessionNote("login", session));
  return opened;
}

/** Throws `session_required`, or `address_forbidden` as calls with the token do. */
export async function currentSession(
  secret: string | null,
  address: string | null,
  { clock, store, ...context }: ConsoleContext,
): Promise<OpenSession> {
  if (secret === null) throw sessionRequired("Nobody is logged in here.");
  const session = await store.sessions.findSession(secretHash(secret));
  if (session === null) throw sessionRequired("The session has ended.");
  const nowMs = clock.now();
  const { sessionIdleMs } = context.settings();
  const idleEndsAtMs = session.seenAtMs + sessionIdleMs;
  let token = nowMs >= idleEndsAtMs ? null : sessionToken(session, context.snapshot(), nowMs);
  if (token === null && nowMs < Math.min(idleEndsAtMs, session.endsAtMs)) {
    // another gateway may have opened it with rights that are not known here yet
    await context.follow();
    token = sessionToken(session, context.snapshot(), nowMs);
  }
  if (token === null) {
    await store.sessions.endSession(session.id);
    throw sessionRequired(
      "The session has ended: its time is over, or the rights of its user or its token have changed.",
    );
  }
  requireAddress(token, () => address);
  const seenEveryMs = Math.min(SEEN_EVERY_MS, sessionIdleMs * SEEN_SHARE);
  if (nowMs - session.seenAtMs < seenEveryMs) return { session, token, idleEndsAtMs };
  await store.sessions.sessionSeen(session.secretHash, nowMs);
  return { session, token, idleEndsAtMs: nowMs + sessionIdleMs };
}

export async function endSession(
  open: OpenSession,
  address: string | null,
  { store, ...context }: ConsoleContext,
): Promise<void> {
  if (await store.sessions.endSession(open.session.id))
    await store.note(actorOf(open, address, context.snapshot()), sessionNote("logout", open.session));
}

export const sessionRequired = (what: string): GatewayError => new GatewayError("session_required", `${what} Log in.`);

function actorOf(
  { token, session }: OpenSession,
  address: string | null,
  snapshot: Parameters<typeof runsGateway>[1],
): Actor {
  const { id, userId, tenantId } = token;
  const isOperator = runsGateway(token, snapshot);
  return { tokenId: id, userId, role: null, isOperator, tenantId, address, via: "console", sessionId: session.id };
}

const sessionNote = (action: "login" | "logout", { id, way, tenantId }: StoredSession): AuditNote => ({
  action,
  outcome: "done",
  kind: "session",
  tenantId,
  targetId: id,
  targetName: way,
});
