// The port to saved views: filters, ranges and columns of the console's screens under a name, of one person or of a project. Part of the store
// (store.ts), in its reader and writer.

/** A view belongs to a person (a user's id, or `token:` and the id of a project token) in all projects, or to a project for everybody in it. */
export type ViewOwner =
  | { readonly tenantId: string; readonly projectId: null; readonly userId: string }
  | { readonly tenantId: string; readonly projectId: string; readonly userId: null };

export interface SavedView {
  readonly id: string;
  readonly owner: ViewOwner;
  /** Where it is shown, such as `calls`. */
  readonly screen: string;
  readonly name: string;
  /** The query of the screen's address. */
  readonly query: string;
  /** Whether the screen begins with it. */
  readonly isDefault: boolean;
  /** Id of the user who made it, or `token:` and the id of the token that made it. */
  readonly createdBy: string;
  readonly createdAtMs: number;
}

/** What can be changed of a view. */
export type ViewChange = Partial<Pick<SavedView, "name" | "query" | "isDefault">>;
