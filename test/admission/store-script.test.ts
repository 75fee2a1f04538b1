// The Lua script on a real server against its model in TypeScript: random messages, and equal answers. The simulation runs the model, so that what it proves
// is true of the script as long as this holds.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Redis } from "ioredis";
import {
  type AccountLine,
  type Answer,
  encodeMessage,
  type MessageWithKeys,
  type Operation,
  type Statement,
} from "../../src/admission/valkey/protocol.ts";
import { STORE_SCRIPT } from "../../src/admission/valkey/store-script.ts";
import { bucketAt, leavesAtMs } from "../../src/admission/valkey/windows.ts";
import { findServer, type RedisServer, startRedis } from "../harness/servers/redis-server.ts";
import { chanceOf, type Chance, seedsFrom } from "../harness/time/chance.ts";
import { openStoreModel } from "./simulation/store-model.ts";

const KINDS = [
  ["slide", 1000],
  ["slide", 5000],
  ["slide", 60_000],
  ["slide", 86_400_000],
  ["day", 0],
  ["week", 0],
  ["month", 0],
  ["total", 0],
  ["slots", 0],
] as const;

interface World {
  readonly tag: string;
  readonly shapes: readonly (readonly [string, (typeof KINDS)[number], number])[];
  readonly replicas: readonly string[];
  readonly sequences: Map<string, number>;
  epoch: string;
}

function newWorld(chance: Chance, seed: number): World {
  const tag = `t${seed}`;
  const shapes = Array.from(
    { length: chance.below(4) + 1 },
    (_, index) =>
      [
        `test:{${tag}}:a:${index}`,
        chance.pick(KINDS),
        chance.pick([0, 7, 10, 1000, 2 ** 52, 9_000_000_000_000]),
      ] as const,
  );
  return { tag, shapes, replicas: ["r1", "r2", "r3"].slice(0, chance.below(3) + 1), sequences: new Map(), epoch: "" };
}

/** The server's time, give or take: buckets of just now, long ago, and ahead of it. */
function randomMessage(chance: Chance, { tag, shapes, replicas, sequences, epoch }: World): MessageWithKeys {
  const replica = chance.pick(replicas);
  const again = chance.below(10) === 0;
  const sequence = (sequences.get(replica) ?? 0) + (again ? 0 : 1);
  sequences.set(replica, Math.max(1, sequence));
  const chosen = shapes.filter(() => chance.below(4) > 0);
  const units = (limit: number): number => chance.pick([0, 1, 1, 2, 5, Math.floor(limit / 3), Math.floor(limit / 100)]);
  const bucket = ([, [kind, windowMs]]: World["shapes"][number]): number =>
    bucketAt({ kind, windowMs }, Date.now()) - chance.pick([0, 0, 0, 1, 3, 70, -2]);
  const accounts = chosen.map(([, [kind, windowMs], limit]): AccountLine => {
    const hold = chance.pick([0, 0, 1, 4]);
    return [
      limit,
      kind,
      windowMs,
      chance.pick([1, 1, 3, 100]),
      chance.pick([0, 0, 1, 10, Math.floor(limit / 50), Math.floor(limit / 4), Math.floor(limit / 2), limit]),
      hold,
      Math.min(hold, chance.below(3)),
    ];
  });
  const operations: Operation[] = [];
  for (const [index, shape] of chosen.entries()) {
    if (chance.below(3) === 0)
      operations.push(["g", index + 1, bucket(shape), chance.below(2) === 0 ? -units(shape[2]) : units(shape[2])]);
    if (chance.below(5) === 0) operations.push(["c", index + 1, units(shape[2])]);
    if (chance.below(6) === 0) operations.push(["f", index + 1, chance.pick(["80", "100"])]);
  }
  for (let n = chance.below(4); n > 0; n--) {
    const needs = chosen.flatMap((shape, index) =>
      chance.below(3) > 0 ? [index + 1, units(shape[2]), chance.below(8) === 0 ? 1 : 0] : [],
    );
    if (needs.length > 0) operations.push(["r", ...needs]);
  }
  const join = chance.pick([0, 0, 0, 0, 0, 0, 1, 2, 2, 3] as const);
  const statements =
    join === 0
      ? []
      : chosen.flatMap((shape, index): Statement[] =>
          shape[1][0] !== "slots" && chance.below(2) === 0
            ? [
                [
                  index + 1,
                  chance.pick([0, 1, 1, 2] as const),
                  ...(chance.below(3) > 0 ? [bucket(shape), units(shape[2])] : []),
                ],
              ]
            : [],
        );
  const keys = [
    `test:{${tag}}:epoch`,
    `test:{${tag}}:live`,
    `test:{${tag}}:group`,
    ...chosen.flatMap(([key]) => [key, `${key}:o:${replica}`]),
  ];
  return {
    keys,
    replica,
    sequence: Math.max(1, sequence),
    epoch: chance.below(20) === 0 ? "another" : epoch,
    join,
    leaseLifeMs: 250,
    joinMs: chance.pick([0, 0, 5]),
    accounts,
    statements,
    operations,
  };
}

