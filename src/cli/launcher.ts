// The launcher for Node (bin/runtime.mjs) hands signals on, but not its own end by `kill -9`: this process would go on, and hold port and data folder. So there is a
// channel between the two (https://nodejs.org/api/child_process.html#optionsstdio), which closes with the launcher.
import { isLaunched } from "../config/environment.ts";

export interface Launcher {
  /** What to do when the launcher is gone, in place of ending as by SIGTERM. */
  whenGone(listener: () => void): void;
}

/**
 * A process that was started in another way has no channel, or one of a supervisor's, which may close it while all is well: nothing happens then. The channel keeps no
 * command from ending.
 */
export function followLauncher(): Launcher {
  let gone = (): void => void process.kill(process.pid, "SIGTERM");
  if (isLaunched() && process.connected) {
    process.on("disconnect", () => gone());
    process.channel?.unref();
  }
  return { whenGone: (listener) => void (gone = listener) };
}
