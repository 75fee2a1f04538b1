// `npm run console:screenshots [-- <words>]`: pictures of each screen of the console in every state, in both themes and five widths, in console/screenshots.
// They are there to be looked at: nothing compares them. Words narrow to the pictures whose names contain all of them, such as `call full dark 1280`.
// `-- --docs` makes small pictures for documentation instead, in docs/images.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Route } from "playwright-core";
import { chromiumProgram, type ConsolePage, launch, openConsole } from "../../test/harness/console/chromium.ts";
import { projectFolder } from "../../test/harness/processes/gateway-program.ts";
import { CONFIGURATION_FILE, NOW_MS } from "./pictures/company.ts";
import { type CompanyWorld, openCompanyWorld } from "./pictures/company-world.ts";
import { documentedPictures, type Photographer } from "./pictures/documented-pictures.ts";
import { type Picture, picturesOf, type State, STATES } from "./pictures/pages.ts";
import { fixRandomBytes } from "./pictures/seeded-random.ts";

type Theme = "light" | "dark";
const THEMES: readonly Theme[] = ["light", "dark"];
const WIDTHS = [320, 390, 768, 1280, 1920];
/** Beside a full screen, the others differ little between neighbouring widths. */
const FEWER_WIDTHS: ReadonlySet<number> = new Set([320, 1280]);
const HIGHEST = 2600;

const isData = (url: URL): boolean => url.pathname.startsWith("/console/api/v1/");

/** Whose session shows a state. */
const READERS: Readonly<Record<State, string>> = {
  full: "maya",
  error: "maya",
  loading: "maya",
  empty: "nils",
  refused: "henrik",
};

type Sessions = ReadonlyMap<string, Session>;
type Session = Awaited<ReturnType<ReturnType<ConsolePage["page"]["context"]>["storageState"]>>;

const program = chromiumProgram();
if (program === null) process.exit(1);
const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));

fixRandomBytes(1);
const folder = mkdtempSync(join(tmpdir(), "dragoman-pictures-"));
const file = join(folder, "dragoman.yaml");
writeFileSync(file, CONFIGURATION_FILE);
const world = await openCompanyWorld({ file });
const browser = await launch(program);
try {
  const signedIn = await sessions(browser, world);
  const pictures = picturesOf(world);
  if (process.argv.includes("--docs")) {
    const opened: Photographer["opened"] = async (picture, options) => {
      const shown = await reader(browser, world, signedIn, picture.state, options);
      await arrive(shown, picture);
      return shown;
    };
    console.log((await documentedPictures(browser, pictures, { opened })).join("\n"));
  } else await screenshots(pictures, signedIn);
} finally {
  await browser.close();
  await world.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Each person signs in once. */
async function sessions(of: Browser, { url, tokens }: CompanyWorld): Promise<Sessions> {
  const made = new Map<string, Session>();
  for (const person of new Set(Object.values(READERS))) {
    const shown = await openConsole(of, url);
    await shown.open("/");
    await shown.signIn(tokens.get(person)!);
    made.set(person, await shown.page.context().storageState());
    await shown.close();
  }
  return made;
}

async function screenshots(pictures: readonly Picture[], signedIn: Sessions): Promise<void> {
  const into = join(projectFolder, "console", "screenshots");
  rmSync(into, { recursive: true, force: true });
  mkdirSync(into, { recursive: true });
  let made = 0;
  for (const colorScheme of THEMES)
    for (const width of WIDTHS)
      for (const state of STATES) {
        if (state !== "full" && !FEWER_WIDTHS.has(width)) continue;
        const nameOf = ({ name }: Picture): string => `${name}-${state}-${colorScheme}-${width}.png`;
        const wanted = pictures.filter(
          (picture) => picture.state === state && words.every((word) => nameOf(picture).includes(word)),
        );
        if (wanted.length === 0) continue;
        const shown = await reader(browser, world, signedIn, state, { colorScheme, viewport: { width, height: 900 } });
        for (const picture of wanted) {
          try {
            await arrive(shown, picture);
          } catch (thrown) {
            // the others are made all the same, and this one shows how far it came
            console.error(`${nameOf(picture)}: ${(thrown as Error).message}`);
            process.exitCode = 1;
          }
          await shown.page.screenshot({ path: join(into, nameOf(picture)), ...(await whole(shown, width)) });
        }
        made += wanted.length;
        if (state === "full") for (const fault of shown.faults) console.error(fault);
        await shown.close();
      }
  console.log(`${made} pictures, in ${into}`);
}

/** A page for the one whose session shows the state, at the time of the made company. */
async function reader(
  of: Browser,
  { url }: CompanyWorld,
  signedIn: Sessions,
  state: State,
  options: BrowserContextOptions,
): Promise<ConsolePage> {
  const storageState = signedIn.get(READERS[state])!;
  const shown = await openConsole(of, url, { locale: "en-GB", timezoneId: "Europe/Berlin", storageState, ...options });
  await shown.page.clock.setFixedTime(NOW_MS);
  if (state === "error") await shown.page.route(isData, refusing);
  if (state === "loading") await shown.page.route(isData, () => {});
  return shown;
}

/** The page in its full height, as long as it is not very high. */
async function whole({ page }: ConsolePage, width: number) {
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  return { fullPage: true, clip: { x: 0, y: 0, width, height: Math.min(Math.max(height, 900), HIGHEST) } } as const;
}

async function refusing(route: Route): Promise<void> {
  const error = {
    message: "The gateway made a mistake. Its log has the details under the trace id.",
    type: "server_error",
    param: null,
    code: "internal_error",
  };
  const body = JSON.stringify({ error, x_gateway_trace_id: "0199e7f4b1c05e1ec7ed000000000042" });
  // none that the page would ask for again by itself
  await route.fulfill({ status: 500, contentType: "application/json", body });
}

/** Until nothing is read any more, or, where everything is, until what stands for it has appeared. */
async function arrive(shown: ConsolePage, { path, state, act }: Picture): Promise<void> {
  const { page } = shown;
  await shown.open(path);
  if (state === "loading") {
    await page.locator("main :is(.pending, h1)").first().waitFor();
    await page.waitForTimeout(300);
    return;
  }
  await shown.settled();
  if (act === undefined) return;
  await act(page);
  await page.waitForTimeout(200);
  await shown.settled();
}
