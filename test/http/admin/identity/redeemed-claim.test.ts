// A code of a claim link that gives nothing: anybody may send as many of them as they like.
import { expect, test } from "bun:test";
import { type RedeemingContext, redeemedClaim } from "../../../../src/http/admin/identity/redeemed-claim.ts";
import type { StoredClaim } from "../../../../src/store/identity/claims.ts";

const OPEN: StoredClaim = {
  id: "clm_1",
  codeHash: "",
  tenantId: "acme",
  projectId: "site",
  request: {},
  giver: "{}",
  createdBy: "ada",
  createdAtMs: 1,
  expiresAtMs: 100,
  redeemedAtMs: null,
  tokenId: null,
  revokedAtMs: null,
};

test.each<readonly [string, StoredClaim | null]>([
  ["is unknown", null],
  ["was redeemed", { ...OPEN, redeemedAtMs: 5 }],
  ["was revoked", { ...OPEN, revokedAtMs: 5 }],
  ["has expired", { ...OPEN, expiresAtMs: 5 }],
])("[d14.6] a code that %s begins no change, for which the changes of others would wait", async (_what, claim) => {
  let changes = 0;
  const change: RedeemingContext["store"]["change"] = () => {
    changes += 1;
    return Promise.reject(new Error("a change was begun"));
  };
  const redeem = (found: StoredClaim | null) =>
    redeemedClaim("code", null, {
      store: { findClaim: () => Promise.resolve(found), change },
      snapshot: () => {
        throw new Error("nobody's rights were to be looked at");
      },
      clock: { now: () => 10 },
    });
  expect([await redeem(claim), changes]).toEqual([null, 0]);
  await redeem(OPEN).catch(() => null);
  expect(changes).toBe(1);
});
