// The hands of a person at the console: the same actions by keyboard alone, where every control is reached with Tab, or by mouse. Text is typed in
// both ways.
import type { Locator } from "playwright-core";
import type { ConsolePage } from "./chromium.ts";

export type Way = "keyboard" | "mouse";

/** Who comes to the console: each way in each look, of which the first two have every value once. */
export const VISITORS = [
  { way: "keyboard", colorScheme: "light", width: 1280 },
  { way: "mouse", colorScheme: "dark", width: 390 },
  { way: "keyboard", colorScheme: "dark", width: 390 },
  { way: "mouse", colorScheme: "light", width: 1280 },
] as const;

export interface Hands {
  readonly way: Way;
  /** Keys by keyboard; the control by mouse. */
  readonly command: (keys: readonly string[], control: Locator) => Promise<void>;
  /** A button, a link or a row. */
  readonly use: (control: Locator) => Promise<void>;
  /** What a field has afterwards; with `sends` comes the Enter that sends it. */
  readonly type: (field: Locator, text: string, options?: { readonly sends?: boolean }) => Promise<void>;
  /** By its text, in a list of choices. */
  readonly choose: (list: Locator, choice: string) => Promise<void>;
  /** Anything else that is one action. */
  readonly act: (does: Readonly<Record<Way, () => Promise<void>>>) => Promise<void>;
}

/** More than any page has controls before its last one. */
const MOST_TABS = 400;

/** Whether the focus is on nothing although it has been somewhere since the page was loaded. */
const HAS_LOST_FOCUS = `(() => {
  const isNowhere = document.activeElement === null || document.activeElement === document.body;
  const wasThere = globalThis.hadFocus === true;
  globalThis.hadFocus = wasThere || !isNowhere;
  return isNowhere && wasThere;
})()`;

/** Presses Tab until the control has the focus, as somebody does who has no mouse. */
export async function reach({ page }: ConsolePage, control: Locator): Promise<void> {
  await control.waitFor();
  if (await page.evaluate<boolean>(HAS_LOST_FOCUS)) throw new Error(`The focus is lost before ${String(control)}`);
  const isThere = (): Promise<boolean> =>
    control.evaluate(
      (element) =>
        element === (element as unknown as { ownerDocument: { activeElement: unknown } }).ownerDocument.activeElement,
    );
  for (let tabs = 0; tabs < MOST_TABS; tabs++) {
    if (await isThere()) {
      await page.evaluate(HAS_LOST_FOCUS);
      return;
    }
    await page.keyboard.press("Tab");
  }
  throw new Error(`The keyboard does not reach ${String(control)}`);
}

/** `count` is told of each action before it begins. */
export function handsOn(made: ConsolePage, way: Way, count: () => void = () => {}): Hands {
  const { page } = made;
  const act: Hands["act"] = async (does) => {
    count();
    await does[way]();
  };
  return {
    way,
    act,
    command: (keys, control) =>
      act({
        // at once, because a pause ends a sequence
        keyboard: async () => void (await Promise.all(keys.map((key) => page.keyboard.press(key)))),
        mouse: () => control.click(),
      }),
    use: (control) =>
      act({
        keyboard: async () => {
          await reach(made, control);
          await page.keyboard.press("Enter");
        },
        mouse: () => control.click(),
      }),
    type: (field, text, { sends = false } = {}) =>
      act({
        keyboard: async () => {
          await reach(made, field);
          await written(made, text, sends);
        },
        mouse: async () => {
          await field.click();
          await written(made, text, sends);
        },
      }),
    choose: (list, choice) =>
      act({
        keyboard: async () => {
          await reach(made, list);
          // a list goes to the choice that begins with what is typed
          await page.keyboard.type(choice);
        },
        // the list that opens is drawn by the system, and not by the page
        mouse: async () => void (await list.selectOption({ label: choice })),
      }),
  };
}

async function written({ page }: ConsolePage, text: string, sends: boolean): Promise<void> {
  await page.keyboard.press("Control+a");
  await page.keyboard.type(text);
  if (sends) await page.keyboard.press("Enter");
}
