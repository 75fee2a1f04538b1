// The overview and the page of a budget on the days on which clocks are changed, seen from five time zones: each figure is the sum of the rows of the
// ledger that this test makes itself, and leads to rows that add up to it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { CallRecord } from "../../src/core/record.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { chromiumProgram, type ConsolePage } from "../harness/chromium.ts";
import {
  digitsOf as digits,
  exactAmountIn,
  type LedgerConsole,
  openLedgerConsole,
  startedBetween,
} from "../harness/console-figures.ts";
import { CHANGED_CLOCKS, clockChanges, exactDollars, ledgerCalls, summed, zonesAt } from "../harness/console-ledger.ts";
import { ACME, type ConsoleWorld } from "../harness/console-world.ts";
import { until } from "../harness/until.ts";

const program = chromiumProgram();
const DAY_MS = 86_400_000;
const CALLS = 240;

describe.skipIf(program === null).each(clockChanges(0, 2))("the figures of now, %s", (name, moment) => {
  const nowMs = Date.parse(moment);
  let ledger: LedgerConsole;
  let records: readonly CallRecord[];
  let budget: string;
  beforeAll(async () => {
    const seed = Object.keys(CHANGED_CLOCKS).indexOf(name) + 1;
    records = ledgerCalls({ fromMs: nowMs - 9 * DAY_MS, toMs: nowMs, count: CALLS, seed });
    const furnish = ({ store }: ConsoleWorld): Promise<unknown> =>
      store.change(LOCAL_ACTOR, async (writer) => {
        const document = { usd: "1000", window: "month" };
        ({ id: budget } = await writer.createResource({ kind: "budget", ...ACME, name: "monthly", document }));
      });
    ledger = await openLedgerConsole({ program: program!, nowMs: () => nowMs, records, furnish });
  });
  afterAll(() => ledger?.close());

  const between = (fromMs: number, toMs: number): readonly CallRecord[] => startedBetween(records, fromMs, toMs);

  async function showsOverview({ page, ...made }: ConsolePage): Promise<void> {
    const [day, before] = [
      summed(between(nowMs - DAY_MS, nowMs)),
      summed(between(nowMs - 8 * DAY_MS, nowMs - 7 * DAY_MS)),
    ];
    const figure = (title: string) =>
      page.locator(".figures > div").filter({ has: page.getByText(title, { exact: true }) });
    await figure("Calls").getByText(`${before.calls} a week before`).waitFor();
    const shown = async (title: string): Promise<string> => (await figure(title).getByRole("link").textContent())!;
    // a figure that is shortened has the whole one as its title
    const whole = async (title: string): Promise<string> => await exactAmountIn(figure(title).getByRole("link"));
    expect({
      cost: await whole("Cost"),
      calls: await shown("Calls"),
      failed: (await shown("Failed")).replace(/ .*/, ""),
      tokens: (await whole("Tokens in and out")).split("→").map(digits),
    }).toEqual({
      cost: exactDollars(day.cost),
      calls: String(day.calls),
      failed: String(day.errors),
      tokens: [String(day.tokensIn), String(day.tokensOut)],
    });
    const rows = page.locator("tbody tr.row");
    for (const [title, count] of [
      ["Calls", day.calls],
      ["Failed", day.errors],
    ] as const) {
      await figure(title).getByRole("link").click();
      await made.settled();
      await until(async () => (await rows.count()) === count, `${title} leads to ${count} calls`);
      await page.goBack();
    }
    await figure("Cost").getByRole("link").click();
    await made.settled();
    const sum = page.getByRole("table").locator("tfoot td.number").first();
    expect(await exactAmountIn(sum)).toBe(exactDollars(day.cost));
  }

  async function showsBudget({ page, ...made }: ConsolePage): Promise<void> {
    await made.go(`/acme/-/limits/${budget}`);
    await made.settled();
    const within = between(Date.parse(`${moment.slice(0, 7)}-01T00:00:00Z`), nowMs);
    const due = (keyOf: (record: CallRecord) => string): readonly string[] =>
      [...Map.groupBy(within, keyOf)].map(([key, group]) => {
        const { cost, tokensIn, tokensOut, calls } = summed(group);
        return [key, exactDollars(cost), tokensIn + tokensOut, calls].join(" | ");
      });
    const rowsOf = async (title: string): Promise<readonly string[]> => {
      const rows = await page.getByRole("table", { name: title }).locator("tbody tr").all();
      return await Promise.all(
        rows.map(async (row) => {
          const [cost, tokens, calls] = await row.locator("td").all();
          const exact = await exactAmountIn(cost!);
          const key = (await row.getByRole("rowheader").textContent())!;
          return [key, exact, digits(await tokens!.textContent()), digits(await calls!.textContent())].join(" | ");
        }),
      );
    };
    expect((await rowsOf("Days in UTC")).toSorted()).toEqual(
      due(({ startedAtMs }) => new Date(startedAtMs).toISOString().slice(0, 10)).toSorted(),
    );
    expect((await rowsOf("Who uses it")).toSorted()).toEqual(due(({ projectId }) => projectId!).toSorted());
    const day = page.getByRole("table", { name: "Days in UTC" }).locator("tbody tr").first();
    const count = Number(digits(await day.locator("td").last().textContent()));
    await day.getByRole("link").click();
    await made.settled();
    await until(async () => (await page.locator("tbody tr.row").count()) === count, `the day leads to ${count} calls`);
  }

  test.each(zonesAt(name))(
    "[d14.3] in %s, overview and budget show the sums of the ledger, and lead to their calls",
    async (zone) => {
      const made = await ledger.visiting(zone, "/acme/-/");
      await showsOverview(made);
      await showsBudget(made);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );
});
