// Calendar periods of limits that several gateways share, against those of one process.
import { expect, test } from "bun:test";
import { bucketAt, leavesAtMs } from "../../src/admission/valkey/windows.ts";
import { periodAt } from "../../src/admission/windows.ts";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";

const DAY_MS = 86_400_000;

test("[d4.1] days, weeks and months end at the same moment whether one gateway counts or several, and none is left out", () => {
  const chance = chanceOf(printedSeed("calendar buckets"));
  for (let draw = 0; draw < drawCount(2_000, 100_000); draw++)
    for (const kind of ["day", "week", "month"] as const) {
      const atMs = chance.below(60_000) * DAY_MS + chance.pick([0, 1, DAY_MS - 1, chance.below(DAY_MS)]);
      const [beginsMs, endsMs] = periodAt(kind, atMs);
      const bucket = bucketAt({ kind, windowMs: 0 }, atMs);
      expect([kind, atMs, leavesAtMs({ kind, windowMs: 0 }, bucket, 250)]).toEqual([kind, atMs, endsMs]);
      expect([bucketAt({ kind, windowMs: 0 }, beginsMs), bucketAt({ kind, windowMs: 0 }, endsMs)]).toEqual([
        bucket,
        bucket + 1,
      ]);
    }
});
