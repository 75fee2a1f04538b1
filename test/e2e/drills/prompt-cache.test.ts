// The drill of prompt caches in its short form: sessions of coding agents, without and with `prompt_cache: auto`.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d16.2] sessions of agents read most of their prompts from the vendor's cache, and usage tells what the vendor billed", async () => {
  await expectNoBrokenPromise("prompt-cache.ts");
});
