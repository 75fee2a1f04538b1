// What people do at the console after logging in, by keyboard alone and by mouse, in both themes, in a wide and in a narrow window: sending a link,
// changing a route at the same time as somebody else, making a token, draining a provider, and proving what happened. Each way ends with what the
// gateway has stored. Publishing a route and going back is one of the jobs (jobs.test.ts).
import { beforeAll, expect } from "bun:test";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import type { ConsolePage } from "../../harness/console/chromium.ts";
import { type ConsoleFlow, testFlows } from "../../harness/console/flows.ts";
import { reach } from "../../harness/console/hands.ts";
import { consoleVisits } from "../../harness/console/visits.ts";
import { runCli } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const CONFIG = `providers: {first: {type: sandbox}, second: {type: sandbox}}
routes: {drained: {targets: ["first:echo", "second:echo"]}}
`;
const PROJECT = "/projects/default";
const TENANT = "/tenants/default";
const HELLO = [{ role: "user", content: "Hello" }];
const STORED = "I have stored it";

/** Somebody else, who may only look. */
const VIEWER = "vera";

const traceIn = (href: string): string => /[0-9a-f]{32}/.exec(href)?.[0] ?? "";

const listed = async ({ page }: ConsolePage): Promise<readonly string[]> => {
  const links = await page.locator("tbody tr.row a[href*='/calls/']").all();
  const hrefs = await Promise.all(links.map(async (link) => (await link.getAttribute("href")) ?? ""));
  return [...new Set(hrefs.map(traceIn))];
};

/** What somebody sends of the address of a page: the part below `/console`. */
const linkOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url());
  return pathname.replace("/console", "") + search;
};

const SEND_LINK: ConsoleFlow = {
  name: "a link to a filtered list with an open call, opened cold by somebody else, shows the same rows and the same call",
  async run({ visits, look, hands, way }) {
    const mine = await visits.signedIn("/default/default/calls", look);
    const { page } = mine;
    const { act, type, use } = hands(mine);
    await mine.settled();
    const filter = page.getByRole("combobox", { name: "Filter" });
    await act({ keyboard: () => page.keyboard.press("/"), mouse: () => filter.click() });
    await type(filter, "status:5xx", { sends: way === "keyboard" });
    if (way === "mouse") await use(page.getByRole("button", { name: "Filter", exact: true }));
    await until(() => new URL(page.url()).searchParams.get("q") === "status:5xx", "the filter is in the address");
    await mine.settled();
    const given = await visits.admin("POST", `${TENANT}/tokens`, { name: "of Vera", user_id: VIEWER });
    const theirs = await visits.signedIn(linkOf(page), { ...look, as: given.body.token as string });
    await theirs.settled();
    const { data } = await visits.read(`${PROJECT}/calls?status_class=5xx`);
    const due = data.map(({ trace_id }: { readonly trace_id: string }) => trace_id);
    expect(due).toHaveLength(2);
    expect([await listed(mine), await listed(theirs)]).toEqual([due, due]);
    await act({
      keyboard: async () => {
        await page.keyboard.press("j");
        await page.keyboard.press("Enter");
      },
      mouse: () => page.locator("tbody tr.row").first().click(),
    });
    // beside the list, or where there is no room for both, in its place
    await until(() => page.url().includes(due[0]), "the call is in the address");
    await theirs.open(linkOf(page));
    const verdicts = await Promise.all(
      [mine, theirs].map(({ page: one }) => one.locator("main .verdict").first().textContent()),
    );
    expect(verdicts[0]).toContain("503");
    expect(verdicts[1]).toBe(verdicts[0]);
    expect(theirs.page.url()).toBe(page.url());
  },
};

