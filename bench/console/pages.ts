// Measures of the console's pages in a real browser: requests and bytes of each, the first paint on a slow machine and a slow line, and how
// long after a key or a click the page has answered.
import type { Browser, CDPSession, Cookie, Page } from "playwright-core";
import { type ConsolePage, openConsole } from "../../test/harness/console/chromium.ts";
import { CONSOLE_SCREENS } from "../../test/harness/console/screens.ts";
import { quantile } from "../load/load.ts";

export interface PageFigures {
  readonly title: string;
  /** Requests of data. */
  readonly requests: number;
  /** Everything that comes over the wire, with an empty cache. */
  readonly coldKb: number;
  /** From the click on the menu until everything is there. */
  readonly shownMs: number;
}

export interface PaintFigures {
  readonly coldMs: number;
  readonly warmMs: number;
}

export interface FilterFigures {
  /** Until the list has its rows. */
  readonly rowsMs: number;
  /** Until the chart and the counts beside the list are those of the filter as well. */
  readonly allMs: number;
}

export interface InteractionFigures {
  /** In milliseconds, by the filter. */
  readonly filters: Readonly<Record<string, FilterFigures>>;
  readonly listP95Ms: number;
  readonly allP95Ms: number;
}

const RUNS = 5;
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

async function received(session: CDPSession): Promise<() => number> {
  let bytes = 0;
  await session.send("Network.enable");
  session.on("Network.loadingFinished", ({ encodedDataLength }) => void (bytes += encodedDataLength));
  return () => bytes;
}

/** The cookies of a session. */
export async function signedInCookies(browser: Browser, url: string, token: string): Promise<readonly Cookie[]> {
  const made = await openConsole(browser, url);
  await made.open("/");
  await made.signIn(token);
  const cookies = await made.page.context().cookies();
  await made.close();
  return cookies;
}

/** Each screen with a new browser cache, and then again from the menu. */
export async function pageFigures(
  browser: Browser,
  url: string,
  cookies: readonly Cookie[],
  scope: string,
): Promise<PageFigures[]> {
  const figures: PageFigures[] = [];
  for (const { title, path } of CONSOLE_SCREENS) {
    const cold = await openConsole(browser, url);
    await cold.page.context().addCookies(cookies);
    const bytes = await received(await cold.page.context().newCDPSession(cold.page));
    let requests = 0;
    cold.page.on("request", (request) => void (requests += /\/console\/api\/v1\//.test(request.url()) ? 1 : 0));
    await cold.open(scope + path);
    await cold.settled();
    const before = { requests, coldKb: bytes() / 1000 };
    const other = CONSOLE_SCREENS.find((one) => one.path !== path)!;
    await cold.go(scope + other.path);
    await cold.settled();
    const startedMs = performance.now();
    await cold.page
      .getByRole("navigation", { name: "Screens" })
      .getByRole("link", { name: title, exact: true })
      .click();
    await cold.settled();
    figures.push({ title, ...before, shownMs: performance.now() - startedMs });
    await cold.close();
  }
  return figures;
}

/** A processor four times slower, 9 Mbit/s, and 60 ms of way. */
async function slowed(session: CDPSession): Promise<void> {
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: 60,
    downloadThroughput: 9_000_000 / 8,
    uploadThroughput: 9_000_000 / 8,
  });
  await session.send("Emulation.setCPUThrottlingRate", { rate: 4 });
}

const PAINT = `new Promise((resolve) => {
  const of = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  const look = () => (of() === undefined ? requestAnimationFrame(look) : resolve(of()));
  look();
})`;

export async function paintFigures(
  browser: Browser,
  url: string,
  cookies: readonly Cookie[],
  scope: string,
): Promise<PaintFigures> {
  const cold: number[] = [];
  const warm: number[] = [];
  for (let run = 0; run < RUNS; run++) {
    const one = await openConsole(browser, url);
    await one.page.context().addCookies(cookies);
    await slowed(await one.page.context().newCDPSession(one.page));
    await one.open(`${scope}/calls`);
    cold.push(await one.page.evaluate<number>(PAINT));
    await one.settled();
    await one.page.reload();
    warm.push(await one.page.evaluate<number>(PAINT));
    await one.close();
  }
  return { coldMs: median(cold), warmMs: median(warm) };
}

