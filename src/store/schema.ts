// The tables as Kysely sees them. What their columns hold is in database/columns.ts.
import type { Generated } from "kysely";
import type { JsonObject } from "../core/json.ts";
import {
  flag,
  hex,
  integer,
  integerOrNull,
  json,
  permissions,
  role,
  roleOrNull,
  type RowOf,
  text,
  textOrNull,
  texts,
  oneOf,
} from "./database/columns.ts";
import type { ActorColumns, ChainedRow } from "./audit/audit-chain.ts";
import type { AuditChainSchema } from "./audit/audit-schema.ts";
import type { CallSchema } from "./calls/call-schema.ts";
import type { ClaimSchema } from "./identity/claim-schema.ts";
import type { ContractionSchema } from "./database/contraction-schema.ts";
import type { DrainSchema } from "./configuration/drain-schema.ts";
import type { DraftSchema } from "./configuration/draft-schema.ts";
import type { EventSchema } from "./events/event-schema.ts";
import type { ColumnsOf, PROJECT_FIELDS, TENANT_FIELDS, USER_FIELDS } from "./database/identity-fields.ts";
import type { MoveSchema } from "./database/move-schema.ts";
import type { SessionSchema } from "./identity/session-schema.ts";
import type { ViewSchema } from "./configuration/view-schema.ts";

/** What the table keeps of StoredToken that can change. */
export const CHANGEABLE_OF_TOKEN = {
  name: text,
  permissions,
  models: texts,
  routes: texts,
  tools: texts,
  ip_ranges: texts,
  lifetime_ms: integer,
  expires_at_ms: integer,
  revoked_at_ms: integerOrNull,
};
/** All that it keeps of it, but for who made it. */
export const TOKEN = {
  ...CHANGEABLE_OF_TOKEN,
  id: text,
  kind: oneOf(["project", "personal"], "project"),
  tenant_id: text,
  project_id: textOrNull,
  user_id: textOrNull,
  role: roleOrNull,
  created_at_ms: integer,
};

/** What the table keeps of Membership. */
export const MEMBERSHIP = { user_id: text, tenant_id: text, project_id: textOrNull, role };

/** How rows of identities count their changes. */
export const KEPT = { version: integer, created_at_ms: integerOrNull, updated_at_ms: integerOrNull };

/** What the table keeps of Resource. */
export const RESOURCE = {
  id: text,
  kind: text,
  tenant_id: text,
  project_id: textOrNull,
  name: textOrNull,
  /** Its secrets are encrypted. */
  document: json<JsonObject>(),
  set_by: role,
  by_operator: flag,
  version: integer,
  created_at_ms: integer,
  updated_at_ms: integer,
};

/** What the table keeps of Version, but for who made it. */
export const VERSION = { number: integer, at_ms: integer, rolled_back_to: integerOrNull, note: textOrNull };

/** What the table keeps of a secret of a token. */
export const TOKEN_SECRET = { sha256: hex, retires_at_ms: integerOrNull };

export interface Schema
  extends
    AuditChainSchema,
    CallSchema,
    ClaimSchema,
    ContractionSchema,
    DraftSchema,
    DrainSchema,
    EventSchema,
    MoveSchema,
    SessionSchema,
    ViewSchema {
  /**
   * One row for each subject that is watched for changes. The row is also the lock under which the subject is written.
   */
  readonly revisions: { readonly name: string; readonly counter: bigint };
  readonly tenants: KeptColumns & { readonly id: string } & ColumnsOf<typeof TENANT_FIELDS>;
  readonly projects: KeptColumns & PlaceColumns & ColumnsOf<typeof PROJECT_FIELDS>;
  readonly users: KeptColumns & PlaceColumns & ColumnsOf<typeof USER_FIELDS>;
  readonly memberships: KeptColumns & RowOf<typeof MEMBERSHIP>;
  readonly access_tokens: RowOf<typeof TOKEN> & {
    readonly created_by: string | null;
    readonly version: Generated<bigint>;
    readonly updated_at_ms: bigint | null;
  };
  readonly token_secrets: RowOf<typeof TOKEN_SECRET> & { readonly token_id: string };
  readonly resources: Omit<RowOf<typeof RESOURCE>, "by_operator"> & { readonly by_operator: Generated<bigint> };
  readonly audit_log: ChainedRow & {
    /** Where it stands in the chain of its tenant (audit/audit-chain.ts). */
    readonly chain: string;
    readonly sequence: bigint;
    readonly hash: string;
  };
  readonly versions: RowOf<typeof VERSION> & ActorColumns;
  readonly version_changes: {
    readonly version: bigint;
    readonly ordinal: bigint;
    readonly action: string;
    readonly kind: string;
    readonly resource_id: string;
    readonly name: string | null;
    readonly tenant_id: string;
    readonly project_id: string | null;
    /** JSON of a StoredResource, its secrets encrypted; `null` when there was none. */
    readonly value_before: string | null;
    readonly value_after: string | null;
  };
  readonly kept_answers: {
    readonly token_id: string;
    readonly answer_key: string;
    readonly request_hash: string;
    readonly status: bigint;
    readonly body: string;
    readonly at_ms: bigint;
  };
}

interface KeptColumns extends Omit<RowOf<typeof KEPT>, "version"> {
  readonly version: Generated<bigint>;
}

interface PlaceColumns {
  readonly id: string;
  readonly tenant_id: string;
}