/** Both name an epoch after themselves. */
const comparable = ([status, , ...rest]: Answer): unknown =>
  rest[1] === undefined || status !== 0 ? [status, rest[0]] : [status, ...rest];

/** What replicas hold of budgets without end is in no answer: dragoman limit reconcile reads it. */
const totals = ({ keys, accounts }: MessageWithKeys): readonly string[] =>
  accounts.flatMap(([, kind], index) => (kind === "total" ? [keys[3 + 2 * index]!] : []));

async function holdsOf(redis: Redis, key: string): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(Object.entries(await redis.hgetall(key)).filter(([field]) => field.startsWith("h:")));
}

const binary = findServer("redis-server");
if (binary === null) console.log("skipped: there is no redis-server on this machine");
describe.skipIf(binary === null)("the script of the limit store", () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis({ flags: ["--appendonly", "no"] });
    redis = new Redis(server.url);
    redis.defineCommand("talk", { lua: STORE_SCRIPT });
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  const talk = (message: MessageWithKeys): Promise<Answer> =>
    (redis as unknown as { talk(...args: readonly (string | number)[]): Promise<Answer> }).talk(
      message.keys.length,
      ...message.keys,
      encodeMessage(message),
    );

  test("answers random messages as its model does", async () => {
    for (const seed of seedsFrom(1, 250)) {
      const chance = chanceOf(seed);
      const world = newWorld(chance, seed);
      const model = openStoreModel();
      let modelEpoch = "";
      for (let step = 0; step < 40; step++) {
        const message = randomMessage(chance, world);
        const answer = await talk(message);
        const expected = model.run(
          { ...message, epoch: message.epoch === world.epoch ? modelEpoch : message.epoch },
          answer[2],
        );
        try {
          expect(comparable(answer)).toEqual(comparable(expected));
          if (answer[0] === 0)
            for (const key of totals(message))
              expect(await holdsOf(redis, key)).toEqual(
                Object.fromEntries(
                  [...(model.count(key)?.holds ?? [])].map(([id, { units, at, idle }]) => [
                    `h:${id}`,
                    `${units}:${at}:${idle}`,
                  ]),
                ),
              );
        } catch (error) {
          throw new Error(`DRAGOMAN_TEST_SEED=${seed}, step ${step}: ${JSON.stringify(message)}`, { cause: error });
        }
        world.epoch = answer[1];
        modelEpoch = expected[1];
      }
    }
  });

  test("computes months, weeks and windows as the replica does", () => {
    for (const [from, to] of [
      ["2024-02-29", "2024-03-01"],
      ["2023-12-31", "2024-01-01"],
      ["2100-02-28", "2100-03-01"],
    ] as const) {
      const month = { kind: "month", windowMs: 0 } as const;
      const before = bucketAt(month, Date.parse(from));
      expect(bucketAt(month, Date.parse(to))).toBe(before + 1);
      expect(leavesAtMs(month, before, 250)).toBe(Date.parse(to));
    }
    const week = { kind: "week", windowMs: 0 } as const;
    expect(bucketAt(week, Date.parse("2026-11-22T23:59:59Z")) + 1).toBe(
      bucketAt(week, Date.parse("2026-11-23T00:00:00Z")),
    );
    expect(leavesAtMs(week, bucketAt(week, Date.parse("2026-11-20")), 250)).toBe(Date.parse("2026-11-23"));
  });

  test("keeps figures exact up to 2^53", async () => {
    const keys = ["big:{b}:epoch", "big:{b}:live", "big:{b}:group", "big:{b}:a", "big:{b}:o"];
    const message = { keys, replica: "r", epoch: "", join: 2, leaseLifeMs: 250, joinMs: 0, statements: [] } as const;
    const most = 2 ** 53 - 1;
    await talk({
      ...message,
      sequence: 1,
      accounts: [[most, "total", 0, 1, 0, 0, 0]],
      operations: [["r", 1, most - 2, 0]],
    });
    const answer = await talk({
      ...message,
      sequence: 2,
      accounts: [[most, "total", 0, 1, 0, 0, 0]],
      operations: [["r", 1, 1, 0]],
    });
    expect(answer[5][0]![0]).toBe(most - 1);
    expect((await talk({ ...message, sequence: 2, accounts: [], operations: [] }))[5][0]![0]).toBe(most - 1);
  });
});
