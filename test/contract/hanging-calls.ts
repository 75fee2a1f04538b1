// One slow provider must not stop the calls to all others. Run as a program this checks the driver over fetch, whose bound comes from the environment.
import type { UpstreamClient } from "../../src/wire/upstream.ts";
import { createFetchUpstream } from "../../src/wire/upstream-fetch.ts";
import { answering, plain, rawServer } from "./raw-server.ts";
import { CLOSE_MS, post, send } from "./upstream-calls.ts";

/** More than the 256 that fetch runs at once by itself. */
const HANGING = 300;

/** Throws when a call waits for others that hang, or when hanging calls do not end with their signal. */
export async function checkHangingCalls(client: UpstreamClient): Promise<void> {
  await using hanging = await rawServer(() => undefined);
  await using server = await answering(plain("quick"));
  const leave = new AbortController();
  const calls = Array.from({ length: HANGING }, () =>
    send(client, hanging.url, { signal: leave.signal, firstByteTimeoutMs: 30_000 }).catch((thrown: unknown) => thrown),
  );
  const outcome = await post(client, server.url, { connectTimeoutMs: 1_000, firstByteTimeoutMs: 1_000 }).catch(
    (thrown: unknown) => thrown,
  );
  const sent = hanging.requests.length;
  leave.abort("enough");
  const ends = new Set(await Promise.all(calls));
  await hanging.allClosed(CLOSE_MS);
  if (outcome !== "quick") throw new Error("the call was held up", { cause: outcome });
  if (sent < HANGING) throw new Error(`only ${sent} of ${HANGING} calls went out`);
  if (ends.size !== 1 || !ends.has("enough")) throw new Error(`hanging calls ended with ${[...ends].join(", ")}`);
}

if (import.meta.main) {
  await checkHangingCalls(createFetchUpstream());
  console.log("no call was held up");
}
