// Redeems the code of a claim link: makes the token that its giver may still give, and shows it this once.
import { ADMIN_OPERATIONS } from "../../../auth/admin-operations.ts";
import { secretHash } from "../../../auth/logins/console-sessions.ts";
import { callerWithin } from "../../../auth/caller-within.ts";
import { requireMoreThanOps, requireRole } from "../../../auth/grants.ts";
import { actingToken } from "../../../auth/logins/kept-identity.ts";
import { createToken, DAY_MS, type IssuedToken, LONGEST_DAYS } from "../../../auth/tokens/token-admin.ts";
import type { Clock } from "../../../core/clock.ts";
import { GatewayError } from "../../../core/errors.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { StoredClaim } from "../../../store/identity/claims.ts";
import type { Reader } from "../../../store/reader.ts";
import { type Actor, LOCAL_ACTOR } from "../../../store/records.ts";
import { StoreError } from "../../../store/store-error.ts";
import type { Changed, Writer } from "../../../store/writer.ts";
import { stateOf } from "./claims.ts";
import { permittedRequest, type TokenWords, withLifetime } from "./tokens.ts";

/** Instead of a lifetime it may say when the token ends, whenever the link is opened. */
type ClaimedToken = TokenWords & { readonly ends_at_ms?: number };

export interface RedeemingContext {
  readonly store: Pick<Reader, "findClaim"> & {
    change<T>(actor: Actor, work: (writer: Writer) => Promise<T>): Promise<Changed<T>>;
  };
  readonly clock: Pick<Clock, "now">;
  snapshot(): Snapshot;
}

/**
 * `null` when the code is wrong or was redeemed, has expired or was revoked, or when its giver may not give the token any
 * more: the answer is the same.
 */
export async function redeemedClaim(
  code: string,
  address: string | null,
  context: RedeemingContext,
): Promise<IssuedToken | null> {
  const actor: Actor = { ...LOCAL_ACTOR, isOperator: false, address, via: "console" };
  const openClaim = async (reader: Pick<Reader, "findClaim">): Promise<StoredClaim | null> => {
    const claim = await reader.findClaim(secretHash(code));
    return claim !== null && stateOf(claim, context.clock.now()) === "open" ? claim : null;
  };
  // anybody may send a code, and a change keeps all others waiting
  if ((await openClaim(context.store)) === null) return null;
  try {
    const { result } = await context.store.change(actor, async (writer) => {
      const claim = await openClaim(writer);
      if (claim === null) return null;
      const made = await tokenOf(claim, writer, context);
      await writer.redeemedClaim(claim, made.id);
      return made;
    });
    return result;
  } catch (thrown) {
    // Nothing of the transaction holds, the claim included.
    const isRefused = thrown instanceof GatewayError && thrown.entry.status < 500;
    if (isRefused || (thrown instanceof StoreError && thrown.kind === "unknown")) return null;
    throw thrown;
  }
}

/** Throws what the giver would be answered who makes the token now. */
async function tokenOf(claim: StoredClaim, writer: Writer, context: RedeemingContext): Promise<IssuedToken> {
  const snapshot = context.snapshot();
  const nowMs = context.clock.now();
  const token = actingToken(claim.giver, snapshot, nowMs);
  if (token === null) throw new GatewayError("revoked_token", "The giver's own right has ended.");
  requireMoreThanOps(token);
  const caller = await callerWithin({ token }, writer);
  const place = { tenantId: claim.tenantId, projectId: claim.projectId };
  const operation = claim.projectId === null ? "createTenantToken" : "createProjectToken";
  const role = requireRole(caller, ADMIN_OPERATIONS.get(operation)!, place);
  const { ends_at_ms: endsAtMs, ...words } = claim.request as unknown as ClaimedToken;
  const days = endsAtMs === undefined ? words.expires_in_days : Math.min((endsAtMs - nowMs) / DAY_MS, LONGEST_DAYS);
  const body: TokenWords = { ...words, expires_in_days: days };
  // The lifetime that was asked for was judged when the link was made; the end of the giver's own token still holds.
  const request = await permittedRequest({ caller, role, place, body, snapshot, nowMs: claim.createdAtMs }, writer);
  return await withLifetime(() => createToken(writer, request, nowMs));
}
