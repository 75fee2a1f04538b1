// `dragoman console link`: makes a link that logs in to the console once, as a user of the database in the data folder. It
// is printed to a terminal only, so that it does not end up in the log of a service (promise 14.6).
import { loginLinkAddress, makeLoginLink } from "../../auth/logins/login-links.ts";
import type { Environment } from "../../config/environment.ts";
import { systemClock } from "../../core/clock.ts";
import { type DatabaseFlags, withDatabase } from "./database.ts";
import { namedServerOptions } from "../named-configuration.ts";
import { printLine } from "../output.ts";

export interface LinkFlags extends Pick<DatabaseFlags, "data" | "config"> {
  readonly port?: string;
  readonly user?: string;
  readonly permission?: readonly string[];
}

export async function link(flags: LinkFlags, environment: Environment): Promise<void> {
  if (!isTerminal())
    throw new Error(
      "A login link is printed to a terminal only, because whoever reads it can log in. Run the command in a terminal of the gateway's machine.",
    );
  const { port, hasConsole } = namedServerOptions(flags, environment);
  if (port === 0) throw new Error("The gateway listens on a port that the system chose. Name it with --port.");
  const made = await withDatabase(flags, environment, ({ store }) =>
    makeLoginLink(store, { userId: flags.user ?? null, permissions: flags.permission ?? [] }, systemClock.now()),
  );
  printLine(`${loginLinkAddress(localAddress(port), made.code)}\n`);
  printLine(
    `This link logs in as ${made.user.id}, once, within ten minutes, in a browser on this machine (or at the end of an SSH tunnel to port ${port}).`,
  );
  if (!hasConsole)
    printLine(
      "The configuration does not switch the console on: set console.enabled to true, and restart the gateway.",
    );
}

/** A name that only this machine has, whatever the gateway listens on. */
export const localAddress = (port: number): string => `http://localhost:${port}`;

export const isTerminal = (): boolean => process.stdout.isTTY;
