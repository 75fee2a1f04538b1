// Logging in to the console, by keyboard alone and by mouse, in both themes, in a wide and in a narrow window: by a link, by a token, at a company's
// issuer, and again in the middle of a form. Each way ends with what the gateway has stored.
import { afterAll, expect, test } from "bun:test";
import { type ConsoleFlow, type FlowDoing, testFlows } from "../../../harness/console/flows.ts";
import { type ConsoleVisits, consoleVisits } from "../../../harness/console/visits.ts";
import { type Issuer, startIssuer } from "../../../harness/servers/issuer.ts";
import { inTerminal } from "../../../harness/processes/terminal.ts";
import { until } from "../../../harness/time/until.ts";

const TOKEN_FIELD = "Personal access token";
const SESSIONS = "/tenants/default/sessions";
const COMPANY = { name: "Sign in with The <b>company</b>" };
const LIST = "/default/default/tokens?state=all";

let issuer: Issuer | null = null;
afterAll(() => issuer?.stop());

async function withIssuer(): Promise<{ readonly config: string }> {
  issuer = await startIssuer();
  issuer.codeFlow.claims = { groups: ["ai-admins"] };
  return {
    config: `
oidc:
  - name: corp
    issuer: "${issuer.url}"
    audience: gateway
    console:
      client_id: ${issuer.codeFlow.clientId}
      client_secret: "${issuer.codeFlow.clientSecret}"
      scopes: [openid, groups]
      label: The <b>company</b>
    roles:
      - { claim: groups, value: ai-admins, role: admin }
`,
  };
}

interface Session {
  readonly id: string;
  readonly user_id: string | null;
  readonly login: string;
}

/** Gives the sessions that have been opened since and are open. */
async function watchSessions({
  visits,
}: FlowDoing): Promise<() => Promise<readonly (readonly [string, string | null])[]>> {
  const sessions = async (): Promise<readonly Session[]> => (await visits.read(SESSIONS)).data;
  const before = new Set((await sessions()).map(({ id }) => id));
  return async () =>
    (await sessions()).filter(({ id }) => !before.has(id)).map(({ login, user_id }) => [login, user_id]);
}

/** From outside, as an administrator does it. */
async function endAllSessions({ admin, read }: ConsoleVisits): Promise<void> {
  for (const { id } of (await read(SESSIONS)).data)
    expect((await admin("DELETE", `${SESSIONS}/${id}`)).status).toBe(204);
}

const BY_LINK: ConsoleFlow = {
  name: "[d14.2] [d14.6] a login link opens the console once, leaves its code nowhere, and the session ends when one signs out",
  async run(doing) {
    const { visits, look, hands } = doing;
    const { gateway } = visits;
    const opened = await watchSessions(doing);
    const { port } = new URL(gateway.url);
    const place = ["--data", gateway.dataFolder, "--port", port];
    const { output } = await inTerminal(gateway.folder, ["console", "link", ...place]);
    const [link, code] = /http:\/\/localhost:\d+\/console\/#code=([\w-]{43})/.exec(output)!;
    const made = await visits.visiting(link, look);
    const { page } = made;
    await page.getByRole("navigation", { name: "Screens" }).waitFor();
    expect(await made.kept()).not.toContain(code!);
    expect(await opened()).toEqual([["link", "owner"]]);
    // the address had it until the link was exchanged, or refused as here
    const again = await visits.visiting(link, look);
    await again.page.getByText("The login link could not be used.").waitFor();
    expect(await again.page.getByRole("navigation", { name: "Screens" }).count()).toBe(0);
    expect(await again.kept()).not.toContain(code!);
    const { use } = hands(made);
    await use(page.getByRole("button", { name: /^Account of/ }));
    await use(page.getByRole("button", { name: "Sign out" }));
    await page.getByLabel(TOKEN_FIELD).waitFor();
    expect(await opened()).toEqual([]);
  },
};

