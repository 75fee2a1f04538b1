// The list and the page of calls in a real browser, against the real process: by keyboard and by mouse, in both themes, from 320 to 1,920 pixels,
// with text that clients have chosen to do harm.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import {
  chromiumProgram,
  type ConsolePage,
  launch,
  openConsole,
  startConsoleGateway,
} from "../../harness/console/chromium.ts";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const HOSTILE = '<img src=x onerror=alert(1)>\u202e"\u0000 javascript:alert(2) =1+1';
const program = chromiumProgram();

describe.skipIf(program === null)("calls in the console", () => {
  let gateway: GatewayProcess;
  let browser: Browser;
  let token: string;
  let traces: readonly string[] = [];
  const opened: ConsolePage[] = [];

  beforeAll(async () => {
    gateway = await startConsoleGateway();
    browser = await launch(program!);
    token = await gateway.createToken("--personal", "--user", "owner");
    for (const model of ["echo", "fail-429", "words-40", "fail-500"])
      await (await gateway.chat(asked(`sandbox:${model}`, "ann"))).text();
    await (await gateway.chat({ ...asked("sandbox:fail-503", "ann"), fallbacks: ["sandbox:echo"] })).text();
    await (await gateway.chat(asked("sandbox:echo", HOSTILE))).text();
    const list = async (): Promise<readonly { trace_id: string }[]> => {
      const answer = await fetch(`${gateway.url}/api/v1/admin/logs`, { headers: { authorization: `Bearer ${token}` } });
      return ((await answer.json()) as { data: { trace_id: string }[] }).data;
    };
    await until(async () => (await list()).length === 6, "all calls are in the database");
    traces = (await list()).map(({ trace_id }) => trace_id);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });
  afterEach(async () => {
    const pages = opened.splice(0);
    expect(pages.flatMap(({ faults }) => faults)).toEqual([]);
    await Promise.all(pages.map((page) => page.close()));
  });

  const asked = (model: string, user: string) => ({
    model,
    user,
    temperature: 0.5,
    metadata: { team: "core" },
    messages: [{ role: "user", content: "Hello, console!" }],
  });
  const signedIn = async (path: string, options = {}): Promise<ConsolePage> => {
    const made = await openConsole(browser, gateway.url, options);
    opened.push(made);
    await made.open(path);
    await made.signIn(token);
    return made;
  };
  const rows = ({ page }: ConsolePage) => page.locator("tbody tr.row");

  test("[d14.2] a link to a call leads there after signing in, and the token is neither in the address nor in the browser's storage", async () => {
    const { page, ...made } = await signedIn(`/default/default/calls/${traces[0]}`);
    await page.getByRole("heading", { name: "Call", exact: true }).waitFor();
    expect(page.url()).toBe(`${gateway.url}/console/default/default/calls/${traces[0]}`);
    expect(await made.kept()).not.toContain("dgm_");
  });

  test("by keyboard alone: filter, go through the list, open a call, its page, and back", async () => {
    const made = await signedIn("/default/default/calls");
    const { page } = made;
    await rows(made).nth(5).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("status:4xx");
    await page.keyboard.press("Enter");
    await until(async () => (await rows(made).count()) === 1, "the list has the one call that was refused");
    expect(new URL(page.url()).searchParams.get("q")).toBe("status:4xx");
    expect(await rows(made).first().textContent()).toContain("429 rate_limit_exceeded");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    const peek = page.getByRole("region", { name: "The open call" });
    await peek.getByRole("table").getByText("429 rate_limit_exceeded").waitFor();
    await page.keyboard.press("Escape");
    await peek.waitFor({ state: "detached" });
    expect(new URL(page.url()).searchParams.get("open")).toBeNull();
    await page.keyboard.press("k");
    await page.keyboard.press("Enter");
    await peek.waitFor();
    const entries = await page.evaluate("history.length");
    await page.getByRole("button", { name: "Views", exact: true }).press("Enter");
    await page.getByRole("heading", { name: "Yours" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Yours" }).waitFor({ state: "hidden" });
    expect(await peek.isVisible()).toBe(true);
    expect(await page.evaluate("history.length")).toBe(entries);
    await page.keyboard.press("Escape");
    await peek.waitFor({ state: "detached" });
    const closed = await page.evaluate("history.length");
    await page.keyboard.press("Escape");
    expect(await page.evaluate("history.length")).toBe(closed);
    await page.keyboard.press("Control+k");
    await page.keyboard.type(`this failed: {"x_gateway_trace_id": "${traces[0]}"}`);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Call", exact: true }).waitFor();
    expect(page.url()).toEndWith(`/calls/${traces[0]}`);
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await rows(made).nth(5).waitFor();
    await page.goBack();
    await page.getByRole("heading", { name: "Call", exact: true }).waitFor();
  });

  test("by mouse: a value of the rail filters, a row opens beside the list, and its page tells the way of the call", async () => {
    const made = await signedIn("/default/-/calls");
    const { page } = made;
    await page
      .locator(".facets")
      .getByRole("link", { name: /upstream_overloaded|rate_limit_exceeded/ })
      .first()
      .click();
    await until(async () => (await rows(made).count()) === 1, "the list follows the rail");
    await page.getByRole("button", { name: /^Remove code:/ }).click();
    await rows(made).nth(5).waitFor();
    await rows(made).filter({ hasText: "2 attempts →" }).click();
    await page.getByRole("link", { name: "Open the page" }).click();
    await page.getByRole("heading", { name: "Where the time went" }).waitFor();
    const attempts = page.getByRole("table", { name: "The attempts and tools of this call" });
    expect(await attempts.locator("tbody tr").count()).toBe(2);
    expect(await page.getByRole("table", { name: "Parameters of the request" }).textContent()).toContain("temperature");
  });

  test("[d14.2] a session that ends is asked for in place, and the page goes on where it was", async () => {
    const made = await signedIn("/default/default/calls");
    const { page } = made;
    await rows(made).first().waitFor();
    await page.context().clearCookies();
    await page.keyboard.press("/");
    await page.keyboard.type("team");
    await page.keyboard.press("Control+a");
    await page.keyboard.type("meta.team:core");
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    await page.keyboard.press("Escape");
    await made.page.getByLabel("Personal access token").fill(token);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await until(async () => (await rows(made).count()) === 6, "the list is read");
    expect(new URL(page.url()).searchParams.get("q")).toBe("meta.team:core");
  });

  test("text that clients chose is shown as text, with its hidden marks", async () => {
    const made = await signedIn("/default/default/calls");
    await made.page.getByText("⟨202E⟩").first().waitFor();
    expect(await made.page.locator("img").count()).toBe(0);
    await made.open(`/default/default/calls/${traces[0]}`);
    await made.page.getByRole("link", { name: /⟨202E⟩/ }).waitFor();
    expect(await made.page.locator("img").count()).toBe(0);
  });

  test("what is not there and what may not be seen is said, with the cure", async () => {
    const made = await signedIn(`/default/default/calls/${"0".repeat(32)}`);
    await made.page.getByText("The call could not be read.").waitFor();
    await made.page.getByText("is recorded when it has ended").waitFor();
    await made.open("/nowhere/-/calls");
    await made.page.getByText("You may not see “Calls” in nowhere").waitFor();
    await made.open("/default/default/nothing");
    await made.page.getByText("There is no such page").waitFor();
    await made.open("/default/default/calls?q=route%3Anone");
    await made.page.getByRole("button", { name: "Remove route:none", exact: true }).last().click();
    await rows(made).first().waitFor();
    // the browser itself reports the 404 that was asked for
    (made.faults as string[]).splice(
      0,
      made.faults.length,
      ...made.faults.filter((fault) => !/status of 404/.test(fault)),
    );
  });

  test.each([
    ["light", 1280],
    ["dark", 1280],
    ["light", 320],
    ["dark", 1920],
  ] as const)("axe finds nothing, and nothing is cut off: %s, %d pixels", async (colorScheme, width) => {
    const made = await signedIn("/default/default/calls", { colorScheme, viewport: { width, height: 900 } });
    await rows(made).first().waitFor();
    await made.page.locator(".facets").waitFor();
    const views: Readonly<Record<string, string>> = {
      list: "/default/default/calls",
      open: `/default/default/calls?open=${traces[1]}`,
      empty: "/default/default/calls?q=route%3Anone",
      wrong: "/default/default/calls?q=hello",
      page: `/default/default/calls/${traces[1]}`,
    };
    for (const [name, path] of Object.entries(views)) {
      await made.open(path);
      await made.page.locator("main .row, main .empty-title, main .figures").first().waitFor();
      await made.settled();
      expect({ name, found: await made.axe() }).toEqual({ name, found: [] });
      const wider = await made.page.evaluate<number>(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth",
      );
      expect({ name, wider }).toEqual({ name, wider: 0 });
    }
    await made.page.keyboard.press("?");
    await made.page.getByRole("dialog").waitFor();
    expect(await made.axe()).toEqual([]);
    await made.page.keyboard.press("Escape");
    await made.page.keyboard.press("Control+k");
    await made.page.getByRole("combobox").waitFor();
    expect(await made.axe()).toEqual([]);
  });
});
