// A thread of simulations that does what the question says instead of simulating.
import { parentPort, threadId } from "node:worker_threads";
import type { ThreadReply, ThreadRequest } from "../../src/wire/request-thread.ts";

parentPort?.on("message", ({ id, args }: ThreadRequest) => {
  const { name, asked } = args[0] as { readonly name: string; readonly asked?: Int32Array };
  if (name === "for ever") for (;;);
  if (name === "ends") process.exit(1);
  if (name === "silent" || (asked !== undefined && Atomics.add(asked, 0, 1) === 0)) return;
  parentPort!.postMessage({ id, result: { said: name, thread: threadId } } satisfies ThreadReply, []);
});
