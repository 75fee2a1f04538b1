// Figures of a time of which single calls are not kept any more: they are the sums of whole hours, and of end users those of whole days in UTC, and the
// page says up to when. Each figure is the sum of the rows that the ledger had, which this test makes itself.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { DAY_MS, HOUR_MS } from "../../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage } from "../../../harness/console/chromium.ts";
import { digitsOf, exactAmountIn, type LedgerConsole, openLedgerConsole } from "../../../harness/console/figures.ts";
import { CHANGED_CLOCKS, exactDollars, ledgerCalls, summed } from "../../../harness/console/ledger.ts";

const program = chromiumProgram();
const MINUTE_MS = 60_000;
const NOW_MS = Date.parse(CHANGED_CLOCKS["New York, spring"]);
/** Within an hour and within a day in UTC. */
const KEPT_SINCE_MS = NOW_MS - 31 * HOUR_MS - 23 * MINUTE_MS;
const FROM_MS = NOW_MS - 50 * HOUR_MS - 37 * MINUTE_MS;

describe.skipIf(program === null)("figures of calls that are not kept any more", () => {
  const records = ledgerCalls({ fromMs: NOW_MS - 4 * DAY_MS, toMs: NOW_MS, count: 300, seed: 5 });
  let ledger: LedgerConsole;
  beforeAll(async () => {
    ledger = await openLedgerConsole({
      program: program!,
      nowMs: () => NOW_MS,
      records,
      furnish: async ({ calls }) => {
        while ((await calls.prune({ callsMs: KEPT_SINCE_MS, detailsMs: null, placesMs: null })) > 0);
      },
    });
  });
  afterAll(() => ledger?.close());

  /** The calls that count where the unit in which the report begins cannot be divided: it is left out as a whole, because it began before. */
  function counted(unitMs: number): { readonly wholeUntilMs: number; readonly within: readonly CallRecord[] } {
    const wholeUntilMs = Math.ceil(FROM_MS / unitMs) * unitMs;
    return { wholeUntilMs, within: records.filter(({ startedAtMs }) => startedAtMs >= wholeUntilMs) };
  }

  async function shows({ page, ...made }: ConsolePage, by: string, unitMs: number): Promise<void> {
    const [from, to] = [FROM_MS, NOW_MS].map((ms) => new Date(ms).toISOString());
    await made.go(`/acme/-/usage?${new URLSearchParams({ by, from: from!, to: to! }).toString()}`);
    await made.settled();
    const { wholeUntilMs, within } = counted(unitMs);
    const keyOf = ({ projectId, endUser }: CallRecord): string => (by === "project" ? projectId! : endUser!);
    const due = [...Map.groupBy(within, keyOf)].map(([key, group]) => {
      const { cost, calls } = summed(group);
      return `${key} | ${exactDollars(cost)} | ${calls}`;
    });
    const rows = await page
      .getByRole("table", { name: /^Usage by/ })
      .locator("tbody tr")
      .all();
    const shown = await Promise.all(
      rows.map(async (row) => {
        const [key, , cost, calls] = await row.locator("th, td").all();
        // percentiles are marked as approximate
        expect(await row.locator("td").last().textContent()).toStartWith("~");
        return `${await key!.textContent()} | ${await exactAmountIn(cost!)} | ${digitsOf(await calls!.textContent())}`;
      }),
    );
    expect(within.length).toBeGreaterThan(20);
    expect(shown.toSorted()).toEqual(due.toSorted());
    const words = page.locator(".after-table");
    expect(await words.textContent()).toContain(unitMs === HOUR_MS ? "hourly sums" : "sums of days in UTC");
    expect(await words.locator("time").last().getAttribute("datetime")).toBe(new Date(wholeUntilMs).toISOString());
  }

  test.each(["America/New_York", "Asia/Kathmandu"])(
    "[d14.3] in %s, usage of a time of which calls are gone has the sums of whole hours, of end users those of days in UTC, and says so",
    async (zone) => {
      const made = await ledger.visiting(zone, "/acme/-/usage");
      await shows(made, "project", HOUR_MS);
      await shows(made, "end_user", DAY_MS);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );
});
