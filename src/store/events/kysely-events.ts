// The event queue over any database that Kysely supports. A delivery is claimed by writing a lease on it: in SQLite one
// statement runs at a time; in PostgreSQL rows that another process is claiming are skipped
// (https://www.postgresql.org/docs/current/sql-select.html#SQL-FOR-UPDATE-SHARE).

// Decides (records and configuration): Which of several gateways delivers a webhook? By: `claim`. Rule: The one that
// claims it in a transaction, for the webhook's timeout and 10 s.
import { type Kysely, type Transaction, sql } from "kysely";
import { deliveryColumns, eventColumns, eventOf } from "./event-rows.ts";
import { DELIVERY, type EventSchema } from "./event-schema.ts";
import {
  type ClaimedDelivery,
  type DeliveryOutcome,
  type EventQueue,
  MOST_ATTEMPTS_KEPT,
  MOST_WAITING,
  type AddressedEvent,
} from "./events.ts";
import { fromInteger, fromIntegerOrNull, toInteger } from "../database/columns.ts";
import { usesPostgres } from "../database/dialect.ts";
import { inParts } from "../database/in-parts.ts";
import { beginWriting } from "../database/transactions.ts";

type Db = Kysely<EventSchema>;

/** Rows of one insert, because databases limit the values of a statement. */
const ROWS_AT_ONCE = 100;
const PRUNED_AT_ONCE = 500;
/**
 * Deliveries made in one transaction, unless a single event has more; and the pause in which others can write before
 * the next transaction.
 */
const DELIVERIES_AT_ONCE = 500;
const PAUSE_MS = 20;

export function kyselyEvents(db: Db, close: () => Promise<void>, mostWaiting = MOST_WAITING): EventQueue {
  return {
    append: async (events) => {
      let added = 0;
      for (const some of inParts(events, ROWS_AT_ONCE)) {
        const result = await db
          .insertInto("event")
          .values(some.map((event) => eventColumns(event, false)))
          .onConflict((conflict) => conflict.column("id").doNothing())
          .executeTakeFirst();
        added += Number(result.numInsertedOrUpdatedRows ?? 0n);
      }
      return added;
    },
    awaitingFanOut: async (most) =>
      (
        await db
          .selectFrom("event")
          .selectAll()
          .where("spread", "=", 0n)
          .orderBy("at_ms")
          .limit(sql.lit(most))
          .execute()
      ).map(eventOf),
    fanOut: (addressed, nowMs) => fanOutInParts(db, addressed, nowMs, mostWaiting),
    due: async (nowMs) => {
      const rows = await db
        .selectFrom("webhook_delivery")
        .select((row) => ["webhook_id", row.fn.min("next_at_ms").as("since_ms")] as const)
        .where("state", "=", "pending")
        .where("next_at_ms", "<=", toInteger(nowMs))
        .groupBy("webhook_id")
        .execute();
      return rows.map(({ webhook_id: webhookId, since_ms: sinceMs }) => ({ webhookId, sinceMs: fromInteger(sinceMs) }));
    },
    claim: (webhookId, most, nowMs, leaseMs) =>
      beginWriting(db).execute((tx) => claim(tx, { webhookId, most, nowMs, leaseMs })),
    settle: (claimed, outcome) => settle(db, claimed, outcome),
    abandon: async (webhookId, why, nowMs) => {
      const result = await db
        .updateTable("webhook_delivery")
        .set({ state: "dead", ended_at_ms: toInteger(nowMs), lease: null, last_error: why })
        .where("webhook_id", "=", webhookId)
        .where("state", "=", "pending")
        .executeTakeFirst();
      return Number(result.numUpdatedRows);
    },
    status: async () => {
      const rows = await db
        .selectFrom("webhook_delivery")
        .select(
          (row) =>
            ["state", row.fn.countAll<bigint>().as("count"), row.fn.min("created_at_ms").as("oldest_ms")] as const,
        )
        .where("state", "in", ["pending", "dead"])
        .groupBy("state")
        .execute();
      const of = (state: string) => rows.find((row) => row.state === state);
      return {
        pending: Number(of("pending")?.count ?? 0n),
        dead: Number(of("dead")?.count ?? 0n),
        oldestPendingMs: fromIntegerOrNull(of("pending")?.oldest_ms ?? null),
      };
    },
    prune: async (beforeMs) => {
      const waiting = db.selectFrom("webhook_delivery").select("event_id").where("state", "=", "pending");
      const old = db
        .selectFrom("event")
        .select("id")
        .where("spread", "=", 1n)
        .where("at_ms", "<", toInteger(beforeMs))
        .where("id", "not in", waiting)
        .orderBy("at_ms")
        .limit(sql.lit(PRUNED_AT_ONCE));
      return Number((await db.deleteFrom("event").where("id", "in", old).executeTakeFirst()).numDeletedRows);
    },
    close,
  };
}

