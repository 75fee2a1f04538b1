// Overview, limits and providers in a real browser, against the real process: what needs somebody leads to where it is
// changed, a budget is raised, a provider is tested.
import { beforeAll, expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";
import { until } from "../../harness/time/until.ts";

const HOSTILE = '<img src=x onerror=alert(1)>\u202e"=1+1';
const CONFIG = `providers: {first: {type: sandbox}, second: {type: sandbox}}
routes: {chat: {targets: ["first:words-7", "second:words-7"]}}
prices: {any: {model: "*:*", prompt: "0.30", completion: "1.20"}}
tenants: {default: {budgets: {filed: {usd: "5.00", window: month}}}}
`;
const SETTINGS = { gateway: () => ({ config: CONFIG }) };

consoleVisits("the overview, limits and providers in the console", SETTINGS, (visits) => {
  const { admin, read, signedIn } = visits;
  let viewer: string;
  beforeAll(async () => {
    for (const [noun, body] of [
      ["users", { id: "vera", name: "Vera" }],
      ["budgets", { name: "tight", usd: "0.01", window: "month" }],
      ["limits", { name: "each", metric: "requests", window: "day", limit: 100, scope: { user: "*" }, mode: "audit" }],
    ] as const)
      expect((await admin("POST", `/tenants/default/${noun}`, body)).status).toBe(201);
    expect((await admin("PUT", "/projects/default/memberships/vera", { role: "viewer" })).status).toBeLessThan(300);
    viewer = await visits.gateway.createToken("--personal", "--user", "vera");
  });

  const call = async (model: string, user = "ann"): Promise<void> =>
    void (await (
      await visits.gateway.chat({
        model,
        user,
        max_completion_tokens: 10,
        messages: [{ role: "user", content: "Hello" }],
      })
    ).text());

  test("where there never was a call, the overview is the page of the first call", async () => {
    const { page } = await signedIn("/");
    await page.getByRole("heading", { name: "The first call" }).waitFor();
    expect(page.url()).toBe(`${visits.gateway.url}/console/default/default/`);
    await page.getByText("Waiting for a call.").waitFor();
    await call("second:words-7", "zoe");
    await page.getByRole("link", { name: "Open the page" }).waitFor();
    await until(async () => (await read("/projects/default/usage")).totals.calls === 1, "the call is counted");
    // The figures of the overview are read again and again meanwhile.
    await page.waitForResponse((response) => response.url().includes("/usage?"));
    await page.waitForResponse((response) => response.url().includes("/usage?"));
    expect(await page.getByRole("heading", { name: "The first call" }).isVisible()).toBe(true);
    await page.keyboard.press("g");
    await page.keyboard.press("c");
    await page.getByRole("heading", { name: "Calls", exact: true }).waitFor();
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
  });

  test("by keyboard: what needs somebody leads to its page, a budget is raised there, and the line is gone", async () => {
    for (const user of ["ann", HOSTILE, "ann"]) await call("chat", user);
    await until(async () => (await read("/tenants/default/usage")).totals.calls === 4, "the calls are counted");
    // whether a budget lasts until its period ends depends on the day: this one has nothing left
    const { totals: used } = await read("/tenants/default/usage");
    expect((await admin("PATCH", "/tenants/default/budgets/tight", { usd: String(used.cost_usd) })).status).toBe(200);
    await until(
      async () => (await read("/tenants/default/attention")).data.some(({ kind }: any) => kind === "budget"),
      "the budget needs somebody",
    );
    const made = await signedIn("/default/-/");
    const { page } = made;
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    const { totals } = await read("/tenants/default/usage");
    const cost = page.locator(".figures div", { hasText: "Cost" }).locator("span").first();
    expect(await cost.getAttribute("title")).toBe(`$${totals.cost_usd}`);
    const line = page.getByRole("link", { name: /The budget "tight"/ });
    await line.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "tight" }).waitFor();
    await page.getByText(/calls are refused until it resets|it will be used up/).waitFor();
    expect(await page.locator("main").textContent()).toContain("UTC");
    await page.getByRole("button", { name: "Change the amount" }).press("Enter");
    await page.getByLabel("US dollars").fill("4.00");
    await page.keyboard.press("Enter");
    await page.getByText(/at the present rate\./).waitFor();
    expect((await read("/tenants/default/budgets/tight")).usd).toBe("4.00");
    await page.keyboard.press("g");
    await page.keyboard.press("o");
    await page.getByRole("heading", { name: "Overview" }).waitFor();
    await line.waitFor({ state: "detached" });
  });

  test("[d14.5] an amount that another has changed meanwhile is not overwritten, and a budget of the file is not changed here", async () => {
    const { id } = await read("/tenants/default/budgets/tight");
    const made = await signedIn(`/default/-/limits/${id}`);
    const { page } = made;
    await page.getByRole("button", { name: "Change the amount" }).click();
    await page.getByLabel("US dollars").fill("9.00");
    expect((await admin("PATCH", "/tenants/default/budgets/tight", { usd: "6.00" })).status).toBe(200);
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("Nothing was changed.").waitFor();
    expect((await read("/tenants/default/budgets/tight")).usd).toBe("6.00");
    await made.open("/default/-/limits/file.tenants.default.budgets.filed?tab=edit");
    await page.getByText("is in the configuration file").waitFor();
    expect(await page.getByRole("button", { name: "Change the amount" }).count()).toBe(0);
  });

  test("the values of a limit are shown as what they are, its days and consumers lead to as many calls, and it says what it would have refused", async () => {
    const made = await signedIn("/default/-/limits");
    const { page } = made;
    await page.getByRole("row", { name: /tight/ }).waitFor();
    await page.getByRole("link", { name: "each", exact: true }).click();
    const counts = page.getByRole("table", { name: "Counts by value" });
    await counts.getByText("⟨202E⟩").waitFor();
    expect(await page.locator("main").textContent()).toContain("Would have been refused");
    await page.goBack();
    await page.getByRole("link", { name: "tight", exact: true }).click();
    const days = page.getByRole("table", { name: "Days in UTC" });
    await days.waitFor();
    expect(await days.locator("tbody tr").first().locator("td").last().textContent()).toBe("4");
    await days.getByRole("link").first().click();
    await until(async () => (await page.locator("tbody tr.row").count()) === 4, "the list has the calls of the day");
  });

  test("a limit is made with the form, and its page follows", async () => {
    const made = await signedIn("/default/-/limits");
    const { page } = made;
    await page.getByRole("row", { name: /tight/ }).waitFor();
    await page.keyboard.press("c");
    await page.getByRole("button", { name: "Limit", exact: true }).click();
    await page.getByLabel("Name", { exact: true }).fill("burst");
    await page.getByLabel("At most").fill("50");
    await page.getByRole("button", { name: "Create the limit" }).click();
    await page.getByRole("heading", { name: "burst" }).waitFor();
    await page.getByText("There is room for 50 more.").waitFor();
    expect((await read("/tenants/default/limits/burst")).limit).toBe(50);
  });

  test("a provider is tested by one call, and says what it supports", async () => {
    const before = (await read("/tenants/default/usage")).totals;
    const made = await signedIn("/default/-/providers");
    const { page } = made;
    await page.getByRole("link", { name: "first", exact: true }).click();
    await page.getByRole("button", { name: "Test" }).click();
    await page.getByLabel("Model", { exact: true }).fill("fail-429");
    await page.getByRole("button", { name: "Make the call" }).click();
    await page.getByText("429 rate_limit_exceeded").waitFor();
    await page.getByLabel("Model", { exact: true }).fill("words-7");
    await page.getByRole("button", { name: "Call again" }).click();
    await page.getByText("200 answers").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("tab", { name: "What it supports" }).click();
    await page.getByRole("table", { name: "Parameters" }).getByText("temperature", { exact: true }).waitFor();
    // what is counted next begins with these two
    await until(
      async () => (await read("/tenants/default/usage")).totals.calls === before.calls + 2,
      "both calls are counted",
    );
  });

  test("[d14.3] what fails most names the limit that refused calls, what costs most names models, and each leads to as many calls", async () => {
    const rule = { name: "once", metric: "requests", window: "day", limit: 1, scope: { user: "greta" } };
    expect((await admin("POST", "/tenants/default/limits", rule)).status).toBe(201);
    const before = (await read("/tenants/default/usage")).totals;
    for (let made = 0; made < 3; made++) await call("chat", "greta");
    await until(
      async () => (await read("/tenants/default/usage")).totals.calls === before.calls + 3,
      "the calls are counted",
    );
    const made = await signedIn("/default/-/");
    const { page } = made;
    const rows = page.locator("tbody tr.row");
    const refused = page
      .getByRole("region", { name: "What fails most" })
      .getByRole("listitem")
      .filter({ hasText: 'The limit "once" refused them' });
    await refused.getByText("rate_limit_exceeded").waitFor();
    await refused.getByRole("link", { name: `2 of ${before.calls + 3} calls` }).click();
    await until(async () => (await rows.count()) === 2, "the list has the calls that the limit refused");
    await page.goBack();
    await refused.getByRole("link", { name: 'The limit "once" refused them' }).click();
    await page.getByRole("heading", { name: "once" }).waitFor();
    await page.goBack();
    const { data } = await read("/tenants/default/usage?group_by=model&order=cost");
    const dearest = data.find((one: any) => one.group.model !== null);
    const models = page.getByRole("region", { name: "What costs most" }).getByRole("region", { name: "Models" });
    await models.getByRole("listitem").first().getByTitle(`$${dearest.cost_usd}`).waitFor();
    await models.getByRole("link").first().click();
    await made.settled();
    await until(async () => (await rows.count()) === dearest.calls, "the list has the calls of the model");
  });

  test("[d14.3] the charts show only the time with calls until the whole is asked for, tell the values under the pointer, and follow the theme", async () => {
    const made = await signedIn("/default/-/", { colorScheme: "light" });
    const { page } = made;
    const chart = page.getByRole("figure").filter({ hasText: /^Calls per/ });
    await chart.getByText("Calls per minute").waitFor();
    await page.getByText("there were no calls before in this range").waitFor();
    const plot = chart.locator(".u-over");
    const drawn = async (): Promise<string> =>
      await chart.locator("canvas").evaluate((canvas) => (canvas as unknown as { toDataURL(): string }).toDataURL());
    await page.getByRole("button", { name: "Show the whole range" }).click();
    await chart.getByText("Calls per hour").waitFor();
    const light = await drawn();
    await page.emulateMedia({ colorScheme: "dark" });
    await until(async () => (await drawn()) !== light, "the chart is drawn in the dark theme");
    const { width, height } = (await plot.boundingBox())!;
    const { totals } = await read("/tenants/default/usage");
    // all calls are of the last two hours, whose bars stand at the end
    const told = new Set<string>();
    for (const part of [0.5, 1.5]) {
      await plot.hover({ position: { x: width * (1 - part / 25), y: height / 2 } });
      const at = await chart.locator(".chart-at").textContent();
      const values = await chart.locator(".legend b").allTextContents();
      told.add(JSON.stringify([at, ...values]));
    }
    const values = [...told].map((one) => JSON.parse(one) as string[]);
    expect(values).toHaveLength(2);
    expect(values.reduce((sum, [, calls]) => sum + Number(calls), 0)).toBe(totals.calls);
    expect(values.reduce((sum, [, , failed]) => sum + Number(failed), 0)).toBe(totals.errors);
    await plot.click({ position: { x: width / 2, y: height / 2 } });
    await page.getByRole("heading", { name: "Calls", exact: true }).waitFor();
    const { searchParams } = new URL(page.url());
    expect(Date.parse(searchParams.get("to")!) - Date.parse(searchParams.get("from")!)).toBe(3_600_000);
  });

  test("[d14.1] a viewer sees limits and providers of the project, and changes nothing", async () => {
    const made = await signedIn("/default/default/limits", { as: viewer });
    const { page } = made;
    await page.getByRole("link", { name: "tight", exact: true }).click();
    await page.getByRole("heading", { name: "tight" }).waitFor();
    expect(await page.getByRole("button", { name: "Change the amount" }).count()).toBe(0);
    await made.open("/default/default/providers/first");
    await page.getByRole("button", { name: "Drain for a time" }).waitFor();
    expect(await page.getByRole("button", { name: "Drain for a time" }).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Test" }).isDisabled()).toBe(true);
    await made.open("/default/-/providers");
    await page.getByText(/You may not see/).waitFor();
  });

  test("an operator sees what a provider of another tenant supports", async () => {
    for (const [path, body] of [
      ["/tenants", { id: "elsewhere" }],
      ["/tenants/elsewhere/providers", { name: "theirs", type: "sandbox" }],
    ] as const)
      expect((await admin("POST", path, body)).status).toBe(201);
    const { page } = await signedIn("/elsewhere/-/providers/theirs?tab=capabilities");
    await page.getByText("What a conversation may hold").first().waitFor();
  });

  test.each([
    ["light", 320],
    ["dark", 1280],
  ] as const)(
    "in %s at %d pixels, axe finds nothing, and nothing but tables is wider than the window",
    async (colorScheme, width) => {
      const made = await signedIn("/default/-/", { colorScheme, viewport: { width, height: 900 } });
      const { page } = made;
      const { id } = await read("/tenants/default/budgets/tight");
      for (const [path, ready] of [
        ["/default/-/", "Calls per minute"],
        ["/default/-/limits", "tight"],
        [`/default/-/limits/${id}`, "Who uses it"],
        ["/default/-/limits/none", "could not be read"],
        ["/default/-/limits/~new", "New budget"],
        ["/default/-/providers", "second"],
        ["/default/-/providers/first", "How its attempts failed"],
        ["/default/-/providers/first?tab=capabilities", "What a conversation may hold"],
        ["/default/-/providers/nobody", "is not enabled here"],
      ] as const) {
        await made.open(path);
        await page.locator("main").getByText(ready).first().waitFor();
        await made.settled();
        expect([path, await made.axe()]).toEqual([path, []]);
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect([path, overflow]).toEqual([path, 0]);
      }
    },
  );
});
