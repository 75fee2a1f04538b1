// Which other gateways are alive on the database, and whether their files differ, from rows alone: random lives of
// several gateways, each of whose reads is compared with what the history of its reads implies.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { openReplicaWatch, type ReplicaWatch } from "../../src/snapshot/replica-watch.ts";
import type { Replica, ReplicaTable } from "../../src/store/database/replicas.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { turnedClock } from "../harness/time/turned-clock.ts";
import { drawCount } from "../harness/time/long-run.ts";

const GRACE_MS = 10_000;
const NEVER_MS = 1e9;
const UNTIL_GONE = 10;

/** The table as one process after the other sees it. */
class Rows implements ReplicaTable {
  readonly rows = new Map<string, Replica>();
  isAway = false;

  registerReplica(own: Replica, gone: readonly Pick<Replica, "id" | "beat">[]): Promise<readonly Replica[]> {
    if (this.isAway) return Promise.reject(new Error("away"));
    this.rows.set(own.id, own);
    for (const { id, beat } of gone) if (this.rows.get(id)?.beat === beat) this.rows.delete(id);
    return Promise.resolve([...this.rows.values()].filter(({ id }) => id !== own.id));
  }

  unregisterReplica(id: string): Promise<void> {
    this.rows.delete(id);
    return Promise.resolve();
  }
}

interface Look {
  readonly nowMs: number;
  readonly own: string;
  readonly rows: ReadonlyMap<string, Replica>;
}

interface Told {
  readonly kind: "different" | "same";
  /** The number of the look. */
  readonly at: number;
  readonly others: readonly string[];
}

/** One run of a gateway. */
class Gateway {
  readonly watch: ReplicaWatch;
  readonly looks: Look[] = [];
  readonly told: Told[] = [];
  file = "a";
  readonly #world: World;
  readonly #id: string;

  constructor(world: World, id: string) {
    this.#world = world;
    this.#id = id;
    this.watch = openReplicaWatch({
      table: world.table,
      own: { id, name: id, version: "1", schemaStep: 31 },
      reviewSchema: async () => ({ contracted: [], refusal: null }),
      onContracted: () => {},
      onNotContracted: () => {},
      onRefused: () => {},
      fingerprint: () => this.file,
      clock: { now: () => 0, monotonic: () => world.nowMs },
      graceMs: GRACE_MS,
      everyMs: NEVER_MS,
      onDifferent: (others) =>
        this.told.push({
          kind: "different",
          at: this.looks.length,
          others: others.map(({ replica, fingerprint }) => `${replica} ${fingerprint}`),
        }),
      onSame: (replicas) => this.told.push({ kind: "same", at: this.looks.length, others: [String(replicas)] }),
    });
  }

