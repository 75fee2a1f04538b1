// Usage by day as the screen shows it, compared with sums that this test makes itself of the rows of the ledger: on both days of the year on which
// clocks are changed, and with the rows to which each figure leads. The sums in each database and zone: test/contract/store/usage-periods.suite.ts.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { HOUR_MS, recordOf } from "../../../contract/store/call-records.ts";
import { chromiumProgram, launch, openConsole } from "../../../harness/console/chromium.ts";
import {
  exactDollars,
  LEDGER_ZONES,
  ledgerCalls,
  type LedgerFigures,
  summed,
} from "../../../harness/console/ledger.ts";
import { type ConsoleWorld, openConsoleWorld } from "../../../harness/console/world.ts";
import { isLongRun } from "../../../harness/time/long-run.ts";
import { until } from "../../../harness/time/until.ts";

const program = chromiumProgram();

/** Ranges around the days on which New York and Lord Howe change their clocks in 2026; they begin and end within hours. */
const RANGES = {
  "New York, spring": ["2026-03-06T17:23:00.000Z", "2026-03-10T03:47:00.000Z"],
  "New York, autumn": ["2026-10-30T17:23:00.000Z", "2026-11-03T03:47:00.000Z"],
  "Lord Howe, autumn": ["2026-04-03T17:23:00.000Z", "2026-04-07T03:47:00.000Z"],
  "Lord Howe, spring": ["2026-10-02T17:23:00.000Z", "2026-10-06T03:47:00.000Z"],
} as const;
const CALLS_IN_A_RANGE = 150;
const ZONES = isLongRun ? LEDGER_ZONES : (["Australia/Lord_Howe", "America/New_York"] as const);

/** As a row of the table shows it: the exact amount, then the counts. */
function shownAs({ cost, calls, errors, tokensIn, tokensOut, unpriced }: LedgerFigures): readonly string[] {
  const count = (value: number): string => value.toLocaleString("en").replaceAll(/\D/g, "");
  return [
    unpriced > 0 && cost === 0n ? "no price" : exactDollars(cost),
    ...[calls, errors, tokensIn, tokensOut].map(count),
  ];
}

/** Explanations and copies of some of the calls, which lists show and no figure counts. */
const unsummed = (records: readonly CallRecord[]): readonly CallRecord[] =>
  records
    .filter((_, at) => at % 5 === 0)
    .map(({ traceId, startedAtMs, projectId, route, model, endUser, status, code }, at) =>
      recordOf({
        startedAtMs,
        projectId,
        route,
        model,
        endUser,
        status,
        code,
        ...(at % 2 === 0 ? { explained: true } : { mirrorOf: traceId }),
      }),
    );

