// What the console does when what it asks for is slow, fails, is refused, is empty, or breaks off, at each endpoint that each of its pages
// asks: the page stays, says what failed, and goes on when it is asked again. What somebody has typed stays.
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Route } from "playwright-core";
import { newTraceId } from "../../../src/core/ids.ts";
import { rowOf } from "../../contract/store/call-records.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../harness/console/chromium.ts";
import { ACME, type ConsoleWorld, openConsoleWorld, pagesOf, SITE } from "../../harness/console/world.ts";
import { drawnParts } from "../../harness/time/long-run.ts";
import { until } from "../../harness/time/until.ts";

const program = chromiumProgram();

const FAILURES: Readonly<Record<string, (route: Route) => Promise<void>>> = {
  "a page of a proxy with status 500": (route) =>
    route.fulfill({ status: 500, contentType: "text/html", body: "<h1>Internal error</h1>" }),
  "an empty body": (route) => route.fulfill({ status: 200, contentType: "application/json", body: "" }),
  "half of the JSON": async (route) => {
    const response = await route.fetch();
    const text = await response.text();
    await route.fulfill({ response, body: text.slice(0, Math.floor(text.length / 2)) });
  },
};
const DAY_MS = 86_400_000;

/** A store, with all that is part of it, whose every answer fails while it is away. */
function leaving<T extends object>(store: T, isAway: () => boolean): T {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value === "object" && value !== null) return leaving(value, isAway);
      if (typeof value !== "function") return value;
      return (...given: readonly unknown[]): unknown =>
        isAway()
          ? Promise.reject(new Error("The database does not answer."))
          : (Reflect.apply(value, target, given) as unknown);
    },
  });
}

/** Who is signed in is asked before there is a page, and streams have no end. */
const APART = /\/console\/api\/(me|logins|session|v1\/.*\/events)$/;

