// The page of a call in a real browser: what was said in it, going on through the filtered list, explaining it again, taking it along as code, and
// a call that is not recorded yet.
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

const CONFIG = `
tenants:
  default:
    settings: { content_log: { enabled: true } }
`;
const program = chromiumProgram();

describe.skipIf(program === null)("the page of a call", () => {
  let gateway: GatewayProcess;
  let browser: Browser;
  let reader: string;
  let plain: string;
  /** The newest first. */
  let traces: readonly string[] = [];
  const opened: ConsolePage[] = [];

  const admin = async (path: string): Promise<any> => {
    const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
      headers: { authorization: `Bearer ${reader}` },
    });
    return await answer.json();
  };
  const listed = async (): Promise<readonly string[]> =>
    (await admin("/tenants/default/logs")).data.map(({ trace_id }: { trace_id: string }) => trace_id);
  const say = async (content: string, model = "sandbox:echo", session = "s1") =>
    await (
      await gateway.chat({
        model,
        temperature: 0.5,
        metadata: { session_id: session },
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content },
        ],
      })
    ).text();

  beforeAll(async () => {
    gateway = await startConsoleGateway({ config: CONFIG });
    browser = await launch(program!);
    const permissions = ["--permission", "read_content", "--permission", "debug"];
    reader = await gateway.createToken("--personal", "--user", "owner", ...permissions);
    plain = await gateway.createToken("--personal", "--user", "owner");
    for (const text of ["The first question", "The second question", `<b>bold</b> ${"long ".repeat(400)}`])
      await say(text);
    await say("This fails", "sandbox:fail-500");
    await until(async () => (await listed()).length === 4, "all calls are in the database");
    traces = await listed();
    await until(
      async () => (await admin(`/tenants/default/calls/${traces[1]!}`)).content.state === "kept",
      "the content is in the database",
    );
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

  const signedIn = async (path: string, token: string, options = {}): Promise<ConsolePage> => {
    const made = await openConsole(browser, gateway.url, options);
    opened.push(made);
    await made.open(path);
    await made.signIn(token);
    return made;
  };
  const readings = async (): Promise<number> =>
    (await admin("/tenants/default/audit?kind=call_content")).data.filter(
      ({ outcome }: { outcome: string }) => outcome === "done",
    ).length;

  test("[d14.4] the conversation is shown when it is opened, as text, with the permission only, and each reading is in the audit log", async () => {
    const before = await readings();
    const { page } = await signedIn(`/default/default/calls/${traces[1]!}`, reader);
    const show = page.getByRole("button", { name: "Show the conversation" });
    await show.waitFor();
    expect(await page.locator("main").textContent()).not.toContain("bold");
    expect(await readings()).toBe(before);
    await show.click();
    const turns = page.locator(".turns");
    await turns.getByText("Be brief.").waitFor();
    expect(await turns.textContent()).toContain("<b>bold</b>");
    expect(await turns.locator("b").count()).toBe(0);
    expect(await turns.locator("details").count()).toBeGreaterThan(0);
    expect(await readings()).toBe(before + 1);
    await page.getByRole("button", { name: "Fold what the call before it had said" }).click();
    await page.getByText("The first message is the same as in the call before, with the same system prompt.").waitFor();
    expect(await readings()).toBe(before + 2);
  });

  test("[d14.4] without the permission the page says what is missing, and the gateway gives nothing", async () => {
    const { page } = await signedIn(`/default/default/calls/${traces[1]!}`, plain);
    await page.getByText("reading it needs the permission read_content").waitFor();
    expect(await page.getByRole("button", { name: "Show the conversation" }).count()).toBe(0);
    const status = await page.evaluate(
      async (id) => (await fetch(`/console/api/v1/admin/projects/default/logs/${id}/content`)).status,
      traces[1]!,
    );
    expect(status).toBe(403);
  });

  test("j and k go through the filtered list without gaps, and Back leads to the list", async () => {
    const { page } = await signedIn("/default/default/calls?q=outcome%3Aok", reader);
    await page.locator("tbody tr.row").nth(2).waitFor();
    await page.locator("tbody tr.row").first().click();
    await page.getByRole("link", { name: "Open the page" }).click();
    const at = (id: string) => page.waitForURL((url) => url.pathname.endsWith(`/calls/${id}`));
    await at(traces[1]!);
    await page.getByRole("heading", { name: "Where the time went" }).waitFor();
    await page.keyboard.press("j");
    await at(traces[2]!);
    await page.getByRole("heading", { name: "Where the time went" }).waitFor();
    await page.keyboard.press("j");
    await at(traces[3]!);
    await page.getByRole("heading", { name: "Where the time went" }).waitFor();
    await page.keyboard.press("j");
    await page.getByText("This is the oldest call of the list.").waitFor();
    await page.keyboard.press("k");
    await at(traces[2]!);
    await page.goBack();
    await page.waitForURL((url) => url.pathname.endsWith("/calls"));
    expect(new URL(page.url()).searchParams.get("q")).toBe("outcome:ok");
  });

  test("a link to a call alone goes through all calls", async () => {
    const { page } = await signedIn(`/default/default/calls/${traces[1]!}`, reader);
    await page.getByRole("heading", { name: "Where the time went" }).waitFor();
    await page.getByRole("button", { name: "Newer" }).click();
    await page.waitForURL((url) => url.pathname.endsWith(`/calls/${traces[0]!}`));
  });

  test("it is explained as of now, and goes to the playground and into code with its conversation", async () => {
    const { page } = await signedIn(`/default/default/calls/${traces[1]!}`, reader);
    await page.getByRole("button", { name: "Show the conversation" }).click();
    await page.locator(".turns").waitFor();
    await page.keyboard.press("e");
    await page.getByText("Now it would go to sandbox:echo first, as it was then.").waitFor();
    await page.locator(".differences").getByText("Values are not recorded of: temperature.").waitFor();
    await page.getByRole("button", { name: "Copy as", exact: true }).click();
    await page.getByRole("button", { name: "Python" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Replay in the playground" }).click();
    await page.getByText("Be brief.").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/console/default/default/play");
  });

  test("in the playground each of two requests has its own plan, which is asked for anew, and its cost as the record has it", async () => {
    const { page } = await signedIn(
      "/default/default/play?model=sandbox:echo&beside=sandbox:fail-500&tab=plan",
      reader,
    );
    const target = (pane: string, name: string) =>
      page.getByRole("region", { name: `Answer of ${pane}` }).getByRole("heading", { name: `1. ${name}` });
    await page.getByRole("button", { name: "Explain", exact: true }).click();
    await target("sandbox:echo", "sandbox:echo").waitFor();
    await target("sandbox:fail-500", "sandbox:fail-500").waitFor();
    await page.getByLabel("Model or route").fill("sandbox:slow-10");
    await page.getByRole("button", { name: "Explain", exact: true }).click();
    await target("sandbox:slow-10", "sandbox:slow-10").waitFor();
    await page.getByLabel("Compare with").selectOption("");
    await page.getByRole("button", { name: /^Send/ }).click();
    await page.getByRole("tab", { name: "Cost" }).click();
    await page.getByText(/was charged|no cost was charged/).waitFor();
    await page.goto(`${page.url().split("?")[0]}?tab=unknown`);
    expect(await page.getByRole("tab", { selected: true }).textContent()).toBe("Answer");
  });

  test("a request that is pasted on the page of the playground takes the place of the one there", async () => {
    const { page } = await signedIn("/default/default/play?model=sandbox:echo", reader);
    await page.getByRole("heading", { name: "Playground" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.keyboard.type('{"model":"sandbox:echo","messages":[{"role":"user","content":"Pasted here"}]}');
    await page.keyboard.press("Enter");
    await page.getByLabel("Text of message 1").filter({ hasText: "Pasted here" }).waitFor();
  });

  test("a call that still runs has a page, which fills itself when it has ended", async () => {
    const made = await signedIn("/default/default/calls", reader);
    const stop = new AbortController();
    const body = { model: "sandbox:stall", stream: true, messages: [{ role: "user", content: "slowly" }] };
    const response = await gateway.chat(body, { signal: stop.signal });
    const trace = response.headers.get("x-gateway-trace-id")!;
    await made.open(`/default/default/calls/${trace}`);
    await made.page.getByText("is not recorded yet, so it may still run").waitFor();
    stop.abort();
    await response.text().catch(() => null);
    await made.page.getByRole("heading", { name: "Where the time went" }).waitFor();
    await made.page.getByText("The client disconnected after").waitFor();
  });

  test.each([
    ["light", 1280],
    ["dark", 320],
  ] as const)("axe finds nothing on an open conversation: %s, %d pixels", async (colorScheme, width) => {
    const made = await signedIn(`/default/default/calls/${traces[1]!}`, reader, {
      colorScheme,
      viewport: { width, height: 900 },
    });
    await made.page.getByRole("button", { name: "Show the conversation" }).click();
    await made.page.locator(".turns").waitFor();
    await made.page.getByRole("button", { name: "Explain it now" }).click();
    await made.page.locator(".differences").waitFor();
    expect(await made.axe()).toEqual([]);
    const wider = await made.page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    expect(wider).toBe(0);
  });
});
