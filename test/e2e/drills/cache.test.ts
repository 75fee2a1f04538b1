// The drill of the response cache in its short form: two tenants, purges, garbage in the store, and restarts.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d13.4 d13.5] no answer reaches a client that it is not for, and each request to the provider is paid for once", async () => {
  await expectNoBrokenPromise("cache/cache.ts");
});
