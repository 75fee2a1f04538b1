// The client's address: the peer's, or, behind proxies of the operator's, the nearest one in the header that is no
// proxy.
import { describe, expect, test } from "bun:test";
import { clientAddress } from "../../src/auth/client-address.ts";
import type { ProxyTrust } from "../../src/core/snapshot.ts";
import { compileIpRanges } from "../../src/wire/ip-range.ts";

const trust = (header: ProxyTrust["header"] = "x-forwarded-for"): ProxyTrust => ({
  proxies: compileIpRanges(["10.0.0.0/8", "fd00::/8"]),
  header,
});
const of = (peer: string | null, headers: Record<string, string>, how: ProxyTrust | null = trust()): string | null =>
  clientAddress(peer, new Headers(headers), how);

describe("the client's address", () => {
  test("is the peer's where no proxy is trusted, whatever headers say", () => {
    expect(of("203.0.113.9", { "x-forwarded-for": "192.0.2.1", forwarded: "for=192.0.2.1" }, null)).toBe("203.0.113.9");
    expect(of("203.0.113.9", { "x-forwarded-for": "192.0.2.1" })).toBe("203.0.113.9");
    expect(of(null, { "x-forwarded-for": "192.0.2.1" })).toBeNull();
  });

  test("is the nearest in X-Forwarded-For that is no trusted proxy: entries of callers further left never count", () => {
    expect(of("10.0.0.1", { "x-forwarded-for": "192.0.2.1" })).toBe("192.0.2.1");
    expect(of("::ffff:10.0.0.1", { "x-forwarded-for": "192.0.2.1" })).toBe("192.0.2.1");
    expect(of("10.0.0.1", { "x-forwarded-for": "127.0.0.1, 10.9.9.9, 192.0.2.1, 10.0.0.2" })).toBe("192.0.2.1");
    expect(of("10.0.0.1", { "x-forwarded-for": "10.0.0.3,10.0.0.2" })).toBe("10.0.0.3");
    expect(of("10.0.0.1", {})).toBe("10.0.0.1");
  });

  test("is read in the forms that proxies write", () => {
    for (const [text, address] of [
      ["192.0.2.1:5060", "192.0.2.1"],
      ["[2001:db8::1]:443", "2001:db8::1"],
      ["[2001:db8::1]", "2001:db8::1"],
      ["2001:db8::1", "2001:db8::1"],
      ["  192.0.2.1  ", "192.0.2.1"],
    ] as const)
      expect([text, of("10.0.0.1", { "x-forwarded-for": text })]).toEqual([text, address]);
  });

  test("is unknown where the header cannot be read: being a proxy grants no access", () => {
    for (const text of ["unknown", "", "192.0.2.1, _hidden", "192.0.2.1,,", "example.com", "999.1.1.1"])
      expect([text, of("10.0.0.1", { "x-forwarded-for": text })]).toEqual([text, null]);
  });

  test("comes from Forwarded only where that is the proxies' header, and then from no other", () => {
    const both = { "x-forwarded-for": "192.0.2.1", forwarded: "for=198.51.100.2" };
    expect(of("10.0.0.1", both)).toBe("192.0.2.1");
    expect(of("10.0.0.1", both, trust("forwarded"))).toBe("198.51.100.2");
    for (const [text, address] of [
      ["for=192.0.2.60;proto=http;by=203.0.113.43", "192.0.2.60"],
      ['For="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"],
      ["proto=https; for=192.0.2.60 ;host=x", "192.0.2.60"],
      ["for=1.1.1.1, for=192.0.2.60, for=10.0.0.7", "192.0.2.60"],
      ["for=unknown", null],
      ["for=192.0.2.60, by=10.0.0.1", null],
    ] as const)
      expect([text, of("10.0.0.1", { forwarded: text }, trust("forwarded"))]).toEqual([text, address]);
  });
});
