// The error of everything that the store does.

/**
 * `unusable`: the database cannot be opened, read or written; the message names it and the cure. `busy`: another
 * process, or this one, did not release the database in time. `exists`: the id or name is taken. `unknown`: a
 * referenced entry does not exist. `conflict`: the current state does not allow the change. `moved`: something was
 * changed since the revision on which a change is based. `invalid`: the input cannot be stored or understood.
 * `uncertain`: the database was lost while it committed a change, which it may have made or not. `encryption`: a secret
 * cannot be decrypted or encrypted with the available master keys; the message says which secret, without its value.
 */
export type StoreErrorKind =
  | "unusable"
  | "encryption"
  | "uncertain"
  | "busy"
  | "exists"
  | "unknown"
  | "conflict"
  | "moved"
  | "invalid";

export class StoreError extends Error {
  readonly kind: StoreErrorKind;
  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
    this.kind = kind;
  }
}
