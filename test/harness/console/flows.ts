// The frame of the ways through the console on which most depends: each is a script of `Hands`, which is done by keyboard alone and by mouse, in a
// wide and bright window and in a narrow and dark one.
import { describe, test } from "bun:test";
import type { BrowserContextOptions } from "playwright-core";
import type { ConsolePage } from "./chromium.ts";
import { type Hands, handsOn, VISITORS, type Way } from "./hands.ts";
import type { ConsoleVisits } from "./visits.ts";
import { drawCount } from "../time/long-run.ts";

export interface FlowDoing {
  readonly visits: ConsoleVisits;
  readonly way: Way;
  /** Theme and width of each page that is opened. */
  readonly look: BrowserContextOptions;
  readonly hands: (made: ConsolePage) => Hands;
  /** A name that no other visitor gives. */
  readonly fresh: (word: string) => string;
}

export interface ConsoleFlow {
  /** With the promises that it proves. */
  readonly name: string;
  /** Looks at the page and at what the gateway has stored. */
  readonly run: (doing: FlowDoing) => Promise<void>;
}

export function testFlows(visits: ConsoleVisits, flows: readonly ConsoleFlow[]): void {
  // The first two visitors have each way and each look once.
  describe.each(VISITORS.slice(0, drawCount(2, VISITORS.length)))(
    "by $way, $colorScheme, $width pixels wide",
    ({ way, colorScheme, width }) => {
      const look = { colorScheme, viewport: { width, height: 844 } };
      const fresh = (word: string): string => `${word}-${way}-${width}`;
      test.each(flows)("$name", async ({ run }) => {
        await run({ visits, way, look, fresh, hands: (made) => handsOn(made, way) });
      });
    },
  );
}
