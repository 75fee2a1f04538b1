// The overview, budgets and limits on the days on which clocks are changed: what is used, reserved and left, when it will be used up, and the calls
// that have used it. Each figure is the sum of the rows of the ledger that this test makes itself, and leads to rows that add up to it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import { isShortage } from "../../../../src/admission/limit-store.ts";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { LOCAL_ACTOR } from "../../../../src/store/records.ts";
import { DAY_MS, HOUR_MS } from "../../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage } from "../../../harness/console/chromium.ts";
import {
  digitsOf as digits,
  exactAmountIn,
  type LedgerConsole,
  openLedgerConsole,
  showsListOf,
  startedBetween,
} from "../../../harness/console/figures.ts";
import {
  CHANGED_CLOCKS,
  clockChanges,
  exactDollars,
  ledgerCalls,
  summed,
  zonesAt,
} from "../../../harness/console/ledger.ts";
import { ACME, type ConsoleWorld } from "../../../harness/console/world.ts";
import { until } from "../../../harness/time/until.ts";

const program = chromiumProgram();
const CALLS = 240;
const BUDGET_USD = 1000n;
const NANO = 1_000_000_000n;
const RESERVED = 1_234_567_891n;
const TOKENS_A_DAY = 9_000_000;

const tokensOf = ({ usage }: CallRecord): number => usage!.total_tokens;

