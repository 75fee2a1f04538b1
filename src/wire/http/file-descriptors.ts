// Whether this process may open another file or socket. Bun reports a connection for which there is no file descriptor as one that the peer has refused.
import { closeSync, openSync } from "node:fs";
import { type GatewayError, retryLater } from "../../core/errors.ts";

/** The limit of the process, and that of the whole machine. */
const NONE_LEFT: ReadonlySet<unknown> = new Set(["EMFILE", "ENFILE"]);

/** The error of a connection that this process cannot open; null when it has a file descriptor left, so that the fault is the peer's. */
export function descriptorShortage(): GatewayError | null {
  try {
    // a file that is there wherever the process runs
    closeSync(openSync(process.execPath, "r"));
    return null;
  } catch (thrown) {
    if (!NONE_LEFT.has((thrown as { readonly code?: unknown }).code)) return null;
    return retryLater(
      "gateway_overloaded",
      "The gateway may open no further connection: it has no file descriptor left. Try again shortly; the operator can raise its limit of open files (ulimit -n, LimitNOFILE).",
      1,
    );
  }
}
