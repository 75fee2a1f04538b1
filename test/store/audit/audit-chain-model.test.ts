// Random lives of an audit log: several processes write to it, are killed, its database is restored from copies, old rows are
// removed. The chain stays whole, holds every row that a writer was told of, and whatever is changed from outside is found. In every database.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChainHead, chainOf } from "../../../src/store/audit/audit-chain.ts";
import { checkChain } from "../../../src/store/audit/audit-check.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import type { Store } from "../../../src/store/store.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { type PostgresDatabases, postgresDatabases, statement } from "../../harness/servers/postgres-server.ts";
import { until } from "../../harness/time/until.ts";
import { type Chance, chanceOf, seedsFrom } from "../../harness/time/chance.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-audit-"));
const postgres = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await postgres?.dispose();
});
const WRITER = join(import.meta.dir, "../../harness/audit-writer.ts");
const TENANTS = [null, "acme", "else"] as const;
const STEPS = 25;

/** Where an audit log is kept. Nothing is connected to it while it is replaced. */
interface Place {
  /** For a process of its own. */
  readonly address: () => string;
  readonly open: (options: { readonly clock: Clock }) => Promise<Store>;
  /** A statement from outside, past the store. */
  readonly run: (sql: string) => Promise<readonly object[]>;
  /** Ends when a process that was killed cannot write any more. */
  readonly ended: () => Promise<void>;
  /** Whether it can be copied while stores have it open. */
  readonly isCopiedOpen: boolean;
  /** A copy as it is now, and what puts it in the place. */
  readonly copy: () => Promise<() => void>;
}

function sqlitePlace(name: string): Place {
  const file = join(folder, `${name}.db`);
  let copies = 0;
  return {
    address: () => file,
    open: async (options) => (await openSqliteDatabase({ file, ...options })).store,
    run(sql) {
      const database = new Database(file);
      const rows = database.query(sql).all() as readonly object[];
      database.close();
      return Promise.resolve(rows);
    },
    ended: () => Promise.resolve(),
    isCopiedOpen: true,
    copy() {
      const copy = `${file}.copy-${++copies}`;
      const database = new Database(file);
      database.run("vacuum into ?", [copy]);
      database.close();
      return Promise.resolve(() => {
        for (const end of ["-wal", "-shm"]) rmSync(file + end, { force: true });
        renameSync(copy, file);
      });
    },
  };
}

const WRITER_NAME = "killed-writer";

const newUrl = postgres === null ? null : migratedDatabases(postgres);

async function postgresPlace(server: PostgresDatabases): Promise<Place> {
  let url = await newUrl!();
  return {
    address: () => `${url}?application_name=${WRITER_NAME}`,
    open: (options) => Promise.resolve(openPostgresDatabase({ url, ...options }).store),
    run: (sql) => statement(url, sql),
    // the server ends a statement that it has begun, whatever became of the client
    ended: () =>
      until(
        async () =>
          (
            await statement(
              url,
              `select 1 from pg_stat_activity where datname = current_database() and application_name = '${WRITER_NAME}'`,
            )
          ).length === 0,
        "the server has ended what the killed process had begun",
      ),
    isCopiedOpen: false,
    async copy() {
      const copy = await server.newDatabase(url);
      return () => (url = copy);
    },
  };
}

interface Copy {
  readonly restore: () => void;
  readonly counts: ReadonlyMap<string, number>;
}

class World {
  readonly #place: Place;
  readonly #chance: Chance;
  #stores: Store[] = [];
  #nowMs = 1_700_000_000_000;
  /** How many links each chain has. */
  readonly counts = new Map<string, number>();
  #heads: { readonly chain: string; readonly head: ChainHead }[] = [];
  #copy: Copy | null = null;

  constructor(place: Place, chance: Chance) {
    this.#place = place;
    this.#chance = chance;
  }

