// The text of access tokens: its form, its randomness, its checksum, and texts that must not be accepted as one.
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { isSameSecret, newAccessToken, newTokenText, parseTokenText } from "../../../src/auth/tokens/access-token.ts";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** In six characters, as a checksum is. */
const base62 = (value: number): string =>
  Array.from({ length: 6 }, (_, place) => BASE62[Math.floor(value / 62 ** (5 - place)) % 62]).join("");
const valueOf = (digits: string): bigint =>
  digits.split("").reduce((value, digit) => value * 62n + BigInt(BASE62.indexOf(digit)), 0n);

describe("the text of an access token", () => {
  test("has the published shape, and its last six characters are the CRC-32 of the rest", () => {
    for (const kind of ["project", "personal"] as const) {
      const { id, text } = newAccessToken(kind);
      expect(text).toMatch(
        kind === "project" ? /^dgm_pt_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/ : /^dgm_ut_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/,
      );
      expect(text.split("_")[2]).toBe(id);
      expect(valueOf(text.slice(-6))).toBe(BigInt(crc32(text.slice(0, -6))));
    }
  });

  test("holds 256 random bits: every bit is sometimes set, and the width is fixed", () => {
    let [seenSet, seenUnset] = [0n, 0n];
    const all = (1n << 256n) - 1n;
    for (let n = 0; n < 200; n++) {
      const secret = valueOf(newAccessToken("project").text.slice(20, 63));
      expect(secret).toBeLessThanOrEqual(all);
      seenSet |= secret;
      seenUnset |= ~secret & all;
    }
    expect(seenSet).toBe(all);
    expect(seenUnset).toBe(all);
  });

  test("is never created twice, and a rotation keeps the id alone", () => {
    const made = Array.from({ length: 500 }, () => newAccessToken("personal"));
    expect(new Set(made.map((token) => token.id)).size).toBe(500);
    const again = newTokenText("personal", made[0]!.id);
    expect(again.id).toBe(made[0]!.id);
    expect(again.text.slice(0, 20)).toBe(made[0]!.text.slice(0, 20));
    expect(again.text).not.toBe(made[0]!.text);
  });

  test("is parsed to its kind, its id and the SHA-256 of the whole text", () => {
    for (const kind of ["project", "personal"] as const) {
      const made = newAccessToken(kind);
      const parsed = parseTokenText(made.text);
      expect(parsed).toEqual({ kind, id: made.id, sha256: made.sha256 });
      expect(Buffer.from(parsed!.sha256).toString("hex")).toBe(createHash("sha256").update(made.text).digest("hex"));
    }
  });

  test("with any one character replaced, left out, doubled or swapped with its neighbour is no token", () => {
    const { text } = newAccessToken("project");
    for (let at = 0; at < text.length; at++) {
      const [before, own, after] = [text.slice(0, at), text[at]!, text.slice(at + 1)];
      expect(parseTokenText(before + after)).toBeNull();
      expect(parseTokenText(before + own + own + after)).toBeNull();
      for (const other of ["A", "z", "0", "_", "é", "\n", " "])
        if (other !== own) expect(parseTokenText(before + other + after)).toBeNull();
      if (after !== "" && after[0] !== own)
        expect(parseTokenText(before + after[0]! + own + after.slice(1))).toBeNull();
    }
  });

  test("with a valid checksum but other characters is no token", () => {
    for (const body of [
      `dgm_pt_AAAA-AAAAAAA_${"A".repeat(43)}`,
      `dgm_pt_AAAAAAAAAAAAA${"A".repeat(43)}`,
      `dgm_pt_AAAAAAAAAAAA_${"A".repeat(42)}+`,
      `dgm_xt_AAAAAAAAAAAA_${"A".repeat(43)}`,
      `DGM_pt_AAAAAAAAAAAA_${"A".repeat(43)}`,
    ]) {
      expect(parseTokenText(body + base62(crc32(body)))).toBeNull();
    }
    const good = `dgm_pt_AAAAAAAAAAAA_${"A".repeat(43)}`;
    expect(parseTokenText(good + base62(crc32(good)))?.id).toBe("AAAAAAAAAAAA");
  });

  test("with whitespace, in another case, or cut short is no token", () => {
    const { text } = newAccessToken("personal");
    for (const wrong of [
      "",
      "dgm_ut_",
      ` ${text}`,
      `${text}\n`,
      text.toUpperCase(),
      text.toLowerCase(),
      text.slice(0, -1),
      text.replace("dgm_ut_", "dgm_pt_"),
      text.replace("dgm_ut_", "dgm_xt_"),
    ])
      expect(parseTokenText(wrong)).toBeNull();
  });

  test("is refused if it was not generated here", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => parseTokenText(text) === null));
    const body = fc.tuple(
      fc.constantFrom("pt", "ut"),
      fc.stringMatching(/^[0-9A-Za-z]{12}$/),
      fc.stringMatching(/^[0-9A-Za-z]{43}$/),
    );
    fc.assert(
      fc.property(body, fc.integer({ min: 1, max: 0xffff_ffff }), ([kind, id, secret], offset) => {
        const start = `dgm_${kind}_${id}_${secret}`;
        expect(parseTokenText(start + base62(crc32(start)))).not.toBeNull();
        // Not modulo 2^32 on purpose: values above it are no checksum of anything.
        expect(parseTokenText(start + base62(crc32(start) + offset))).toBeNull();
      }),
    );
  });

  test("hashes are compared whole, and another length is simply another secret", () => {
    const hash = newAccessToken("project").sha256;
    expect(isSameSecret(hash, Uint8Array.from(hash))).toBe(true);
    for (const at of [0, 15, 31])
      expect(
        isSameSecret(
          hash,
          Uint8Array.from(hash, (byte, index) => (index === at ? byte ^ 1 : byte)),
        ),
      ).toBe(false);
    expect(isSameSecret(hash, hash.subarray(0, 31))).toBe(false);
    expect(isSameSecret(new Uint8Array(0), hash)).toBe(false);
  });
});
