// Everything that a snapshot is compiled from, as one commit left it.
import type { ConfiguredKind } from "../core/configured.ts";
import type { Identities, Resource } from "./records.ts";

/** A resource with its secrets in the clear: it must not leave the process. */
export interface OpenedResource extends Resource {
  /** Why a secret of it could not be opened, in words without it; null: all are there. */
  readonly fault: string | null;
}

/** Lists and things that have not changed since an earlier reading are the very same objects, so that what was made of them need not be made again. */
export interface Contents {
  /** As revision() gives it. */
  readonly revision: string;
  readonly identities: Identities;
  /** Ordered by id. */
  readonly resources: Readonly<Record<ConfiguredKind, readonly OpenedResource[]>>;
  /** Rows that this version cannot read, by their kind and id, and why: they are left out, and stop nothing else. */
  readonly unreadable: ReadonlyMap<string, string>;
}
