// Pages of a list against a sorted list in memory.
import { expect, test } from "bun:test";
import { byNewest, type ListKey, readFirst, readPage } from "../../src/store/database/pages.ts";
import type { Page } from "../../src/store/reader.ts";
import { openDatabase } from "../../src/store/database/sqlite-connection.ts";
import { chanceOf, printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";

interface Row {
  readonly id: string;
  readonly place: string | null;
  readonly at_ms: bigint;
}

const compared = (a: string | bigint, b: string | bigint): number => (a < b ? -1 : a > b ? 1 : 0);
const BY_PLACE: ListKey = {
  list: "things by place",
  columns: [
    ["thing.place", "text or null"],
    ["thing.id", "text"],
  ],
  newestFirst: false,
};
const LISTS: readonly (readonly [ListKey, (a: Row, b: Row) => number])[] = [
  [byNewest("things", "at_ms"), (a, b) => compared(b.at_ms, a.at_ms) || compared(b.id, a.id)],
  [BY_PLACE, (a, b) => compared(a.place ?? "", b.place ?? "") || compared(a.id, b.id)],
];

test("pages of any size give each row once and in order, also where columns of the key are equal or absent", async () => {
  const chance = chanceOf(printedSeed("pages"));
  const { db, close } = await openDatabase<{ thing: Row }>({ file: ":memory:" });
  await db.schema
    .createTable("thing")
    .addColumn("id", "text")
    .addColumn("place", "text")
    .addColumn("at_ms", "bigint")
    .execute();
  const query = db.selectFrom("thing").selectAll();
  for (let draw = 0; draw < drawCount(20, 500); draw++) {
    const rows = Array.from({ length: chance.below(30) }, (_, index): Row => ({
      id: `t${index}`,
      place: chance.pick([null, "a", "b", "c"]),
      at_ms: BigInt(chance.below(5)),
    }));
    await db.deleteFrom("thing").execute();
    if (rows.length > 0) await db.insertInto("thing").values(rows).execute();
    for (const [key, inOrder] of LISTS) {
      const limit = 1 + chance.below(7);
      const read: string[] = [];
      let cursor: string | null = null;
      do {
        const page: Page<string> = await readPage(query, { limit, cursor }, key, ({ id }) => id);
        expect(page.data.length).toBe(Math.min(limit, rows.length - read.length));
        read.push(...page.data);
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(read).toEqual(rows.toSorted(inOrder).map(({ id }) => id));
    }
    const first = rows.toSorted((a, b) => compared(a.id, b.id))[0]?.id ?? null;
    expect(await readFirst(query.orderBy("id"), ({ id }) => id)).toBe(first);
  }
  await close();
});