const BY_TOKEN: ConsoleFlow = {
  name: "[d14.2] a personal token leads to the page that was asked for, and is kept nowhere in the browser",
  async run(doing) {
    const { visits, look, hands } = doing;
    const opened = await watchSessions(doing);
    const made = await visits.visiting(LIST, look);
    const { page } = made;
    const { type, use } = hands(made);
    await type(page.getByLabel(TOKEN_FIELD), visits.owner);
    await use(page.getByRole("button", { name: "Sign in", exact: true }));
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    expect(page.url()).toBe(`${visits.gateway.url}/console${LIST}`);
    expect(await made.kept()).not.toContain(visits.owner);
    expect((await page.context().cookies()).map(({ httpOnly, sameSite }) => [httpOnly, sameSite])).toEqual([
      [true, "Strict"],
    ]);
    expect(await opened()).toEqual([["token", "owner"]]);
  },
};

const AT_ISSUER: ConsoleFlow = {
  name: "[d14.2] a login at a company's issuer leads to the page that was asked for, and nothing is printed on the way",
  async run(doing) {
    const { visits, look, hands } = doing;
    const opened = await watchSessions(doing);
    const made = await visits.visiting(LIST, look);
    const { page } = made;
    const printed: string[] = [];
    page.on("console", (message) => printed.push(message.text()));
    const company = page.getByRole("link", COMPANY);
    await company.waitFor();
    expect(await made.axe()).toEqual([]);
    await hands(made).use(company);
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    expect(page.url()).toBe(`${visits.gateway.url}/console${LIST}`);
    expect(printed).toEqual([]);
    expect((await page.context().cookies()).every(({ httpOnly }) => httpOnly)).toBe(true);
    expect(await opened()).toEqual([["oidc", "corp.ann"]]);
  },
};

const IN_MID_FORM: ConsoleFlow = {
  name: "[d14.2] a session that ends in the middle of a form is opened again in place: what was typed stays, and is sent once",
  async run(doing) {
    const { visits, look, hands, fresh } = doing;
    const name = fresh("typed");
    const made = await visits.visiting("/default/default/tokens", look);
    await made.signIn(visits.owner);
    const { page } = made;
    const { command, type, use, act } = hands(made);
    await page.getByRole("table").waitFor();
    await command(["c"], page.getByRole("button", { name: "New token" }));
    await type(page.getByLabel("Name", { exact: true }), name);
    await endAllSessions(visits);
    const opened = await watchSessions(doing);
    await act({
      keyboard: () => page.keyboard.press("Enter"),
      mouse: () => page.getByRole("button", { name: "Make the token" }).click(),
    });
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.waitFor();
    expect(await made.axe()).toEqual([]);
    await type(dialog.getByLabel(TOKEN_FIELD), visits.owner);
    await use(dialog.getByRole("button", { name: "Sign in", exact: true }));
    const secret = page.getByRole("dialog", { name: `The token ${name}` });
    await secret.locator(".secret", { hasText: /^dgm_pt_/ }).waitFor();
    await use(secret.getByRole("button", { name: "I have stored it" }));
    await page.getByRole("link", { name, exact: true }).waitFor();
    expect(await opened()).toEqual([["token", "owner"]]);
    await until(
      async () => (await visits.read(`/projects/default/tokens?search=${name}`)).data.length > 0,
      "the token",
    );
    expect((await visits.read(`/projects/default/tokens?search=${name}`)).data).toHaveLength(1);
  },
};

