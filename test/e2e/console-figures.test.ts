// What the screens show, compared with sums that this test makes itself of the rows of the ledger: in five time zones, on both days of the
// year on which clocks are changed, on every database, and with the rows to which each figure leads.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import type { CallRecord } from "../../src/core/record.ts";
import { HOUR_MS, recordOf } from "../contract/call-records.ts";
import { chromiumProgram, launch, openConsole } from "../harness/chromium.ts";
import { type ConsoleWorld, openConsoleWorld } from "../harness/console-world.ts";
import { allDatabases } from "../harness/databases.ts";
import { until } from "../harness/until.ts";

const program = chromiumProgram();

/** Ranges around the days on which New York and Lord Howe change their clocks in 2026; they begin and end within hours. */
const RANGES = {
  "New York, spring": ["2026-03-06T17:23:00.000Z", "2026-03-10T03:47:00.000Z"],
  "New York, autumn": ["2026-10-30T17:23:00.000Z", "2026-11-03T03:47:00.000Z"],
  "Lord Howe, autumn": ["2026-04-03T17:23:00.000Z", "2026-04-07T03:47:00.000Z"],
  "Lord Howe, spring": ["2026-10-02T17:23:00.000Z", "2026-10-06T03:47:00.000Z"],
} as const;
const ZONES = ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "Australia/Lord_Howe", "America/New_York"] as const;
const CALLS_IN_A_RANGE = 150;

/** Numbers that are always the same, evenly spread below `below`. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function callsIn([from, to]: readonly [string, string], seed: number): readonly CallRecord[] {
  const draw = numbers(seed);
  const [fromMs, toMs] = [Date.parse(from) - HOUR_MS, Date.parse(to) + HOUR_MS];
  return Array.from({ length: CALLS_IN_A_RANGE }, () => {
    const isFailed = draw(7) === 0;
    return recordOf({
      startedAtMs: fromMs + draw(toMs - fromMs),
      projectId: ["site", "app"][draw(2)]!,
      model: ["large", "small", "ft:small:2"][draw(3)]!,
      endUser: ["ann", 'say "hi"', "a\\b c"][draw(3)]!,
      status: isFailed ? 502 : 200,
      ...(isFailed && { code: "upstream_error" as const }),
      tokens: [draw(90_000), draw(9000)],
      costNanoUsd: draw(5) === 0 ? null : draw(4_000_000_000),
    });
  });
}

interface Figures {
  cost: bigint;
  calls: number;
  errors: number;
  tokensIn: number;
  tokensOut: number;
  unpriced: number;
}
const NONE: Figures = { cost: 0n, calls: 0, errors: 0, tokensIn: 0, tokensOut: 0, unpriced: 0 };

function summed(records: readonly CallRecord[]): Figures {
  const sum = { ...NONE };
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

/** As a row of the table shows it: the exact amount, then the counts. */
function shownAs({ cost, calls, errors, tokensIn, tokensOut, unpriced }: Figures): readonly string[] {
  const [whole, fraction] = [cost / 1_000_000_000n, (cost % 1_000_000_000n).toString().padStart(9, "0")];
  const exact = `$${whole.toLocaleString("en")}.${fraction.replace(/0+$/, "").padEnd(2, "0")}`;
  const count = (value: number): string => value.toLocaleString("en").replaceAll(/\D/g, "");
  return [unpriced > 0 && cost === 0n ? "no price" : exact, ...[calls, errors, tokensIn, tokensOut].map(count)];
}

const kinds = program === null ? [] : await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`figures in the console, in ${kind.name}`, () => {
    let world: ConsoleWorld;
    let browser: Browser;
    let records: readonly CallRecord[];
    beforeAll(async () => {
      world = await openConsoleWorld({ kind });
      records = Object.values(RANGES).flatMap((range, at) => callsIn(range, at + 1));
      await world.calls.ingest(records.map((record) => ({ record, settled: true })));
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
          await row.getByRole("link").click();
          await made.settled();
          const shown = page.locator("tbody tr.row");
          await until(async () => (await shown.count()) === group.length, `${key} leads to ${group.length} calls`);
          expect(await page.locator(".volume > .hint").textContent()).toContain(
            `${group.length} calls, ${summed(group).errors} failed`,
          );
        }
        expect(made.faults).toEqual([]);
        await made.close();
      },
    );

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
      expect(number).toBe(9);
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
