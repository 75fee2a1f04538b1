// The address of the gateway that a command talks to.
import type { Environment } from "../config/environment.ts";

const DEFAULT_URL = "http://127.0.0.1:4100";

/** Of `--url`, of DRAGOMAN_URL, or the one at which a gateway listens by default. Without a slash at its end. */
export function gatewayUrl(flags: { readonly url?: string | undefined }, environment: Environment): string {
  return (flags.url ?? environment.get("DRAGOMAN_URL") ?? DEFAULT_URL).replace(/\/+$/, "");
}
