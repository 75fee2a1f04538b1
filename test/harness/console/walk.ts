// A walk through all screens of a scope, as somebody goes through the menu: what each of them took, and what must not happen on the way.
import type { Response } from "playwright-core";
import type { ConsolePage } from "./chromium.ts";
import { CONSOLE_SCREENS } from "./screens.ts";

export interface WalkedScreen {
  readonly title: string;
  /** From the step until everything is there. */
  readonly shownMs: number;
  /** The request that took longest, and how long. */
  readonly slowest: { readonly path: string; readonly ms: number };
  /** Rows of its tables. */
  readonly rows: number;
}

const isData = (response: Response): boolean => /\/console\/api\/v1\//.test(response.url());

/** Throws where a screen shows a failure, or an answer is an error of the server. */
export async function walkedScreens(made: ConsolePage, scope: string, query = ""): Promise<readonly WalkedScreen[]> {
  const { page } = made;
  const walked: WalkedScreen[] = [];
  let took: { readonly path: string; readonly ms: number }[] = [];
  const failed: string[] = [];
  const note = (response: Response): void => {
    if (!isData(response)) return;
    const { responseStart, requestStart } = response.request().timing();
    const path = response.url().replace(/^.*\/console\/api\/v1/, "");
    took.push({ path, ms: Math.max(0, responseStart - requestStart) });
    if (response.status() >= 500) failed.push(`${response.status()} ${path}`);
  };
  page.on("response", note);
  for (const { title, path } of CONSOLE_SCREENS) {
    took = [];
    const startedMs = performance.now();
    await made.go(scope + path + query);
    await made.settled();
    const shownMs = performance.now() - startedMs;
    for (const problem of await page.locator("main .problem").allTextContents()) failed.push(`${title}: ${problem}`);
    const slowest = took.toSorted((a, b) => b.ms - a.ms)[0] ?? { path: "", ms: 0 };
    walked.push({ title, shownMs, slowest, rows: await page.locator("main tbody tr").count() });
  }
  page.off("response", note);
  if (failed.length > 0) throw new Error(failed.join("\n"));
  return walked;
}
