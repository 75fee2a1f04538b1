// The drill of failing first targets in its short form: thirty ways of failing, over fallbacks, several targets and hedges.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d7.1] [d7.3] [d7.5] [d7.9] [d7.10] [d8.3] whatever a first target does, a call is answered that another one could answer, nothing misleads, and an open breaker lets one probe through", async () => {
  await expectNoBrokenPromise("failover/failover.ts");
});
