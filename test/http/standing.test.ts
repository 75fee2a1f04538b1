// The standing of a machine, made of those of its processes.
import { expect, test } from "bun:test";
import { machineStanding, type ProcessStanding, shownStanding, shownTargets } from "../../src/http/standing.ts";
import type { TargetStatus } from "../../src/observe/metrics/metrics.ts";
import { idleStanding } from "../harness/standing.ts";

const target = (fields: Partial<TargetStatus>): TargetStatus => ({
  target: "openai:gpt-5",
  owner: null,
  state: "closed",
  inFlight: 0,
  waiting: 0,
  firstContentMs: null,
  openForMs: null,
  ...fields,
});

const standing = (fields: Partial<ProcessStanding> = {}): ProcessStanding => ({ ...idleStanding(), ...fields });

test("[d13.3] a machine stands as all of its processes together, and as the worst of them", () => {
  const idle = idleStanding().dependencies;
  const supervisor = standing({
    snapshot: 7,
    callsInFlight: 0,
    dependencies: {
      ...idle,
      limitStore: { driver: "valkey", awayForMs: 1200, reason: "refused" },
      replicas: { fingerprint: "f1", others: [] },
    },
  });
  const one = standing({
    snapshot: 2,
    callsInFlight: 3,
    targets: [target({ inFlight: 1, firstContentMs: 100 }), target({ target: "own:m", inFlight: 4 })],
    dependencies: {
      ...idle,
      database: { unreachedMs: 10, problems: ["p"] },
      ledger: { fault: null, unshippedBytes: 5, lost: 1 },
    },
  });
  const other = standing({
    snapshot: 9,
    callsInFlight: 4,
    targets: [
      target({ inFlight: 2, waiting: 3, firstContentMs: 300, state: "open", openForMs: 50 }),
      target({ owner: "acme", inFlight: 7 }),
    ],
    dependencies: {
      ...idle,
      database: { unreachedMs: 900, problems: ["p", "q"] },
      configuration: { fault: "the file is broken" },
      ledger: { fault: "the disk is full", unshippedBytes: 7, lost: 0 },
    },
  });
  const together = machineStanding(supervisor, [one, other], { count: 3, answered: 2 });
  expect(together.targets).toEqual([
    target({ inFlight: 3, waiting: 3, firstContentMs: 200, state: "open", openForMs: 50 }),
    target({ target: "own:m", inFlight: 4 }),
    target({ owner: "acme", inFlight: 7 }),
  ]);
  expect(shownTargets(together.targets).map(({ target: name }) => name)).toEqual(["openai:gpt-5", "own:m"]);
  expect(shownStanding(together)).toEqual({
    snapshot: 7,
    workers: { count: 3, answered: 2 },
    calls_in_flight: 7,
    configuration: { current: false, reason: "the file is broken" },
    database: { reached_ms_ago: 900, problems: ["p", "q"] },
    limit_store: { driver: "valkey", away_for_ms: 1200, reason: "refused" },
    ledger: { writable: false, reason: "the disk is full", unshipped_bytes: 12, lost_rows: 1 },
    replicas: { fingerprint: "f1", others: [] },
  });
});
