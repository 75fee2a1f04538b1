// Figures of calls that are played again, and those beside a change that was just published, on the days on which clocks are changed:
// the number and the cost of the calls are those of the rows of the ledger that this test makes itself, and lead to them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import type { CallRecord } from "../../../../src/core/record/record.ts";
import { LOCAL_ACTOR } from "../../../../src/store/records.ts";
import { attemptOf, HOUR_MS } from "../../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage } from "../../../harness/console/chromium.ts";
import {
  digitsOf,
  exactAmountIn,
  type LedgerConsole,
  openLedgerConsole,
  showsListOf,
  startedBetween,
} from "../../../harness/console/figures.ts";
import { CHANGED_CLOCKS, clockChanges, exactDollars, ledgerCalls, zonesAt } from "../../../harness/console/ledger.ts";
import { ACME, type ConsoleWorld } from "../../../harness/console/world.ts";

const program = chromiumProgram();
const MINUTE_MS = 60_000;
const STRIP_MS = 5 * MINUTE_MS;
/** Nano-dollars for each token; as a price, US dollars for a million. */
const PRICE = { prompt: 1250, completion: 10_000 };

/** The calls as those of one target, which charges them by the price. */
function charged(records: readonly CallRecord[]): readonly CallRecord[] {
  return records.map((record): CallRecord => {
    const usage = record.usage!;
    const nanoUsd = usage.prompt_tokens * PRICE.prompt + usage.completion_tokens * PRICE.completion;
    const served = { provider: "mirror", model: "echo" };
    return {
      ...record,
      ...served,
      modelAsked: "chat",
      // a failed call is charged nothing, and has nothing that could be charged again
      ...(record.status === 200 ? { cost: { nanoUsd, priceId: "p" } } : { cost: null, usage: null, usageSource: null }),
      attempts: [attemptOf({ ...served, startMs: 0, status: record.status, usage })],
    };
  });
}

const sumsOf = (records: readonly CallRecord[]): { calls: number; errors: number; cost: bigint } => ({
  calls: records.length,
  errors: records.filter(({ status }) => status >= 400).length,
  cost: records.reduce((sum, { cost }) => sum + BigInt(cost?.nanoUsd ?? 0), 0n),
});

