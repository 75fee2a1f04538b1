// What a dead worker held is settled by what its journal has of the calls.
import { describe, expect, test } from "bun:test";
import { openMemoryLimits } from "../../../src/admission/memory.ts";
import type { LimitStore, Need } from "../../../src/admission/limit-store.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { LimitOutcome } from "../../../src/core/record/record.ts";
import { endCall, type Journalled } from "../../../src/process/workers/worker-reservations.ts";
import { accountOf, needOf, reserved } from "../../contract/limit-store.suite.ts";

const TOKENS = accountOf({ id: "tokens", unit: "tokens", limit: 1000 });
const PLACES = accountOf({ id: "places", unit: "concurrency", window: null, limit: 10 });
/** Counts each attempt by itself. */
const OF_MODEL = accountOf({ id: "of-model", unit: "tokens", limit: 1000, scope: { model: "a:b" } });

const outcome = (id: string, kept: number, settled: number | null, reservation = 0): LimitOutcome => ({
  id,
  value: "",
  unit: "tokens",
  before: 0,
  reserved: kept,
  settled,
  after: 0,
  wouldRefuse: false,
  reservation,
});

/** Reserves, ends what is said of it in the order of the needs, and returns what each account has used after the death. */
async function afterDeath(
  reservations: readonly (readonly Need[])[],
  journalled: Journalled,
  settledBefore: readonly (readonly (number | null)[])[] = [],
): Promise<{ readonly used: readonly number[]; readonly open: number }> {
  const store: LimitStore = openMemoryLimits({ clock: systemClock });
  const held = [];
  for (const [index, needs] of reservations.entries()) {
    const reservation = await reserved(store, ...needs);
    const settled = settledBefore[index] ?? needs.map(() => null);
    reservation.settle(settled);
    held.push({ id: index, call: "c", reservation, isOpen: settled.map((units) => units === null) });
  }
  endCall(held, journalled);
  const used = [];
  for (const account of [TOKENS, PLACES, OF_MODEL]) used.push((await store.status(account)).used);
  return { used, open: store.open() };
}

describe("[d13.2] what a dead worker had reserved", () => {
  const needs = [needOf(TOKENS, 100), needOf(PLACES)];

  test("is given back when the call is not in its journal", async () => {
    expect(await afterDeath([needs], "nothing")).toEqual({ used: [0, 0, 0], open: 0 });
  });

  test("stays charged when the call had not ended, and its place is free", async () => {
    const journalled = { limits: [outcome("tokens", 100, null)], isClosed: false };
    expect(await afterDeath([needs], journalled)).toEqual({ used: [100, 0, 0], open: 0 });
  });

  test("is charged what was used when the call had ended", async () => {
    const journalled = { limits: [outcome("tokens", 100, 30)], isClosed: true };
    expect(await afterDeath([needs], journalled)).toEqual({ used: [30, 0, 0], open: 0 });
  });

  test("stays charged when the journal cannot be read", async () => {
    expect(await afterDeath([needs], "reserved")).toEqual({ used: [100, 0, 0], open: 0 });
  });

  test("is charged once for a call with several reservations", async () => {
    const journalled = { limits: [outcome("tokens", 150, 120)], isClosed: true };
    expect(await afterDeath([needs, [needOf(TOKENS, 50)]], journalled)).toEqual({ used: [120, 0, 0], open: 0 });
  });

  test("is charged for each attempt where a rule counts attempts, and not again for one that was settled", async () => {
    const journalled = { limits: [outcome("of-model", 100, 10, 0), outcome("of-model", 200, 40, 1)], isClosed: true };
    const attempts = [[needOf(OF_MODEL, 100)], [needOf(OF_MODEL, 200)]];
    expect(await afterDeath(attempts, journalled)).toEqual({ used: [0, 0, 50], open: 0 });
    expect(await afterDeath(attempts, journalled, [[10]])).toEqual({ used: [0, 0, 50], open: 0 });
  });

  test("is charged for an attempt by its number, whatever else the journal has of the account", async () => {
    const attempts = [[needOf(OF_MODEL, 100)], [needOf(OF_MODEL, 200)]];
    // the second attempt had not ended, and the first one came later into the record
    const listed = [outcome("of-model", 200, null, 1), outcome("of-model", 100, 10, 0)];
    const journalled = { limits: listed, isClosed: false };
    expect(await afterDeath(attempts, journalled, [[10]])).toEqual({ used: [0, 0, 210], open: 0 });
  });

  test("is not charged for a refusal that the journal has too", async () => {
    const refused: LimitOutcome = { ...outcome("tokens", 0, 0), refused: "rate_limit_exceeded" };
    const journalled = { limits: [refused, outcome("tokens", 100, 20)], isClosed: true };
    expect(await afterDeath([needs], journalled)).toEqual({ used: [20, 0, 0], open: 0 });
  });
});
