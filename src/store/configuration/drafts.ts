// Drafts of changes: what somebody has typed and not published. They are no part of the configuration: saving one makes
// no version and no row of the audit log.
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import type { ConfigurationScope } from "../records.ts";

/** Whose draft of what: everybody has at most one for each object. */
export interface DraftPlace extends ConfigurationScope {
  /** The id of a user, or `token:` and the id of a project token. */
  readonly owner: string;
  readonly kind: ConfiguredKind;
  /** The object's name. */
  readonly name: string;
}

export interface StoredDraft extends DraftPlace {
  /** As it was typed, which need not be valid. */
  readonly text: string;
  /** The ETag of the object that the draft began with; `null` when there was none. */
  readonly base: string | null;
  readonly savedAtMs: number;
}

/** The place to which the encryption of a draft's text is bound: what is typed may be a secret of the object. */
export function draftTextPlace({ tenantId, projectId, owner, kind, name }: DraftPlace): string {
  return `draft/${JSON.stringify([tenantId, projectId, owner, kind, name])}`;
}
