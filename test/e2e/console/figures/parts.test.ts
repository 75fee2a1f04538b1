// The parts of a day on the days on which clocks are changed, seen from the zone of the change: the chart of calls, the most frequent values, the last hour,
// the providers, the versions of a route and the page of a call. Each figure is the sum of the rows of the ledger that this test makes itself.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { LOCAL_ACTOR } from "../../../../src/store/records.ts";
import { attemptOf, HOUR_MS } from "../../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage } from "../../../harness/console/chromium.ts";
import {
  digitsOf as digits,
  exactAmountIn as exact,
  type LedgerConsole,
  openLedgerConsole,
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

const program = chromiumProgram();
const DAY_MS = 24 * HOUR_MS;
const CALLS = 160;
const RECENT_CALLS = 40;
/** As many values of each kind are shown. */
const MOST_VALUES = 6;

/** Such as `12 calls, 3 failed, $1.25`. */
function sumText(records: readonly CallRecord[]): string {
  const { calls, errors, cost } = summed(records);
  return `${calls} calls, ${errors} failed, ${exactDollars(cost)}`;
}

/** Each call was one attempt at its provider, which ended as the call did. */
function withAttempt(record: CallRecord): CallRecord {
  const { provider, model, status, code } = record;
  return { ...record, attempts: [attemptOf({ provider: provider!, model: model!, status, code })] };
}

describe.skipIf(program === null).each(clockChanges(3))("the parts of a day, %s", (name, moment) => {
  const nowMs = Date.parse(moment);
  const times = [nowMs - 3 * DAY_MS - 1000, nowMs - DAY_MS - 37 * 60_000, nowMs];
  let clockMs = nowMs;
  let ledger: LedgerConsole;
  let records: readonly CallRecord[];
  let route: string;
  beforeAll(async () => {
    const seed = Object.keys(CHANGED_CLOCKS).indexOf(name) + 1;
    records = [
      ...ledgerCalls({ fromMs: nowMs - 6 * DAY_MS, toMs: nowMs, count: CALLS, seed }),
      ...ledgerCalls({ fromMs: nowMs - 2 * HOUR_MS, toMs: nowMs, count: RECENT_CALLS, seed: seed + 10 }),
    ].map(withAttempt);
    const furnish = async (world: ConsoleWorld): Promise<void> => {
      await world.store.change(LOCAL_ACTOR, (writer) =>
        writer.createResource({ kind: "provider", ...ACME, name: "openai", document: { type: "sandbox" } }),
      );
      const path = "/api/v1/admin/tenants/acme/routes";
      [clockMs] = times as [number];
      const made = await world.send("acme.owner", "POST", path, { name: "chat", targets: ["sandbox:echo"] });
      route = made.body.id as string;
      clockMs = times[1]!;
      await world.send("acme.owner", "PATCH", `${path}/${route}`, { retries: 2 });
      clockMs = nowMs;
    };
    ledger = await openLedgerConsole({ program: program!, nowMs: () => clockMs, records, furnish });
  });
  afterAll(() => ledger?.close());

  const between = (fromMs: number, toMs: number): readonly CallRecord[] => startedBetween(records, fromMs, toMs);

  /** The table beside a chart has the sums of its parts, whose times are those of the answer that the page got. */
  async function showsBars({ page, ...made }: ConsolePage, path: string): Promise<void> {
    const answer = page.waitForResponse((response) => response.url().includes("/calls/histogram"));
    await made.go(path);
    const { data, to } = (await (await answer).json()) as { readonly data: readonly { at: string }[]; to: string };
    await made.settled();
    const bounds = [...data.map(({ at }) => Date.parse(at)), Date.parse(to)];
    const due = data
      .map((_, index) => between(bounds[index]!, bounds[index + 1]!))
      .filter((group) => group.length > 0)
      .map(sumText);
    const table = page.getByRole("table", { name: "Calls over time", includeHidden: true });
    const shown = await Promise.all(
      (await table.locator("tbody tr").all()).map(async (row) => {
        const [calls, errors, cost] = await row.locator("td").all();
        const counts = [digits(await calls!.textContent()), digits(await errors!.textContent())];
        return `${counts[0]} calls, ${counts[1]} failed, ${await exact(cost!)}`;
      }),
    );
    expect(due.length).toBeGreaterThan(5);
    expect(shown).toEqual(due);
  }

  async function showsFacets({ page }: ConsolePage): Promise<void> {
    const day = between(nowMs - DAY_MS, nowMs);
    // statuses are those of failed calls
    const of: Readonly<Record<string, (record: CallRecord) => string | null>> = {
      Status: ({ status }) => (status >= 400 ? String(status) : null),
      Route: ({ route: one }) => one!,
      Model: ({ model }) => model!,
      Project: ({ projectId }) => projectId!,
    };
    for (const [title, valueOf] of Object.entries(of)) {
      const values = page.locator(".facets section").filter({ has: page.getByRole("heading", { name: title }) });
      const shown = await values
        .locator("li a")
        .evaluateAll((links) =>
          (links as unknown as { querySelector(by: string): { textContent: string } }[]).map(
            (link) => `${link.querySelector("span").textContent} ${link.querySelector("small").textContent}`,
          ),
        );
      const counted = day.filter((record) => valueOf(record) !== null);
      const due = [...Map.groupBy(counted, valueOf)].map(([value, group]) => `${value} ${group.length}`);
      expect(due.length).toBeLessThanOrEqual(MOST_VALUES);
      expect({ title, shown: shown.toSorted() }).toEqual({ title, shown: due.toSorted() });
    }
  }

  async function showsProvider({ page, ...made }: ConsolePage): Promise<void> {
    await made.go("/acme/-/providers");
    await made.settled();
    const row = page.getByRole("table", { name: "Providers" }).getByRole("row", { name: /^openai/ });
    const [, calls, errors] = await row.locator("td").allTextContents();
    const { calls: called, errors: failed } = summed(between(Math.floor(nowMs / HOUR_MS - 1) * HOUR_MS, nowMs));
    expect([digits(calls!), digits(errors!)]).toEqual([String(called), String(failed)]);
  }

  async function showsVersions({ page, ...made }: ConsolePage): Promise<void> {
    await made.go(`/acme/-/routes/${route}?tab=versions`);
    await made.settled();
    const entries = page.locator("ol.history summary small");
    const shown = await Promise.all(
      (await entries.all()).map(
        async (entry) => `${(await entry.textContent())!.trim().replace(/\$.*/, "")}${await exact(entry)}`,
      ),
    );
    const ofRoute = (fromMs: number, toMs: number): readonly CallRecord[] =>
      between(fromMs, toMs).filter(({ route: one }) => one === "chat");
    expect(shown).toEqual([sumText(ofRoute(times[1]!, times[2]!)), sumText(ofRoute(times[0]!, times[1]!))]);
  }

  async function showsCall({ page, ...made }: ConsolePage): Promise<void> {
    const record = records.find(({ cost }) => cost !== null)!;
    await made.go(`/acme/${record.projectId}/calls/${record.traceId}`);
    await made.settled();
    const figure = (title: string): Locator =>
      page
        .locator(".figures > div")
        .filter({ has: page.getByText(title, { exact: true }) })
        .locator("dd");
    const { prompt_tokens: sent, completion_tokens: got } = record.usage!;
    expect(await exact(figure("Cost"))).toBe(exactDollars(BigInt(record.cost!.nanoUsd)));
    expect(digits((await figure("Tokens in and out").textContent())!.replace(/usually.*/, ""))).toBe(`${sent}${got}`);
  }

  test.each(zonesAt(name))(
    "[d14.3] in %s, chart, values, last hour, providers, versions and calls show the sums of the ledger",
    async (zone) => {
      const made = await ledger.visiting(zone, "/acme/-/routes");
      await showsBars(made, "/acme/-/calls");
      await showsFacets(made);
      await showsBars(made, "/acme/-/");
      await showsProvider(made);
      await showsVersions(made);
      await showsCall(made);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );
});
