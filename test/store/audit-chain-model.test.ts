// Random lives of an audit log: several processes write to it, are killed, its database is restored from copies, old rows are
// removed. The chain stays whole, holds every row that a writer was told of, and whatever is changed from outside is found.
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ChainHead, chainOf } from "../../src/store/audit-chain.ts";
import { checkChain } from "../../src/store/audit-check.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openSqliteStore } from "../../src/store/sqlite.ts";
import type { Store } from "../../src/store/store.ts";
import { drawCount } from "../harness/long-run.ts";
import { type Chance, chanceOf, seedsFrom } from "../admission/simulation/chance.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-audit-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const WRITER = new URL("../harness/audit-writer.ts", import.meta.url).pathname;
const TENANTS = [null, "acme", "else"] as const;
const STEPS = 25;

interface Copy {
  readonly file: string;
  readonly counts: ReadonlyMap<string, number>;
}

class World {
  readonly #file: string;
  readonly #chance: Chance;
  #stores: Store[] = [];
  #nowMs = 1_700_000_000_000;
  /** How many links each chain has. */
  readonly counts = new Map<string, number>();
  #heads: { readonly chain: string; readonly head: ChainHead }[] = [];
  #copy: Copy | null = null;
  #copies = 0;

  constructor(name: string, chance: Chance) {
    this.#file = join(folder, `${name}.db`);
    this.#chance = chance;
  }

  async open(): Promise<void> {
    const clock = { now: () => this.#nowMs, monotonic: () => performance.now() };
    this.#stores = [
      await openSqliteStore({ file: this.#file, clock }),
      await openSqliteStore({ file: this.#file, clock }),
    ];
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
    const child = Bun.spawn([process.execPath, WRITER, this.#file, tenant], { stdout: "pipe", stderr: "inherit" });
    let said = 0;
    for await (const part of child.stdout) {
      said += part.length;
      if (said >= told) child.kill("SIGKILL");
    }
    await child.exited;
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

  copy(): void {
    const file = `${this.#file}.copy-${++this.#copies}`;
    const database = new Database(this.#file);
    database.run("vacuum into ?", [file]);
    database.close();
    this.#copy = { file, counts: new Map(this.counts) };
  }

  async restore(): Promise<void> {
    const copy = this.#copy;
    if (copy === null) return;
    await this.close();
    for (const end of ["-wal", "-shm"]) rmSync(this.#file + end, { force: true });
    renameSync(copy.file, this.#file);
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
    const database = new Database(this.#file);
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
    const isThere = database.query(`select 1 from audit_log ${at}`).get() !== null;
    database.run(isThere ? this.#chance.pick(statements) : `delete from audit_removed ${at}`);
    database.close();
    for (const one of this.counts.keys())
      expect([one, (await checkChain(this.#stores[0]!, one)).problems.length > 0]).toEqual([one, one === chain]);
  }
}

async function lives(seed: number): Promise<void> {
  const chance = chanceOf(seed);
  const world = new World(`seed-${seed}`, chance);
  await world.open();
  await world.write();
  for (let step = 0; step < STEPS; step++) {
    const drawn = chance.below(100);
    if (drawn < 60) await world.write();
    else if (drawn < 65) await world.kill();
    else if (drawn < 75) await world.prune();
    else if (drawn < 87) await world.note();
    else if (drawn < 95) world.copy();
    else await world.restore();
    if (step % 8 === 0) await world.isWhole();
  }
  await world.isWhole();
  await world.tampers();
  await world.close();
}

test("a chain outlives its writers, and shows what was done to it from outside", async () => {
  for (const seed of seedsFrom(1, drawCount(6, 200)))
    await lives(seed).catch((thrown: unknown) => {
      console.log(`DRAGOMAN_TEST_SEED=${seed} repeats this`);
      throw thrown;
    });
}, 600_000);
