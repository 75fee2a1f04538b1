// `dragoman limit reconcile`: writes off, at the limit store, what gateways that are gone for good had leased of
// `total` budgets and reserved for their last calls.
import { reconcile, type WrittenOff } from "../admission/valkey/reconcile.ts";
import type { Environment } from "../config/environment.ts";
import { StoreError } from "../store/store-error.ts";
import { namedServerOptions } from "./named-configuration.ts";
import { printJson, printLine, printTable } from "./output.ts";
import { messageOf } from "../core/thrown.ts";

export interface ReconcileFlags {
  readonly config?: string;
  readonly replica?: readonly string[];
  readonly dryRun?: true;
  readonly json?: true;
}

/** Throws ConfigurationError and StoreError. */
export async function limitReconcile(flags: ReconcileFlags, environment: Environment): Promise<void> {
  const { limitStore } = namedServerOptions(flags, environment);
  if (limitStore === null)
    throw new StoreError(
      "unusable",
      "No shared limit store is configured (limit_store.url, DRAGOMAN_LIMIT_STORE_URL), so there is nothing to write off.",
    );
  const dryRun = flags.dryRun === true;
  let found: readonly WrittenOff[];
  try {
    found = await reconcile({ ...limitStore, replicas: flags.replica ?? null, dryRun });
  } catch (error) {
    throw new StoreError(
      "busy",
      `The limit store at ${new URL(limitStore.url).host} did not answer: ${messageOf(error)}`,
    );
  }
  if (flags.json === true) {
    printJson({
      dry_run: dryRun,
      written_off: found.map(({ seenMs, ...rest }) => ({ ...rest, last_seen: new Date(seenMs).toISOString() })),
    });
    return;
  }
  if (found.length > 0)
    printTable(
      ["REPLICA", "LAST SEEN", "TENANT", "BUDGET", "VALUE", "UNIT", "UNITS", "RESERVED"],
      found.map(({ replica, seenMs, tenant, budget, value, unit, units, reserved }) => [
        replica,
        new Date(seenMs).toISOString(),
        tenant,
        budget,
        value,
        unit,
        String(units),
        String(reserved),
      ]),
    );
  if (found.length === 0)
    printLine("Gateways that are gone hold no leases or reservations of budgets with the window total.");
  else
    printLine(
      dryRun
        ? "This would be written off. Run the command again without --dry-run to do it."
        : "This has been written off.",
    );
}
