// What every page of the console has to keep, over all screens and over what they may be like: full, empty, waiting, failing, and not allowed. Nobody
// is kept out by a defect of access that axe finds, nothing is cut off, the keyboard alone reaches every control, and few requests suffice.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Browser, Route } from "playwright-core";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../harness/console/chromium.ts";
import { CONSOLE_SCREENS } from "../../harness/console/screens.ts";
import { ACME, type ConsoleWorld, openConsoleWorld, pagesOf, SITE } from "../../harness/console/world.ts";
import { isLongRun } from "../../harness/time/long-run.ts";

const program = chromiumProgram();
const DATA = "/console/api/v1/";
const MOST_REQUESTS = 4;
const HEADING_MS = 10_000;
const LOOKS = [
  { colorScheme: "light", width: 320 },
  { colorScheme: "dark", width: 1920 },
] as const;
type Look = (typeof LOOKS)[number];

/** Notes each element that gets the focus, and those that do not show it, by themselves or by the frame that they stand in. */
const WATCH_FOCUS = `{
  const isWatched = "reached" in globalThis;
  globalThis.reached = new WeakSet();
  globalThis.unmarked = new Set();
  if (!isWatched) document.addEventListener("focusin", ({ target }) => {
    reached.add(target);
    const isMarked = (one) => getComputedStyle(one).outlineStyle !== "none" || getComputedStyle(one).boxShadow !== "none";
    if (![target, target.parentElement, target.parentElement?.parentElement].some((one) => one != null && isMarked(one))) unmarked.add(target.outerHTML.slice(0, 150));
  });
}`;
/** The controls that no key has reached yet. Of the choices of a group, the chosen one is reached, and the others from there. */
const NOT_REACHED = `(() => {
  const isOther = (one) => one.type === "radio" && !one.checked && document.querySelector('input[type=radio][name="' + CSS.escape(one.name) + '"]:checked') !== null;
  return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
    .filter((one) => one.tabIndex >= 0 && !one.disabled && one.checkVisibility({ visibilityProperty: true }) && !isOther(one) && !reached.has(one))
    .map((one) => one.outerHTML.slice(0, 150));
})()`;