describe.skipIf(program === null)("faults of what the console asks for", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  let isAway = false;
  beforeAll(async () => {
    world = await openConsoleWorld({ between: (store) => leaving(store, () => isAway) });
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });
  // a test that fails while the database is away says nothing of those after it
  afterEach(() => {
    isAway = false;
  });
  const token = (): string => world.tokens.get("acme.owner")!;
  const signedIn = async (path = "/"): Promise<ConsolePage> => {
    const made = await openConsole(browser, world.url);
    await made.open(path);
    await made.signIn(token());
    return made;
  };
  const isDataPath = (path: string): boolean => path.startsWith("/console/api/v1/") && !APART.test(path);
  const isData = (url: URL): boolean => isDataPath(url.pathname);

  /** The paths that a page asks when it is opened. */
  async function askedBy(made: ConsolePage, path: string): Promise<readonly string[]> {
    return (await made.askedBy(path)).filter(isDataPath);
  }

  /** Until nothing is left that can be tried again: what is read again and again may have gone on by itself. */
  async function triedAgain(made: ConsolePage): Promise<void> {
    const again = made.page.locator(".problem").getByRole("button", { name: "Try again" });
    while ((await again.count()) > 0) {
      await again
        .first()
        .evaluate((button) => (button as unknown as { click(): void }).click(), undefined, { timeout: 1000 })
        .catch(() => {});
      await made.settled();
    }
  }

  test.each(drawnParts("pages whose requests fail", [0, 1, 2, 3, 4, 5]))(
    "[d14.3] what fails at each endpoint of each page, part %d of six: the page says so, and goes on",
    async (part) => {
      const made = await signedIn();
      const { page } = made;
      const wrong: string[] = [];
      const failures = Object.entries(FAILURES);
      let failed = part;
      for (const [title, path] of pagesOf(world, SITE).filter((_, at) => at % 6 === part))
        for (const endpoint of await askedBy(made, path)) {
          const fail = (url: URL): boolean => url.pathname === endpoint;
          const [kind, answer] = failures[failed++ % failures.length]!;
          await page.route(fail, answer);
          await made.open(path);
          await made.settled();
          const told = (what: string): void => void wrong.push(`${title}, ${endpoint} with ${kind}: ${what}`);
          if ((await page.locator("main h1").count()) === 0) told("the page is blank");
          const problems = page.locator("main .problem");
          if ((await problems.count()) === 0) told("nothing says that it failed");
          await page.unroute(fail);
          const again = problems.getByRole("button", { name: "Try again" });
          if ((await problems.count()) > 0 && (await again.count()) === 0) told("it cannot be tried again");
          await triedAgain(made);
          if ((await problems.count()) > 0) told(`still fails: ${await problems.first().textContent()}`);
        }
      expect(wrong).toEqual([]);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test.each(drawnParts("pages of which everything fails", [0, 1]))(
    "[d14.3] everything that a page asks for fails at once, each in another way, part %d of two: it stays, and goes on",
    async (part) => {
      const made = await signedIn();
      const { page } = made;
      const wrong: string[] = [];
      const failures = Object.values(FAILURES);
      for (const [at, [title, path]] of pagesOf(world, SITE).entries()) {
        if (at % 2 !== part) continue;
        const ways = new Map<string, number>();
        const mixed = async (route: Route): Promise<void> => {
          const { pathname } = new URL(route.request().url());
          if (!ways.has(pathname)) ways.set(pathname, at + ways.size);
          await failures[ways.get(pathname)! % failures.length]!(route).catch(() => {});
        };
        await page.route(isData, mixed);
        await made.open(path);
        await made.settled();
        if ((await page.locator("main h1").count()) === 0) wrong.push(`${title}: the page is blank`);
        if (ways.size > 0 && (await page.locator("main .problem").count()) === 0)
          wrong.push(`${title}: nothing says that it failed`);
        await page.unroute(isData, mixed);
        await triedAgain(made);
        if ((await page.locator("main .problem").count()) > 0) wrong.push(`${title}: it has not gone on`);
      }
      expect(wrong).toEqual([]);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test.each(drawnParts("pages while the database is away", [0, 1]))(
    "[d14.2] while the database is away, nobody is logged out, each page says what failed, and goes on when it is back, part %d of two",
    async (part) => {
      const made = await signedIn();
      const { page } = made;
      const wrong: string[] = [];
      for (const [title, path] of pagesOf(world, SITE).filter(([one], at) => !one.includes(": ") && at % 2 === part)) {
        if ((await askedBy(made, path)).length === 0) continue;
        // what was read before is old, and read again
        await made.go("/acme/site/play");
        isAway = true;
        await made.open(path);
        await page.locator(".problem").first().waitFor();
        if (await page.getByLabel("Personal access token").isVisible()) wrong.push(`${title}: it asks for a login`);
        isAway = false;
        await triedAgain(made);
        await page.locator("main h1").first().waitFor();
        if ((await page.locator(".problem").count()) > 0) wrong.push(`${title}: it has not gone on`);
      }
      expect(wrong).toEqual([]);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test.each([-2, 2])("[d14.3] a computer whose clock is wrong by %d days shows the calls of now", async (days) => {
    const made = await openConsole(browser, world.url);
    const { page } = made;
    await page.addInitScript(`{
      const Real = Date;
      const wrong = () => Real.now() + ${days * DAY_MS};
      globalThis.Date = class extends Real {
        constructor(...of) { of.length === 0 ? super(wrong()) : super(...of); }
        static now() { return wrong(); }
      };
    }`);
    await made.open("/acme/site/start");
    await made.signIn(token());
    await page.getByText("Waiting for a call").waitFor();
    const traceId = newTraceId(Date.now());
    const call = { ...SITE, projectId: "site", model: "skewed" };
    // of the day before the last one, which a clock that is slow would count as well
    const earlierMs = Date.now() - 1.5 * DAY_MS;
    await world.calls.ingest([
      rowOf({ ...call, traceId, startedAtMs: Date.now() }),
      rowOf({ ...call, traceId: newTraceId(earlierMs), startedAtMs: earlierMs }),
    ]);
    await page.getByText("A call has arrived.").waitFor();
    await made.go("/acme/site/calls");
    await page.locator(`tbody tr.row a[href*="${traceId}"]`).waitFor();
    await made.go("/acme/site/usage?by=model");
    await page
      .getByRole("table")
      .getByRole("row", { name: /skewed/ })
      .waitFor();
    await made.go("/acme/site/");
    const { body } = await world.send(
      "acme.owner",
      "GET",
      `/api/v1/admin/projects/site/usage?from=${new Date(Date.now() - DAY_MS).toISOString()}`,
    );
    await page
      .locator(".figures > div")
      .filter({ has: page.getByText("Calls", { exact: true }) })
      .getByRole("link", { name: String(body.totals.calls), exact: true })
      .waitFor();
    expect(made.faults).toEqual([]);
    await made.close();
  });

  test("[d14.2] a session that has ended, on each page: it is asked for in place, and the page goes on", async () => {
    const made = await signedIn();
    const { page } = made;
    const wrong: string[] = [];
    for (const [title, path] of pagesOf(world, SITE)) {
      if ((await askedBy(made, path)).length === 0) continue;
      const unauthorized = (route: Route): Promise<void> =>
        route.fulfill({ status: 401, json: { error: { message: "The session has ended.", code: "session_ended" } } });
      await page.route(isData, unauthorized);
      await made.open(path);
      const dialog = page.getByRole("dialog", { name: "Your session has ended" });
      await dialog.waitFor();
      await page.unroute(isData, unauthorized);
      await dialog.getByLabel("Personal access token").fill(token());
      await page.keyboard.press("Enter");
      await dialog.waitFor({ state: "detached" });
      await made.settled();
      if ((await page.locator("main .problem").count()) > 0) wrong.push(`${title}: it has not gone on`);
    }
    expect(wrong).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });

  // open links stand on two pages, which read them together
  const ROWS = "main tbody tr:not(.open-claims tr)";
  test("[d14.3] while a page waits, nothing of the page before stands below its heading, neither of another screen nor of another scope", async () => {
    // begins where no overview is read, which would be kept for the overview of its scope
    const made = await signedIn("/acme/-/settings");
    await made.settled();
    const { page } = made;
    const wrong: string[] = [];
    const inTenant = new Map(pagesOf(world, ACME));
    const pages = pagesOf(world, SITE)
      .filter(([title]) => !title.includes(": "))
      .flatMap(([title, path]) => [path, inTenant.get(title)!]);
    const held: Route[] = [];
    for (const path of pages) {
      const rows = await page.locator(ROWS).allTextContents();
      const before = { url: page.url(), title: await page.title() };
      await page.route(isData, (route) => void held.push(route));
      await made.go(path);
      // until the code of a page has been loaded, the one before stands whole
      await until(async () => (await page.title()) !== before.title, `the title of ${path}`);
      await page.locator("main").locator("h1, .pending").first().waitFor();
      await page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
      const now = await page.locator(ROWS).allTextContents();
      const stale = now.filter((row) => row !== "" && rows.includes(row));
      if (stale.length > 0) wrong.push(`${path} shows rows of ${before.url}`);
      await page.unroute(isData);
      for (const route of held.splice(0)) await route.continue().catch(() => {});
      await made.settled();
      if ((await page.locator("main .problem").count()) > 0) wrong.push(`${path}: it has failed after waiting`);
    }
    expect(wrong).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });

  test("[d14.5] what was typed stays when saving fails, and when the session ends meanwhile", async () => {
    const made = await signedIn("/acme/site/tokens");
    const { page } = made;
    await made.settled();
    await page.keyboard.press("c");
    const name = page.getByLabel("Name", { exact: true });
    await name.fill("typed");
    const isWrite = (url: URL): boolean => url.pathname.endsWith("/projects/site/tokens");
    await page.route(isWrite, (route) =>
      route.request().method() === "POST" ? FAILURES["a page of a proxy with status 500"]!(route) : route.continue(),
    );
    await page.getByRole("button", { name: "Make the token" }).click();
    await page.getByText("The token was not made.").waitFor();
    expect(await name.inputValue()).toBe("typed");
    await page.unroute(isWrite);
    await page.context().clearCookies();
    await page.getByRole("button", { name: "Make the token" }).click();
    const dialog = page.getByRole("dialog", { name: "Your session has ended" });
    await dialog.getByLabel("Personal access token").fill(token());
    await dialog.getByLabel("Personal access token").press("Enter");
    await page.locator(".secret").waitFor();
    await page.getByRole("button", { name: "I have stored it" }).click();
    await page.getByRole("link", { name: "typed" }).waitFor();

    await made.go("/acme/site/policies/~new");
    await made.settled();
    const policy = page.getByLabel("Name", { exact: true });
    await policy.fill("typed-policy");
    const yaml = page.getByRole("textbox", { name: /as YAML/ });
    await yaml.fill("rule: request.stream\nmessage: No streams, please.\n");
    const isPolicy = (url: URL): boolean => url.pathname.endsWith("/projects/site/policies");
    await page.getByRole("button", { name: "Create the policy" }).and(page.locator(":enabled")).waitFor();
    await page.route(isPolicy, FAILURES["a page of a proxy with status 500"]!);
    await page.getByRole("button", { name: "Create the policy" }).click();
    await page.getByText("The policy was not created.").waitFor();
    expect([await policy.inputValue(), await yaml.inputValue()]).toEqual([
      "typed-policy",
      "rule: request.stream\nmessage: No streams, please.\n",
    ]);
    await page.unroute(isPolicy);
    await page.getByRole("button", { name: "Create the policy" }).click();
    await page.getByRole("heading", { name: "typed-policy" }).waitFor();
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