describe.skipIf(program === null)("figures in the console", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let records: readonly CallRecord[];
  beforeAll(async () => {
    world = await openConsoleWorld();
    records = Object.values(RANGES).flatMap(([from, to], at) =>
      ledgerCalls({
        fromMs: Date.parse(from) - HOUR_MS,
        toMs: Date.parse(to) + HOUR_MS,
        count: CALLS_IN_A_RANGE,
        seed: at + 1,
      }),
    );
    await world.calls.ingest([...records, ...unsummed(records)].map((record) => ({ record, settled: true })));
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  test.each(ZONES)(
    "[d14.3] usage by day in %s is what the rows of the ledger add up to, and leads to them",
    async (zone) => {
      const made = await openConsole(browser, world.url, { timezoneId: zone });
      const { page } = made;
      await made.open("/");
      await made.signIn(world.tokens.get("acme.owner")!);
      const dayOf = (ms: number): string => new Intl.DateTimeFormat("en-CA", { timeZone: zone }).format(ms);
      for (const [name, [from, to]] of Object.entries(RANGES)) {
        const within = records.filter(
          ({ startedAtMs }) => startedAtMs >= Date.parse(from) && startedAtMs < Date.parse(to),
        );
        const query = new URLSearchParams({ by: "day,project", from, to }).toString();
        await made.go(`/acme/-/usage?${query}`);
        await made.settled();
        const table = page.getByRole("table", { name: "Usage by day and project" });
        await table.waitFor();
        const due = Map.groupBy(within, ({ startedAtMs, projectId }) => `${dayOf(startedAtMs)} ${projectId}`);
        const rows = await table.locator("tbody tr, tfoot tr").evaluateAll((found) =>
          (
            found as unknown as {
              cells: Iterable<{
                textContent: string;
                querySelector(by: string): { getAttribute(name: string): string } | null;
              }>;
            }[]
          ).map(({ cells }) => {
            const [day, project, , cost, ...counts] = [...cells];
            return [
              `${day!.textContent} ${project!.textContent}`.trim(),
              cost!.querySelector("[title]")?.getAttribute("title") ?? cost!.textContent,
              ...counts.slice(0, 4).map(({ textContent }) => textContent.replaceAll(/\D/g, "")),
            ].join(" | ");
          }),
        );
        expect({ name, rows: rows.toSorted() }).toEqual({
          name,
          rows: [
            ...[...due].map(([key, group]) => [key, ...shownAs(summed(group))].join(" | ")),
            ["All", ...shownAs(summed(within))].join(" | "),
          ].toSorted(),
        });
        // the longest or shortest day: as many rows as its figure says
        const [key, group] = [...due][Math.floor(due.size / 2)]!;
        const row = table.getByRole("row", { name: new RegExp(key.replace(" ", "\\s*")) });
        const { errors } = summed(group);
        const shown = page.locator("tbody tr.row");
        if (errors > 0) {
          await row.getByRole("link").last().click();
          await until(async () => (await shown.count()) === errors, `${key} leads to ${errors} calls that failed`);
          await made.go(`/acme/-/usage?${query}`);
        }
        await row.getByRole("link").first().click();
        await made.settled();
        await until(async () => (await shown.count()) === group.length, `${key} leads to ${group.length} calls`);
        expect(await page.locator(".volume > .hint").textContent()).toContain(
          `${group.length} calls, ${errors} failed`,
        );
      }
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test("[d14.3] the list has the cost of a call whose price is not for tokens", async () => {
    const priced = { operation: "rerank", tokens: null, costNanoUsd: 2_000_000 } as const;
    const record = recordOf({ startedAtMs: Date.UTC(2026, 0, 5), ...priced });
    await world.calls.ingest([{ record, settled: true }]);
    const made = await openConsole(browser, world.url);
    await made.open("/");
    await made.signIn(world.tokens.get("acme.owner")!);
    const query = new URLSearchParams({
      q: "operation:rerank",
      from: "2026-01-04T00:00:00Z",
      to: "2026-01-06T00:00:00Z",
    });
    await made.go(`/acme/-/calls?${query.toString()}`);
    await made.page.locator(`tbody tr.row [title="${exactDollars(2_000_000n)}"]`).waitFor();
    await made.go(`/acme/site/calls/${record.traceId}`);
    await made.page.locator(`dl.figures [title="${exactDollars(2_000_000n)}"]`).waitFor();
    await made.close();
  });

  test("[d14.3] usage by model and end user leads to its rows, whatever the names contain", async () => {
    const made = await openConsole(browser, world.url);
    const { page } = made;
    const [from, to] = RANGES["New York, spring"];
    await made.open("/");
    await made.signIn(world.tokens.get("acme.owner")!);
    const path = `/acme/-/usage?${new URLSearchParams({ by: "model,end_user", from, to }).toString()}`;
    await made.go(path);
    await made.settled();
    const links = page.getByRole("table").locator("tbody").getByRole("link");
    const number = await links.count();
    // the calls of each row, and of some those that failed
    expect(number).toBeGreaterThan(9);
    for (let at = 0; at < number; at++) {
      const count = Number(await links.nth(at).textContent());
      await links.nth(at).click();
      await made.settled();
      await until(
        async () => (await page.locator("tbody tr.row").count()) === count,
        `link ${at} leads to ${count} calls`,
      );
      await page.goBack();
      await made.settled();
    }
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
