// A real browser for tests of the console: the system's Chromium, driven by playwright-core. Pages collect what must not happen: errors in the
// browser's console, reports of the content security policy, uncaught errors, and requests to anywhere but the gateway.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from "playwright-core";
import { buildConsole, writeFiles } from "../../../console/build.ts";
import { isExecutable, projectFolder } from "../processes/gateway-program.ts";
import { type GatewayOptions, type GatewayProcess, startGateway } from "../processes/gateway-process.ts";
import { makeLocatorsPrompt } from "../prompt-locators.ts";
import { until } from "../time/until.ts";

const PROGRAMS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of the program; null, with a line that says so, where there is none. */
export function chromiumProgram(): string | null {
  const named = process.env["CHROMIUM"];
  const found = named ?? PROGRAMS.map((name) => Bun.which(name)).find((path) => path !== null) ?? null;
  if (found === null)
    console.log(
      "skipped: there is no Chromium here; install it (apt-get install chromium), or name its program in CHROMIUM",
    );
  return found;
}

/**
 * Serves the console of this checkout. The executable of a whole run has it inside; else it is built first where it
 * differs from its source.
 */
export async function startConsoleGateway(options: GatewayOptions = {}): Promise<GatewayProcess> {
  if (isExecutable) return await startGateway(options);
  const folder = join(projectFolder, "console", "dist");
  const files = await buildConsole();
  const shell = files.find(({ path }) => path === "index.html")!;
  const before = join(folder, shell.path);
  if (!existsSync(before) || !Buffer.from(shell.bytes).equals(readFileSync(before))) writeFiles(files, folder);
  return await startGateway(options);
}

export interface ConsolePage {
  readonly page: Page;
  /** What must not happen. */
  readonly faults: readonly string[];
  open(path: string): Promise<void>;
  /** Goes to another page of the console as a link of it does. */
  go(path: string): Promise<void>;
  /** Waits until what the page shows is there: its heading, nothing that is still read, no request under way. */
  settled(): Promise<void>;
  /** Opens a page and gives the paths that it asks until it is settled, each once, without streams of events. */
  askedBy(path: string): Promise<readonly string[]>;
  /** Ends when the first page is settled. */
  signIn(token: string): Promise<void>;
  /** Everything that somebody who reads this browser could find: the page, its address, what it stores, and the cookies that scripts can read. */
  kept(): Promise<string>;
  /** What axe finds, as `rule: element`. */
  axe(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function launch(program: string): Promise<Browser> {
  return await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/** In two frames after each other, so that what the first one brings about has begun. */
const IS_WHOLE = `new Promise((resolve) => {
  const isWhole = () => document.querySelector("main :is(h1, .empty-title, .problem), main.lone") !== null && document.querySelector("main :is(.pending, .old)") === null;
  requestAnimationFrame(() => { const first = isWhole(); requestAnimationFrame(() => resolve(first && isWhole())); });
})`;

/** Streams of events are always under way. */
const STREAM = /\/events(\?|$)/;

function requestsUnderWay(page: Page, below: string): ReadonlySet<Request> {
  const underWay = new Set<Request>();
  page.on("request", (request) => {
    if (request.url().startsWith(below) && !STREAM.test(request.url())) underWay.add(request);
  });
  for (const end of ["requestfinished", "requestfailed"] as const)
    page.on(end as "requestfinished", (request) => void underWay.delete(request));
  return underWay;
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page with cookies of its own. It may go to `others`, such as an issuer of logins. */
export async function openConsole(
  browser: Browser,
  origin: string,
  { others = [], ...options }: BrowserContextOptions & { readonly others?: readonly string[] } = {},
): Promise<ConsolePage> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    reducedMotion: "reduce",
    ...options,
  });
  const page = await context.newPage();
  makeLocatorsPrompt(page);
  const faults: string[] = [];
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    // answers that refuse are shown by the page; the browser reports them as well
    if (
      message.text().startsWith("Failed to load resource") &&
      message.location().url.startsWith(`${origin}/console/api/`)
    )
      return;
    faults.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith("data:") && ![origin, ...others].some((own) => url.startsWith(`${own}/`)))
      faults.push(`request to ${url}`);
  });
  const api = `${origin}/console/api/`;
  const underWay = requestsUnderWay(page, api);
  const open = async (path: string): Promise<void> => void (await page.goto(`${origin}/console${path}`));
  const settled = (): Promise<void> =>
    until(
      async () => underWay.size === 0 && (await page.evaluate<boolean>(IS_WHOLE)),
      () => `${page.url()} is whole; under way: ${[...underWay].map((request) => request.url()).join(", ")}`,
    );
  return {
    page,
    faults,
    open,
    async go(path) {
      const href = `${new URL(origin).pathname.replace(/\/$/, "")}/console${path}`;
      await page.evaluate(`history.pushState(null, "", ${JSON.stringify(href)})`);
    },
    settled,
    async askedBy(path) {
      // a page that is left goes on until the next one has come, and repeats some requests by the clock
      await page.goto("about:blank");
      const asked = new Set<string>();
      const note = (request: Request): void => {
        if (request.url().startsWith(api) && !STREAM.test(request.url())) asked.add(new URL(request.url()).pathname);
      };
      page.on("request", note);
      await open(path);
      await settled();
      page.off("request", note);
      return [...asked];
    },
    async signIn(token) {
      await page.getByLabel("Personal access token").fill(token);
      await page.keyboard.press("Enter");
      await page.getByRole("navigation", { name: "Screens" }).waitFor();
      // what the first page still asks would be taken for requests of the next one
      await settled();
    },
    async kept() {
      const stored = await page.evaluate<string>(
        "JSON.stringify([{ ...localStorage }, { ...sessionStorage }, history.state, location.href, document.cookie])",
      );
      return stored + (await page.content());
    },
    async axe() {
      // evaluated by the browser's debugger, which the policy of the page does not concern
      if (!(await page.evaluate<boolean>(`"axe" in globalThis`))) await page.evaluate(AXE);
      return await page.evaluate(async () => {
        const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: AxeViolation[] }> } };
        interface AxeViolation {
          readonly id: string;
          readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
        }
        const { violations } = await axe.run();
        return violations.flatMap(({ id, nodes }) =>
          nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ""}`),
        );
      });
    },
    close: () => context.close(),
  };
}
