// The parts that a process has for itself when it is the whole gateway, and for which a worker needs the supervisor
// (worker.ts).
import type { ParsedToken } from "../../auth/tokens/access-token.ts";
import { bootstrap } from "../../auth/first-identities.ts";
import type { Routing } from "../../engine/call/context.ts";
import { openRouting } from "../../engine/plan/open-routing.ts";
import { systemClock } from "../../core/clock.ts";
import type { Events } from "../../core/record/event.ts";
import type { LineOutput } from "../../observe/line-sink.ts";
import type { ReplicaWatch } from "../../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { Base } from "./base.ts";
import type { Machine, SharedPort } from "./machine.ts";
import { openLimits } from "./open-limits.ts";
import { type NotificationParts, type Notifications, breakerReports, openNotifications } from "./open-notifications.ts";
import { type Records, openRecords } from "./open-records.ts";
import { openReplicas } from "./open-replicas.ts";
import { type Storage, openStorage } from "./open-storage.ts";

export interface ProcessParts {
  /** A file descriptor, or what takes the lines. */
  readonly logOutput: number | LineOutput;
  readonly openStorage: (base: Base) => Promise<Storage>;
  readonly openRecords: (base: Base, storage: Storage) => Promise<Records>;
  readonly openReplicas: (base: Base, storage: Storage, source: SnapshotSource) => ReplicaWatch;
  readonly openLimits: typeof openLimits;
  readonly openNotifications: (base: Base, parts: NotificationParts) => Promise<Notifications>;
  readonly openRouting: (base: Base, events: Events) => Routing;
  /** `null` when this process is the whole gateway. */
  readonly machine: Machine | null;
  /**
   * On the very first start only: what it has made, with the first access token where that has to be shown. `null` where
   * another process does it.
   */
  readonly firstStart:
    | ((store: Storage["store"], given: ParsedToken | null) => Promise<{ readonly token: string | null } | null>)
    | null;
  /** `null` when no other process listens on the port. */
  readonly sharedPort: SharedPort | null;
}

export const OWN_PARTS = {
  logOutput: 1,
  openStorage,
  openRecords,
  openReplicas,
  openLimits,
  openNotifications,
  openRouting: (_, events) => openRouting(Math.random, breakerReports(events)),
  machine: null,
  firstStart: (store, given) => bootstrap(store, systemClock.now(), given),
  sharedPort: null,
} satisfies ProcessParts;
