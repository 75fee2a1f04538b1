// Opens the database, and what bounds its growth.
import { isReadableByOthers } from "../../config/master-key.ts";
import { systemClock } from "../../core/clock.ts";
import { pruneAudit } from "../../store/audit/audit-settings.ts";
import { pruneOld } from "../../store/calls/call-retention.ts";
import { ownFiles } from "../../store/data-folder.ts";
import { openCalls, openDatabase } from "../../store/open-database.ts";
import { narrowRights } from "../../store/database/owner-only.ts";
import { everyHour, pruneInRounds } from "../../store/database/pruning.ts";
import type { Base } from "./base.ts";

/** Time for a round of removing or moving old rows, which is short; what it leaves is done after the next start. */
const LAST_ROUND_MS = 500;

export type Storage = Awaited<ReturnType<typeof openStorage>>;

export async function openStorage({ options, environment, log, closing }: Base) {
  const database = await openDatabase({ ...options, environment });
  const { store, keys } = database;
  closing.add(() => store.close());
  const { narrowed, stillReadable } = narrowRights(
    ownFiles({ dataFolder: options.dataFolder, ledgerFolder: options.ledger.folder }),
  );
  if (narrowed.length > 0)
    log.warn(
      { files: narrowed },
      "other users of this machine could read files of the data folder, as is usual after a restore; now only their owner can",
    );
  if (stillReadable.length > 0)
    log.warn(
      { files: stillReadable },
      "other users of this machine can read files of the data folder, and the gateway cannot change that: chmod 600",
    );
  if (keys.file !== null && isReadableByOthers(keys.file))
    log.warn({ file: keys.file }, "other users of this machine can read the file of the master key: chmod 600");
  const calls = await openCalls(options);
  closing.beside(() => calls.close());
  const now = (): number => systemClock.now();
  closing.add(
    everyHour(
      (isEnding) => pruneOld(calls, options.calls, now(), isEnding),
      (message) => log.warn({ error_detail: message }, "old calls could not be deleted"),
    ),
    LAST_ROUND_MS,
  );
  for (const end of [
    everyHour(
      (isEnding) => pruneInRounds(() => calls.removeContents({ expiredMs: now() }), isEnding),
      (message) => log.warn({ error_detail: message }, "old content of calls could not be deleted"),
    ),
    everyHour(
      (isEnding) => pruneInRounds(() => calls.pruneObjects(now()), isEnding),
      (message) => log.warn({ error_detail: message }, "old ids of vendors could not be deleted"),
    ),
    everyHour(
      (isEnding) => pruneAudit(store, options.audit, now(), isEnding),
      (message) => log.warn({ error_detail: message }, "old rows of the audit log could not be deleted"),
    ),
  ])
    closing.beside(end, LAST_ROUND_MS);
  return { ...database, calls };
}