consoleVisits("logging in", { gateway: withIssuer, others: () => [issuer!.url] }, (visits) => {
  const { visiting } = visits;
  testFlows(visits, [BY_LINK, BY_TOKEN, AT_ISSUER, IN_MID_FORM]);

  test("again at a company's issuer, in another tab, leaves the form as it is", async () => {
    const { page, ...own } = await visiting("/default/default/tokens", { viewport: { width: 390, height: 800 } });
    await own.signIn(visits.owner);
    await page.getByRole("table").waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).fill("typed before");
    await endAllSessions(visits);
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    const [tab] = await Promise.all([page.context().waitForEvent("page"), page.getByRole("link", COMPANY).click()]);
    await tab.getByRole("navigation", { name: "Screens" }).waitFor();
    await tab.close();
    await page.bringToFront();
    await page.evaluate("window.dispatchEvent(new Event('focus'))");
    await page.getByRole("dialog", { name: "The token typed before" }).waitFor();
  });

  test("[d14.2] somebody of another tenant who signs in in place sees nothing of what was shown, and sends nothing of what was typed", async () => {
    await visits.admin("POST", "/tenants", { id: "rival" });
    await visits.admin("POST", "/tenants/rival/users", { id: "other", role: "owner" });
    const other = await visits.gateway.createToken("--personal", "--tenant", "rival", "--user", "other");
    const { page, ...own } = await visiting("/default/default/tokens");
    await own.signIn(visits.owner);
    await page.getByRole("table").waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).fill("of the first");
    await endAllSessions(visits);
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel(TOKEN_FIELD).fill(other);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Account of other" }).waitFor();
    expect(await page.getByLabel("Name", { exact: true }).count()).toBe(0);
    expect((await visits.read("/projects/default/tokens?search=of+the+first")).data).toEqual([]);
  });

  test("[d14.2] a page sends nothing as somebody who has signed in in another tab since, unless the reader goes on as that person", async () => {
    await visits.admin("POST", "/tenants/default/users", { id: "second", name: "Second", role: "owner" });
    const second = await visits.gateway.createToken("--personal", "--user", "second");
    const { page, ...own } = await visiting("/default/default/tokens");
    await own.signIn(visits.owner);
    await page.getByRole("table").waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).fill("of the owner");
    const tab = await page.context().newPage();
    await tab.goto(`${visits.gateway.url}/console/default/default/tokens`);
    await tab.getByRole("button", { name: /^Account of/ }).click();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.getByLabel(TOKEN_FIELD).fill(second);
    await tab.keyboard.press("Enter");
    await tab.getByRole("button", { name: "Account of Second" }).waitFor();
    await tab.close();
    const made = async () =>
      (await visits.read("/tenants/default/audit?action=create&kind=token")).data.filter(
        ({ target_name: name }: { target_name: string }) => name === "of the owner",
      );
    await page.keyboard.press("Enter");
    const goOn = page.getByRole("button", { name: "Go on as Second" });
    await Promise.race([goOn.waitFor(), page.getByRole("dialog", { name: "The token of the owner" }).waitFor()]);
    expect(await made()).toEqual([]);
    await page.getByRole("button", { name: "Account of", exact: false }).first().waitFor();
    await goOn.click();
    await page.getByRole("dialog", { name: "The token of the owner" }).waitFor();
    expect((await made()).map(({ actor }: { actor: { user_id: string } }) => actor.user_id)).toEqual(["second"]);
  });

  test("[d14.2] a page goes on by itself where the same person has signed in again in another tab", async () => {
    const { page, ...own } = await visiting("/default/default/tokens");
    await own.signIn(visits.owner);
    await page.getByRole("table").waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).fill("signed in twice");
    const tab = await page.context().newPage();
    await tab.goto(`${visits.gateway.url}/console/default/default/tokens`);
    await tab.getByRole("button", { name: /^Account of/ }).click();
    await tab.getByRole("button", { name: "Sign out" }).click();
    await tab.getByLabel(TOKEN_FIELD).fill(visits.owner);
    await tab.keyboard.press("Enter");
    await tab.getByRole("button", { name: /^Account of/ }).waitFor();
    await tab.close();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "The token signed in twice" }).waitFor();
  });

  test("[d14.2] signing out ends a page whose session has ended already, and says when the gateway does not do it", async () => {
    const { page, ...own } = await visiting("/default/default/tokens");
    await own.signIn(visits.owner);
    await page.getByRole("table").waitFor();
    await page.route("**/console/api/session", (route) =>
      route.fulfill({ status: 503, contentType: "application/json", body: '{"error":{"message":"Not now."}}' }),
    );
    await page.getByRole("button", { name: /^Account of/ }).click();
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByText("You are still signed in.").waitFor();
    await page.unroute("**/console/api/session");
    await endAllSessions(visits);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel(TOKEN_FIELD).waitFor();
  });

  test("People says which groups of a company login give which role", async () => {
    const { page, ...own } = await visiting("/default/-/people?tab=logins", {
      viewport: { width: 320, height: 800 },
    });
    await own.signIn(visits.owner);
    await page.getByRole("heading", { name: "corp" }).waitFor();
    const row = page.getByRole("row", { name: "groups ai-admins admin none" });
    await row.waitFor();
    expect(await own.axe()).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  test("a token that is wrong is refused where it was typed", async () => {
    const { page } = await visiting("/");
    await page.getByLabel("Personal access token").fill("dgm_ut_wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").getByText("You are not signed in.").waitFor();
    expect(await page.getByLabel("Personal access token").inputValue()).toBe("dgm_ut_wrong");
  });
});
