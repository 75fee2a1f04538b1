// The eight jobs for which people come to the console, by keyboard alone and by mouse, in both themes, in a wide and in a narrow window: in no more
// actions than they may take, and what the page says is what the gateway has stored.
import { describe, expect, test } from "bun:test";
import { CONSOLE_JOBS, doneJob, mostActions } from "../harness/console-jobs.ts";
import { consoleVisits } from "../harness/console-visits.ts";
import { drawCount } from "../harness/long-run.ts";

/** Each of the three in both ways; in a long run in four combinations. */
const WAYS = [
  { way: "keyboard", colorScheme: "light", width: 1280 },
  { way: "mouse", colorScheme: "dark", width: 390 },
  { way: "keyboard", colorScheme: "dark", width: 390 },
  { way: "mouse", colorScheme: "light", width: 1280 },
] as const;

consoleVisits("the jobs of the console", {}, (visits) => {
  describe.each(WAYS.slice(0, drawCount(2, WAYS.length)))(
    "by $way, $colorScheme, $width pixels wide",
    ({ way, colorScheme, width }) => {
      test.each(CONSOLE_JOBS)("$name", async (job) => {
        const made = await visits.signedIn("/default/default/calls", { colorScheme, viewport: { width, height: 844 } });
        const { actions } = await doneJob(job, { gateway: visits.gateway, made, token: visits.owner }, way);
        expect(actions).toBeLessThanOrEqual(mostActions(job, way));
      });
    },
  );
});