const TWO_EDITORS: ConsoleFlow = {
  name: "[d14.5] two people change one route at the same time: the second sees both changes, and neither is lost",
  async run({ visits, look, hands, fresh, way }) {
    const { admin, read } = visits;
    const name = fresh("shared");
    const route = `${PROJECT}/routes/${name}`;
    await admin("POST", `${PROJECT}/routes`, { name, targets: ["sandbox:echo", "sandbox:words-7"] });
    const path = `/default/default/routes/${name}`;
    const [first, second] = [await visits.signedIn(path, look), await visits.signedIn(path, look)];
    await Promise.all([first.settled(), second.settled()]);
    const retries = ({ page }: ConsolePage): Locator => page.getByLabel("Retries at the same target");
    await hands(second).type(retries(second), "2");
    const moved = first.page.getByLabel("Model of target 2");
    if (way === "keyboard") {
      await reach(first, moved);
      await first.page.keyboard.press("Alt+ArrowUp");
    } else await first.page.getByLabel("Move target 2 up").click();
    const noted = (made: ConsolePage, note: string): Promise<void> =>
      hands(made).type(made.page.getByLabel("Why, for the list of versions"), note, { sends: true });
    const published = async (made: ConsolePage, note: string): Promise<void> => {
      const publish = made.page.getByRole("button", { name: "Look at the change and publish" });
      await hands(made).use(publish.and(made.page.locator(":enabled")));
      await noted(made, note);
    };
    await published(first, "Words first");
    await first.page.getByRole("region", { name: "Published" }).waitFor();
    await published(second, "Two retries");
    const dialog = second.page.getByRole("dialog", { name: `${name} has changed meanwhile` });
    await dialog.getByText("What you would change").waitFor();
    const untouched = await read(route);
    expect([untouched.targets, untouched.retries]).toEqual([["sandbox:words-7", "sandbox:echo"], undefined]);
    await hands(second).use(dialog.getByRole("button", { name: "Take theirs" }));
    await until(
      async () => (await second.page.getByLabel("Model of target 1").inputValue()) === "sandbox:words-7",
      "theirs is in the editor",
    );
    // Enter in a field goes on to the look at the change
    await hands(second).type(retries(second), "2", { sends: true });
    await noted(second, "Two retries");
    await second.page.getByRole("region", { name: "Published" }).waitFor();
    const both = await read(route);
    expect([both.targets, both.retries]).toEqual([["sandbox:words-7", "sandbox:echo"], 2]);
    // nothing was typed in the first browser since, so that it shows what holds
    await first.page.reload();
    await until(async () => (await retries(first).inputValue()) === "2", "the first browser shows it");
    const notes = (await read(`${route}/versions`)).data.map(({ note }: { note: string | null }) => note);
    expect(notes.slice(0, 2)).toEqual(["Two retries", "Words first"]);
  },
};

