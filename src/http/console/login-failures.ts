// Counts logins that fail, for the address they come from and for the token that they name, so that neither can be guessed
// at. A login that succeeds is let in whatever the count is, because behind a proxy that is not trusted all have one
// address. The count is in the database, so that it holds over all workers and replicas.
import { retryLater } from "../../core/errors.ts";
import { type Actor, LOCAL_ACTOR } from "../../store/records.ts";
import { parseIpAddress } from "../../wire/ip-range.ts";
import type { ConsoleContext } from "./console-context.ts";

const WINDOW_MS = 15 * 60_000;
const MAX_OF_ADDRESS = 10;
/** Higher, because anybody can name a token and so keep its owner from logging in. */
const MAX_OF_ACCOUNT = 50;
/** Rows in the audit log about failures, for all addresses together. */
const MAX_AUDITED = 200;
const ALL = "all";

export interface LoginTry {
  readonly address: string | null;
  /** The id of the token that was named; `null` when there is none. */
  readonly account: string | null;
  /** How the audit log calls what was tried. */
  readonly what?: { readonly action: string; readonly kind: string };
}

const LOGIN = { action: "login", kind: "session" };

/** Counts and records that a login has failed. Throws `too_many_logins` where too many have. */
export async function countFailure(
  { address, account, what = LOGIN }: LoginTry,
  { clock, store, ...context }: Pick<ConsoleContext, "clock" | "store" | "snapshot">,
): Promise<void> {
  const keys = [`address ${networkOf(address)}`, ALL, ...(account === null ? [] : [`account ${account}`])];
  const sinceMs = clock.now() - WINDOW_MS;
  const [ofAddress, ofAll, ofAccount = 0] = await store.sessions.loginFailures(keys, sinceMs);
  if (ofAddress! >= MAX_OF_ADDRESS || ofAccount >= MAX_OF_ACCOUNT)
    throw retryLater(
      "too_many_logins",
      `Too many logins have failed from this address or with this token. Try again in ${WINDOW_MS / 60_000} minutes.`,
      WINDOW_MS / 1000,
    );
  await store.sessions.addLoginFailure(keys, clock.now(), sinceMs);
  if (ofAll! >= MAX_AUDITED) return;
  // A token that exists is recorded in its tenant, so that those who administer it see that somebody tries it.
  const named = account === null ? undefined : context.snapshot().tokens.get(account);
  const actor: Actor = { ...LOCAL_ACTOR, isOperator: false, address, via: "console" };
  try {
    await store.note(actor, {
      ...what,
      outcome: "refused",
      tenantId: named?.tenantId ?? null,
      projectId: named?.projectId ?? null,
      targetId: named?.id ?? null,
    });
  } catch {
    // the login is refused even when the row cannot be written
  }
}

/** Addresses of one IPv6 network belong to one customer of a provider. */
function networkOf(text: string | null): string {
  const address = text === null ? null : parseIpAddress(text);
  if (address === null) return "unknown";
  return "parts" in address
    ? address.parts
        .slice(0, 4)
        .map((part) => part.toString(16))
        .join(":")
    : address.toString();
}
