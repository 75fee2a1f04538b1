// Usage in a real browser: its figures are those of the admin API, and each count leads to as many calls.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumProgram, launch, openConsole, startConsoleGateway } from "../../harness/console/chromium.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();
const CONFIG = `prices: {words: {model: "sandbox:words-*", prompt: "0.30", completion: "1.20"}}\n`;

describe.skipIf(program === null)("usage in the console", () => {
  let gateway: GatewayProcess;
  let browser: Browser;
  let token: string;
  beforeAll(async () => {
    gateway = await startConsoleGateway({ config: CONFIG });
    browser = await launch(program!);
    token = await gateway.createToken("--personal", "--user", "owner");
    for (const model of ["words-7", "words-7", "words-40", "fail-500"])
      await (await gateway.chat({ model: `sandbox:${model}`, messages: [{ role: "user", content: "Hello" }] })).text();
    await until(async () => (await usage()).totals.calls === 4, "all calls are counted");
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });
  const usage = async (): Promise<{ totals: { calls: number; cost_usd: string } }> => {
    const answer = await fetch(`${gateway.url}/api/v1/admin/usage`, { headers: { authorization: `Bearer ${token}` } });
    return (await answer.json()) as Awaited<ReturnType<typeof usage>>;
  };

  test("the totals are exact, a count leads to its calls, a call says what decided it and shows its cost as a sum, and axe finds nothing", async () => {
    const made = await openConsole(browser, gateway.url);
    const { page } = made;
    await made.open("/default/default/usage?by=model");
    await made.signIn(token);
    const table = page.getByRole("table", { name: "Usage by model" });
    const row = table.getByRole("row", { name: /words-7/ });
    await row.waitFor();
    const { totals } = await usage();
    expect(await table.locator("tfoot td.number span").first().getAttribute("title")).toBe(`$${totals.cost_usd}`);
    expect(await table.locator("tfoot a").first().getAttribute("href")).toEndWith(
      "/calls?q=explained%3Afalse+copy%3Afalse&range=24h",
    );
    expect(await made.axe()).toEqual([]);
    await row.getByRole("link", { name: "2", exact: true }).click();
    const calls = page.locator("tbody tr.row");
    await until(async () => (await calls.count()) === 2, "the list has the two calls");
    expect(await calls.allTextContents()).toEqual([
      expect.stringContaining("words-7"),
      expect.stringContaining("words-7"),
    ]);
    await calls.first().click();
    await page.getByRole("link", { name: "Open the page" }).click();
    await page.locator(".verdict").waitFor();
    const sum = page.getByRole("table", { name: "The cost as a sum" });
    // 1 token in at 0.30 and 7 out at 1.20 dollars for a million
    expect(await sum.locator("tfoot").textContent()).toContain("$0.0000087");
    await made.settled();
    expect(await made.axe()).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
