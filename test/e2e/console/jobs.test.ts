// The eight jobs for which people come to the console, by keyboard alone and by mouse, in both themes, in a wide and in a narrow window: in no more
// actions than they may take, and what the page says is what the gateway has stored.
import { describe, expect, test } from "bun:test";
import { VISITORS } from "../../harness/console/hands.ts";
import { CONSOLE_JOBS, doneJob, mostActions } from "../../harness/console/jobs.ts";
import { consoleVisits } from "../../harness/console/visits.ts";
import { drawCount } from "../../harness/time/long-run.ts";

consoleVisits("the jobs of the console", {}, (visits) => {
  // in a long run by all of them
  describe.each(VISITORS.slice(0, drawCount(2, VISITORS.length)))(
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
