// Saved views in a real browser: saved, found again, shared with the project, and what the screen begins with.
import { expect, test } from "bun:test";
import { consoleVisits } from "../../harness/console/visits.ts";

consoleVisits("saved views", {}, (visits) => {
  test("a filter is saved under a name, leads back to itself, is what the screen begins with, and is deleted", async () => {
    const first = await visits.signedIn("/default/default/calls?q=status%3A4xx&range=7d");
    const { page } = first;
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Refused");
    await page.getByLabel("The screen begins with it").check();
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "Refused begins here" }).waitFor();
    expect(await first.axe()).toEqual([]);
    // also in the page that has saved it
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "Usage", exact: true }).click();
    await page.getByRole("heading", { name: "Usage" }).waitFor();
    await page.getByRole("link", { name: "Calls", exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get("q") === "status:4xx");
    await page.getByRole("button", { name: "Views", exact: true }).click();
    await page.getByRole("textbox", { name: "Name" }).fill("Shared");
    await page.getByLabel("For everybody in default").check();
    await page.getByLabel("The screen begins with it").uncheck();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("link", { name: "Shared" }).waitFor();

    const next = await visits.signedIn("/default/default/calls");
    await next.page.waitForURL(
      (url) => url.searchParams.get("q") === "status:4xx" && url.searchParams.get("range") === "7d",
    );
    await next.page.getByRole("button", { name: "Remove status:4xx" }).first().click();
    await next.page.waitForURL((url) => url.searchParams.get("q") === null);
    await next.page.getByRole("button", { name: "Views", exact: true }).click();
    await next.page.getByRole("link", { name: "Shared" }).click();
    await next.page.waitForURL((url) => url.searchParams.get("q") === "status:4xx");
    await next.page.getByRole("button", { name: "Views", exact: true }).click();
    await next.page.getByRole("button", { name: "Delete the view Refused" }).click();
    await next.page.getByRole("link", { name: "Refused begins here" }).waitFor({ state: "detached" });

    const last = await visits.signedIn("/default/default/calls");
    await last.page.getByRole("heading", { name: "Calls" }).waitFor();
    expect(new URL(last.page.url()).search).toBe("");
  });

  test("a name that is taken is said in the form, and what was typed stays", async () => {
    const { page } = await visits.signedIn("/default/default/calls?q=status%3A5xx");
    for (const _ of [1, 2]) {
      if (_ === 1) await page.getByRole("button", { name: "Views", exact: true }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Twice");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("link", { name: "Twice" }).waitFor();
    }
    await page.getByText("There is already a view").waitFor();
    expect(await page.getByRole("textbox", { name: "Name" }).inputValue()).toBe("Twice");
  });
});
