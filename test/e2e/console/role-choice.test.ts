// The role of a user is changed where it stands, and not by a slip.
import { describe, expect, test } from "bun:test";
import { chromiumProgram, launch, openConsole } from "../../harness/console/chromium.ts";
import { openServedWorld } from "../../harness/console/world.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";

const program = chromiumProgram();

describe.skipIf(program === null)("the role of a user", () => {
  test("[d14.5] is not changed by a key on the list of roles, and is by the button beside it", async () => {
    const world = await openServedWorld();
    const browser = await launch(program!);
    const made = await openConsole(browser, world.url);
    const { page } = made;
    const roleNow = async (): Promise<string | undefined> =>
      (await world.store.readContents()).identities.memberships.find(
        ({ userId, projectId }) => userId === "acme-viewer" && projectId === null,
      )?.role;
    await made.open("/acme/-/people");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    const list = page.getByLabel("Role of acme-viewer");
    await list.focus();
    await page.keyboard.press("a");
    await made.settled();
    expect([await list.inputValue(), await roleNow()]).toEqual(["admin", "viewer"]);
    await page.getByRole("button", { name: "Give the role admin acme-viewer" }).click();
    await page.getByRole("button", { name: "Give the role" }).waitFor({ state: "detached" });
    expect([await list.inputValue(), await roleNow()]).toEqual(["admin", "admin"]);
    expect(made.faults).toEqual([]);
    await made.close();
    await browser.close();
    await world.close();
  });

  test("[d14.5] that was given here and taken away elsewhere since then is no longer shown", async () => {
    const world = await openServedWorld();
    const browser = await launch(program!);
    const made = await openConsole(browser, world.url);
    const { page } = made;
    const takeAway = () => world.store.change(LOCAL_ACTOR, (writer) => writer.removeMembership("acme-viewer", null));
    const give = async (role: string, user: string): Promise<void> => {
      await page.getByLabel(`Role of ${user}`).selectOption(role);
      await page.getByRole("button", { name: `Give the role ${role} ${user}` }).click();
      await page.getByRole("button", { name: "Give the role" }).waitFor({ state: "detached" });
      await made.settled();
    };
    await takeAway();
    await made.open("/acme/-/people");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    await give("viewer", "acme-viewer");
    expect(await page.getByLabel("Role of acme-viewer").inputValue()).toBe("viewer");
    await takeAway();
    // the list is read again
    await give("admin", "acme-reader");
    expect(await page.getByLabel("Role of acme-viewer").inputValue()).toBe("");
    await made.close();
    await browser.close();
    await world.close();
  });

  test("[d14.5] that somebody else has given since the page was read is not overwritten by one that is new there", async () => {
    const world = await openServedWorld();
    const browser = await launch(program!);
    const made = await openConsole(browser, world.url);
    const { page } = made;
    await made.open("/acme/site/people");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    await world.store.change(LOCAL_ACTOR, (writer) =>
      writer.putMembership({ userId: "acme-viewer", tenantId: "acme", projectId: "site", role: "maintainer" }),
    );
    await page.getByLabel("Id of the user").fill("acme-viewer");
    await page.getByRole("button", { name: "Give the role", exact: true }).click();
    await page.getByText("The role was not given.").waitFor();
    const { memberships } = (await world.store.readContents()).identities;
    const kept = memberships.find(({ userId, projectId }) => userId === "acme-viewer" && projectId === "site");
    expect(kept?.role).toBe("maintainer");
    await made.close();
    await browser.close();
    await world.close();
  });
});
