// A row of the audit log, as the admin API answers it.
export interface AuditRow {
  readonly id: string;
  readonly at: string;
  readonly actor: {
    readonly token_id: string | null;
    readonly user_id: string | null;
    readonly tenant_id: string | null;
    readonly role: string | null;
  };
  readonly address: string | null;
  readonly action: string;
  readonly outcome: "done" | "refused";
  readonly kind: string;
  readonly target_id: string | null;
  readonly target_name: string | null;
  readonly tenant_id: string | null;
  readonly project_id: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly note: string | null;
  readonly version: number | null;
}

export interface AuditPage {
  readonly data: readonly AuditRow[];
  readonly next_cursor: string | null;
}

export function actorText({ actor, address }: Pick<AuditRow, "actor" | "address">): string {
  const who =
    actor.user_id ??
    (actor.token_id === null ? "the command line on the gateway's machine" : `token ${actor.token_id}`);
  return address === null ? who : `${who} from ${address}`;
}
