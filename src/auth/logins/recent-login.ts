// Which requests of a session of the console need a recent login. `ADMIN_OPERATIONS` says it of each operation.
import { GatewayError } from "../../core/errors.ts";
import type { Actor } from "../../store/records.ts";
import type { Requirement } from "../admin-operations.ts";

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

interface Fields {
  readonly permissions?: readonly unknown[] | undefined;
  readonly operator?: unknown;
  readonly login?: unknown;
}

/** `body` is that of a valid request for the operation. */
export function needsRecentLogin({ login: needed }: Pick<Requirement, "login">, body: unknown): boolean {
  if (needed !== "recent_for_rights") return needed === "recent";
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