describe.skipIf(program === null).each(clockChanges(1))("calls played again, %s", (name, moment) => {
  const nowMs = Date.parse(moment);
  const seed = Object.keys(CHANGED_CLOCKS).indexOf(name) + 1;
  let ledger: LedgerConsole;
  let records: readonly CallRecord[];
  /** Those that the world has beside the made ones: the projects that made them, by call. */
  let others: readonly string[];
  const ids = new Map<string, string>();
  beforeAll(async () => {
    records = charged([
      ...ledgerCalls({ fromMs: nowMs - 30 * HOUR_MS, toMs: nowMs, count: 90, seed }),
      ...ledgerCalls({ fromMs: nowMs - STRIP_MS, toMs: nowMs, count: 20, seed: seed + 10 }),
    ]);
    const furnish = async ({ store }: ConsoleWorld): Promise<void> => {
      const price = { model: "mirror:echo", prompt: "1.25", completion: "10" };
      await store.change(LOCAL_ACTOR, async (writer) => {
        for (const [kind, made, document] of [
          ["provider", "mirror", { type: "sandbox" }],
          ["price", "echo", price],
          ["route", "chat", { targets: ["mirror:echo"] }],
          ["policy", "quiet", { rule: "request.stream" }],
        ] as const)
          ids.set(kind, (await writer.createResource({ kind, ...ACME, name: made, document })).id);
      });
    };
    ledger = await openLedgerConsole({ program: program!, nowMs: () => nowMs, records, furnish });
    const until = new Date(nowMs - 30 * HOUR_MS).toISOString();
    const { body } = await ledger.world.send("acme.owner", "GET", `/api/v1/admin/tenants/acme/logs?to=${until}`);
    others = body.data.map((call: { project_id: string }) => call.project_id);
  });
  afterAll(() => ledger?.close());

  const ofRoute = (): readonly CallRecord[] => records.filter(({ route }) => route === "chat");
  const simulationOf = ({ page }: ConsolePage): Locator => page.getByRole("region", { name: "Simulation" });

  async function showsReplay(made: ConsolePage): Promise<void> {
    await made.go(`/acme/-/routes/${ids.get("route")!}`);
    const simulation = simulationOf(made);
    const due = sumsOf(ofRoute());
    await simulation.getByRole("link", { name: `${due.calls} calls`, exact: true }).waitFor();
    const figure = (title: string): Locator =>
      simulation.getByRole("row", { name: new RegExp(`^${title}`) }).locator("td");
    expect(await exactAmountIn(figure("Cost"))).toBe(exactDollars(due.cost));
    expect(digitsOf(await figure("Answered").textContent())).toBe(String(due.calls));
    await simulation.getByRole("link", { name: `${due.calls} calls`, exact: true }).click();
    await showsListOf(made, due);
  }

  async function showsVerdicts(made: ConsolePage): Promise<void> {
    await made.go(`/acme/-/policies/${ids.get("policy")!}`);
    const simulation = simulationOf(made);
    const all = sumsOf(records);
    const calls = all.calls + others.length;
    await simulation.getByRole("row", { name: `Allowed ${calls}`, exact: true }).waitFor();
    await made.page.getByLabel("Deny a call where this holds (CEL)").fill('project.id == "app"');
    const ofApp = [...records.map(({ projectId }) => projectId), ...others].filter(
      (project) => project === "app",
    ).length;
    await simulation.getByText(`${ofApp} calls would be newly denied.`).waitFor();
    await simulation.getByRole("row", { name: `Denied 0 ${ofApp}`, exact: true }).waitFor();
    await made.page.getByRole("button", { name: "Discard the draft" }).click();
    await simulation.getByRole("link", { name: `${calls} calls`, exact: true }).click();
    await showsListOf(made, { calls, errors: all.errors });
  }

  test.each(zonesAt(name))(
    "[d14.3] in %s, simulations of a route and of a policy show the number and the cost of the ledger's calls, and lead to them",
    async (zone) => {
      const made = await ledger.visiting(zone, "/acme/-/routes");
      await showsReplay(made);
      await showsVerdicts(made);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test("[d14.3] after a change was published, the calls before and since are those of the ledger, and can be looked at", async () => {
    const made = await ledger.visiting(zonesAt(name)[0]!, `/acme/-/routes/${ids.get("route")!}`);
    const { page } = made;
    await page.getByLabel("Retries at the same target").fill("3");
    await page.getByRole("button", { name: "Look at the change and publish" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Publish", exact: true }).click();
    const strip = page.getByRole("region", { name: "Published" });
    await strip.getByText("Since then").waitFor();
    const atMs = Number(new URL(page.url()).searchParams.get("published"));
    const later = charged(ledgerCalls({ fromMs: atMs, toMs: atMs + MINUTE_MS, count: 12, seed: seed + 20 }));
    await ledger.world.calls.ingest(later.map((record) => ({ record, settled: true })));
    const all = [...ofRoute(), ...later.filter(({ route }) => route === "chat")];
    const periods = [
      ["Five minutes before", sumsOf(startedBetween(all, atMs - STRIP_MS, atMs))],
      ["Since then", sumsOf(startedBetween(all, atMs, atMs + STRIP_MS))],
    ] as const;
    const there = page.url();
    for (const [title, due] of periods) {
      // what was read before the calls ended is read again
      await page.goto(there);
      const figures = strip.locator("dl > div").filter({ has: page.getByText(title, { exact: true }) });
      const link = figures.getByRole("link", { name: `${due.calls} calls`, exact: true });
      await link.waitFor();
      expect(due.errors).toBeLessThan(due.calls);
      expect(await figures.textContent()).toContain(`${due.errors} failed`);
      expect(await exactAmountIn(figures)).toBe(exactDollars(due.cost));
      // percentiles are about
      expect(await figures.textContent()).toMatch(/half within ~\d/);
      await link.click();
      await showsListOf(made, due);
    }
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