describe.skipIf(program === null)("every page of the console", () => {
  let world: ConsoleWorld;
  let browser: Browser;
  beforeAll(async () => {
    world = await openConsoleWorld();
    await world.store.change(LOCAL_ACTOR, async (writer) => {
      await writer.createTenant({ id: "bare", name: "Bare" });
      await writer.createProject({ id: "nothing", tenantId: "bare", name: "Nothing" });
    });
    await world.source.reload();
    browser = await launch(program!);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const signedIn = async (as: string): Promise<ConsolePage> => {
    const made = await openConsole(browser, world.url);
    await made.open("/");
    await made.signIn(world.tokens.get(as)!);
    return made;
  };
  const isData = (url: URL): boolean => url.pathname.startsWith(DATA);

  /** One look for each page in turn, and all in a long run. */
  const looksAt = (at: number): readonly Look[] => (isLongRun ? LOOKS : [LOOKS[at % LOOKS.length]!]);

  /** What is wrong with the page as it is, in each look. */
  async function looked(made: ConsolePage, name: string, looks: readonly Look[] = LOOKS): Promise<readonly string[]> {
    const { page } = made;
    const wrong: string[] = [];
    if ((await page.locator("main h1").count()) === 0) wrong.push(`${name} has no heading`);
    for (const { colorScheme, width } of looks) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      for (const found of await made.axe()) wrong.push(`${name}, ${colorScheme}, ${width} pixels: ${found}`);
      const wider = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
      if (wider > 0) wrong.push(`${name} is ${wider} pixels wider than a window of ${width}`);
    }
    return wrong;
  }

  async function unreached({ page }: ConsolePage, name: string): Promise<readonly string[]> {
    await page.evaluate(WATCH_FOCUS);
    let left = await page.evaluate<string[]>(NOT_REACHED);
    for (let before = Infinity; left.length > 0 && left.length < before;) {
      before = left.length;
      for (let at = 0; at < before + 5; at++) await page.keyboard.press("Tab");
      left = await page.evaluate<string[]>(NOT_REACHED);
    }
    const unmarked = await page.evaluate<string[]>("[...unmarked]");
    return [
      ...left.map((one) => `${name}: the keyboard does not reach ${one}`),
      ...unmarked.map((one) => `${name}: the focus is not seen at ${one}`),
    ];
  }

  /** Each tab is chosen by the arrow keys, and shows something without defects. */
  async function tabs(made: ConsolePage, name: string): Promise<readonly string[]> {
    const { page } = made;
    const wrong: string[] = [];
    const list = page.getByRole("tablist").first();
    const count = (await list.count()) === 0 ? 0 : await list.getByRole("tab").count();
    const seen = new Set<string>();
    for (let at = 0; at < count; at++) {
      await list.getByRole("tab", { selected: true }).focus();
      await page.keyboard.press("ArrowRight");
      await made.settled();
      const chosen = list.getByRole("tab", { selected: true });
      seen.add((await chosen.textContent())!);
      const hasFocus = await chosen.evaluate((tab) =>
        (tab as unknown as { matches(by: string): boolean }).matches(":focus"),
      );
      if (!hasFocus) wrong.push(`${name}: the tab that was chosen lacks the focus`);
      for (const found of await made.axe()) wrong.push(`${name}, ${[...seen].at(-1)}: ${found}`);
    }
    return seen.size === count ? wrong : [...wrong, `${name}: arrow keys reach ${seen.size} of ${count} tabs`];
  }

  test.each([0, 1, 2, 3, 4, 5])(
    "full, part %d of six: axe finds nothing, nothing is cut off, the keyboard reaches every control and tab, and four requests suffice",
    async (part) => {
      const made = await signedIn("acme.owner");
      const wrong: string[] = [];
      for (const [at, [title, path]] of pagesOf(world, SITE).entries()) {
        if (at % 6 !== part) continue;
        // what is read again and again is one request
        const asked = (await made.askedBy(path)).filter((one) => one.startsWith(DATA));
        if (asked.length > MOST_REQUESTS) wrong.push(`${title} asks ${asked.length} times: ${asked.join(", ")}`);
        wrong.push(
          ...(await looked(made, title, looksAt(at))),
          ...(await unreached(made, title)),
          ...(await tabs(made, title)),
        );
      }
      expect(wrong).toEqual([]);
      expect(made.faults).toEqual([]);
      await made.close();
    },
  );

  test.each([
    { state: "empty", as: "default.owner", base: "/bare/nothing" },
    { state: "not allowed", as: "site-only.maintainer", base: `/${ACME.tenantId}/-` },
  ])("$state: axe finds nothing, nothing is cut off, and the keyboard reaches every control", async ({ as, base }) => {
    const made = await signedIn(as);
    const wrong: string[] = [];
    for (const [at, { title, path }] of CONSOLE_SCREENS.entries()) {
      await made.go(base + path);
      await made.settled();
      const name = `${title} in ${base}`;
      wrong.push(...(await looked(made, name, looksAt(at))), ...(await unreached(made, name)));
    }
    expect(wrong).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });

  test("waiting and failing: axe finds nothing, and nothing is cut off", async () => {
    const made = await signedIn("acme.owner");
    const { page } = made;
    const wrong: string[] = [];
    const held: Route[] = [];
    const hold = (route: Route): void => void held.push(route);
    const fail = (route: Route): Promise<void> =>
      route.fulfill({ status: 500, contentType: "text/html", body: "<h1>No</h1>" });
    for (const [at, [title, path]] of pagesOf(world, SITE).entries()) {
      await page.route(isData, hold);
      await made.open(path);
      // the part of the program that shows it comes first
      await page
        .locator("main h1")
        .first()
        .waitFor({ timeout: HEADING_MS })
        .catch(() => {});
      wrong.push(...(await looked(made, `${title}, waiting`, looksAt(at))));
      await page.unroute(isData, hold);
      await page.route(isData, fail);
      for (const route of held.splice(0)) await fail(route).catch(() => {});
      await made.settled();
      wrong.push(...(await looked(made, `${title}, failing`, looksAt(at + 1))));
      await page.unroute(isData, fail);
    }
    expect(wrong).toEqual([]);
    expect(made.faults).toEqual([]);
    await made.close();
  });
});
