// A program that a pool of workers starts in place of a gateway. The file that FAKE_MODE names says what it does:
// `serves`, `ends` before it serves, or speaks `another protocol`.
import { readFileSync } from "node:fs";
import { workerIdentity } from "../../src/config/environment.ts";
import { PROTOCOL, type ToSupervisor, type ToWorker } from "../../src/process/workers/messages.ts";
import { connectChannel } from "../../src/process/workers/sockets.ts";

const mode = readFileSync(process.env["FAKE_MODE"]!, "utf8");
if (mode === "ends") process.exit(3);
const { id, channel: path } = workerIdentity()!;
const channel = await connectChannel<ToSupervisor, ToWorker>(path, () => {});
try {
  await channel.request("hello", { worker: id, protocol: mode === "another protocol" ? PROTOCOL + 1 : PROTOCOL });
} catch (refused) {
  process.stderr.write(`${String(refused)}\n`);
  process.exit(4);
}
channel.handle("steer", () => null);
channel.handle("drain", () => {
  channel.notify("not_listening", null);
  channel.notify("ended", { cut: 2 });
  channel.close();
  process.exit(0);
});
channel.whenClosed(() => process.exit(5));
await channel.request("ready", { ledgerFolder: "" });
channel.notify("listening", null);
