// Made calls whose sums a test makes itself, record by record, to compare them with what the console shows.
import type { CallRecord } from "../../../src/core/record/record.ts";
import { recordOf } from "../../contract/store/call-records.ts";
import { isLongRun } from "../time/long-run.ts";

/** Numbers that are always the same, evenly spread below `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export const LEDGER_ZONES = [
  "UTC",
  "Asia/Kolkata",
  "Asia/Kathmandu",
  "Australia/Lord_Howe",
  "America/New_York",
] as const;

/** Some hours after clocks were changed, so that the last day has 23 or 25 hours there; 24 1/2 or 23 1/2 in Lord Howe. */
export const CHANGED_CLOCKS = {
  "New York, spring": "2026-03-08T20:00:00.000Z",
  "New York, autumn": "2026-11-01T19:00:00.000Z",
  "Lord Howe, autumn": "2026-04-05T04:00:00.000Z",
  "Lord Howe, spring": "2026-10-04T04:30:00.000Z",
} as const;

/** The day at `index` in an ordinary run, and all of them in a long run. That each sum is right in each zone is proved without a browser. */
export function clockChanges(index: number): readonly (readonly [name: string, moment: string])[] {
  const all = Object.entries(CHANGED_CLOCKS);
  return isLongRun ? all : all.slice(index, index + 1);
}

/** The zones from which such a day is looked at: the one whose clocks were changed, and all of them in a long run. */
export function zonesAt(name: string): readonly string[] {
  if (isLongRun) return LEDGER_ZONES;
  return [name.startsWith("New York") ? "America/New_York" : "Australia/Lord_Howe"];
}

export interface LedgerSpan {
  readonly fromMs: number;
  readonly toMs: number;
  readonly count: number;
  readonly seed: number;
}

/** Calls of two projects of `acme`, some of which failed, and some of which have no price. */
export function ledgerCalls({ fromMs, toMs, count, seed }: LedgerSpan): readonly CallRecord[] {
  const draw = numbers(seed);
  return Array.from({ length: count }, (_, at) => {
    const isFailed = draw(7) === 0;
    return recordOf({
      startedAtMs: fromMs + draw(toMs - fromMs),
      projectId: ["site", "app"][draw(2)]!,
      route: ["direct", "chat"][at % 2]!,
      model: ["large", "small", "ft:small:2"][draw(3)]!,
      endUser: ["ann", 'say "hi"', "a\\b c"][draw(3)]!,
      status: isFailed ? 502 : 200,
      ...(isFailed && { code: "upstream_error" as const }),
      tokens: [draw(90_000), draw(9000)],
      costNanoUsd: draw(5) === 0 ? null : draw(4_000_000_000),
    });
  });
}

export interface LedgerFigures {
  readonly cost: bigint;
  readonly calls: number;
  readonly errors: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly unpriced: number;
}

export function summed(records: readonly CallRecord[]): LedgerFigures {
  const sum = { cost: 0n, calls: 0, errors: 0, tokensIn: 0, tokensOut: 0, unpriced: 0 };
  for (const { cost, status, usage } of records) {
    sum.cost += BigInt(cost?.nanoUsd ?? 0);
    sum.calls += 1;
    sum.errors += (status ?? 0) >= 400 ? 1 : 0;
    sum.tokensIn += usage!.prompt_tokens;
    sum.tokensOut += usage!.completion_tokens;
    sum.unpriced += cost === null ? 1 : 0;
  }
  return sum;
}

/** With all digits, as in the title of an amount. */
export function exactDollars(nanoUsd: bigint): string {
  const [whole, fraction] = [nanoUsd / 1_000_000_000n, (nanoUsd % 1_000_000_000n).toString().padStart(9, "0")];
  return `$${whole.toLocaleString("en")}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
}
