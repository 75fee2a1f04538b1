// The ways through the console that people take most, by keyboard alone and by mouse alone, over stores with no call, one, and ten thousand,
// in SQLite and in PostgreSQL: what is shown is what the store has. `npm run bench:console` goes through a store with a million.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { fillCalls } from "../../../bench/load/made-calls.ts";
import { openCalls } from "../../../src/store/open-database.ts";
import {
  chromiumProgram,
  type ConsolePage,
  launch,
  openConsole,
  startConsoleGateway,
} from "../../harness/console/chromium.ts";
import { CONSOLE_JOBS, doneJob } from "../../harness/console/jobs.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();
const HOUR_MS = 3_600_000;
const HOURS = 20;

const postgres = program === null ? null : await postgresDatabases();
afterAll(async () => {
  await postgres?.dispose();
});

const KINDS = [
  { name: "SQLite", isMissing: program === null, databaseUrl: () => Promise.resolve<string | null>(null) },
  {
    name: "PostgreSQL",
    isMissing: postgres === null,
    databaseUrl: async () => (await postgres!.newDatabase()) as string | null,
  },
] as const;

for (const kind of KINDS)
  describe.skipIf(kind.isMissing)(`the console over ${kind.name}`, () => {
    let databaseUrl: string | null;
    let gateway: GatewayProcess;
    let browser: Browser;
    let token: string;
    let made: ConsolePage;
    beforeAll(async () => {
      databaseUrl = await kind.databaseUrl();
      gateway = await startConsoleGateway({
        ...(databaseUrl !== null && {
          environment: { DATABASE_URL: databaseUrl, DRAGOMAN_MASTER_KEY: Buffer.alloc(32, 3).toString("base64") },
        }),
      });
      browser = await launch(program!);
      token = await gateway.createToken("--personal", "--user", "owner");
      made = await openConsole(browser, gateway.url);
      await made.open("/default/-/calls");
      await made.signIn(token);
    });
    afterAll(async () => {
      await browser?.close();
      await gateway?.stop();
    });

    async function fill(rows: number): Promise<void> {
      const calls = await openCalls({ dataFolder: gateway.dataFolder, databaseUrl });
      const placeOf = () => ({ tenantId: "default", projectId: "default" });
      const spread = {
        rows,
        mix: "many callers",
        fromMs: Date.now() - HOURS * HOUR_MS,
        days: HOURS / 24,
        placeOf,
      } as const;
      await fillCalls(calls, spread);
      await calls.close();
    }
    const rows = () => made.page.locator("tbody tr.row");
    const total = async (): Promise<string> => (await made.page.locator(".volume > .hint").textContent())!;
    const fresh = async (path: string): Promise<void> => {
      await made.open(path);
      await made.settled();
    };

    test("[d14.3] no call: each page says that there is none, and what ends that", async () => {
      await fresh("/default/-/calls");
      await made.page.getByText("There are no calls in this range").waitFor();
      expect(await total()).toStartWith("0 calls, 0 failed");
      await fresh("/default/-/usage");
      await made.page.getByText("There are no calls in this range").waitFor();
      expect(made.faults).toEqual([]);
    });

    test("[d14.3] one call: it is in the list, in the chart and in the sums", async () => {
      await fill(1);
      await fresh("/default/-/calls");
      await until(async () => (await rows().count()) === 1, "the call is listed");
      expect(await total()).toStartWith("1 call, ");
      await fresh("/default/-/usage?by=model");
      expect(await made.page.getByRole("table").locator("tfoot td").allTextContents()).toContain("1");
    });

    test("[d14.3] ten thousand calls, by keyboard: filter, go down the list, open one, and the figures agree", async () => {
      await fill(10_000);
      const { page } = made;
      await fresh("/default/-/calls");
      await rows().nth(49).waitFor();
      // the one from before has the number 0 too, at another time
      expect(await total()).toStartWith("10,001 calls, ");
      await page.keyboard.press("/");
      await page.keyboard.type("route:fast status:5xx");
      await page.keyboard.press("Enter");
      await until(() => new URL(page.url()).searchParams.get("q") === "route:fast status:5xx", "the filter is applied");
      await made.settled();
      const texts = await rows().allTextContents();
      expect(texts.length).toBeGreaterThan(20);
      expect(texts.filter((text) => !text.includes("502"))).toEqual([]);
      await page.keyboard.press("j");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await page.getByRole("region", { name: "The open call" }).waitFor();
      expect(new URL(page.url()).searchParams.get("open")).toMatch(/^[0-9a-f]{32}$/);
      await page.keyboard.press("Escape");
      await page.keyboard.press("g");
      await page.keyboard.press("u");
      await made.settled();
      expect(await page.getByRole("table").locator("tfoot td").allTextContents()).toContain("10,001");
      expect(made.faults).toEqual([]);
    });

    test("[d14.3] ten thousand calls, by mouse: a figure of the usage leads to as many calls, and the chart to its hours", async () => {
      const { page } = made;
      await fresh("/default/-/usage?by=model");
      const link = page.getByRole("table").locator("tbody").getByRole("link").first();
      const count = (await link.textContent())!;
      await link.click();
      await made.settled();
      expect(await total()).toStartWith(`${count} calls, `);
      const bars = page.locator(".chart .u-over");
      const box = (await bars.boundingBox())!;
      await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 20);
      await page.mouse.up();
      await until(() => new URL(page.url()).searchParams.has("from"), "the range is in the address");
      await made.settled();
      const within = Number(/^[\d,]+/.exec(await total())![0].replaceAll(",", ""));
      expect(within).toBeGreaterThan(0);
      expect(within).toBeLessThan(Number(count.replaceAll(",", "")));
      await page.goBack();
      await made.settled();
      expect(await total()).toStartWith(`${count} calls, `);
      await page.getByRole("button", { name: "Show older calls" }).click();
      await rows().nth(100).waitFor();
      expect(made.faults).toEqual([]);
    });

    // over SQLite, jobs.test.ts does them
    test.each(kind.name === "SQLite" ? [] : CONSOLE_JOBS)(
      "[d14.1] $name: in no more actions than it may take",
      async (job) => {
        await made.go("/default/default/calls");
        await made.settled();
        const { actions } = await doneJob(job, { gateway, made, token });
        expect(actions).toBeLessThanOrEqual(job.actions);
        expect(made.faults).toEqual([]);
      },
    );
  });
