// Playwright looks for an element after 0, 20, 70, 170, 270 and then every 500 ms, so that a test whose page needs 300 ms for each step waits half of its time for
// nothing. Here a locator looks every few milliseconds for its first seconds, and then leaves the waiting, and the message when it ends, to Playwright.
import type { Locator, Page } from "playwright-core";

const LOOK_EVERY_MS = 15;
const PROMPT_MS = 5_000;

type WaitOptions = NonNullable<Parameters<Locator["waitFor"]>[0]>;

/** What is done with an element, or read of it, as soon as it is there. */
const ACTIONS = ["check", "click", "dblclick", "fill", "focus", "getAttribute", "hover"] as const;
const MORE_ACTIONS = ["innerText", "inputValue", "press", "selectOption", "textContent", "uncheck"] as const;

const prompt = new WeakSet<object>();

/** Makes the locators of this page, and of all others, prompt. */
export function makeLocatorsPrompt(page: Page): void {
  const locators = Object.getPrototypeOf(page.locator("html")) as Locator;
  if (prompt.has(locators)) return;
  prompt.add(locators);
  const waitFor: (this: Locator, options: WaitOptions) => Promise<void> = Reflect.get(locators, "waitFor");
  locators.waitFor = async function (this: Locator, options: WaitOptions = {}) {
    await looked(this, options.state ?? "visible");
    await waitFor.call(this, options);
  };
  for (const name of [...ACTIONS, ...MORE_ACTIONS]) {
    const act = locators[name] as (...values: unknown[]) => Promise<unknown>;
    (locators as unknown as Record<string, unknown>)[name] = async function (this: Locator, ...values: unknown[]) {
      await looked(this, "attached");
      return await act.apply(this, values);
    };
  }
}

/** Ends when the element is in this state, or after `PROMPT_MS`. */
async function looked(locator: Locator, state: NonNullable<WaitOptions["state"]>): Promise<void> {
  const endsMs = performance.now() + PROMPT_MS;
  while (!(await isIn(locator, state)) && performance.now() < endsMs) await Bun.sleep(LOOK_EVERY_MS);
}

async function isIn(locator: Locator, state: NonNullable<WaitOptions["state"]>): Promise<boolean> {
  if (state === "visible") return await locator.isVisible();
  if (state === "hidden") return !(await locator.isVisible());
  return (await locator.count()) > 0 === (state === "attached");
}