  /** `isFirst`: of the look that it began with. */
  async look(isFirst = false): Promise<void> {
    if (this.#world.table.isAway) {
      if (!isFirst) await this.watch.check();
      return;
    }
    const before = this.told.length;
    if (isFirst) await Bun.sleep(0);
    else await this.watch.check();
    const rows = new Map([...this.#world.table.rows].filter(([id]) => id !== this.#id));
    this.looks.push({ nowMs: this.#world.nowMs, own: this.file, rows });
    const alive = this.aliveAt(this.looks.length - 1);
    expect(
      this.watch
        .others()
        .map(({ replica, fingerprint }) => `${replica} ${fingerprint}`)
        .toSorted(),
    ).toEqual(alive.map(({ id, fingerprint }) => `${id} ${fingerprint}`).toSorted());
    expect(this.told.slice(before)).toEqual([...this.#expected()]);
  }

  /** One lives whose row has changed between two looks, and not been the same in the ten looks since. */
  aliveAt(at: number): readonly Replica[] {
    const beatsOf = (id: string): number[] => {
      const beats: number[] = [];
      for (let n = at; n >= 0 && this.looks[n]!.rows.has(id); n--) beats.unshift(this.looks[n]!.rows.get(id)!.beat);
      return beats;
    };
    return [...this.looks[at]!.rows.values()].filter(({ id }) => {
      const beats = beatsOf(id);
      return (
        new Set(beats).size > 1 && beats.findIndex((beat) => beat === beats.at(-1)) > beats.length - 1 - UNTIL_GONE
      );
    });
  }

  #filesAt(at: number): string {
    const { own } = this.looks[at]!;
    return [...new Set([own, ...this.aliveAt(at).map(({ fingerprint }) => fingerprint)])].toSorted().join(" ");
  }

  /** Of the last look, from all looks. */
  #expected(): readonly Told[] {
    const last = this.looks.length - 1;
    const files = this.#filesAt(last);
    const former = this.told.findLast(({ at }) => at < last);
    const alive = this.aliveAt(last);
    if (!files.includes(" "))
      return former?.kind === "different" ? [{ kind: "same", at: last, others: [String(alive.length + 1)] }] : [];
    let since = last;
    while (since > 0 && this.#filesAt(since - 1) === files) since--;
    const isTold = former?.kind === "different" && this.#filesAt(former.at) === files;
    if (isTold || this.looks[last]!.nowMs - this.looks[since]!.nowMs < GRACE_MS) return [];
    return [
      {
        kind: "different",
        at: last,
        others: alive
          .filter(({ fingerprint }) => fingerprint !== this.looks[last]!.own)
          .map(({ id, fingerprint }) => `${id} ${fingerprint}`),
      },
    ];
  }
}

class World {
  nowMs = 0;
  readonly table = new Rows();
  readonly gateways: (Gateway | null)[] = [null, null, null];
  told = 0;
  #runs = 0;

  async start(place: number): Promise<void> {
    if (this.gateways[place] !== null) return;
    const gateway = new Gateway(this, `run-${++this.#runs}`);
    this.gateways[place] = gateway;
    await gateway.look(true);
  }

  change(place: number, file: string): Promise<void> {
    const gateway = this.gateways[place] ?? null;
    if (gateway !== null) gateway.file = file;
    return Promise.resolve();
  }

  async end(place: number, isKilled: boolean): Promise<void> {
    const gateway = this.gateways[place]!;
    if (gateway === null) return;
    this.told += gateway.told.length;
    this.gateways[place] = null;
    if (!isKilled) await gateway.watch.close();
  }
}

const place = fc.integer({ min: 0, max: 2 });
type Step = (world: World) => Promise<void>;
const looks: fc.Arbitrary<Step> = fc
  .tuple(fc.integer({ min: 1, max: 14 }), fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }))
  .map(([rounds, awake]) => async (world) => {
    for (let round = 0; round < rounds; round++) {
      world.nowMs += 1500 + ((round * 997) % 3000);
      for (const [n, gateway] of world.gateways.entries()) if (awake[n] === true) await gateway?.look();
    }
  });
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: looks },
  { weight: 3, arbitrary: place.map((at) => (world: World) => world.start(at)) },
  {
    weight: 1,
    arbitrary: fc.tuple(place, fc.boolean()).map(
      ([at, isKilled]) =>
        (world: World) =>
          world.end(at, isKilled),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(place, fc.constantFrom("a", "b", "c")).map(
      ([at, file]) =>
        (world: World) =>
          world.change(at, file),
    ),
  },
  { weight: 1, arbitrary: fc.boolean().map((isAway) => async (world: World) => void (world.table.isAway = isAway)) },
);

test("in random lives of gateways each knows which others are alive, and reports a lasting difference of files once, and its end", async () => {
  let told = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 40 }), async (all) => {
      const world = new World();
      for (const step of all) await step(world);
      for (const at of [0, 1, 2]) await world.end(at, false);
      told += world.told;
    }),
    { numRuns: drawCount(300, 1000), seed: printedSeed("replica-watch") },
  );
  expect(told).toBeGreaterThan(20);
});

test("[d15.4] a gateway of an earlier schema that was heard within the last minute keeps the schema as it is", async () => {
  const clock = turnedClock(0);
  const table = new Rows();
  const asked: (number | null)[] = [];
  const watch = openReplicaWatch({
    table,
    own: { id: "own", name: "own", version: "2", schemaStep: 32 },
    fingerprint: () => "a",
    clock,
    everyMs: NEVER_MS,
    onDifferent: () => {},
    onSame: () => {},
    reviewSchema: async (oldestHeard) => {
      asked.push(oldestHeard);
      return { contracted: [], refusal: null };
    },
    onContracted: () => {},
    onNotContracted: () => {},
    onRefused: () => {},
  });
  const former = (beat: number): Replica => ({
    id: "former",
    name: "former",
    version: "1",
    schemaStep: 31,
    fingerprint: "a",
    beat,
    seenMs: 0,
  });
  const checkAt = async (seconds: number, beat: number | null): Promise<number | null> => {
    clock.turnTo(seconds * 1000);
    if (beat !== null) table.rows.set("former", former(beat));
    await watch.check();
    return asked.at(-1)!;
  };
  // Nothing is known before a minute is over, nor after a pause in which somebody may have spoken.
  for (let at = 3; at < 60; at += 3) expect([at, await checkAt(at, at)]).toEqual([at, null]);
  for (let at = 63; at <= 120; at += 3) expect([at, await checkAt(at, at)]).toEqual([at, 31]);
  for (let at = 123; at < 180; at += 3) expect([at, await checkAt(at, null)]).toEqual([at, 31]);
  expect(await checkAt(180, null)).toBe(32);
  expect(await checkAt(183, 121)).toBe(31);
  expect(await checkAt(203, null)).toBe(null);
  await watch.close();
});
