// The launcher for Node (bin/runtime.mjs) forwards signals, but cannot forward its own end by `kill -9`: this process
// would continue and hold port and data folder. A channel between the two
// (https://nodejs.org/api/child_process.html#optionsstdio) closes with the launcher.
import { isLaunched } from "../config/environment.ts";

export interface Launcher {
  /** Sets what to do when the launcher is gone, in place of ending as by SIGTERM. */
  whenGone(listener: () => void): void;
}

/**
 * A process that was started in another way has no channel, or one of a supervisor, which may close it without a fault:
 * then nothing happens. The channel does not keep a command from ending.
 */
export function followLauncher(): Launcher {
  let gone = (): void => void process.kill(process.pid, "SIGTERM");
  if (isLaunched() && process.connected) {
    process.on("disconnect", () => gone());
    process.channel?.unref();
  }
  return { whenGone: (listener) => void (gone = listener) };
}
