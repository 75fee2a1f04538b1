// From the Authorization header to a stored token: which forms are accepted, and with which code each of the others is
// refused.
import { describe, expect, test } from "bun:test";
import { newAccessToken, newTokenText, secretSha256 } from "../../src/auth/tokens/access-token.ts";
import { authenticate } from "../../src/auth/identify.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { AccessToken, Membership } from "../../src/core/identity.ts";
import { thrownBy } from "./identities.ts";
import { sampleToken } from "../harness/sample-tokens.ts";

const NOW = Date.UTC(2026, 5, 1);
const made = newAccessToken("project");
const stored: AccessToken = sampleToken({
  id: made.id,
  secrets: [{ sha256: made.sha256, retiresAtMs: null }],
  createdAtMs: NOW - 1000,
  expiresAtMs: NOW + 1000,
});

function snapshotOf(token: AccessToken, memberships: readonly Membership[] = []) {
  return {
    tokens: new Map([[token.id, token]]),
    tokensByHash: new Map<string, AccessToken>(),
    memberships: Map.groupBy(memberships, (membership) => membership.userId),
  };
}
const call = (header: string | null, token: AccessToken = stored, nowMs = NOW): AccessToken =>
  authenticate(header, snapshotOf(token), nowMs);
const codeOf = async (header: string | null, token: AccessToken = stored, nowMs = NOW): Promise<string | undefined> =>
  (await thrownBy(() => call(header, token, nowMs))).code;

describe("authenticate", () => {
  test("takes the scheme in any case, with any number of spaces, and blanks around", () => {
    for (const header of [
      `Bearer ${made.text}`,
      `bearer ${made.text}`,
      `BEARER   ${made.text}`,
      `  Bearer ${made.text}  `,
    ])
      expect(call(header)).toBe(stored);
  });

  test("a missing token is missing_token", async () => {
    for (const header of [null, "", "   ", "Bearer", "bearer ", "  Bearer   "])
      expect([header, await codeOf(header)]).toEqual([header, "missing_token"]);
  });

  test("another form or scheme is invalid_token", async () => {
    const others = [
      made.text,
      `Basic ${btoa(`user:${made.text}`)}`,
      `Token ${made.text}`,
      `Bearer${made.text}`,
      `Bearer\t${made.text}`,
      `Bearer "${made.text}"`,
      `Bearer ${made.text} ${made.text}`,
      `Bearer Bearer ${made.text}`,
    ];
    for (const header of others) expect([header, await codeOf(header)]).toEqual([header, "invalid_token"]);
  });

  test("joined duplicates are refused, even of one and the same token", async () => {
    const other = newAccessToken("project").text;
    for (const header of [
      `Bearer ${made.text}, Bearer ${made.text}`,
      `Bearer ${made.text},Bearer ${other}`,
      `Bearer ${made.text},`,
      `,Bearer ${made.text}`,
      "Bearer, x",
    ]) {
      const { code, message } = await thrownBy(() => call(header));
      expect([header, code, message.includes("sent twice")]).toEqual([header, "invalid_token", true]);
    }
  });

  test("a malformed token is refused without a look-up", () => {
    const tokens = new Map<string, AccessToken>();
    tokens.get = () => {
      throw new Error("looked up");
    };
    const attempt = (text: string) => () =>
      authenticate(`Bearer ${text}`, { tokens, tokensByHash: new Map(), memberships: new Map() }, NOW);
    const swapped = made.text.slice(0, -1) + (made.text.endsWith("0") ? "1" : "0");
    for (const text of [swapped, made.text.slice(1), "sk-whatever"]) expect(attempt(text)).toThrow(GatewayError);
    expect(attempt(made.text)).toThrow("looked up");
  });

  test("a well-formed token with an unknown id, and a known id with another secret, are invalid_token with the same message", async () => {
    const unknownId = await thrownBy(() => call(`Bearer ${newAccessToken("project").text}`));
    const otherSecret = await thrownBy(() => call(`Bearer ${newTokenText("project", made.id).text}`));
    expect([unknownId.code, otherSecret.code]).toEqual(["invalid_token", "invalid_token"]);
    expect(otherSecret.message).toBe(unknownId.message);
    // Not even the state of a token is revealed to a caller without its secret.
    expect(await codeOf(`Bearer ${newTokenText("project", made.id).text}`, { ...stored, revokedAtMs: 1 })).toBe(
      "invalid_token",
    );
  });

  test("a token ends at its very millisecond", async () => {
    const header = `Bearer ${made.text}`;
    expect(call(header, stored, stored.expiresAtMs - 1)).toBe(stored);
    expect(await codeOf(header, stored, stored.expiresAtMs)).toBe("expired_token");
  });

  test("a revoked token is reported as revoked whatever the clocks say, also when it has expired", async () => {
    const header = `Bearer ${made.text}`;
    for (const revokedAtMs of [0, NOW, NOW + 60_000])
      expect(await codeOf(header, { ...stored, revokedAtMs })).toBe("revoked_token");
    expect(await codeOf(header, { ...stored, revokedAtMs: NOW }, stored.expiresAtMs + 1)).toBe("revoked_token");
  });

  test("each of two valid secrets works until its own end", async () => {
    const next = newTokenText("project", made.id);
    const rotated: AccessToken = {
      ...stored,
      secrets: [
        { sha256: made.sha256, retiresAtMs: NOW + 10 },
        { sha256: next.sha256, retiresAtMs: null },
      ],
    };
    expect(call(`Bearer ${made.text}`, rotated, NOW + 9)).toBe(rotated);
    expect(await codeOf(`Bearer ${made.text}`, rotated, NOW + 10)).toBe("expired_token");
    expect(call(`Bearer ${next.text}`, rotated, NOW + 10)).toBe(rotated);
  });

  test("a personal token needs its user to have a role in the token's tenant", async () => {
    const own = newAccessToken("personal");
    const token: AccessToken = {
      ...stored,
      id: own.id,
      kind: "personal",
      projectId: null,
      userId: "ann",
      role: null,
      secrets: [{ sha256: own.sha256, retiresAtMs: null }],
    };
    const attempt = (memberships: readonly Membership[]) => () =>
      authenticate(`Bearer ${own.text}`, snapshotOf(token, memberships), NOW);
    expect(attempt([{ userId: "ann", tenantId: "acme", projectId: "site", role: "viewer" }])()).toBe(token);
    const others: readonly (readonly Membership[])[] = [
      [],
      [{ userId: "bob", tenantId: "acme", projectId: null, role: "owner" }],
      [{ userId: "ann", tenantId: "beta", projectId: null, role: "owner" }],
    ];
    for (const memberships of others) expect((await thrownBy(attempt(memberships))).code).toBe("revoked_token");
  });

  test("an end that is not a date does not break the message", async () => {
    expect(await codeOf(`Bearer ${made.text}`, { ...stored, expiresAtMs: -9e15 })).toBe("expired_token");
  });
});

