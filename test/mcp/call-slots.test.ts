// The places of concurrent calls, against an independent count of holders and waiters.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { openCallSlots } from "../../src/mcp/call-slots.ts";

type Step = "take" | "free" | "leave";

describe("places", () => {
  test("a place that is given to a waiter who has left goes to the next waiter", async () => {
    const places = openCallSlots();
    expect(places.take(1)).toBeUndefined();
    const first = places.take(1)!;
    const second = places.take(1)!;
    places.free();
    // the place is the first waiter's by now, who leaves without having seen it
    places.giveUp(first);
    await second;
    expect(places.inUse).toBe(1);
    places.free();
    expect(places.inUse).toBe(0);
    expect(places.take(1)).toBeUndefined();
  });

  test("[d16.4] tenants that share places take turns, however many of one wait", async () => {
    const places = openCallSlots();
    expect(places.take(1, "acme")).toBeUndefined();
    const served: string[] = [];
    const waitFor = (tenantId: string, name: string): Promise<void> => {
      const waiting = places.take(1, tenantId)!;
      void waiting.then(() => served.push(name));
      return waiting;
    };
    const first = waitFor("acme", "acme 1");
    for (const name of ["acme 2", "acme 3"]) void waitFor("acme", name);
    const other = waitFor("other", "other 1");
    const last = waitFor("third", "third 1");
    places.free();
    await first;
    places.free();
    await other;
    places.giveUp(last);
    while (served.length < 4) {
      places.free();
      await Promise.resolve();
    }
    expect(served).toEqual(["acme 1", "other 1", "acme 2", "acme 3"]);
    places.free();
    expect(places.inUse).toBe(0);
  });

  test("a waiter who leaves before its turn gets no place", async () => {
    const places = openCallSlots();
    expect(places.take(1)).toBeUndefined();
    const left = places.take(1)!;
    const next = places.take(1)!;
    places.giveUp(left);
    places.free();
    await next;
    expect(places.inUse).toBe(1);
    places.free();
    expect([places.inUse, places.take(1)]).toEqual([0, undefined]);
  });

  test("in any order of taking, freeing and leaving, no more are taken than exist, none is lost, and waiters are served in turn", async () => {
    const step = fc.tuple(fc.constantFrom<Step>("take", "take", "free", "leave"), fc.nat(30));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 60 }), async (max, steps) => {
        const places = openCallSlots();
        let holders = 0;
        const waiters: { readonly promise: Promise<void>; hasPlace: boolean }[] = [];
        const give = (): void => {
          const next = waiters.find(({ hasPlace }) => !hasPlace);
          if (next !== undefined) next.hasPlace = true;
        };
        for (const [what, at] of steps) {
          if (what === "take") {
            const waiting = places.take(max);
            const isFree = holders + waiters.filter(({ hasPlace }) => hasPlace).length < max;
            expect(waiting === undefined).toBe(isFree);
            if (waiting === undefined) holders += 1;
            else waiters.push({ promise: waiting, hasPlace: false });
          } else if (what === "free" && holders > 0) {
            holders -= 1;
            places.free();
            give();
          } else if (what === "leave" && waiters.length > 0) {
            const [left] = waiters.splice(at % waiters.length, 1);
            places.giveUp(left!.promise);
            if (left!.hasPlace) give();
          }
          expect(places.inUse).toBe(holders + waiters.filter(({ hasPlace }) => hasPlace).length);
        }
        // every waiter is served in the end, in the order of arrival
        const served: number[] = [];
        for (const [index, { promise }] of waiters.entries()) void promise.then(() => served.push(index));
        for (let count = holders; count > 0; count--) places.free();
        for (let count = 0; count < waiters.length; count++) {
          await Promise.resolve();
          places.free();
        }
        await Promise.resolve();
        expect(served).toEqual(waiters.map((_, index) => index));
        expect(places.inUse).toBe(0);
      }),
      { numRuns: 2000 },
    );
  });
});