describe.skipIf(program === null).each(clockChanges(2))("the figures of now, %s", (name, moment) => {
  const nowMs = Date.parse(moment);
  const monthMs = Date.parse(`${moment.slice(0, 7)}-01T00:00:00Z`);
  let clockMs = nowMs;
  let ledger: LedgerConsole;
  let records: readonly CallRecord[];
  const ids = new Map<string, string>();

  const between = (fromMs: number, toMs: number): readonly CallRecord[] => startedBetween(records, fromMs, toMs);
  const lastDay = (): readonly CallRecord[] => between(nowMs - DAY_MS, nowMs);

  /** What the calls have charged, each at its own time, and what is set aside for one that runs. */
  async function charge({ source, limits }: ConsoleWorld): Promise<void> {
    const rules = new Map(
      source
        .current()
        .limitRules.rulesIn("acme")
        .map((rule) => [rule.id, rule]),
    );
    const reserve = async (id: string, value: string, units: number) => {
      const account = { rule: rules.get(ids.get(id)!)!, value };
      const reserved = await limits.reserve([{ account, units, force: true }]);
      if (isShortage(reserved)) throw new Error(`${id} has no room`);
      return reserved;
    };
    for (const record of records.toSorted((a, b) => a.startedAtMs - b.startedAtMs)) {
      clockMs = record.startedAtMs;
      const nanoUsd = record.cost?.nanoUsd ?? 0;
      (await reserve("monthly", "", nanoUsd)).settle([nanoUsd]);
    }
    clockMs = nowMs;
    await reserve("monthly", "", Number(RESERVED));
    for (const record of lastDay()) {
      const tokens = tokensOf(record);
      (await reserve("per-user", record.endUser!, tokens)).settle([tokens]);
    }
  }

  beforeAll(async () => {
    const seed = Object.keys(CHANGED_CLOCKS).indexOf(name) + 1;
    records = ledgerCalls({ fromMs: nowMs - 9 * DAY_MS, toMs: nowMs, count: CALLS, seed });
    const furnish = async (world: ConsoleWorld): Promise<void> => {
      await world.store.change(LOCAL_ACTOR, async (writer) => {
        const budget = { usd: String(BUDGET_USD), window: "month" };
        const limit = { metric: "tokens", limit: TOKENS_A_DAY, window: "day", scope: { user: "*" } };
        for (const [kind, made, document] of [
          ["budget", "monthly", budget],
          ["limit", "per-user", limit],
        ] as const)
          ids.set(made, (await writer.createResource({ kind, ...ACME, name: made, document })).id);
      });
      await world.source.reload();
      await charge(world);
    };
    ledger = await openLedgerConsole({ program: program!, nowMs: () => clockMs, records, furnish });
  });
  afterAll(() => ledger?.close());

  /** When the rest will be used up at the rate of the last six hours and the present one. */
  function projectedMs(leftNanoUsd: bigint): number {
    const fromMs = Math.floor(nowMs / HOUR_MS - 6) * HOUR_MS;
    const rate = Number(summed(between(fromMs, nowMs)).cost) / (nowMs - fromMs);
    return nowMs + Number(leftNanoUsd) / rate;
  }

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

  async function showsBudget(made: ConsolePage, zone: string): Promise<void> {
    const { page } = made;
    await made.go(`/acme/-/limits/${ids.get("monthly")!}`);
    await made.settled();
    const due = summed(between(monthMs, nowMs));
    const left = BUDGET_USD * NANO - due.cost - RESERVED;
    const fill = page.getByRole("region", { name: "How full it is" });
    const fact = (title: string): Locator =>
      fill
        .locator(".fill-facts > div")
        .filter({ has: page.getByText(title, { exact: true }) })
        .locator("dd");
    const shown = await Promise.all(
      ["Used", "Reserved", "Left", "Amount"].map((title) => fact(title).getAttribute("title")),
    );
    expect(shown).toEqual([due.cost, RESERVED, left, BUDGET_USD * NANO].map(exactDollars));
    const hitsAt = new Intl.DateTimeFormat("en-GB", {
      timeZone: zone,
      day: "numeric",
      month: "short",
      hour: "2-digit",
      minute: "2-digit",
    }).format(projectedMs(left));
    expect(await fill.locator(".verdict").textContent()).toContain(`will be used up ${hitsAt.replace(",", "")}, in `);
    await fact("Used").getByRole("link").click();
    await showsListOf(made, due);
  }

  async function showsUses({ page, ...made }: ConsolePage): Promise<void> {
    await made.go(`/acme/-/limits/${ids.get("monthly")!}`);
    await made.settled();
    const within = between(monthMs, nowMs);
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

  async function showsCounts(made: ConsolePage): Promise<void> {
    const { page } = made;
    const path = `/acme/-/limits/${ids.get("per-user")!}`;
    await made.go(path);
    await made.settled();
    const table = page.getByRole("table", { name: "Counts by value" });
    const due = Map.groupBy(lastDay(), ({ endUser }) => endUser!);
    const sums = [...due].map(([user, group]) => {
      const used = group.reduce((sum, record) => sum + tokensOf(record), 0);
      return [user, ...[used, TOKENS_A_DAY - used].map((count) => `${count.toLocaleString("en")} tokens`)].join(" | ");
    });
    const shown = await Promise.all(
      (await table.locator("tbody tr").all()).map(async (row) => {
        const amounts = await row.locator("td.number").all();
        const titles = await Promise.all(amounts.map((cell) => cell.getAttribute("title")));
        return [await row.getByRole("rowheader").textContent(), ...titles].join(" | ");
      }),
    );
    expect(sums.length).toBeGreaterThan(1);
    expect(shown.toSorted()).toEqual(sums.toSorted());
    for (const [at, line] of shown.entries()) {
      const group = due.get(line.split(" | ")[0]!)!;
      await table.locator("tbody tr").nth(at).getByRole("link").click();
      await showsListOf(made, summed(group));
      await made.go(path);
      await made.settled();
    }
  }

  async function showsList({ page, ...made }: ConsolePage): Promise<void> {
    await made.go("/acme/-/limits");
    await made.settled();
    const row = page.getByRole("table", { name: "Limits and budgets" }).getByRole("row", { name: /^monthly/ });
    const charged = summed(between(monthMs, nowMs)).cost + RESERVED;
    expect(await row.locator(".filled [title]").getAttribute("title")).toBe(exactDollars(charged));
  }

  test.each(zonesAt(name))(
    "[d14.3] in %s, overview, budget and limit show what the rows of the ledger have used, what is left and until when, and lead to the rows",
    async (zone) => {
      const made = await ledger.visiting(zone, "/acme/-/");
      await showsOverview(made);
      await showsList(made);
      await showsBudget(made, zone);
      await showsUses(made);
      await showsCounts(made);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );
});
