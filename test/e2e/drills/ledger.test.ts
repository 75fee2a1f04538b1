// The drill of the ledger in its short form: the real process under load, killed with SIGKILL at random moments, its ledger compared with the provider's books.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d11.2] kill -9 at random moments loses no usage that a client saw, and leaves every call that was in flight as unsettled", async () => {
  await expectNoBrokenPromise("ledger/ledger.ts");
});
