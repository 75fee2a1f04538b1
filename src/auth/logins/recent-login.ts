// What a session of the console may do only shortly after its login: what gives rights, takes away many of them at once, or
// shows what was said in calls. Whoever finds an open browser can do none of it.
import { GatewayError } from "../../core/errors.ts";
import type { Actor } from "../../store/records.ts";

/** The session of the console that asks. */
export interface CallingSession {
  readonly id: string;
  /** Until when its login is young enough for what asks for that. */
  readonly recentUntilMs: number;
}

/** How the audit log says that something was asked for, by a session of the console or by the API. */
export function wayOf(session: CallingSession | undefined): Pick<Actor, "via" | "sessionId"> {
  return session === undefined ? { via: "api" } : { via: "console", sessionId: session.id };
}

const ALWAYS: ReadonlySet<string> = new Set([
  "createUser",
  "putTenantMembership",
  "putProjectMembership",
  // a personal token has the roles of its user, and outlives the session
  "createTenantToken",
  "createTenantClaim",
  "rotateTenantToken",
  "readTenantLogContent",
  "readProjectLogContent",
  "removeTenantContent",
  "removeProjectContent",
  "deleteTenant",
  "deleteProject",
  "deleteUser",
]);
/** These give rights only where the body has a field that does. */
const BY_FIELDS: ReadonlySet<string> = new Set([
  "updateTenantToken",
  "createProjectToken",
  "createProjectClaim",
  "updateProjectToken",
  "updateUser",
]);

interface Fields {
  readonly permissions?: readonly unknown[] | undefined;
  readonly operator?: unknown;
  readonly login?: unknown;
}

/** `body` is that of a valid request for the operation. */
export function needsRecentLogin(operationId: string, body: unknown): boolean {
  if (!BY_FIELDS.has(operationId)) return ALWAYS.has(operationId);
  const { permissions = [], operator = false, login = null } = body as Fields;
  return permissions.length > 0 || operator !== false || login !== null;
}

/** Throws `recent_login_required`. `session` is `null` for a token, which proves itself with each request. */
export function requireRecentLogin(session: Pick<CallingSession, "recentUntilMs"> | null, nowMs: number): void {
  if (session === null || nowMs < session.recentUntilMs) return;
  throw new GatewayError(
    "recent_login_required",
    "This needs a login that is not older than 15 minutes, because it gives or takes rights, or shows what was said. Log in again, and repeat it.",
  );
}
