// Re-encrypts everything that is encrypted under the newest master key: resources, their earlier versions, drafts, stored
// answers, and the keys of call contents. One transaction under the lock of changes, so that no change is lost between
// reading and writing.
import type { Selectable, Transaction } from "kysely";
import { DecryptionError, type SecretCipher } from "../../config/secret-cipher.ts";
import { type ConfiguredKind, isConfiguredKind } from "../../core/configured/configured.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { contentKeyPlace } from "../calls/content-store.ts";
import { draftTextPlace } from "./drafts.ts";
import { answerPlace } from "./kept-answers.ts";
import type { StoredResource } from "./resource-rows.ts";
import { exactly, pagesOf } from "../database/pages.ts";
import type { Schema } from "../schema.ts";
import { reencryptedDocument } from "./secret-fields.ts";
import type { Reencryption } from "../store.ts";

type Tx = Transaction<Schema>;

/**
 * Where a database has texts that are lost without their master key, by table and column. Answers that are kept for
 * repeats are not among them, because they are of a few hours only.
 */
export const ENCRYPTED_COLUMNS: readonly (readonly [table: string, column: string])[] = [
  ["resources", "document"],
  ["version_changes", "value_before"],
  ["version_changes", "value_after"],
  ["drafts", "text"],
  ["content_key", "sealed"],
];

export async function reencryptAll(tx: Tx, cipher: SecretCipher): Promise<Reencryption> {
  let rows = 0;
  const unopened = new Set<string>();
  /** `null` when the text stays as it is. */
  const again = (what: string, text: string, make: () => string): string | null => {
    try {
      const made = make();
      return made === text ? null : made;
    } catch (error) {
      if (!(error instanceof DecryptionError)) throw error;
      unopened.add(`${what}: ${error.message}`);
      return null;
    }
  };
  for await (const { id, kind, name, document } of rowsOf(tx, "resources", "id")) {
    const made = again(`${kind} ${name ?? id}`, document, () =>
      JSON.stringify(reencryptedDocument(knownKind(kind), id, objectIn(document), cipher)),
    );
    if (made === null) continue;
    await tx.updateTable("resources").set({ document: made }).where("id", "=", id).execute();
    rows++;
  }
  for await (const row of rowsOf(tx, "version_changes", "version", "ordinal")) {
    const state = (text: string | null): string | null =>
      text === null
        ? null
        : again(`${row.kind} ${row.name ?? row.resource_id} in version ${row.version}`, text, () =>
            JSON.stringify(reencryptedState(objectIn<StoredResource>(text), cipher)),
          );
    const [before, after] = [state(row.value_before), state(row.value_after)];
    if (before === null && after === null) continue;
    await tx
      .updateTable("version_changes")
      .set({ value_before: before ?? row.value_before, value_after: after ?? row.value_after })
      .where("version", "=", row.version)
      .where("ordinal", "=", row.ordinal)
      .execute();
    rows++;
  }
  for (const { token_id: tokenId, answer_key: key, body } of await tx
    .selectFrom("kept_answers")
    .select(["token_id", "answer_key", "body"])
    .execute()) {
    const made = again("a stored response", body, () => cipher.reencrypt(body, answerPlace(tokenId, key)));
    if (made === null) continue;
    await tx
      .updateTable("kept_answers")
      .set({ body: made })
      .where("token_id", "=", tokenId)
      .where("answer_key", "=", key)
      .execute();
    rows++;
  }
  for (const { tenant_id: tenantId, project_id: projectId, owner, kind, name, text } of await tx
    .selectFrom("drafts")
    .select(["tenant_id", "project_id", "owner", "kind", "name", "text"])
    .execute()) {
    const place = { tenantId, projectId, owner, kind: kind as ConfiguredKind, name };
    const made = again(`a draft of ${kind} ${name}`, text, () => cipher.reencrypt(text, draftTextPlace(place)));
    if (made === null) continue;
    await tx
      .updateTable("drafts")
      .set({ text: made })
      .where(exactly<Schema["drafts"]>({ tenant_id: tenantId, project_id: projectId, owner, kind, name }))
      .execute();
    rows++;
  }
  for (const { tenant_id: tenantId, sealed } of await tx.selectFrom("content_key").selectAll().execute()) {
    const made = again(`the content key of the tenant ${tenantId}`, sealed, () =>
      cipher.reencrypt(sealed, contentKeyPlace(tenantId)),
    );
    if (made === null) continue;
    await tx.updateTable("content_key").set({ sealed: made }).where("tenant_id", "=", tenantId).execute();
    rows++;
  }
  return { rows, unopened: [...unopened] };
}

/** Rows that are read at once: the documents of all tenants, and of all versions, may be more than the memory holds. */
const ROWS_AT_ONCE = 20;

async function* rowsOf<Name extends "resources" | "version_changes">(
  tx: Tx,
  name: Name,
  ...key: readonly (keyof Schema[Name] & string)[]
): AsyncGenerator<Selectable<Schema[Name]>, void> {
  for await (const page of pagesOf(tx, { name, key, page: ROWS_AT_ONCE }))
    yield* page as readonly unknown[] as readonly Selectable<Schema[Name]>[];
}

function reencryptedState(resource: StoredResource, cipher: SecretCipher): StoredResource {
  const { kind, id, document } = resource;
  return { ...resource, document: reencryptedDocument(knownKind(kind), id, document, cipher) };
}

/** A newer version may have written it. Throws DecryptionError. */
function knownKind(kind: string): ConfiguredKind {
  if (!isConfiguredKind(kind)) throw new DecryptionError("this version does not know its kind");
  return kind;
}

/** A row that was edited by hand may have any text. Throws DecryptionError. */
function objectIn<T = JsonObject>(text: string): T {
  if (!isJsonObject(text)) throw new DecryptionError("it is no JSON object");
  return JSON.parse(text) as T;
}
