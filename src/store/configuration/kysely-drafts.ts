// Drafts over any database that Kysely supports. Their texts are encrypted, because what is typed may be a secret.
import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
import { type ConfiguredKind, isConfiguredKind } from "../../core/configured/configured.ts";
import { DRAFT } from "./draft-schema.ts";
import { type DraftPlace, draftTextPlace, type StoredDraft } from "./drafts.ts";
import { DecryptionError, type SecretCipher } from "../../config/secret-cipher.ts";
import { keptIn, rowOf } from "../database/columns.ts";
import { exactly } from "../database/pages.ts";
import { beginWriting } from "../database/transactions.ts";
import type { Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";

type Db = Kysely<Schema>;
type Row = Schema["drafts"];
type Owned = Omit<DraftPlace, "kind" | "name">;

/** Of one owner in one place. */
const MOST_DRAFTS = 100;
/** Of a tenant: a backup reads all of them at once. */
const MOST_OF_TENANT = 2_000;

export type DraftTable = ReturnType<typeof draftTable>;

/** With `cipher` null no draft can be saved or read. Every method throws StoreError. */
export function draftTable(db: Db, cipher: SecretCipher | null) {
  return {
    /** Replaces the draft that was there; the oldest of an owner go when there are too many. */
    async saveDraft(draft: StoredDraft): Promise<void> {
      if (cipher === null) throw new StoreError("encryption", "There is no master key to encrypt drafts with.");
      await beginWriting(db).execute(async (tx) => {
        const { text, base, saved_at_ms, ...key } = rowOf(DRAFT, {
          ...draft,
          text: cipher.encrypt(draft.text, draftTextPlace(draft)),
        });
        const again = { text, base, saved_at_ms };
        await tx
          .insertInto("drafts")
          .values({ ...key, ...again })
          .onConflict((conflict) =>
            draft.projectId === null
              ? conflict
                  .columns(["tenant_id", "owner", "kind", "name"])
                  .where("project_id", "is", null)
                  .doUpdateSet(again)
              : conflict
                  .columns(["tenant_id", "project_id", "owner", "kind", "name"])
                  .where("project_id", "is not", null)
                  .doUpdateSet(again),
          )
          .execute();
        const kept = await of(tx, draft).offset(sql.lit(MOST_DRAFTS)).limit(sql.lit(MOST_DRAFTS)).execute();
        for (const { kind, name } of kept) await removed(tx, { ...draft, kind: kind as ConfiguredKind, name });
        const { count } = await tx
          .selectFrom("drafts")
          .select((row) => row.fn.countAll<bigint>().as("count"))
          .where("tenant_id", "=", draft.tenantId)
          .executeTakeFirstOrThrow();
        if (count > MOST_OF_TENANT)
          throw new StoreError(
            "conflict",
            `The tenant has ${MOST_OF_TENANT.toLocaleString("en-US")} drafts, the most that it may have. Discard those that are no longer needed.`,
          );
      });
    },
    /** Returns `null` when there is no draft, and when its text cannot be decrypted, because it cannot be edited any more. */
    async findDraft(place: DraftPlace): Promise<StoredDraft | null> {
      const row = await of(db, place)
        .where(exactly<Row>({ kind: place.kind, name: place.name }))
        .limit(1)
        .executeTakeFirst();
      const text = row === undefined ? null : textOf(row.text, place, cipher);
      return text === null ? null : { ...keptIn(DRAFT, row!), text };
    },
    /** Of one owner in one place, the newest first. */
    listDrafts: async (place: Owned): Promise<readonly Omit<StoredDraft, "text">[]> =>
      (await of(db, place).limit(sql.lit(MOST_DRAFTS)).execute())
        .filter(({ kind }) => isConfiguredKind(kind))
        .map((row) => keptIn(DRAFT, row)),
    /** Returns whether there was one. */
    removeDraft: (place: DraftPlace) => removed(db, place),
  };
}

function of(db: Db, { tenantId, projectId, owner }: Owned): SelectQueryBuilder<Schema, "drafts", Row> {
  return db
    .selectFrom("drafts")
    .selectAll()
    .where(exactly<Row>({ tenant_id: tenantId, project_id: projectId, owner }))
    .orderBy("saved_at_ms", "desc")
    .orderBy("name");
}

async function removed(db: Db, { tenantId, projectId, owner, kind, name }: DraftPlace): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("drafts")
    .where(exactly<Row>({ tenant_id: tenantId, project_id: projectId, owner, kind, name }))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

function textOf(sealed: string, place: DraftPlace, cipher: SecretCipher | null): string | null {
  try {
    return cipher === null ? null : cipher.decrypt(sealed, draftTextPlace(place));
  } catch (error) {
    if (error instanceof DecryptionError) return null;
    throw error;
  }
}
