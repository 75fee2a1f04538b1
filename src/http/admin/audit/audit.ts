// The audit log: its rows, the check of its chain (audit-chain.ts), a signed export of it, and who could call what at a time
// in the past.
import { z } from "zod";
import { invalidRequest } from "../../../core/refusals.ts";
import { type ChainHead, chainOf, tenantOfChain } from "../../../store/audit/audit-chain.ts";
import { exportedChain } from "../../../store/audit/audit-export.ts";
import type { AuditReads } from "../../../store/audit/audit-reads.ts";
import type { AuditSigner } from "../../../store/audit/audit-signature.ts";
import type { AuditFilter } from "../../../store/reader.ts";
import { AUDIT_WAYS } from "../../../store/records.ts";
import { auditAsOfOperation } from "./audit-as-of.ts";
import { auditRow, shownAudit } from "./audit-shapes.ts";
import { askedBy, placeAsked } from "../asked.ts";
import { type AdminOperation, PLACES, type Reach, reading } from "../operation.ts";
import { chosenId, instant, listed, listOf, pageOf, pageQuery, time, wholeNumber } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const word = z.string().min(1).max(100).optional();
const auditFilters = {
  action: word,
  outcome: z.enum(["done", "refused"]).optional(),
  kind: word,
  target_id: z.string().min(1).max(200).optional(),
  token_id: word,
  user_id: chosenId.optional(),
  via: z.enum(AUDIT_WAYS).optional(),
  session_id: word,
  version: wholeNumber.optional(),
  from: instant.optional().meta({ description: "Only rows at this time or later." }),
  to: instant.optional().meta({ description: "Only rows before this time." }),
};

/** The scopes of the audit log, by who may read them. */
const AUDITED = {
  operator: {
    scopeText: "in all tenants",
    further: { tenant_id: chosenId.optional(), project_id: chosenId.optional() },
  },
  tenant: { scopeText: "in the tenant", further: { project_id: chosenId.optional() } },
  project: { scopeText: "in the project", further: {} },
} as const;

function auditOperation(reach: Reach): AdminOperation {
  const { name, base } = PLACES[reach];
  const { scopeText, further } = AUDITED[reach];
  return reading({
    id: `list${name}Audit`,
    path: `${base}/audit`,
    tag: "audit",
    summary: `List changes and refused attempts ${scopeText}, the newest first`,
    query: z.strictObject({ ...pageQuery, ...auditFilters, ...further }),
    answer: listOf(auditRow, `${name}AuditList`),
    run: async ({ place, query }, store) => {
      const filter: AuditFilter = { ...askedBy({ ...auditFilters, ...further }, query), ...placeAsked(place) };
      return { body: listed(await store.listAudit(pageOf(query), filter), shownAudit) };
    },
  });
}

const link = z.strictObject({
  sequence: z.int().meta({ description: "The number of a row; 0 stands for the beginning." }),
  hash: z.string(),
});
const report = z
  .strictObject({
    tenant_id: z.string().nullable().meta({ description: "Null for what concerns no tenant." }),
    rows: z.int(),
    removed: z.int().meta({ description: "Rows that were removed because of their age: `audit.keep_days`." }),
    newest_removed_at: time.nullable(),
    head: link,
    problems: z.array(
      z.strictObject({
        problem: z.enum(["changed", "missing", "head", "rewritten"]),
        sequence: z.int(),
        message: z.string(),
      }),
    ),
  })
  .meta({ id: "AuditChain" });
const verified = z
  .strictObject({
    intact: z.boolean().meta({ description: "Whether no row was changed or removed since it was written." }),
    public_key: z.string().meta({ description: "The key that verifies exports: Ed25519, 32 bytes in base64." }),
    chains: z.array(report),
  })
  .meta({ id: "VerifiedAudit" });

const HASH = /^[0-9a-f]{64}$/;
const knownHead = {
  sequence: wholeNumber.optional().meta({ description: "The number of a row whose hash was noted earlier." }),
  hash: z.string().regex(HASH, "expected 64 hexadecimal digits").optional().meta({ description: "Its hash then." }),
};

interface KnownHead {
  readonly sequence?: number | undefined;
  readonly hash?: string | undefined;
}

function knownIn({ sequence, hash }: KnownHead): ChainHead | null {
  if ((sequence === undefined) !== (hash === undefined))
    throw invalidRequest(
      sequence === undefined ? "sequence" : "hash",
      "sequence and hash belong together: give both, or neither.",
    );
  return sequence === undefined || hash === undefined ? null : { sequence, hash };
}

/** What the operations on the log need; `reads` is null where they are only described. */
export interface AuditWorld {
  readonly reads: AuditReads | null;
  readonly signer: () => AuditSigner;
}

function verifyOperation(reach: "operator" | "tenant", { reads, signer }: AuditWorld): AdminOperation {
  const { name, base } = PLACES[reach];
  return reading({
    id: `verify${name}Audit`,
    path: `${base}/audit/verify`,
    tag: "audit",
    summary: `Check that no row of the audit log ${AUDITED[reach].scopeText} was changed or removed`,
    query: z.strictObject(reach === "tenant" ? knownHead : {}),
    answer: verified,
    run: async ({ place, query }) => {
      const known = reach === "tenant" ? knownIn(query) : null;
      const chains: ThingOf<typeof report.shape>[] = [];
      for (const chain of place === null ? await reads!.chains() : [chainOf(place.tenantId)]) {
        const found = await reads!.check(chain, known);
        chains.push({ ...found, tenantId: tenantOfChain(chain), newestRemovedAtMs: found.newestRemovedMs });
      }
      const intact = chains.every(({ problems }) => problems.length === 0);
      return { body: shownAs(verified, { intact, publicKey: signer().publicKey, chains }) };
    },
  });
}

const exportQuery = z.strictObject({
  from: instant.optional().meta({ description: "Only rows from the first one at this time or later." }),
  to: instant.optional().meta({ description: "Only rows up to the last one before this time." }),
});

/** Of the tenant; of an operator, what concerns no tenant. */
function exportOperation(reach: "operator" | "tenant", { reads, signer }: AuditWorld): AdminOperation {
  const { name, base } = PLACES[reach];
  return reading({
    id: `export${name}Audit`,
    path: `${base}/audit/export`,
    tag: "audit",
    summary:
      reach === "tenant"
        ? "Export the audit log of the tenant, signed, as JSON Lines"
        : "Export what the audit log says of no tenant, signed, as JSON Lines",
    query: exportQuery,
    textType: "application/x-ndjson",
    run: async ({ place, query, nowMs, note }) => {
      const tenantId = place?.tenantId ?? null;
      const { from: fromMs = null, to: toMs = null } = query;
      await note({ action: "export", outcome: "done", kind: "audit_log", tenantId });
      const content = exportedChain(reads!, { tenantId, chain: chainOf(tenantId), nowMs, fromMs, toMs }, signer());
      return { body: {}, text: { contentType: "application/x-ndjson; charset=utf-8", content } };
    },
  });
}

export function auditOperations(world: AuditWorld): readonly AdminOperation[] {
  return [
    auditOperation("operator"),
    auditOperation("tenant"),
    auditOperation("project"),
    verifyOperation("operator", world),
    verifyOperation("tenant", world),
    exportOperation("operator", world),
    exportOperation("tenant", world),
    auditAsOfOperation(world.reads),
  ];
}
