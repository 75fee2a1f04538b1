// Claim links in a real browser, against the real process: made in Tokens and in People, opened by somebody else who is not logged in,
// listed while they are open, and revoked.
import { expect, test } from "bun:test";
import type { Locator } from "playwright-core";
import { consoleVisits } from "../../../harness/console/visits.ts";

consoleVisits("claim links in the console", {}, (visits) => {
  const shownLink = async (dialog: Locator): Promise<string> => (await dialog.locator(".secret").textContent())!;
  const models = async (secret: string): Promise<number> => {
    const answer = await fetch(`${visits.gateway.url}/api/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    await answer.text();
    return answer.status;
  };
  /** As somebody who is not logged in. */
  const redeemed = async (link: string): Promise<string> => {
    const { page } = await visits.visiting(link);
    await page.getByRole("button", { name: "Make and show the token" }).press("Enter");
    const token = page.locator("#token");
    await token.getByText(/^dgm_/).waitFor();
    return (await token.textContent())!;
  };

  test("[d14.6] by keyboard: `c`, a name, and a link that gives the token to somebody else, once", async () => {
    const { page, ...own } = await visits.signedIn("/default/default/tokens");
    await page.getByRole("table").first().waitFor();
    await page.keyboard.press("c");
    await page.getByLabel("Name", { exact: true }).waitFor();
    await page.keyboard.type("of <b>Ann</b>");
    await page.getByLabel("For another person").press("Space");
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: 'The link to the token "of <b>Ann</b>"' });
    await dialog.waitFor();
    expect(await own.axe()).toEqual([]);
    const link = await shownLink(dialog);
    await page.keyboard.press("Escape");
    expect(await dialog.isVisible()).toBe(true);
    await dialog.getByRole("button", { name: "I have stored it" }).press("Enter");
    const open = page.getByRole("group", { name: "Open links" });
    await open.getByRole("rowheader", { name: "of <b>Ann</b>" }).waitFor();
    expect(await page.content()).not.toContain(new URL(link).hash.slice(6));
    const token = await redeemed(link);
    expect([token.slice(0, 7), await models(token)]).toEqual(["dgm_pt_", 200]);
    const { page: again } = await visits.visiting(link);
    await again.getByRole("button", { name: "Make and show the token" }).click();
    await again.getByText("The link gives nothing").waitFor();
    await page.reload();
    await page.getByRole("link", { name: "of <b>Ann</b>" }).waitFor();
    expect(await open.count()).toBe(0);
  });

  for (const [colorScheme, width] of [
    ["light", 1280],
    ["dark", 320],
  ] as const)
    test(`[d14.6] People: a user is added and invited, and the link can be revoked (${colorScheme}, ${width} px)`, async () => {
      const name = `new-${colorScheme}`;
      const { page, ...own } = await visits.signedIn("/default/-/people", {
        colorScheme,
        viewport: { width, height: 900 },
      });
      await page.getByLabel("Id of a new user").fill(name);
      await page.getByRole("button", { name: "Add the user" }).click();
      const invite = page.getByRole("button", { name: `Invite ${name}` });
      await invite.click();
      const dialog = page.getByRole("dialog", { name: `The link to the token "Token of ${name}"` });
      const link = await shownLink(dialog);
      await dialog.getByRole("button", { name: "I have stored it" }).click();
      const revoke = page.getByRole("button", { name: `Revoke the link for Token of ${name}` });
      await revoke.waitFor();
      expect(await own.axe()).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
      await revoke.click();
      await revoke.waitFor({ state: "detached" });
      const { page: other } = await visits.visiting(link);
      await other.getByRole("button", { name: "Make and show the token" }).click();
      await other.getByText("The link gives nothing").waitFor();
      await invite.click();
      const second = await shownLink(dialog);
      const token = await redeemed(second);
      expect(token).toStartWith("dgm_ut_");
      const theirs = await visits.visiting("/");
      await theirs.signIn(token);
    });
});
