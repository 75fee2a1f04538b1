// `dragoman usage export`: the sums of calls in the columns of FOCUS, for finance.
import type { Environment } from "../../config/environment.ts";
import { type GatewayFlags, openAdminClient } from "./client.ts";
import { writeExport } from "./export-file.ts";
import { pathOf, type PlaceFlags } from "./run.ts";

/** Reading years of sums takes its time. */
const TIMEOUT_MS = 600_000;

/** Throws Error when the gateway refuses it, or when the file cannot be written. */
export async function exportUsage(
  flags: GatewayFlags & PlaceFlags & { readonly from?: string; readonly to?: string; readonly out?: string },
  environment: Environment,
): Promise<void> {
  const { from, to } = flags;
  const client = openAdminClient(flags, environment);
  const text = await client.read(pathOf("usage", null, flags), {
    query: { format: "focus", from, to },
    timeoutMs: TIMEOUT_MS,
  });
  await writeExport(text, flags);
}
