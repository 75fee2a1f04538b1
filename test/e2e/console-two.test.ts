// Two browsers at one console: a link that one sends and the other opens shows the same, two people who change one route lose nothing, and a login
// link opens the console for whoever opens it first.
import { expect, test } from "bun:test";
import { openConsole } from "../harness/chromium.ts";
import { handsOn, reach } from "../harness/console-hands.ts";
import { consoleVisits } from "../harness/console-visits.ts";
import { inTerminal } from "../harness/terminal.ts";
import { until } from "../harness/until.ts";

const ROUTE = "/projects/default/routes/shared";

consoleVisits("two browsers", {}, (visits) => {
  const { admin, read, signedIn } = visits;
  const say = async (model: string): Promise<void> =>
    void (await (await visits.gateway.chat({ model, messages: [{ role: "user", content: "Hello" }] })).text());

  test("a link that is opened cold in another browser, by somebody else, shows the same rows and the same open call", async () => {
    for (const model of ["sandbox:echo", "sandbox:fail-429", "sandbox:fail-500", "sandbox:fail-503"]) await say(model);
    await until(async () => (await read("/projects/default/logs")).data.length === 4, "all calls are in the database");
    expect((await admin("POST", "/tenants/default/users", { id: "vera", name: "Vera" })).status).toBe(201);
    expect((await admin("PUT", "/projects/default/memberships/vera", { role: "viewer" })).status).toBeLessThan(300);
    const viewer = await visits.gateway.createToken("--personal", "--user", "vera");

    const mine = await signedIn("/default/default/calls");
    const { page } = mine;
    await mine.settled();
    await page.keyboard.press("/");
    await page.keyboard.type("status:5xx");
    await page.keyboard.press("Enter");
    const rowsOf = (one: typeof page): Promise<readonly string[]> =>
      one
        .locator("tbody tr.row a[href*='/calls/']")
        .evaluateAll((links) =>
          links.map((link) => /[0-9a-f]{32}/.exec((link as unknown as { href: string }).href)?.[0] ?? ""),
        );
    await until(async () => new Set(await rowsOf(page)).size === 2, "the list has the two calls");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "The open call" }).locator(".verdict").waitFor();
    await mine.settled();

    const { page: theirs, ...other } = await signedIn(
      new URL(page.url()).pathname.replace("/console", "") + new URL(page.url()).search,
      { as: viewer },
    );
    await theirs.getByRole("region", { name: "The open call" }).locator(".verdict").waitFor();
    await other.settled();
    expect(theirs.url()).toBe(page.url());
    expect(await rowsOf(theirs)).toEqual(await rowsOf(page));
    const verdict = (one: typeof page) => one.locator(".verdict").first().textContent();
    expect(await verdict(theirs)).toBe(await verdict(page));
  });

  test.each(["keyboard", "mouse"] as const)(
    "[d14.5] two people who change one route at the same time, by %s: the second sees both changes, and neither is lost",
    async (way) => {
      await admin("DELETE", ROUTE);
      await admin("POST", "/projects/default/routes", { name: "shared", targets: ["sandbox:echo", "sandbox:words-7"] });
      const [first, second] = [
        await signedIn("/default/default/routes/shared"),
        await signedIn("/default/default/routes/shared"),
      ];
      await Promise.all([first.settled(), second.settled()]);
      const retries = second.page.getByLabel("Retries at the same target");
      await handsOn(second, way).type(retries, "2");
      const { page } = first;
      await page.getByLabel("Model of target 2").waitFor();
      if (way === "keyboard") {
        await reach(first, page.getByLabel("Model of target 2"));
        await page.keyboard.press("Alt+ArrowUp");
      } else await page.getByLabel("Move target 2 up").click();
      const published = async (made: typeof first, note: string): Promise<void> => {
        const { use, type } = handsOn(made, way);
        await use(
          made.page.getByRole("button", { name: "Look at the change and publish" }).and(made.page.locator(":enabled")),
        );
        await type(made.page.getByLabel("Why, for the list of versions"), note, { sends: true });
      };
      await published(first, "Words first");
      await page.getByRole("region", { name: "Published" }).waitFor();
      await published(second, "Two retries");
      const dialog = second.page.getByRole("dialog", { name: "shared has changed meanwhile" });
      await dialog.getByText("What you would change").waitFor();
      const { body: untouched } = await admin("GET", ROUTE);
      expect([untouched.targets, untouched.retries]).toEqual([["sandbox:words-7", "sandbox:echo"], undefined]);
      await handsOn(second, way).use(dialog.getByRole("button", { name: "Take theirs" }));
      await until(
        async () => (await second.page.getByLabel("Model of target 1").inputValue()) === "sandbox:words-7",
        "theirs is in the editor",
      );
      await handsOn(second, way).type(retries, "2");
      await published(second, "Two retries");
      await second.page.getByRole("region", { name: "Published" }).waitFor();
      const { body: both } = await admin("GET", ROUTE);
      expect([both.targets, both.retries]).toEqual([["sandbox:words-7", "sandbox:echo"], 2]);
      // nothing was typed in the first browser since, so that it shows what holds
      await first.page.reload();
      await until(
        async () => (await page.getByLabel("Retries at the same target").inputValue()) === "2",
        "the first browser shows it",
      );
      const notes = (await read(`${ROUTE}/versions`)).data.map(({ note }: { note: string | null }) => note);
      expect(notes.slice(0, 2)).toEqual(["Two retries", "Words first"]);
    },
  );

  test("[d14.6] a login link opens the console in a browser, once, and leaves its code nowhere", async () => {
    const { port } = new URL(visits.gateway.url);
    const { output } = await inTerminal(visits.gateway.folder, [
      "console",
      "link",
      "--data",
      visits.gateway.dataFolder,
      "--port",
      port,
    ]);
    const [link, code] = /http:\/\/localhost:\d+\/console\/#code=([\w-]{43})/.exec(output)!;
    const opened = async () => {
      const made = await openConsole(visits.browser, `http://localhost:${port}`);
      await made.page.goto(link);
      return made;
    };
    const made = await opened();
    await made.page.getByRole("navigation", { name: "Screens" }).waitFor();
    const kept = await made.page.evaluate<string>(
      "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href, document.cookie])",
    );
    expect((await made.page.content()) + kept).not.toContain(code!);
    const again = await opened();
    await again.page.getByText("You are not signed in.").or(again.page.getByRole("alert")).first().waitFor();
    expect(await again.page.getByRole("navigation", { name: "Screens" }).count()).toBe(0);
    expect([...made.faults, ...again.faults]).toEqual([]);
    await Promise.all([made.close(), again.close()]);
  });
});
