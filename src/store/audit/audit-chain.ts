// The chain of the audit log: each row has a number and a hash, which is made of the row and of the hash before it, so
// that a row that was changed or removed later is found. Each tenant has a chain of its own, and the gateway one for what
// concerns no tenant. The same functions check the database and an export, so that an export can be checked without
// the gateway. Pure; docs/audit.md describes the format for other programs.

// Decides (records and configuration): How is a row of the audit log found that was changed or removed in the
// database? By: `ChainCheck`. Also: `audit-check.ts` (`checkChain`); written by `kysely-audit.ts` (`addToChains`).
// Rule: Each row has a hash of itself and of the hash before it, in one chain for each tenant (docs/audit.md).
import { createHash } from "node:crypto";
import type { RowOf } from "../database/columns.ts";
import type { AUDITED } from "./audit-schema.ts";

/** Who made a change. */
export interface ActorColumns {
  readonly actor_token_id: string | null;
  readonly actor_user_id: string | null;
  readonly actor_role: string | null;
  readonly actor_tenant_id: string | null;
  readonly actor_address: string | null;
}

/** A row as it is stored, without its place in the chain. */
export interface ChainedRow extends RowOf<typeof AUDITED>, ActorColumns {
  readonly via: string | null;
  readonly session_id: string | null;
  /** JSON, its secrets masked. */
  readonly value_before: string | null;
  readonly value_after: string | null;
  /** The counter of `revisions` that its transaction made: later rows say what has changed since then. */
  readonly revision: bigint | null;
}

/** One row of a chain, or what is left of a row that was removed because of its age. */
export interface ChainLink {
  readonly sequence: number;
  readonly atMs: number;
  readonly outcome: string;
  /** Of the content of the row, in hex. */
  readonly contentHash: string;
  readonly hash: string;
  /** JSON; `null` when the row was removed because of its age. */
  readonly content: string | null;
}

/** The newest link of a chain. */
export interface ChainHead {
  readonly sequence: number;
  readonly hash: string;
}

/** Before the first link. */
export const CHAIN_START: ChainHead = { sequence: 0, hash: "0".repeat(64) };

/** The chain of a tenant, as it is named in the database. */
export const chainOf = (tenantId: string | null): string => tenantId ?? "";
export const tenantOfChain = (chain: string): string | null => (chain === "" ? null : chain);

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");

export const contentHashOf = (content: string): string => sha256(content);

/** The values before and after a change stand in it with exactly the text that the database has. */
export function contentOf(row: ChainedRow): string {
  const actor = {
    token_id: row.actor_token_id,
    user_id: row.actor_user_id,
    tenant_id: row.actor_tenant_id,
    role: row.actor_role,
  };
  const members: readonly (readonly [string, string])[] = [
    ["id", JSON.stringify(row.id)],
    ["actor", JSON.stringify(actor)],
    ["address", JSON.stringify(row.actor_address)],
    ["via", JSON.stringify(row.via)],
    ["session_id", JSON.stringify(row.session_id)],
    ["action", JSON.stringify(row.action)],
    ["kind", JSON.stringify(row.kind)],
    ["target_id", JSON.stringify(row.target_id)],
    ["target_name", JSON.stringify(row.target_name)],
    ["tenant_id", JSON.stringify(row.tenant_id)],
    ["project_id", JSON.stringify(row.project_id)],
    ["before", row.value_before ?? "null"],
    ["after", row.value_after ?? "null"],
    ["note", JSON.stringify(row.note)],
    ["version", row.version?.toString() ?? "null"],
    ["revision", row.revision?.toString() ?? "null"],
  ];
  return `{${members.map(([name, text]) => `"${name}":${text}`).join(",")}}`;
}

/** The hash of a link that follows `before`. */
export function linkHash(before: string, link: Omit<ChainLink, "hash" | "content">): string {
  return sha256([before, link.sequence, link.atMs, link.outcome, link.contentHash].join("\n"));
}

export interface ChainProblem {
  readonly problem: "changed" | "missing" | "head" | "rewritten";
  /** The number of the row, or of the first of those that are missing. */
  readonly sequence: number;
  readonly message: string;
}

export interface ChainReport {
  /** Rows that are there. */
  readonly rows: number;
  /** Rows that were removed because of their age, and the time of the newest of them. */
  readonly removed: number;
  readonly newestRemovedMs: number | null;
  readonly head: ChainHead;
  /** At most MOST_PROBLEMS of them. */
  readonly problems: readonly ChainProblem[];
}

const MOST_PROBLEMS = 100;

/** Takes the links of one chain in their order. */
export class ChainCheck {
  #last: ChainHead;
  #rows = 0;
  #removed = 0;
  #newestRemovedMs: number | null = null;
  readonly #problems: ChainProblem[] = [];
  readonly #known: ChainHead | null;

  /** `known` is a head that the reader has from an earlier time, which the chain must still contain. */
  constructor(start: ChainHead = CHAIN_START, known: ChainHead | null = null) {
    this.#last = start;
    this.#known = known;
  }

  add(link: ChainLink): void {
    const { sequence, hash, content, atMs } = link;
    if (sequence !== this.#last.sequence + 1) this.#missing(this.#last.sequence + 1, sequence - 1);
    else if (
      hash !== linkHash(this.#last.hash, link) ||
      (content !== null && contentHashOf(content) !== link.contentHash)
    )
      this.#found("changed", sequence, `Row ${sequence} is not what was written, or the row before it is not.`);
    if (this.#known?.sequence === sequence && this.#known.hash !== hash)
      this.#found("rewritten", sequence, `Row ${sequence} had another hash when its head was noted.`);
    if (content === null) {
      this.#removed++;
      this.#newestRemovedMs = Math.max(this.#newestRemovedMs ?? atMs, atMs);
    } else this.#rows++;
    this.#last = { sequence, hash };
  }

  /** `head` is what is written beside the chain of its end. */
  end(head: ChainHead): ChainReport {
    const { sequence, hash } = this.#last;
    if (sequence < head.sequence) this.#missing(sequence + 1, head.sequence);
    else if (sequence !== head.sequence || hash !== head.hash)
      this.#found(
        "head",
        sequence,
        `The chain ends with row ${sequence}, and its head says row ${head.sequence}, or another hash.`,
      );
    const known = this.#known;
    if (known !== null && known.sequence > Math.max(sequence, head.sequence))
      this.#found(
        "rewritten",
        known.sequence,
        `There was a row ${known.sequence} when its head was noted; now the chain ends with row ${sequence}.`,
      );
    const [rows, removed, newestRemovedMs] = [this.#rows, this.#removed, this.#newestRemovedMs];
    return { rows, removed, newestRemovedMs, head, problems: this.#problems };
  }

  #missing(from: number, to: number): void {
    const rows = from >= to ? `Row ${from} is` : `Rows ${from} to ${to} are`;
    this.#found("missing", from, `${rows} missing, and nothing says that age was the reason.`);
  }

  #found(problem: ChainProblem["problem"], sequence: number, message: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push({ problem, sequence, message });
  }
}
