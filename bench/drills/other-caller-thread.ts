// The thread of the other caller (other-caller.ts): it sends a request again and again, and records the longest wait, by
// the clock and by the CPU time of the gateway's serving thread during it
// (https://docs.kernel.org/scheduler/sched-stats.html). Of several workers, it is that of the one that has computed the
// most meanwhile.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";
import type { OtherCallerSetup, Waits } from "./other-caller.ts";

const { port, pid, request } = workerData as OtherCallerSetup;
const PAUSE_MS = 1;
let longest: Waits = { clockMs: 0, processorMs: 0 };

const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
const serving = workers === "" ? [pid] : workers.split(" ").map(Number);

/** Of each process that serves. */
function processorMs(): readonly number[] {
  return serving.map((one) => Number(readFileSync(`/proc/${one}/task/${one}/schedstat`, "utf8").split(" ")[0]) / 1e6);
}

const socket = connect({ host: "127.0.0.1", port });
let sentAt = 0;
let ranBefore = processorMs();
let got = "";
function send(): void {
  sentAt = performance.now();
  ranBefore = processorMs();
  socket.write(request);
}
socket.on("connect", send);
socket.on("data", (bytes) => {
  got += bytes.toString("latin1");
  const head = got.indexOf("\r\n\r\n");
  const length = /^content-length: (\d+)/im.exec(got)?.[1];
  if (head < 0 || got.length < head + 4 + Number(length)) return;
  if (!got.startsWith("HTTP/1.1 200 ")) throw new Error(`the other caller was answered ${got}`);
  got = "";
  longest = {
    clockMs: Math.max(longest.clockMs, performance.now() - sentAt),
    processorMs: Math.max(longest.processorMs, ...processorMs().map((ran, at) => ran - ranBefore[at]!)),
  };
  setTimeout(send, PAUSE_MS);
});

// "begin" forgets what was recorded; "end" reports it
parentPort!.on("message", (word: "begin" | "end") => {
  if (word === "begin") longest = { clockMs: 0, processorMs: 0 };
  else parentPort!.postMessage(longest, []);
});
