// The writer of one change over any database that Kysely supports. Everything in it runs under the lock of its
// transaction, so that what it reads holds until the commit. Each changed row adds an entry, from which audit log and
// version are written at the end.
import { answerPlace, KEPT_ANSWER_MS } from "./configuration/kept-answers.ts";
import { claimWrites } from "./identity/kysely-claim-writes.ts";
import { drainWrites } from "./configuration/kysely-drains.ts";
import { deliveryWrites } from "./events/kysely-event-writes.ts";
import {
  projectWrites,
  putMembership,
  removeMembership,
  tenantWrites,
  userWrites,
} from "./identity/kysely-identity-writes.ts";
import { type Db, kyselyReader } from "./kysely-reader.ts";
import { resourceWrites } from "./configuration/kysely-resource-writes.ts";
import { takeSession } from "./identity/kysely-sessions.ts";
import { tokenWrites } from "./identity/kysely-token-writes.ts";
import { requireTexts, type Work, type WriterContext, type Written } from "./kysely-work.ts";
import type { KeptAnswer } from "./records.ts";
import { toInteger } from "./database/columns.ts";
import type { SessionFilter } from "./identity/sessions.ts";
import { StoreError } from "./store-error.ts";
import type { Writer } from "./writer.ts";
import { viewWrites } from "./configuration/kysely-view-writes.ts";

export interface OpenWriter {
  readonly writer: Writer;
  readonly written: Written;
}

export function openWriter(tx: Db, context: WriterContext): OpenWriter {
  const work: Work = {
    ...context,
    tx,
    entries: [],
    changes: [],
    steps: [],
    rolledBackTo: null,
    remark: null,
    keptAnswers: 0,
  };
  const writer: Writer = {
    ...kyselyReader(tx, { clock: { now: () => context.nowMs }, cipher: context.cipher }),
    ...context,
    ...tenantWrites(work),
    ...projectWrites(work),
    ...userWrites(work),
    putMembership: (membership) => putMembership(work, membership),
    removeMembership: (userId, projectId) => removeMembership(work, userId, projectId),
    ...tokenWrites(work),
    ...resourceWrites(work),
    ...deliveryWrites(work),
    ...claimWrites(work),
    ...viewWrites(work),
    ...drainWrites(work),
    endSession: (id, among) => endSession(work, id, among),
    annotate: (remark) => void (work.remark = remark),
    note: (note) => void work.entries.push({ ...note, isChange: false }),
    keepAnswer: (answer) => keepAnswer(work, answer),
  };
  return { writer, written: work };
}

async function endSession(work: Work, id: string, among: SessionFilter): Promise<boolean> {
  const ended = await takeSession(work.tx, id, among);
  if (ended === null) return false;
  const { tenantId, userId } = ended;
  work.entries.push({
    action: "end",
    outcome: "done",
    kind: "session",
    tenantId,
    targetId: id,
    targetName: userId,
    isChange: false,
  });
  return true;
}

async function keepAnswer(work: Work, { tokenId, key, requestHash, status, body }: KeptAnswer): Promise<void> {
  const { tx, nowMs, cipher } = work;
  if (cipher === null) throw new StoreError("encryption", "There is no master key to encrypt the response with.");
  requireTexts(tokenId, key);
  await tx
    .deleteFrom("kept_answers")
    .where("at_ms", "<=", toInteger(nowMs - KEPT_ANSWER_MS))
    .execute();
  const kept = await tx
    .selectFrom("kept_answers")
    .select("token_id")
    .where("token_id", "=", tokenId)
    .where("answer_key", "=", key)
    .executeTakeFirst();
  if (kept !== undefined) throw new StoreError("exists", "This idempotency key was used within the last 24 hours.");
  await tx
    .insertInto("kept_answers")
    .values({
      token_id: tokenId,
      answer_key: key,
      request_hash: requestHash,
      status: toInteger(status),
      body: cipher.encrypt(body, answerPlace(tokenId, key)),
      at_ms: toInteger(nowMs),
    })
    .execute();
  work.keptAnswers++;
}
