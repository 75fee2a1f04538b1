// A console over the calls of a made ledger, which people look at from several time zones: one world and one browser, in which an owner signs in once.
import type { Browser, Cookie, Locator } from "playwright-core";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { type ConsolePage, launch, openConsole } from "./chromium.ts";
import { type ConsoleWorld, openConsoleWorld } from "./world.ts";

interface Ledger {
  /** The program of the browser. */
  readonly program: string;
  /** What the gateway takes for the present time. */
  readonly nowMs: () => number;
  readonly records: readonly CallRecord[];
  /** Makes what the pages need beside calls. */
  readonly furnish: (world: ConsoleWorld) => Promise<unknown>;
}

export interface LedgerConsole {
  readonly world: ConsoleWorld;
  /** A page of the owner of `acme`, below `/console`. */
  visiting(timezoneId: string, path: string): Promise<ConsolePage>;
  close(): Promise<void>;
}

export async function openLedgerConsole({ program, nowMs, records, furnish }: Ledger): Promise<LedgerConsole> {
  const world = await openConsoleWorld({ clock: { now: nowMs, monotonic: () => performance.now() } });
  let browser: Browser;
  try {
    await world.calls.ingest(records.map((record) => ({ record, settled: true })));
    await furnish(world);
    await world.source.reload();
    browser = await launch(program);
  } catch (thrown) {
    await world.close();
    throw thrown;
  }
  let cookies: Cookie[] = [];
  return {
    world,
    async visiting(timezoneId, path) {
      const made = await openConsole(browser, world.url, { timezoneId, storageState: { cookies, origins: [] } });
      await made.open(path);
      if (cookies.length === 0) {
        await made.signIn(world.tokens.get("acme.owner")!);
        cookies = await made.page.context().cookies();
      }
      await made.settled();
      return made;
    },
    async close() {
      await browser.close();
      await world.close();
    },
  };
}

/** The calls that began in a time. */
export function startedBetween(records: readonly CallRecord[], fromMs: number, toMs: number): readonly CallRecord[] {
  return records.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs < toMs);
}

/** The digits of a count, without what separates thousands. */
export const digitsOf = (text: string | null): string => (text ?? "").replaceAll(/\D/g, "");

/** All digits of an amount, which stand in its title. */
export async function exactAmountIn(place: Locator): Promise<string> {
  return (await place.locator("[title]").getAttribute("title"))!;
}

/** What the chart above the list of calls says of all calls in the list, such as `12 calls, 3 failed`. */
export async function showsListOf(
  made: Pick<ConsolePage, "page" | "settled">,
  { calls, errors }: { readonly calls: number; readonly errors: number },
): Promise<void> {
  await made.settled();
  await made.page.locator(".volume > .hint").getByText(`${calls} calls, ${errors} failed`).waitFor();
}
