// How reservations of limits are written in messages. A rule is sent once, with a number by which later messages name it.
import type { LimitRule } from "../../core/configured/limit.ts";
import type { AccountReading, AccountStatus, Need, Shortage } from "../../admission/limit-store.ts";

/** `[number of the rule, value of its scope, units, 1 when the need is forced]` */
export type NeedWire = readonly [rule: number, value: string, units: number, force: 0 | 1];
export type StatusWire = readonly [limit: number, used: number, remaining: number, resetsAtMs: number | null];

export interface ReserveWire {
  /** The worker's number of the reservation. */
  readonly id: number;
  readonly call: string;
  readonly needs: readonly NeedWire[];
  /** Rules that this worker has not sent before. */
  readonly rules?: readonly (readonly [number: number, rule: LimitRule])[];
}

export type ReservedWire =
  | {
      /** See `changesWire`. */
      readonly accounts: readonly (number | null)[];
      readonly overdrawn?: readonly number[];
      readonly stamp?: number | undefined;
      readonly run?: string | undefined;
    }
  | ({
      /** The index of the need that has no room. */
      readonly short: number;
      readonly status: StatusWire;
    } & Omit<Shortage, "need" | "status">);

/** `[number of the reservation, units for each need]`; `null` leaves a need open. */
export type SettledWire = readonly [id: number, used: readonly (number | null)[]];

export const statusWire = ({ limit, used, remaining, resetsAtMs }: AccountStatus): StatusWire => [
  limit,
  used,
  remaining,
  resetsAtMs,
];

export type ReadingWire = readonly [status: StatusWire, reserved: number | null];

export const readingWire = (reading: AccountReading): ReadingWire => [statusWire(reading), reading.reserved];

export const readingOf = ([status, reserved]: ReadingWire): AccountReading => ({ ...statusOf(status), reserved });

export const statusOf = ([limit, used, remaining, resetsAtMs]: StatusWire): AccountStatus => ({
  limit,
  used,
  remaining,
  resetsAtMs,
});

/** Before and after the reservation, what was used of each account and when it resets: four figures for each need. */
export function changesWire(
  before: readonly AccountStatus[],
  after: readonly AccountStatus[],
): readonly (number | null)[] {
  return before.flatMap(({ used, resetsAtMs }, index) => [
    used,
    resetsAtMs,
    after[index]!.used,
    after[index]!.resetsAtMs,
  ]);
}

/** The statuses before, or after, the reservation. */
export function statusesIn(
  accounts: readonly (number | null)[],
  needs: readonly Need[],
  when: "before" | "after",
): readonly AccountStatus[] {
  const first = when === "before" ? 0 : 2;
  return needs.map(({ account: { rule } }, index) => {
    const used = accounts[index * 4 + first] ?? 0;
    return {
      limit: rule.limit,
      used,
      remaining: Math.max(0, rule.limit - Math.max(0, used)),
      resetsAtMs: accounts[index * 4 + first + 1] ?? null,
    };
  });
}
