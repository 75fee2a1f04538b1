// How a gateway stands that does nothing and lacks nothing, with these targets.
import type { Standing } from "../../src/http/standing.ts";
import type { TargetStatus } from "../../src/observe/metrics/metrics.ts";

export const idleStanding = (targets: readonly TargetStatus[] = []): Standing => ({
  workers: null,
  snapshot: 1,
  callsInFlight: 0,
  targets,
  integrations: [],
  dependencies: {
    configuration: { fault: null },
    database: { unreachedMs: 0, problems: [] },
    limitStore: { driver: "memory", awayForMs: null, reason: null },
    ledger: { fault: null, unshippedBytes: 0, lost: 0 },
    replicas: { fingerprint: "", others: [] },
  },
});
