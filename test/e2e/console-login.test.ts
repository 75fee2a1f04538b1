// Logging in with a real browser: at a company's issuer, and again in the middle of a form when the session has ended, which
// keeps what was typed.
import { afterAll, expect, test } from "bun:test";
import type { ConsolePage } from "../harness/chromium.ts";
import { consoleVisits } from "../harness/console-visits.ts";
import { type Issuer, startIssuer } from "../harness/issuer.ts";

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

consoleVisits("logging in", { gateway: withIssuer, others: () => [issuer!.url] }, (visits) => {
  const { visiting, admin } = visits;
  /** From outside, as an administrator does it. */
  const endAllSessions = async (): Promise<void> => {
    const sessions = "/tenants/default/sessions";
    for (const { id } of (await visits.read(sessions)).data)
      expect((await admin("DELETE", `${sessions}/${id}`)).status).toBe(204);
  };
  const COMPANY = "Sign in with The <b>company</b>";

  test("[d14.2] at a company's issuer leads back to the page that was asked for, and prints no error on the way", async () => {
    const { page, ...own } = await visiting("/default/default/tokens?state=all");
    const printed: string[] = [];
    page.on("console", (message) => printed.push(message.text()));
    await page.reload();
    const company = page.getByRole("link", { name: COMPANY });
    await company.waitFor();
    expect(await own.axe()).toEqual([]);
    expect(printed).toEqual([]);
    await company.press("Enter");
    await page.getByRole("heading", { name: "Tokens" }).waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe("/console/default/default/tokens?state=all");
    expect((await page.context().cookies()).every(({ httpOnly }) => httpOnly)).toBe(true);
  });

  const inForm = async (options = {}): Promise<ConsolePage> => {
    const made = await visiting("/default/default/tokens", options);
    await made.signIn(visits.owner);
    await made.page.getByRole("table").waitFor();
    await made.page.keyboard.press("c");
    await made.page.getByLabel("Name", { exact: true }).fill("typed before");
    await endAllSessions();
    await made.page.keyboard.press("Enter");
    await made.page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    return made;
  };

  for (const colorScheme of ["light", "dark"] as const)
    test(`again in the middle of a form keeps what was typed, and sends it (${colorScheme})`, async () => {
      const { page, ...own } = await inForm({ colorScheme });
      expect(await own.axe()).toEqual([]);
      await page.getByLabel("Personal access token").fill(visits.owner);
      await page.keyboard.press("Enter");
      await page.getByRole("dialog", { name: "The token typed before" }).waitFor();
      expect(await page.locator(".secret").textContent()).toStartWith("dgm_pt_");
    });

  test("again at a company's issuer, in another tab, leaves the form as it is", async () => {
    const { page } = await inForm({ viewport: { width: 390, height: 800 } });
    const [tab] = await Promise.all([
      page.context().waitForEvent("page"),
      page.getByRole("link", { name: COMPANY }).click(),
    ]);
    await tab.getByRole("navigation", { name: "Screens" }).waitFor();
    await tab.close();
    await page.bringToFront();
    await page.evaluate("window.dispatchEvent(new Event('focus'))");
    await page.getByRole("dialog", { name: "The token typed before" }).waitFor();
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