/** From Enter until the list shows what was asked for, and until the chart and the counts beside it do too. */
const FILTERED = (text: string): string => `new Promise((resolve, reject) => {
  const has = (selectors) => document.querySelector(selectors) !== null;
  addEventListener("keydown", function begin({ key }) {
    if (key !== "Enter") return;
    removeEventListener("keydown", begin, true);
    const startedMs = performance.now();
    let rowsMs = null;
    const look = () => {
      const tookMs = performance.now() - startedMs;
      const isAsked = new URL(location.href).searchParams.get("q") === ${JSON.stringify(text)};
      const isListed = has("main tr.row, main .empty-title, main .searched") && !has("main .old tr.row, main .pending");
      if (isAsked && isListed) rowsMs ??= tookMs;
      if (isAsked && isListed && !has("main .old")) resolve({ rowsMs, allMs: tookMs });
      else if (tookMs > 20_000) reject(new Error("The list has not answered the filter: " + document.querySelector("main").innerText));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(() => requestAnimationFrame(look));
  }, true);
})`;

/** Durations of what people do, from the event to the next paint, as the browser measures them; it tells none below 16 ms. */
const OBSERVED = `globalThis.observed = []; new PerformanceObserver((list) => {
  for (const { name, duration, interactionId } of list.getEntries()) if (interactionId > 0) globalThis.observed.push([name, duration]);
}).observe({ type: "event", durationThreshold: 16 })`;
const SHORTEST_MS = 16;

async function observed(page: Page, actions: number): Promise<Float64Array> {
  const told = await page.evaluate<(readonly [string, number])[]>("observed.splice(0)");
  const durations = told.filter(([name]) => ["keydown", "pointerup", "click"].includes(name)).map(([, ms]) => ms);
  const short = Math.max(0, actions - durations.length);
  return Float64Array.from([...durations, ...Array.from({ length: short }, () => SHORTEST_MS)]).toSorted();
}

const FILTERS = [
  "route:fast",
  "status:5xx",
  "model:model-5",
  "end_user:user-4321",
  "meta.session:s777",
  "ms>19990",
  "route:none",
];

export async function interactionFigures(made: ConsolePage, scope: string): Promise<InteractionFigures> {
  const { page } = made;
  const filters: Record<string, FilterFigures> = {};
  for (const filter of FILTERS) {
    const times: FilterFigures[] = [];
    for (let run = 0; run < RUNS; run++) {
      await made.go(`${scope}/calls?range=30d`);
      await made.settled();
      const field = page.locator("input.filter");
      // another value each time, so that nothing is answered from what was asked before
      const text = `${filter} ms>${run}`;
      await field.fill(text);
      const shown = page.evaluate<FilterFigures>(FILTERED(text));
      await field.press("Enter");
      times.push(await shown);
    }
    filters[filter] = {
      rowsMs: median(times.map(({ rowsMs }) => rowsMs)),
      allMs: median(times.map(({ allMs }) => allMs)),
    };
  }
  await made.go(`${scope}/calls`);
  await made.settled();
  await page.evaluate(OBSERVED);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await made.settled();
  const steps = 60;
  for (let step = 0; step < steps; step++) await page.keyboard.press(step % 4 === 3 ? "k" : "j");
  await made.settled();
  const list = await observed(page, steps + 2);
  await page.keyboard.press("Escape");
  const menu = page.getByRole("navigation", { name: "Screens" });
  for (const { title } of [...CONSOLE_SCREENS, ...CONSOLE_SCREENS]) {
    await menu.getByRole("link", { name: title, exact: true }).click();
    await made.settled();
  }
  const all = Float64Array.from([...list, ...(await observed(page, CONSOLE_SCREENS.length * 2 + 1))]).toSorted();
  return { filters, listP95Ms: quantile(list, 0.95), allP95Ms: quantile(all, 0.95) };
}
