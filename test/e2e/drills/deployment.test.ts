// The drill of the reference deployment in its short form: two gateways behind a load balancer, of which one is killed,
// PostgreSQL that fails over, and an upgrade to a version that adds to the schema.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d11.2 d15.4] two gateways behind a load balancer lose no call when one is killed, when PostgreSQL fails over, and while they are replaced by a version that adds to the schema", async () => {
  await expectNoBrokenPromise("deployment/deployment.ts");
});
