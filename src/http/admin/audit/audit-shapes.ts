// How the admin API shows who did something, and a row of the audit log.
import { z } from "zod";
import { ROLES } from "../../../core/identity.ts";
import type { JsonObject } from "../../../core/json.ts";
import { AUDIT_WAYS, type AuditRow } from "../../../store/records.ts";
import { time } from "../schemas.ts";
import { shownAs } from "../shown.ts";

export const actor = z
  .strictObject({
    token_id: z.string().nullable(),
    user_id: z.string().nullable(),
    tenant_id: z.string().nullable(),
    role: z.enum(ROLES).nullable(),
  })
  .meta({
    id: "Actor",
    description:
      "Who did it. All fields are null for the gateway itself and for the command line on the database's machine.",
  });
export const auditedValue = z
  .unknown()
  .meta({ description: "Values before and after the change; secrets are masked." });
export const auditRow = z
  .strictObject({
    id: z.string(),
    at: time,
    actor,
    address: z.string().nullable().meta({ description: "Address of the client." }),
    via: z.enum(AUDIT_WAYS).nullable().meta({
      description:
        "How it was asked for: on a page of the console, with the command line, or by another client of the API; null where that is not known.",
    }),
    session_id: z.string().nullable().meta({ description: "The session of the console." }),
    action: z.string(),
    outcome: z.enum(["done", "refused"]),
    kind: z.string(),
    target_id: z.string().nullable(),
    target_name: z.string().nullable(),
    tenant_id: z.string().nullable(),
    project_id: z.string().nullable(),
    before: auditedValue,
    after: auditedValue,
    note: z.string().nullable(),
    version: z.int().nullable(),
    sequence: z.int().meta({ description: "Its number in the chain of its tenant: docs/audit.md." }),
    hash: z.string().meta({ description: "Its hash in the chain, which depends on all rows before it." }),
  })
  .meta({ id: "AuditRow" });

export function shownAudit({ actor: who, link, ...row }: AuditRow): JsonObject {
  const { address, via = null, sessionId = null } = who;
  return shownAs(auditRow, { ...row, ...link, actor: who, address, via, sessionId });
}