const SECRET_ONCE: ConsoleFlow = {
  name: "[d14.5] a token is made that works; what was typed for it is not lost by mistake; its text is shown once, stays until it is stored, and is nowhere afterwards",
  async run({ visits, look, hands, fresh }) {
    const name = fresh("nightly <b>job</b>");
    const made = await visits.signedIn("/default/default/tokens", look);
    const { page } = made;
    const { command, type, use, act } = hands(made);
    await page.getByRole("table").first().waitFor();
    await command(["c"], page.getByRole("button", { name: "New token" }));
    const field = page.getByLabel("Name", { exact: true });
    await type(field, name);
    // beside the dialog
    const leave = (): Promise<void> =>
      act({ keyboard: () => page.keyboard.press("Escape"), mouse: () => page.mouse.click(2, 2) });
    await leave();
    await page.getByText("What you have typed has not been sent.").waitFor();
    expect(await field.inputValue()).toBe(name);
    await use(page.getByRole("button", { name: "Make the token" }));
    const dialog = page.getByRole("dialog", { name: `The token ${name}` });
    await dialog.waitFor();
    const secret = (await dialog.locator(".secret").textContent())!;
    expect(secret).toStartWith("dgm_pt_");
    await leave();
    await leave();
    expect(await dialog.isVisible()).toBe(true);
    const models = await fetch(`${visits.gateway.url}/api/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await models.text();
    expect(models.status).toBe(200);
    await use(dialog.getByRole("button", { name: STORED }));
    await dialog.waitFor({ state: "detached" });
    await page.getByRole("link", { name }).waitFor();
    expect(await made.kept()).not.toContain(secret);
    const { data } = await visits.read(`${PROJECT}/tokens?search=${encodeURIComponent(name)}`);
    expect(data.map(({ role, created_by }: any) => [role, created_by])).toEqual([["developer", "owner"]]);
  },
};

const DRAIN: ConsoleFlow = {
  name: "a provider is drained for a time and called again: its route uses the other target meanwhile",
  async run({ visits, look, hands }) {
    const served = async (): Promise<string> => {
      const answer = await visits.gateway.chat({ route: "drained", messages: HELLO });
      return ((await answer.json()) as { readonly model: string }).model;
    };
    const drains = async (): Promise<readonly any[]> => (await visits.read(`${TENANT}/drains`)).data;
    expect(await served()).toBe("first:echo");
    const made = await visits.signedIn("/default/-/providers", look);
    const { page } = made;
    const { use, type, act } = hands(made);
    await use(page.getByRole("link", { name: "first", exact: true }));
    await use(page.getByRole("button", { name: "Drain for a time" }));
    const dialog = page.getByRole("dialog", { name: "Drain first" });
    await dialog.waitFor();
    await act({
      keyboard: async () => {
        await reach(made, dialog.getByLabel("1 hour"));
        await page.keyboard.press("ArrowLeft");
      },
      mouse: () => dialog.getByLabel("15 minutes").click(),
    });
    await type(dialog.getByLabel("Reason"), "upkeep");
    await use(dialog.getByRole("button", { name: "Drain", exact: true }));
    await dialog.waitFor({ state: "detached" });
    await page.getByText("Reason: upkeep").waitFor();
    const [drain] = await drains();
    const minutes = Math.ceil((Date.parse(drain.until) - Date.now()) / 60_000);
    expect([drain.provider, drain.note, minutes <= 15 && minutes > 10]).toEqual(["first", "upkeep", true]);
    expect(await served()).toBe("second:echo");
    await use(page.getByRole("button", { name: "End the drain now" }));
    await page.getByText("Reason: upkeep").waitFor({ state: "detached" });
    expect(await drains()).toEqual([]);
    expect(await served()).toBe("first:echo");
  },
};

const PROVE: ConsoleFlow = {
  name: "[d14.1] the audit log is checked and exported, the export is checked without the gateway, and it is in the log itself",
  async run({ visits, look, hands, fresh }) {
    const exports = async (): Promise<number> =>
      (await visits.read(`${TENANT}/audit?action=export&limit=1000`)).data.length;
    const before = await exports();
    const made = await visits.signedIn("/default/-/audit", look);
    const { page } = made;
    const { use, act } = hands(made);
    await made.settled();
    const tab = (name: string): Locator => page.getByRole("tab", { name, exact: true });
    await act({
      keyboard: async () => {
        await reach(made, tab("Entries"));
        // the tabs are a ring
        await page.keyboard.press("ArrowLeft");
      },
      mouse: () => tab("Check").click(),
    });
    // a check that took too long is not made again by itself
    let asked = 0;
    const isCheck = (url: URL): boolean => url.pathname.endsWith("/audit/verify");
    await page.route(isCheck, async (route) => {
      asked += 1;
      await route.fulfill({ status: 503, contentType: "application/json", body: '{"error": {"message": "Too long"}}' });
    });
    const check = page.getByRole("button", { name: "Check all rows" });
    await use(check);
    await page.getByText("The check could not be made.").waitFor();
    expect(asked).toBe(1);
    await page.unroute(isCheck);
    await use(check);
    await page.getByText("No row was changed or removed").waitFor();
    expect(await made.axe()).toEqual([]);
    const downloading = page.waitForEvent("download");
    await use(page.getByRole("link", { name: "Signed export" }));
    const download = await downloading;
    expect(download.suggestedFilename()).toBe("audit-default.jsonl");
    const file = join(visits.gateway.folder, `${fresh("export")}.jsonl`);
    await download.saveAs(file);
    const { public_key: key } = await visits.read(`${TENANT}/audit/verify`);
    const { code, stdout } = await runCli(["audit", "verify", file, "--key", key, "--json"]);
    expect([code, JSON.parse(stdout).problems]).toEqual([0, []]);
    expect(await exports()).toBe(before + 1);
    await act({
      keyboard: async () => {
        await reach(made, tab("Check"));
        await page.keyboard.press("ArrowRight");
      },
      mouse: () => tab("Entries").click(),
    });
    // what was read within the last seconds is not read again by itself
    await page.reload();
    await page.locator(".history > li", { hasText: "export audit log" }).nth(before).waitFor();
  },
};

consoleVisits("at the console", { gateway: () => ({ config: CONFIG }) }, (visits) => {
  beforeAll(async () => {
    for (const model of ["sandbox:echo", "sandbox:fail-429", "sandbox:fail-500", "sandbox:fail-503"])
      await (await visits.gateway.chat({ model, messages: HELLO })).text();
    await until(async () => (await visits.read(`${PROJECT}/logs`)).data.length === 4, "all calls are in the database");
    expect((await visits.admin("POST", `${TENANT}/users`, { id: VIEWER, name: "Vera" })).status).toBe(201);
    expect((await visits.admin("PUT", `${PROJECT}/memberships/${VIEWER}`, { role: "viewer" })).status).toBeLessThan(
      300,
    );
  });
  testFlows(visits, [SEND_LINK, TWO_EDITORS, SECRET_ONCE, DRAIN, PROVE]);
});