async function fanOutInParts(
  db: Db,
  addressed: readonly AddressedEvent[],
  nowMs: number,
  mostWaiting: number,
): Promise<{ readonly deliveries: number; readonly shed: number }> {
  let deliveries = 0;
  const touched = new Set<string>();
  for (const [index, part] of partsOf(addressed).entries()) {
    if (index > 0) await Bun.sleep(PAUSE_MS);
    deliveries += await beginWriting(db).execute((tx) => fanOutPart(tx, part, nowMs, touched));
  }
  let shed = 0;
  for (const webhookId of touched) shed += await makeRoom(db, webhookId, mostWaiting);
  return { deliveries, shed };
}

function partsOf(addressed: readonly AddressedEvent[]): readonly (readonly AddressedEvent[])[] {
  const parts: AddressedEvent[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const one of addressed) {
    size += one.recipients.length;
    if (size > DELIVERIES_AT_ONCE) {
      parts.push([]);
      size = one.recipients.length;
    }
    parts.at(-1)!.push(one);
  }
  return parts;
}

/** Returns how many deliveries it made. The webhooks concerned are added to `touched`. */
async function fanOutPart(
  tx: Transaction<EventSchema>,
  addressed: readonly AddressedEvent[],
  nowMs: number,
  touched: Set<string>,
): Promise<number> {
  let deliveries = 0;
  for (const { event, recipients } of addressed) {
    // This row is the lock: a second process finds that the event is done.
    const { numUpdatedRows } = await tx
      .updateTable("event")
      .set({ spread: 1n })
      .where("id", "=", event.id)
      .where("spread", "=", 0n)
      .executeTakeFirst();
    if (numUpdatedRows === 0n || recipients.length === 0) continue;
    const rows = recipients.map((recipient) => deliveryColumns(event.id, recipient, nowMs));
    for (const some of inParts(rows, ROWS_AT_ONCE))
      await tx
        .insertInto("webhook_delivery")
        .values(some)
        .onConflict((conflict) => conflict.columns(["event_id", "webhook_id"]).doNothing())
        .execute();
    deliveries += rows.length;
    for (const { webhookId } of recipients) touched.add(webhookId);
  }
  return deliveries;
}

const waitingOf = (db: Db, webhookId: string) =>
  db.selectFrom("webhook_delivery").where("state", "=", "pending").where("webhook_id", "=", webhookId);

/** Removes the oldest deliveries of the webhook. They are counted outside of the transaction that blocks others. */
async function makeRoom(db: Db, webhookId: string, mostWaiting: number): Promise<number> {
  const { waiting } = await waitingOf(db, webhookId)
    .select((row) => row.fn.countAll<bigint>().as("waiting"))
    .executeTakeFirstOrThrow();
  const surplus = Number(waiting) - mostWaiting;
  if (surplus <= 0) return 0;
  const oldest = waitingOf(db, webhookId).select("id").orderBy("created_at_ms").orderBy("id").limit(sql.lit(surplus));
  return Number((await db.deleteFrom("webhook_delivery").where("id", "in", oldest).executeTakeFirst()).numDeletedRows);
}

interface Wanted {
  readonly webhookId: string;
  readonly most: number;
  readonly nowMs: number;
  readonly leaseMs: number;
}

async function claim(
  tx: Transaction<EventSchema>,
  { webhookId, most, nowMs, leaseMs }: Wanted,
): Promise<readonly ClaimedDelivery[]> {
  const free = waitingOf(tx, webhookId)
    .select("id")
    .where("next_at_ms", "<=", toInteger(nowMs))
    .orderBy("next_at_ms")
    .limit(sql.lit(most))
    .$if(usesPostgres(tx), (query) => query.forUpdate().skipLocked());
  const lease = crypto.randomUUID();
  const claimed = await tx
    .updateTable("webhook_delivery")
    .set((row) => ({ lease, next_at_ms: toInteger(nowMs + leaseMs), attempts: row("attempts", "+", 1n) }))
    .where("id", "in", free)
    .returning(["id", "event_id", "attempts", "history", "created_at_ms"])
    .execute();
  if (claimed.length === 0) return [];
  const events = new Map(
    (
      await tx
        .selectFrom("event")
        .selectAll()
        .where(
          "id",
          "in",
          claimed.map(({ event_id: id }) => id),
        )
        .execute()
    ).map((row) => [row.id, eventOf(row)]),
  );
  return claimed
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap(({ id, event_id: eventId, attempts, history }) => {
      const event = events.get(eventId);
      return event === undefined
        ? []
        : [{ id, lease, event, attempts: fromInteger(attempts), history: DELIVERY.history.read(history) }];
    });
}

async function settle(
  db: Db,
  { id, lease, history }: ClaimedDelivery,
  { state, nextAtMs, attempt }: DeliveryOutcome,
): Promise<boolean> {
  const all = JSON.stringify([...history, attempt].slice(-MOST_ATTEMPTS_KEPT));
  const { numUpdatedRows } = await db
    .updateTable("webhook_delivery")
    .set({
      state,
      lease: null,
      next_at_ms: toInteger(nextAtMs),
      ended_at_ms: state === "pending" ? null : toInteger(attempt.atMs + attempt.durationMs),
      last_status: attempt.status === null ? null : toInteger(attempt.status),
      last_error: attempt.error,
      history: all,
    })
    .where("id", "=", id)
    .where("lease", "=", lease)
    .where("state", "=", "pending")
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
