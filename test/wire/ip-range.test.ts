// Ranges of IP addresses: their forms, and the addresses in them.
import { describe, expect, test } from "bun:test";
import { compileIpRanges, isIpRange } from "../../src/wire/ip-range.ts";

describe("a range of addresses", () => {
  test("holds the addresses with its first bits, and no other", () => {
    const cases: readonly (readonly [range: string, inside: readonly string[], outside: readonly string[]])[] = [
      ["192.0.2.7", ["192.0.2.7"], ["192.0.2.8", "::1"]],
      ["10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["9.255.255.255", "11.0.0.0"]],
      ["10.9.8.7/8", ["10.1.1.1"], ["11.0.0.0"]],
      ["192.0.2.128/25", ["192.0.2.128", "192.0.2.255"], ["192.0.2.127", "192.0.3.128"]],
      ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::1", "2001:db8::1"]],
      ["2001:db8::/32", ["2001:db8::1", "2001:0DB8:ffff::"], ["2001:db9::1", "10.0.0.1"]],
      ["::/0", ["::1", "2001:db8::1"], ["10.0.0.1"]],
      ["::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2"]],
      ["fe80::/10", ["fe80::1%eth0"], ["fec0::1"]],
    ];
    for (const [range, inside, externalClients] of cases) {
      const ranges = compileIpRanges([range]);
      for (const address of inside) expect([range, address, ranges.has(address)]).toEqual([range, address, true]);
      for (const address of externalClients)
        expect([range, address, ranges.has(address)]).toEqual([range, address, false]);
    }
  });

  test("treats an IPv4 address inside IPv6 as the IPv4 address, on either side", () => {
    expect(compileIpRanges(["10.0.0.0/8"]).has("::ffff:10.1.2.3")).toBe(true);
    expect(compileIpRanges(["10.0.0.0/8"]).has("::ffff:0a01:0203")).toBe(true);
    expect(compileIpRanges(["::ffff:10.0.0.0/104"]).has("10.1.2.3")).toBe(true);
    expect(compileIpRanges(["::ffff:10.0.0.0/104"]).has("11.1.2.3")).toBe(false);
    expect(compileIpRanges(["::ffff:0:0/96"]).has("203.0.113.9")).toBe(true);
  });

  test("of several, one match is enough; none matches nothing; text that is not an address matches none", () => {
    const ranges = compileIpRanges(["192.0.2.0/24", "::1"]);
    expect(["192.0.2.1", "::1", "192.0.3.1"].map(ranges.has)).toEqual([true, true, false]);
    expect(compileIpRanges([]).has("192.0.2.1")).toBe(false);
    for (const text of ["", "unknown", "192.0.2", "192.0.2.1:80", "192.0.2.1, 192.0.2.2"])
      expect(ranges.has(text)).toBe(false);
  });

  test("is refused where it is invalid", () => {
    for (const text of [
      "",
      "/",
      "10.0.0.0/",
      "10.0.0.0/33",
      "10.0.0.0/-1",
      "10.0.0.0/8/8",
      "::/129",
      "10.0.0",
      "010.0.0.1",
      "example.com",
      "fe80::1%eth0",
      "10.0.0.0/8 ",
      "10.0.0.0/0x8",
    ]) {
      expect([text, isIpRange(text)]).toEqual([text, false]);
      expect(() => compileIpRanges([text])).toThrow(TypeError);
    }
  });
});
