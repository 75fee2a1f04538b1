// Ranges of IP addresses: their forms, and the addresses in them.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
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
      ["fe80::/10", ["fe80::1%eth0", "fe80::1%eth0.100", "fe80::1%br-lan"], ["fec0::1"]],
      ["::/96", ["::192.0.2.1", "::c000:201", "::1"], ["192.0.2.1", "::ffff:192.0.2.1"]],
      ["::192.0.2.1", ["::c000:201"], ["192.0.2.1", "::ffff:192.0.2.1"]],
      ["64:ff9b::192.0.2.1", ["64:ff9b::c000:201"], ["192.0.2.1"]],
    ];
    for (const [range, inside, externalClients] of cases) {
      const ranges = compileIpRanges([range]);
      for (const address of inside) expect([range, address, ranges.has(address)]).toEqual([range, address, true]);
      for (const address of externalClients)
        expect([range, address, ranges.has(address)]).toEqual([range, address, false]);
    }
  });

  test("of any length holds what has its first bits, in every spelling", () => {
    const bitsOf = (groups: readonly number[]): string =>
      groups.map((group) => group.toString(2).padStart(16, "0")).join("");
    // Not one of IPv4 inside IPv6, whose ranges have other lengths.
    const group = fc.nat(0xffff);
    const address = fc.tuple(fc.integer({ min: 1, max: 0xffff }), group, group, group, group, group, group, group);
    fc.assert(
      fc.property(address, fc.nat(128), fc.nat(127), (groups, length, flipped) => {
        const text = groups.map((one) => one.toString(16)).join(":");
        const short = new URL(`http://[${text}]/`).hostname.slice(1, -1);
        const ranges = compileIpRanges([`${text}/${length}`]);
        const other = groups.map((one, at) => (at === flipped >> 4 ? one ^ (0x8000 >> (flipped & 15)) : one));
        fc.pre(other[0] !== 0);
        const otherText = other.map((one) => one.toString(16).padStart(4, "0")).join(":");
        const isInside = bitsOf(other).slice(0, length) === bitsOf(groups).slice(0, length);
        expect([text, short, otherText].map(ranges.has)).toEqual([true, true, isInside]);
      }),
    );
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
    for (const text of ["", "unknown", "192.0.2", "192.0.2.1:80", "192.0.2.1, 192.0.2.2", "0300.0.2.1", "0xc0000201"])
      expect([text, ranges.has(text)]).toEqual([text, false]);
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
      "0x7f.1",
      "2130706433",
      "::ffff:010.0.0.1",
      "1::2::3",
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
