// `dragoman ledger status` and `verify`: read the journal's folders, with or without a running server. They change
// nothing.
import { counted } from "../core/text/counted.ts";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../config/environment.ts";
import { ledgerFolderOf } from "../store/data-folder.ts";
import { segmentPath } from "../store/journal/journal-folder.ts";
import type { Damage } from "../store/journal/journal-recovery.ts";
import { type LedgerStatus, ledgerStatus } from "../store/journal/ledger-status.ts";
import { StoreError } from "../store/store-error.ts";
import { namedServerOptions } from "./named-configuration.ts";
import { printJson, printLine, printTable } from "./output.ts";
import type { DatabaseFlags } from "./database/database.ts";

/** Returns the exit code. Throws StoreError. */
export function status(flags: DatabaseFlags, environment: Environment): number {
  const found = statusOf(flags, environment);
  if (flags.json === true) {
    printJson(found.map(shown));
    return 0;
  }
  const rows = found.map(
    ({ folder, segments, bytes, unshippedBytes, closings, unsettled, openings, damages, gaps, setAside }) =>
      [
        folder,
        segments,
        bytes,
        unshippedBytes,
        closings + unsettled,
        openings,
        damages.length + gaps.length + setAside.length,
      ].map(String),
  );
  printTable(["FOLDER", "SEGMENTS", "BYTES", "UNSHIPPED", "ENDED CALLS", "OPEN CALLS", "DAMAGES"], rows);
  return 0;
}

/** Returns 0 when no segment is missing and every entry is complete. Throws StoreError. */
export function verify(flags: DatabaseFlags, environment: Environment): number {
  const found = statusOf(flags, environment);
  const damaged = found.filter(({ damages, gaps, setAside }) => damages.length + gaps.length + setAside.length > 0);
  if (flags.json === true) printJson(damaged.map(shown));
  else {
    for (const { folder, damages, gaps, setAside } of damaged) {
      for (const { from, to } of gaps)
        printLine(
          `${segmentPath(folder, from)}${to > from ? ` to ${segmentPath(folder, to)}` : ""}: missing; entries that are not in the database are lost`,
        );
      for (const damage of damages) printLine(`${segmentPath(folder, damage.segment)}: ${messageOf(damage)}`);
      for (const name of setAside)
        printLine(
          `${join(folder, name)}: set aside because part of it cannot be read; the rest has been shipped. Delete the file when you do not need it any more`,
        );
    }
    if (damaged.length === 0) printLine("No segment is missing, and all entries are complete.");
  }
  return damaged.length === 0 ? 0 : 1;
}

/** Throws StoreError. */
function statusOf(flags: DatabaseFlags, environment: Environment): readonly LedgerStatus[] {
  const { dataFolder, ledger } = namedServerOptions(flags, environment);
  const folder = ledgerFolderOf({ dataFolder, ledgerFolder: ledger.folder });
  if (!existsSync(folder))
    throw new StoreError(
      "unusable",
      `There is no ledger in ${folder}. Set the server's data folder with --data (DRAGOMAN_DATA), or its configuration with --config.`,
    );
  return ledgerStatus(folder);
}

function messageOf({ offset, bytes, isTail }: Damage): string {
  return isTail
    ? `${counted(bytes, "byte")} at the end, from byte ${offset}, ${bytes === 1 ? "is" : "are"} not a complete entry: it is being written, or a crash interrupted it; the next start removes it`
    : `bytes ${offset} to ${offset + bytes} are damaged and lost`;
}

function shown({
  folder,
  segments,
  bytes,
  unshippedBytes,
  closings,
  unsettled,
  openings,
  damages,
  gaps,
  setAside,
}: LedgerStatus) {
  return {
    folder,
    segments,
    bytes,
    unshipped_bytes: unshippedBytes,
    closings,
    unsettled,
    open_calls: openings,
    damages: damages.map(({ segment, offset, bytes: length, isTail }) => ({
      file: segmentPath(folder, segment),
      offset,
      bytes: length,
      tail: isTail,
    })),
    missing: gaps.map(({ from, to }) => ({ from: segmentPath(folder, from), to: segmentPath(folder, to) })),
    set_aside: setAside.map((name) => join(folder, name)),
  };
}
