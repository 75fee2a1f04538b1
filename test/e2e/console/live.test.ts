// The live list of calls in a real browser: one stream for all tabs, new calls that move nothing where somebody reads, and a stream that ends while
// nobody looks.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import {
  chromiumProgram,
  type ConsolePage,
  launch,
  openConsole,
  startConsoleGateway,
} from "../../harness/console/chromium.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();

describe.skipIf(program === null)("the live list of calls", () => {
  let gateway: GatewayProcess;
  let browser: Browser;
  let token: string;
  let made: ConsolePage;

  beforeAll(async () => {
    gateway = await startConsoleGateway();
    browser = await launch(program!);
    token = await gateway.createToken("--personal", "--user", "owner");
    for (const text of ["one", "two", "three"]) await say(text);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });
  afterEach(async () => {
    expect(made.faults).toEqual([]);
    await made.close();
  });

  const say = async (content: string): Promise<string> => {
    const response = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content }] });
    await response.text();
    return response.headers.get("x-gateway-trace-id")!;
  };
  const rowOf = (page: Page, trace: string) => page.locator(`tbody tr.row a[href*="${trace}"]`);
  const signedIn = async (path: string): Promise<ConsolePage> => {
    made = await openConsole(browser, gateway.url);
    await made.open(path);
    await made.signIn(token);
    await made.page.locator("tbody tr.row").first().waitFor();
    return made;
  };
  /** Requests for the stream that are open or were. */
  const streamsOf = (context: BrowserContext): string[] => {
    const asked: string[] = [];
    context.on("request", (request) => {
      if (request.url().includes("/admin/events")) asked.push(new URL(request.url()).searchParams.get("places")!);
    });
    return asked;
  };

  test("new calls flow in at the top of the list, and only count where somebody reads", async () => {
    const { page } = await signedIn("/default/default/calls");
    await page.keyboard.press("l");
    await page.locator("button.live.open").waitFor();
    expect(new URL(page.url()).searchParams.get("live")).toBe("1");
    const first = await say("flows in");
    await rowOf(page, first).waitFor();
    await page.keyboard.press("j");
    const before = await page.locator("tbody tr.row").allTextContents();
    const [second, third] = [await say("waits"), await say("waits too")];
    await page.getByRole("button", { name: "Show 2 new calls" }).waitFor();
    expect(await page.locator("tbody tr.row").allTextContents()).toEqual(before);
    await page.getByRole("button", { name: "Show 2 new calls" }).click();
    await rowOf(page, second).waitFor();
    await rowOf(page, third).waitFor();
  });

  test("a filtered list shows new calls that match, and no others", async () => {
    const { page } = await signedIn("/default/default/calls?q=outcome%3Aok&live=1");
    await page.locator("button.live.open").waitFor();
    await (await gateway.chat({ model: "sandbox:fail-500", messages: [{ role: "user", content: "no" }] })).text();
    const good = await say("matches");
    await rowOf(page, good).waitFor();
    expect(await page.locator("tbody tr.row").filter({ hasText: "upstream_error" }).count()).toBe(0);
  });

  test("two tabs share one stream, and the second goes on when the first is closed", async () => {
    const { page } = await signedIn("/default/default/calls");
    const asked = streamsOf(page.context());
    await page.keyboard.press("l");
    await page.locator("button.live.open").waitFor();
    await until(() => asked.length === 1, "the first tab reads");
    const other = await page.context().newPage();
    await other.goto(`${gateway.url}/console/default/default/calls?live=1`);
    await other.locator("button.live.open").waitFor();
    // a tab behind another one is not hidden for this browser, so both are live
    const shared = await say("for both");
    await Promise.all([rowOf(page, shared).waitFor(), rowOf(other, shared).waitFor()]);
    expect(asked).toEqual(["default/default"]);
    await page.close();
    await until(() => asked.length === 2, "the second tab reads");
    const alone = await say("for one");
    await rowOf(other, alone).waitFor();
  });

  test("a tab of another scope adds its place to the one stream", async () => {
    const { page } = await signedIn("/default/default/calls?live=1");
    const asked = streamsOf(page.context());
    const other = await page.context().newPage();
    await other.goto(`${gateway.url}/console/default/-/calls?live=1`);
    await other.locator("button.live.open").waitFor();
    await until(() => asked.at(-1)?.split(",").length === 2, "both places are followed");
    const shared = await say("for both scopes");
    await Promise.all([rowOf(page, shared).waitFor(), rowOf(other, shared).waitFor()]);
  });

  test("a page that is hidden ends the stream, and reads what it has missed when it is seen again", async () => {
    const { page } = await signedIn("/default/default/calls?live=1");
    await page.locator("button.live.open").waitFor();
    const turn = (state: "hidden" | "visible") =>
      page.evaluate<void>(
        `Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "${state}" }); document.dispatchEvent(new Event("visibilitychange"))`,
      );
    const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("/admin/events"));
    await turn("hidden");
    await ended;
    await page.locator("button.live.off").waitFor();
    const missed = await say("while nobody looks");
    await turn("visible");
    await rowOf(page, missed).waitFor();
  });

  test("switching it off ends the stream", async () => {
    const { page } = await signedIn("/default/default/calls?live=1");
    await page.locator("button.live.open").waitFor();
    const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("/admin/events"));
    await page.keyboard.press("l");
    await ended;
    await page.locator("button.live.off").waitFor();
  });

  /** What becomes of the stream on its way, in the page: each part twice, the first one cut in its middle, or all of it later than the list is read. */
  const FAULTS = {
    doubled: "(part, out) => { out.enqueue(part); out.enqueue(part); }",
    "cut in the middle of an event":
      "(part, out) => { if (globalThis.wasCut !== true && new TextDecoder().decode(part).includes('event: calls')) { globalThis.wasCut = true; out.enqueue(part.slice(0, part.length / 2)); out.terminate(); } else out.enqueue(part); }",
    late: "async (part, out) => { await new Promise((resolve) => setTimeout(resolve, 700)); out.enqueue(part); }",
  } as const;
  test.each(Object.entries(FAULTS))("a stream that is %s shows each call once", async (_, fault) => {
    made = await openConsole(browser, gateway.url);
    const { page } = made;
    await page.addInitScript(`{
      const asked = globalThis.fetch;
      globalThis.fetch = async (...request) => {
        const response = await asked(...request);
        if (!String(request[0]).includes("/admin/events") || !response.ok) return response;
        return new Response(response.body.pipeThrough(new TransformStream({ transform: ${fault} })), response);
      };
    }`);
    await made.open("/default/default/calls?live=1");
    await made.signIn(token);
    await page.locator("button.live.open").waitFor();
    const traces = [];
    for (const text of ["a", "b", "c"]) {
      traces.push(await say(text));
      await rowOf(page, traces.at(-1)!).first().waitFor();
    }
    for (const trace of traces) expect(await page.locator(`tbody tr.row:has(a[href*="${trace}"])`).count()).toBe(1);
    const { data } = (await (
      await fetch(`${gateway.url}/api/v1/admin/projects/default/logs?limit=50`, {
        headers: { authorization: `Bearer ${token}` },
      })
    ).json()) as { data: { trace_id: string }[] };
    const shown = page.locator("tbody tr.row");
    await until(async () => (await shown.count()) === data.length, "the list has all calls, each once");
  });
});
