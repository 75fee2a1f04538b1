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

/** Every method throws StoreError. */
export interface DraftTable {
  /** Replaces the draft that was there; the oldest of an owner go when there are too many. */
  saveDraft(draft: StoredDraft): Promise<void>;
  /** `null` also for a draft whose text cannot be decrypted: nobody can go on with it. */
  findDraft(place: DraftPlace): Promise<StoredDraft | null>;
  /** Of one owner in one place, the newest first. */
  listDrafts(place: Omit<DraftPlace, "kind" | "name">): Promise<readonly Omit<StoredDraft, "text">[]>;
  /** Returns whether there was one. */
  removeDraft(place: DraftPlace): Promise<boolean>;
}
