// The drill of replicas in its short form: three real gateways on one PostgreSQL and one Redis, all of which are killed
// and frozen; the provider's books and the database are compared with what clients saw.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d2.6 d4.2 d11.2] three gateways under faults: of two hundred simultaneous calls against ten, ten are admitted, no limit is ever exceeded, calls fail only as configured, and every answer is in the database once", async () => {
  await expectNoBrokenPromise("replicas/replicas.ts");
});