  async open(): Promise<void> {
    const clock = { now: () => this.#nowMs, monotonic: () => performance.now() };
    this.#stores = [await this.#place.open({ clock }), await this.#place.open({ clock })];
    await this.#stores[0]!.migrate();
  }

  async close(): Promise<void> {
    for (const store of this.#stores.splice(0)) await store.close();
  }

  async write(): Promise<void> {
    this.#nowMs += 1000;
    const rows = Array.from({ length: 1 + this.#chance.below(6) }, () => this.#chance.pick(TENANTS));
    await Promise.all(
      rows.map((tenantId) =>
        this.#chance.pick(this.#stores).note(LOCAL_ACTOR, {
          action: "change",
          outcome: this.#chance.pick(["done", "refused"]),
          kind: "limit",
          tenantId,
          before: { at: this.#chance.below(1000) / 7, text: "ü \u2028" },
        }),
      ),
    );
    for (const tenantId of rows) this.#added(chainOf(tenantId), 1);
  }

  #added(chain: string, rows: number): void {
    this.counts.set(chain, (this.counts.get(chain) ?? 0) + rows);
  }

  /** The other process says that a row is written when it is; one more may be written at its end. */
  async kill(): Promise<void> {
    const tenant = this.#chance.pick(["acme", "else"]);
    const told = 1 + this.#chance.below(8);
    const child = Bun.spawn([process.execPath, WRITER, this.#place.address(), tenant], {
      stdout: "pipe",
      stderr: "inherit",
    });
    let said = 0;
    for await (const part of child.stdout) {
      said += part.length;
      if (said >= told) child.kill("SIGKILL");
    }
    await child.exited;
    await this.#place.ended();
    const before = this.counts.get(tenant) ?? 0;
    const { sequence } = (await this.#stores[0]!.auditHead(tenant))!;
    expect(sequence).toBeGreaterThanOrEqual(before + said);
    this.counts.set(tenant, sequence);
  }

  async prune(): Promise<void> {
    const doneMs = this.#nowMs - this.#chance.below(20_000);
    await Promise.all(this.#stores.map((store) => store.pruneAudit({ doneMs, refusedMs: this.#nowMs })));
  }

  async note(): Promise<void> {
    const chain = this.#chance.pick([...this.counts.keys()]);
    const head = await this.#stores[1]!.auditHead(chain);
    if (head !== null) this.#heads.push({ chain, head });
  }

  async copy(): Promise<void> {
    const { isCopiedOpen } = this.#place;
    if (!isCopiedOpen) await this.close();
    this.#copy = { restore: await this.#place.copy(), counts: new Map(this.counts) };
    if (!isCopiedOpen) await this.open();
  }

  async restore(): Promise<void> {
    const copy = this.#copy;
    if (copy === null) return;
    await this.close();
    copy.restore();
    this.#copy = null;
    await this.open();
    this.counts.clear();
    for (const [chain, rows] of copy.counts) this.counts.set(chain, rows);
    const later = this.#heads.filter(({ chain, head }) => head.sequence > (copy.counts.get(chain) ?? 0));
    this.#heads = this.#heads.filter((one) => !later.includes(one));
    for (const { chain, head } of later)
      expect((await checkChain(this.#stores[0]!, chain, head)).problems).toMatchObject([{ problem: "rewritten" }]);
  }

  async isWhole(): Promise<void> {
    for (const [chain, links] of this.counts) {
      const { rows, removed, problems } = await checkChain(this.#chance.pick(this.#stores), chain);
      expect({ chain, links: rows + removed, problems }).toEqual({ chain, links, problems: [] });
    }
    for (const { chain, head } of this.#heads)
      expect((await checkChain(this.#stores[0]!, chain, head)).problems).toEqual([]);
  }

  /** Whether what was done from outside is found in its chain, and nowhere else. */
  async tampers(): Promise<void> {
    const [chain, links] = this.#chance.pick([...this.counts]);
    const sequence = 1 + this.#chance.below(links);
    const at = `where chain = '${chain}' and sequence = ${sequence}`;
    const column = this.#chance.pick([
      "note",
      "actor_user_id",
      "value_after",
      "target_name",
      "hash",
      "actor_address",
      "kind",
    ]);
    const statements = [
      `update audit_log set ${column} = '"x"' ${at}`,
      `delete from audit_log ${at}`,
      `update audit_log set at_ms = at_ms + 1 ${at}`,
      `update audit_log set outcome = case outcome when 'done' then 'refused' else 'done' end ${at}`,
    ];
    const isThere = (await this.#place.run(`select 1 from audit_log ${at}`)).length > 0;
    await this.#place.run(isThere ? this.#chance.pick(statements) : `delete from audit_removed ${at}`);
    for (const one of this.counts.keys())
      expect([one, (await checkChain(this.#stores[0]!, one)).problems.length > 0]).toEqual([one, one === chain]);
  }
}

async function lives(place: Place, seed: number): Promise<void> {
  const chance = chanceOf(seed);
  const world = new World(place, chance);
  await world.open();
  await world.write();
  for (let step = 0; step < STEPS; step++) {
    const drawn = chance.below(100);
    if (drawn < 60) await world.write();
    else if (drawn < 65) await world.kill();
    else if (drawn < 75) await world.prune();
    else if (drawn < 87) await world.note();
    else if (drawn < 95) await world.copy();
    else await world.restore();
    if (step % 8 === 0) await world.isWhole();
  }
  await world.isWhole();
  await world.tampers();
  await world.close();
}

const KINDS = {
  SQLite: {
    isMissing: false,
    newPlace: (seed: number) => Promise.resolve(sqlitePlace(`seed-${seed}`)),
    few: 6,
    many: 200,
  },
  PostgreSQL: { isMissing: postgres === null, newPlace: () => postgresPlace(postgres!), few: 3, many: 100 },
} as const;

for (const [name, { isMissing, newPlace, few, many }] of Object.entries(KINDS))
  test.skipIf(isMissing)(
    `a chain in ${name} outlives its writers, and shows what was done to it from outside`,
    async () => {
      for (const seed of seedsFrom(1, drawCount(few, many)))
        await newPlace(seed)
          .then((place) => lives(place, seed))
          .catch((thrown: unknown) => {
            console.log(`DRAGOMAN_TEST_SEED=${seed} repeats this`);
            throw thrown;
          });
    },
    600_000,
  );
