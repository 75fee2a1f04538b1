// What every store of kept objects has to do, whichever keeps them; random lives of objects are compared with a model.
import { expect, test } from "bun:test";
import type { KeepingBounds, KeptStore } from "../../src/engine/keeping/kept-store.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { printedSeed } from "../harness/time/chance.ts";

export const SUITE_BOUNDS: KeepingBounds = { lifetimeMs: 60_000, objectBytes: 50, tenantBytes: 100, bytes: 10_000 };

export interface TurnedClock {
  now(): number;
  monotonic(): number;
  /** By which the clock is ahead of the machine's. */
  aheadMs: number;
}

export function turnedClock(): TurnedClock {
  const clock = {
    aheadMs: 0,
    now: () => Date.now() + clock.aheadMs,
    monotonic: () => performance.now() + clock.aheadMs,
  };
  return clock;
}

export interface OpenedStores {
  /** As two gateways see the same store. */
  readonly views: readonly KeptStore<Uint8Array>[];
  readonly close: () => Promise<void>;
}

/** Numerical Recipes' generator, which is even enough to draw what happens next. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

const bytes = (length: number, fill = 7): Uint8Array => new Uint8Array(length).fill(fill);

export function keptStoreSuite(name: string, open: (clock: TurnedClock) => Promise<OpenedStores>): void {
  const object = (
    tenantId: string,
    ids: readonly string[],
    value: Uint8Array,
    projectId: string | null = "project",
  ) => ({
    tenantId,
    projectId,
    ids,
    value,
    size: () => value.length,
  });

  test(`[d12.8] ${name}: an object is found by its id and by those of its parts, in its tenant, until it expires`, async () => {
    const clock = turnedClock();
    const { views, close } = await open(clock);
    const [one, other] = [views[0]!, views.at(-1)!];
    const tenant = `t${clock.now()}a`;
    const earliestMs = clock.now() + SUITE_BOUNDS.lifetimeMs;
    const isInTime = (untilMs: number): boolean =>
      untilMs >= earliestMs - 1 && untilMs <= clock.now() + SUITE_BOUNDS.lifetimeMs + 1;
    expect(isInTime(one.untilMs)).toBe(true);
    expect(await one.keep(object(tenant, ["a", "part"], bytes(10)))).toBe(true);
    for (const id of ["a", "part"]) {
      const found = (await other.find(tenant, id))!;
      expect([found.ids[0], [...found.value]]).toEqual(["a", [...bytes(10)]]);
      expect(isInTime(found.untilMs)).toBe(true);
    }
    expect([await other.find(tenant, "b"), await other.find(`${tenant}b`, "a")]).toEqual([null, null]);
    clock.aheadMs += SUITE_BOUNDS.lifetimeMs + 1;
    expect([await other.find(tenant, "a"), await one.find(tenant, "part")]).toEqual([null, null]);
    await close();
  });

  test(`[d12.8] ${name}: an object that is too large is not kept, and leaves the others alone`, async () => {
    const clock = turnedClock();
    const { views, close } = await open(clock);
    const tenant = `t${clock.now()}b`;
    expect(await views[0]!.keep(object(tenant, ["a"], bytes(50)))).toBe(true);
    expect(await views[0]!.keep(object(tenant, ["b"], bytes(51)))).toBe(false);
    expect([(await views[0]!.find(tenant, "a")) !== null, await views[0]!.find(tenant, "b")]).toEqual([true, null]);
    await close();
  });

  test(`[d12.8] ${name}: what is kept of a tenant or a project can be removed at once, and leaves its room and all others`, async () => {
    const clock = turnedClock();
    const { views, close } = await open(clock);
    const [one, other] = [views[0]!, views.at(-1)!];
    const [tenant, neighbour] = [`t${clock.now()}e`, `t${clock.now()}f`];
    const has = async (...ids: readonly string[]): Promise<readonly boolean[]> =>
      Promise.all(ids.map(async (id) => (await one.find(tenant, id)) !== null));
    await one.removeAll(tenant, null);
    await one.removeAll(tenant, "project");
    await one.keep(object(tenant, ["a", "part of a"], bytes(30)));
    await one.keep(object(tenant, ["b", "part of b"], bytes(30), "another"));
    await one.keep(object(tenant, ["c"], bytes(30), null));
    await one.keep(object(neighbour, ["a"], bytes(50)));
    await other.removeAll(tenant, "project");
    expect(await has("a", "part of a", "b", "part of b", "c")).toEqual([false, false, true, true, true]);
    await other.removeAll(tenant, null);
    expect(await has("b", "part of b", "c")).toEqual([false, false, false]);
    expect(await one.find(neighbour, "a")).not.toBeNull();
    for (const id of ["d", "e"]) await one.keep(object(tenant, [id], bytes(50)));
    expect(await has("d", "e")).toEqual([true, true]);
    await close();
  });

  test(`[d12.8] ${name}: random lives of objects of two tenants, seen by two gateways, are those of the model`, async () => {
    const clock = turnedClock();
    const { views, close } = await open(clock);
    const tenants = [`t${clock.now()}c`, `t${clock.now()}d`];
    const seed = printedSeed(`the kept objects of ${name}`);
    const random = randomOf(seed);
    const draw = (count: number): number => Math.floor(random() * count);
    interface Life {
      readonly tenant: string;
      readonly ids: readonly string[];
      readonly value: Uint8Array;
      readonly untilMs: number;
    }
    let lives: Life[] = [];
    for (let step = 0; step < drawCount(400, 20_000); step++) {
      const [view, tenant] = [views[draw(views.length)]!, tenants[draw(2)]!];
      const [id, part] = [`o${draw(8)}`, `p${draw(12)}`];
      clock.aheadMs += 2 + (draw(20) === 0 ? draw(40_000) : 0);
      lives = lives.filter(({ untilMs }) => untilMs > clock.now());
      const at = `seed ${seed}, step ${step}`;
      switch (draw(4)) {
        case 0: {
          const value = bytes(1 + draw(54), draw(256));
          const isKept = await view.keep(object(tenant, [id, part], value));
          expect([at, isKept]).toEqual([at, value.length <= SUITE_BOUNDS.objectBytes]);
          if (!isKept) break;
          lives = lives.filter((life) => life.tenant !== tenant || life.ids[0] !== id);
          lives.push({ tenant, ids: [id, part], value, untilMs: clock.now() + SUITE_BOUNDS.lifetimeMs });
          const sum = (): number =>
            lives.reduce((all, life) => all + (life.tenant === tenant ? life.value.length : 0), 0);
          while (sum() > SUITE_BOUNDS.tenantBytes)
            lives.splice(
              lives.findIndex((life) => life.tenant === tenant),
              1,
            );
          break;
        }
        case 1: {
          const life = lives.find((one) => one.tenant === tenant && one.ids[0] === id);
          const found = await view.find(tenant, id);
          expect([at, found === null ? null : [...found.value]]).toEqual([
            at,
            life === undefined ? null : [...life.value],
          ]);
          break;
        }
        case 2: {
          // the id of a part leads to the object that was kept last with it, while that one is kept
          const found = await view.find(tenant, part);
          if (found === null) break;
          const life = lives.find((one) => one.tenant === tenant && one.ids[0] === found.ids[0]);
          expect([at, [...found.value]]).toEqual([at, [...(life?.value ?? [])]]);
          break;
        }
        default:
          await view.remove(tenant, id);
          lives = lives.filter((life) => life.tenant !== tenant || life.ids[0] !== id);
      }
    }
    for (const tenant of tenants)
      for (let index = 0; index < 8; index++) {
        const life = lives.find((one) => one.tenant === tenant && one.ids[0] === `o${index}`);
        const isLeft = life !== undefined && life.untilMs > clock.now();
        expect((await views[0]!.find(tenant, `o${index}`)) !== null).toBe(isLeft);
      }
    await close();
  }, 60_000);
}
