// The audit log in a real browser, against the real process: its rows with their filter, who could call what at a time, and the history of single things.
import { beforeAll, expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";

const HOSTILE = "<img src=x onerror=alert(1)> evil";

consoleVisits("the audit log in the console", {}, (visits) => {
  const { signedIn } = visits;
  let developer: string;
  beforeAll(async () => {
    const made = async (path: string, body: object): Promise<any> => {
      const answer = await visits.admin("POST", path, body);
      expect([path, answer.status]).toEqual([path, 201]);
      return answer.body;
    };
    await made("/tenants/default/users", { id: "dev", name: "Dev", role: "developer" });
    ({ token: developer } = await made("/tenants/default/tokens", { name: "of dev", user_id: "dev" }));
    await made("/projects/default/tokens", { name: "audited", models: ["acme:*"] });
    await made("/projects/default/tokens", { name: HOSTILE });
  });

  test("its rows say who, what, from where and how, and are found by the filter, which stands in the address", async () => {
    const { page, ...own } = await signedIn("/default/-/audit");
    const entries = page.locator(".history > li");
    await entries.first().waitFor();
    expect(await entries.first().textContent()).toContain("in the console");
    await page.getByLabel("Kind").fill("token");
    await page.getByText("Further filters").click();
    await page.getByLabel("Asked").selectOption("api");
    const entry = page.locator(".history > li", { hasText: "audited" });
    await entry.locator("summary").click();
    await entry.getByText("+ models:").waitFor();
    await entry.getByText("Place in the chain").waitFor();
    expect(new URL(page.url()).search).toBe("?kind=token&via=api");
    expect(await own.axe()).toEqual([]);
    await page.getByRole("button", { name: "As code" }).click();
    await page.getByText("dragoman audit list --filter kind=token via=api --tenant default").waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel("Kind").fill("nothing");
    await page.getByText("No entry matches this filter").waitFor();
    await page.getByRole("button", { name: "Show all entries" }).click();
    await entries.first().waitFor();
    expect(new URL(page.url()).search).toBe("");
  });

  for (const colorScheme of ["light", "dark"] as const)
    test(`shows who could call what at a time (${colorScheme}, 390 px)`, async () => {
      const { page, ...own } = await signedIn("/default/-/audit?tab=as-of", {
        colorScheme,
        viewport: { width: 390, height: 800 },
      });
      await page.getByText("Choose a time").waitFor();
      await page.getByLabel(/^Time/).fill("2020-01-01T00:00");
      await page.getByText("Nobody had a role then").waitFor();
      // the field has minutes, and this one had begun before the rows were written
      await page.goto(
        `${visits.gateway.url}/console/default/-/audit?tab=as-of&at=${encodeURIComponent(new Date().toISOString())}&model=acme:one`,
      );
      await page.getByRole("rowheader", { name: "audited" }).waitFor();
      await page.getByRole("rowheader", { name: HOSTILE }).waitFor();
      await page.getByLabel("Model").fill("other:one");
      await page.getByRole("rowheader", { name: "audited" }).waitFor({ state: "detached" });
      await page.getByRole("rowheader", { name: "of dev" }).waitFor();
      expect(await own.axe()).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    });

  test("a link with a time or a tab that there is not shows its page nevertheless", async () => {
    const { page } = await signedIn("/default/-/audit?tab=as-of&at=soon");
    await page.getByText("It is not known.").waitFor();
    await page.goto(`${visits.gateway.url}/console/default/-/people?tab=constructor`);
    await page.getByRole("tab", { name: "Users", selected: true }).waitFor();
    await page.getByRole("table", { name: "Users of the tenant" }).waitFor();
  });

  test("the page of a token has its history", async () => {
    const { page, ...own } = await signedIn("/default/default/tokens");
    await page.getByRole("link", { name: "audited" }).click();
    await page.getByRole("tab", { name: "History" }).click();
    await page.locator(".history > li", { hasText: "create" }).getByText("over the API").waitFor();
    expect(await own.axe()).toEqual([]);
  });

  test("whoever may not read it is told who can", async () => {
    const { page } = await signedIn("/default/-/audit", { as: developer });
    await page
      .getByText(/needs the role|higher role|may not/)
      .first()
      .waitFor();
  });
});
