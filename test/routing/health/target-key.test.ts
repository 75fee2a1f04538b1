// Keys of targets, as health, events, metrics and the admin API read them.
import { expect, test } from "bun:test";
import { openRouting, targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { accountInKey, type CallersAccount, targetOfKey, tenantOfKey } from "../../../src/routing/health/target-key.ts";
import { routeOf } from "../../harness/routed.ts";

const CALLERS: readonly (CallersAccount | null)[] = [
  null,
  { tokenId: "T1", brought: "address", digest: "0a" },
  { tokenId: "T1", brought: "credential", digest: "0a" },
  { tokenId: "T1", brought: "settings", digest: "0a" },
];

test("[d7.5] the key of a target says which target it is, whose, and what a caller brings", () => {
  for (const model of ["m", "of", "by", "vendor/model:free", "address"])
    for (const owner of [undefined, "acme", "acme/site"])
      for (const callers of CALLERS)
        expect(targetOfKey(`mine:${model}${accountInKey(owner, callers)}`)).toEqual({
          providerId: "mine",
          model,
          owner: owner ?? null,
          brought: callers?.brought ?? null,
        });
  for (const text of ["", "mine", "mine:", ":m", "mine:m of", "mine:m by T1", "mine:m by T1 anything 0a"])
    expect(targetOfKey(text)).toBeNull();
});

test("[d7.5] the room for keys is shared by tenants, and by all callers who bring something to the operator's targets", () => {
  for (const callers of CALLERS) {
    const owners = [undefined, "acme", "acme/site"].map((owner) => tenantOfKey(`m:m${accountInKey(owner, callers)}`));
    expect(owners).toEqual([callers === null ? null : "by", "of acme", "of acme"]);
  }
});

test("[d9.9] targets of a tenant's own provider are known with their owner, and what callers bring is not shown", () => {
  const routing = openRouting(Math.random);
  const { breaker } = routeOf("r", []);
  for (const callers of CALLERS)
    for (const owner of [undefined, "acme"])
      routing.health.end(`mine:m${accountInKey(owner, callers)}`, breaker, "cancelled", 0, { retryAfterMs: 1000 });
  expect(targetStandings(routing, 0)).toEqual(
    [null, "acme"].map((owner) => ({
      target: "mine:m",
      owner,
      state: "rate_limited",
      inFlight: 0,
      waiting: 0,
      firstContentMs: null,
      openForMs: 1000,
    })),
  );
});
