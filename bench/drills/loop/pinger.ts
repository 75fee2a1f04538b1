// The other caller of `npm run drill:loop`, in a thread of its own: it requests the gateway's health again and again,
// and records the longest wait, by the clock and by the CPU time of the gateway's serving thread during it
// (https://docs.kernel.org/scheduler/sched-stats.html). The CPU time is what the wait would have been on a quiet
// machine. Of several workers, it is that of the one that has computed the most meanwhile.
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { parentPort, workerData } from "node:worker_threads";

export interface Waits {
  readonly clockMs: number;
  readonly processorMs: number;
}

const { port, pid } = workerData as { readonly port: number; readonly pid: number };
const REQUEST = `GET /healthz HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`;
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
function ping(): void {
  sentAt = performance.now();
  ranBefore = processorMs();
  socket.write(REQUEST);
}
socket.on("connect", ping);
socket.on("data", (bytes) => {
  got += bytes.toString("latin1");
  if (!got.includes("\r\n\r\n") || !got.endsWith("}")) return;
  got = "";
  longest = {
    clockMs: Math.max(longest.clockMs, performance.now() - sentAt),
    processorMs: Math.max(longest.processorMs, ...processorMs().map((ran, at) => ran - ranBefore[at]!)),
  };
  setTimeout(ping, PAUSE_MS);
});

// "begin" forgets what was recorded; "end" reports it
parentPort!.on("message", (word: "begin" | "end") => {
  if (word === "begin") longest = { clockMs: 0, processorMs: 0 };
  else parentPort!.postMessage(longest, []);
});
