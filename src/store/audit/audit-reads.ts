// What people ask of the audit log beyond its newest rows: whether its chain is intact, an export, and who could call
// what at a time in the past. All of it reads many rows, so it runs in a thread of its own.
import { threadFile } from "../../core/concurrency/thread-file.ts";
import type { EarlierIdentities } from "./audit-as-of.ts";
import { type ChainHead, type ChainReport, tenantOfChain } from "./audit-chain.ts";
import type { ExportReads } from "./audit-export.ts";
import type { DatabasePlace } from "../database/database.ts";
import { openQuestionThread } from "../database/question-thread.ts";

/** What rejects is a GatewayError or a StoreError. */
export interface AuditReads extends ExportReads {
  chains(): Promise<readonly string[]>;
  /** `known` is a head that the reader has from an earlier time. */
  check(chain: string, known: ChainHead | null): Promise<ChainReport>;
  /** `null` when rows that would be needed were removed because of their age. */
  asOf(tenantId: string, ms: number): Promise<EarlierIdentities | null>;
}

export type AuditMethod = keyof AuditReads;

export interface OpenAuditReads extends AuditReads {
  close(): Promise<void>;
}

/** A check of some millions of rows takes minutes. */
const LIMIT_MS = 600_000;
/** They run in turns: a long check does not hold up a short question. */
const AT_ONCE = 4;

export function openAuditReads(place: DatabasePlace): OpenAuditReads {
  const thread = openQuestionThread<AuditMethod>({
    place,
    program: threadFile(import.meta.url, "store/audit/audit-worker.ts"),
    limitMs: LIMIT_MS,
    atOnce: AT_ONCE,
    what: "reading of the audit log",
    cure: "Export a part of the log (from, to), and check that.",
    param: "from",
  });
  return {
    chains: () => thread.ask("chains", [], null),
    check: (chain, known) => thread.ask("check", [chain, known], tenantOfChain(chain)),
    asOf: (tenantId, ms) => thread.ask("asOf", [tenantId, ms], tenantId),
    exportBounds: (what) => thread.ask("exportBounds", [what], what.tenantId),
    exportPage: (chain, after, last) => thread.ask("exportPage", [chain, after, last], tenantOfChain(chain)),
    close: () => thread.close(),
  };
}
