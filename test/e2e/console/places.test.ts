// Tenants and projects are made in a real browser, against the real process, by those who may.
import { beforeAll, expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";

consoleVisits("tenants and projects in the console", {}, (visits) => {
  const { admin, read, signedIn } = visits;
  let viewer: string;
  beforeAll(async () => {
    expect((await admin("POST", "/tenants/default/users", { id: "vera", name: "Vera" })).status).toBe(201);
    expect((await admin("PUT", "/projects/default/memberships/vera", { role: "viewer" })).status).toBeLessThan(300);
    viewer = await visits.gateway.createToken("--personal", "--user", "vera");
  });
  const CHOICE = /choose a tenant or project/;

  test("by keyboard: a project is made with the id that its name proposes, and its page of the first call follows", async () => {
    const made = await signedIn("/default/default/calls");
    const { page } = made;
    await page.getByRole("button", { name: CHOICE }).press("Enter");
    await page.getByRole("button", { name: "New project" }).press("Enter");
    await page.getByLabel("Name", { exact: true }).fill("Search Team");
    expect(await page.getByLabel("Id", { exact: true }).inputValue()).toBe("search-team");
    expect(await made.axe()).toEqual([]);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The first call" }).waitFor();
    expect(page.url()).toBe(`${visits.gateway.url}/console/default/search-team/`);
    expect(await read("/projects/search-team")).toMatchObject({ tenant_id: "default", name: "Search Team" });
    await page.getByRole("button", { name: CHOICE }).getByText("Search Team").waitFor();
  });

  test("an id that is taken is refused where it was typed, and nothing is lost; another one makes the tenant", async () => {
    const { page } = await signedIn("/default/-/calls");
    await page.getByRole("button", { name: CHOICE }).click();
    await page.getByRole("button", { name: "New tenant" }).click();
    await page.getByLabel("Name", { exact: true }).fill("Beta Works");
    await page.getByLabel("Id", { exact: true }).fill("default");
    await page.getByRole("button", { name: "Make the tenant" }).click();
    await page.getByText("The tenant was not made.").waitFor();
    expect(await page.getByLabel("Name", { exact: true }).inputValue()).toBe("Beta Works");
    await page.getByLabel("Id", { exact: true }).fill("beta");
    await page.getByRole("button", { name: "Make the tenant" }).click();
    await page.getByRole("button", { name: CHOICE }).getByText("Beta Works").waitFor();
    expect(page.url()).toBe(`${visits.gateway.url}/console/beta/-/`);
    expect((await read("/tenants/beta")).name).toBe("Beta Works");
  });

  test("[d14.1] who may make none is offered none", async () => {
    const { page } = await signedIn("/default/default/calls", { as: viewer });
    await page.getByRole("button", { name: CHOICE }).click();
    await page
      .getByRole("link", { name: /viewer/ })
      .first()
      .waitFor();
    expect(await page.getByRole("button", { name: /^New/ }).count()).toBe(0);
  });
});
