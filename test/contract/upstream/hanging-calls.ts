// One slow provider must not stop the calls to all others.
import { plain } from "./raw-server.ts";
import { until } from "../../harness/time/until.ts";
import { CLOSE_MS, type ClientAndServers, post, send } from "./upstream-calls.ts";

/** More than the 256 that Bun's own fetch runs at once. */
const HANGING = 300;

/** Throws when a call waits for others that hang, or when hanging calls do not end with their signal. */
export async function checkHangingCalls({ client, answering, rawServer }: ClientAndServers): Promise<void> {
  await using hanging = await rawServer(() => undefined);
  await using server = await answering(plain("quick"));
  const leave = new AbortController();
  const calls = Array.from({ length: HANGING }, () =>
    send(client, hanging.url, { signal: leave.signal, connectTimeoutMs: 30_000, firstByteTimeoutMs: 30_000 }).catch(
      (thrown: unknown) => thrown,
    ),
  );
  await until(() => hanging.requests.length === HANGING);
  const outcome = await post(client, server.url, { connectTimeoutMs: 5_000, firstByteTimeoutMs: 5_000 }).catch(
    (thrown: unknown) => thrown,
  );
  leave.abort("enough");
  const ends = new Set(await Promise.all(calls));
  await hanging.allClosed(CLOSE_MS);
  if (outcome !== "quick") throw new Error("the call was held up", { cause: outcome });
  if (ends.size !== 1 || !ends.has("enough")) throw new Error(`hanging calls ended with ${[...ends].join(", ")}`);
}
