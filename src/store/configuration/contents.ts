// Everything from which a snapshot is compiled, as one commit left it.
import type { ConfiguredKind } from "../../core/configured/configured.ts";
import type { Drain } from "../../core/configured/drain.ts";
import type { Identities, Resource } from "../records.ts";

/** A resource with its secrets decrypted: it must not leave the process. */
export interface OpenedResource extends Resource {
  /** Why one of its secrets could not be decrypted, in a message without the secret; `null` when all were decrypted. */
  readonly fault: string | null;
}

/**
 * Lists and items that have not changed since an earlier read are the same objects, so that nothing derived from them
 * has to be made again.
 */
export interface Contents {
  /** As returned by revision(). */
  readonly revision: string;
  readonly identities: Identities;
  /** Ordered by id. */
  readonly resources: Readonly<Record<ConfiguredKind, readonly OpenedResource[]>>;
  /** Also those that have ended. */
  readonly drains: readonly Drain[];
  /**
   * Rows that this version cannot read, by kind and id, with the reason. They are left out, and affect nothing else.
   */
  readonly unreadable: ReadonlyMap<string, string>;
}
