// What the console's server side needs of the gateway.
import type { ConsoleSettings } from "../../auth/logins/console-settings.ts";
import type { Logins } from "../../auth/logins/logins.ts";
import type { CallingSession } from "../../auth/logins/recent-login.ts";
import type { Clock } from "../../core/clock.ts";
import type { AccessToken } from "../../core/identity.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Reader } from "../../store/reader.ts";
import type { Actor, AuditNote } from "../../store/records.ts";
import type { SessionTable } from "../../store/identity/kysely-sessions.ts";
import type { Changed, Writer } from "../../store/writer.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import type { ConsoleFiles } from "./console-files.ts";

export interface ConsoleStore extends Pick<
  Reader,
  "listTenants" | "findTenant" | "findUser" | "findClaim" | "listDefaultViews"
> {
  readonly sessions: SessionTable;
  note(actor: Actor, note: AuditNote): Promise<void>;
  change<T>(actor: Actor, work: (writer: Writer) => Promise<T>): Promise<Changed<T>>;
}

export interface ConsoleContext {
  readonly clock: Clock;
  readonly store: ConsoleStore;
  readonly logins: Logins;
  readonly upstream: UpstreamClient;
  readonly files: ConsoleFiles;
  /** Tells operators what the person who logs in is not told. */
  readonly warn: (message: string) => void;
  snapshot(): Snapshot;
  settings(): ConsoleSettings;
  /** As in AdminContext. */
  follow(): Promise<void>;
  /** Serves a request as if it had come to `path` with an access token. */
  serve(request: Request, path: string, caller: ConsoleCaller): MaybePromise<Response>;
}

/** Who asks, in place of what the headers of the request say. */
export interface ConsoleCaller {
  readonly token: AccessToken;
  /** The token with which the session acts now. Throws `session_required` when it has ended. */
  tokenNow(): Promise<AccessToken>;
  readonly session: CallingSession;
  readonly peer: string | null;
}

/** What the surrounding server knows of one request. */
export interface ConsoleBindings {
  /** Address of the socket's peer; null when unknown. */
  readonly peer: string | null;
  readonly traceId: string;
  /** How long the request has taken so far. */
  ownMs(): number;
}
