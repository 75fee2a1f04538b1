// The editor of policies: a guard whose texts a service judges is made, shown and changed in the form.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser } from "playwright-core";
import { chromiumProgram, launch, openConsole } from "../../harness/console/chromium.ts";
import { openServedWorld, type ServedWorld } from "../../harness/console/world.ts";

const program = chromiumProgram();

describe.skipIf(program === null)("the form of a guard with a service", () => {
  let world: ServedWorld;
  let browser: Browser;
  beforeAll(async () => {
    world = await openServedWorld();
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  test("[d16.4] has the fields of the type, and what it makes is stored", async () => {
    const made = await openConsole(browser, world.url);
    const { page } = made;
    await made.open("/acme/site/policies/~new");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    await page.getByLabel("Name", { exact: true }).fill("moderated");
    await page.getByRole("button", { name: "Guard with a service" }).click();
    await page.getByLabel("Address", { exact: true }).waitFor();
    expect(await page.getByLabel("What the caller is told").inputValue()).toBe("");
    await page.getByLabel("Type", { exact: true }).selectOption("moderation");
    await page.getByLabel("Least score").fill("0.5");
    // the scope has fields with these labels too, below
    await page.getByLabel("Provider", { exact: true }).first().fill("openai");
    await page.getByLabel("Model", { exact: true }).first().fill("omni-moderation-latest");
    expect(await page.getByLabel("Address", { exact: true }).count()).toBe(0);
    await page.getByLabel("Without a verdict").selectOption("allow");
    await page.getByRole("button", { name: "Create the policy" }).and(page.locator(":enabled")).click();
    await page.getByRole("heading", { name: "moderated" }).waitFor();
    const stored = (await world.store.readContents()).resources.policy;
    expect(stored).toMatchObject([
      {
        document: {
          guard: {
            action: "mask",
            on_error: "allow",
            service: { type: "moderation", provider: "openai", model: "omni-moderation-latest", score_threshold: 0.5 },
          },
        },
      },
    ]);
    expect(made.faults).toEqual([]);
    await made.close();
  });

  test("[d14.5] has what another kind had when that kind is chosen again", async () => {
    const made = await openConsole(browser, world.url);
    const { page } = made;
    await made.open("/acme/site/policies/~new");
    await made.signIn(world.tokens.get("acme.owner")!);
    await made.settled();
    const kind = (name: string) => page.getByRole("button", { name, exact: true }).click();
    const rule = page.getByLabel("Deny a call where this holds (CEL)");
    await kind("Guard");
    await page.getByLabel("Classes, one in each line").fill("email");
    await kind("Rule");
    await rule.fill('request.user == "mallory"');
    await kind("Guard");
    expect(await page.getByLabel("Classes, one in each line").inputValue()).toBe("email");
    await kind("Rule");
    expect(await rule.inputValue()).toBe('request.user == "mallory"');
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
