// A thread of simulations that does what the question says instead of simulating.
import { parentPort, threadId } from "node:worker_threads";
import type { ThreadReply, ThreadRequest } from "../../src/wire/request-thread.ts";

parentPort?.on("message", ({ id, args }: ThreadRequest) => {
  const { name } = args[0] as { readonly name: string };
  if (name === "for ever") for (;;);
  if (name === "ends") process.exit(1);
  if (name !== "silent")
    parentPort!.postMessage({ id, result: { said: name, thread: threadId } } satisfies ThreadReply, []);
});