describe("a key of another gateway", () => {
  const key = "sk-planted-1234567890";
  const sha256 = secretSha256(key);
  const token: AccessToken = { ...stored, id: "foreign00001", secrets: [{ sha256, retiresAtMs: NOW + 500 }] };
  const hash = Buffer.from(sha256).toString("hex");
  const world = (of: AccessToken = token) => ({ ...snapshotOf(of), tokensByHash: new Map([[hash, of]]) });
  const enter = (text: string, of = token, nowMs = NOW) => authenticate(`Bearer ${text}`, world(of), nowMs);
  const codeAt = async (text: string, of = token, nowMs = NOW) => (await thrownBy(() => enter(text, of, nowMs))).code;

  test("[d15.2] is accepted by its hash", () => expect(enter(key)).toBe(token));
  test("[d15.2] is refused after its day, when its token has expired, and when it was revoked", async () => {
    expect(await codeAt(key, token, NOW + 500)).toBe("expired_token");
    expect(await codeAt(key, { ...token, expiresAtMs: NOW + 100 }, NOW + 100)).toBe("expired_token");
    expect(await codeAt(key, { ...token, revokedAtMs: NOW - 1 })).toBe("revoked_token");
  });
  test("other texts are unknown, the hash itself among them", async () => {
    for (const text of [`${key}x`, key.slice(1), hash, key.toUpperCase()])
      expect(await codeAt(text)).toBe("invalid_token");
  });
  test("texts in the form of our tokens, and texts that are too long, are not looked up", () => {
    const tokensByHash = new Map([[hash, token]]);
    tokensByHash.get = () => {
      throw new Error("looked up");
    };
    const attempt = (text: string) => () => authenticate(`Bearer ${text}`, { ...world(), tokensByHash }, NOW);
    expect(attempt(key)).toThrow("looked up");
    const mistyped = made.text.slice(0, -1) + (made.text.endsWith("0") ? "1" : "0");
    for (const text of [mistyped, "dgm_pt_x", "s".repeat(257)]) expect(attempt(text)).toThrow(GatewayError);
  });
});
