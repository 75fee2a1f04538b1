// The section `console` of the configuration: whether the gateway serves the web console, over which connections, and how
// long its sessions last.
import { z } from "zod";
import { sectionOf, type SectionSettings } from "../../config/section-settings.ts";

const DAY_S = 86_400;
const HOUR_S = 3600;

/** A path of plain characters, because it stands in pages. */
const PATH = /^(?:\/[\w.~-]+)*$/;

/** Whether a proxy can have the gateway below this path; the empty one is no path. */
export const isBasePath = (path: string): boolean =>
  PATH.test(path) && new URL(path, "http://any").pathname === (path || "/");

function isAddress(text: string): boolean {
  const url = /^https?:/.test(text) ? URL.parse(text) : null;
  return url !== null && text.startsWith(url.origin) && isBasePath(text.slice(url.origin.length));
}

const seconds = (fallback: number, max: number, description: string) =>
  z.int().min(60).max(max).default(fallback).meta({ title: "Seconds", description });

const SHAPE = {
  enabled: z.boolean().optional().meta({
    title: "Enabled",
    description:
      "Whether the gateway serves the web console at `/console`. The default is yes where `server.host` is an address of this machine only, and no everywhere else. A change needs a restart.",
  }),
  url: z
    .string()
    .refine(
      isAddress,
      'expected an address such as "https://gateway.example.com" or "https://example.com/llm", with the host in lower case, without the standard port, without a slash at the end, and with a path of letters, digits and . _ ~ - only',
    )
    .optional()
    .meta({
      title: "URL",
      description:
        "The address at which browsers reach the gateway, where a proxy in front of it ends TLS: an origin, with a path where the proxy has the gateway below one. Without it, the `Host` of a request says it, and a proxy of `server.trusted_proxies` says with `x-forwarded-proto` whether the connection is encrypted, and with `x-forwarded-prefix` the path.",
    }),
  insecure_http: z.boolean().default(false).meta({
    title: "Insecure HTTP",
    description:
      "Whether people may log in to the console over http from other machines. Everybody on the network between can then read the session and act with it. Without it, the console works over https, and over http on the gateway's own machine.",
  }),
  project_tokens: z.boolean().default(false).meta({
    title: "Project tokens",
    description: "Whether project tokens open the console too, with the rights that they have in their project.",
  }),
  session_idle_s: seconds(12 * HOUR_S, 30 * DAY_S, "A session of the console ends when it was not used for this long."),
  session_max_s: seconds(7 * DAY_S, 90 * DAY_S, "A session of the console ends this long after its login."),
};
/**
 * Whether it is enabled is decided by the address of the listener where it is `null`. The address at which browsers reach
 * the gateway has no slash at its end; where it is `null`, each request says it.
 */
export type ConsoleSettings = SectionSettings<typeof SHAPE>;

export const consoleSection = sectionOf(SHAPE, { title: "Console", description: "The web console: docs/console.md." });
