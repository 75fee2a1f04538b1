// The thread that reads the audit log for people: checks of chains, pages of exports, and who could call what at a time
// in the past.
import { systemClock } from "../../core/clock.ts";
import { answerQuestions } from "../database/answer-questions.ts";
import { identitiesAsOf } from "./audit-as-of.ts";
import { checkChain } from "./audit-check.ts";
import { exportReads } from "./audit-export.ts";
import type { AuditMethod, AuditReads } from "./audit-reads.ts";
import type { DatabasePlace } from "../database/database.ts";
import { kyselyReader } from "../kysely-reader.ts";
import { openReading } from "../database/reading-connection.ts";

async function openReader(place: DatabasePlace): Promise<AuditReads> {
  const connection = await openReading(place);
  // no secret is read here
  const reader = connection.explaining(kyselyReader(connection.db, { clock: systemClock, cipher: null }));
  return {
    chains: () => reader.auditChains(),
    check: (chain, known) => checkChain(reader, chain, known),
    asOf: (tenantId, ms) => identitiesAsOf(reader, tenantId, ms),
    ...exportReads(reader),
  };
}

answerQuestions(
  openReader,
  (reads) =>
    async ({ method, args }) =>
      await ((await reads())[method as AuditMethod] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
);
