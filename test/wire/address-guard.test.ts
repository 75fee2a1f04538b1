// The address guard of promise 2.12: ranges as a table, spellings, and what is pinned.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../src/core/errors.ts";
import { addressRange, checkAddress } from "../../src/wire/address-guard.ts";
import type { AddressOptions, AddressRange } from "../../src/wire/address-guard.ts";

const RANGES: Readonly<Record<AddressRange, readonly string[]>> = {
  public: [
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "223.255.255.255",
    "2001:200::1",
    "2606:4700:4700::1111",
    "2a00:1450:4001:81b::200e",
    "3ffe::1",
    "2001:db9::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
  ],
  private: [
    "0.0.0.0",
    "0.0.0.1",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.255",
    "169.254.0.1",
    "169.254.255.255",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.7",
    "203.0.113.7",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fe80::1%eth0",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "100::1",
    "2001::1",
    "2001:20::1",
    "2001:db8::1",
    "3fff::1",
    "5f00::1",
    "4000::1",
    "e000::1",
    "::ffff:127.0.0.1",
    "::ffff:0:10.0.0.1",
    "::127.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b:1::8.8.8.8",
    "2002:7f00:1::",
    "2002:c0a8:101::1",
  ],
  metadata: [
    "169.254.169.254",
    "169.254.170.2",
    "169.254.170.23",
    "169.254.0.23",
    "169.254.42.42",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:42::42",
    "fe80::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "::ffff:a9fe:a9fe",
    "::ffff:0:169.254.169.254",
    "::169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::169.254.169.254",
    "2002:a9fe:a9fe::1",
    "0:0:0:0:0:ffff:168.63.129.16",
  ],
};

describe("addressRange", () => {
  for (const range of ["public", "private", "metadata"] as const) {
    test(`[d2.12] ${RANGES[range].length} addresses are ${range}`, () => {
      expect(RANGES[range].filter((address) => addressRange(address) !== range)).toEqual([]);
    });
  }

  test("[d2.12] an IPv4 address has the same range in every IPv6 form that carries it", () => {
    const known = fc.constantFrom(
      ...Object.values(RANGES)
        .flat()
        .filter((address) => !address.includes(":")),
    );
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), known), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const forms = [
          `::ffff:${address}`,
          `::ffff:${hex}`,
          `0:0:0:0:0:FFFF:${hex}`,
          `::ffff:0:${hex}`,
          `::${hex}`,
          `64:ff9b::${address}`,
          `64:ff9b::${hex}`,
          `2002:${hex}::`,
          `2002:${hex}::1`,
        ];
        expect(forms.map(addressRange)).toEqual(forms.map(() => addressRange(address)));
      }),
    );
  });

  test("every spelling of an IPv6 address has one range", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        // The runtime's URL parser refuses a few valid spellings, such as ::0:0:0:0:0.0.0.0.
        const normal = URL.parse(`http://[${address}]/`)?.hostname.slice(1, -1);
        fc.pre(normal !== undefined);
        expect(addressRange(normal)).toBe(addressRange(address));
      }),
      { numRuns: 500 },
    );
  });

  test("text that is not an address is not classified", () => {
    for (const text of ["", "localhost", "1.2.3", "010.0.0.1", "::g", "1.2.3.4:80", "[::1]"])
      expect(() => addressRange(text)).toThrow(TypeError);
  });
});

type Resolve = NonNullable<AddressOptions["resolve"]>;
const neverResolved: Resolve = () => Promise.reject(new Error("looked up"));
const resolvesTo =
  (...addresses: readonly string[]): Resolve =>
  () =>
    Promise.resolve(addresses);
const options = (more: Partial<AddressOptions> = {}): AddressOptions => ({
  allowPrivate: false,
  param: "base_url",
  resolve: neverResolved,
  ...more,
});

async function refusal(address: string, more: Partial<AddressOptions> = {}): Promise<GatewayError> {
  const outcome = await checkAddress(address, options(more)).then(
    (checked) => new Error(`${address} was let through as ${checked.pinnedAddress}`),
    (thrown: unknown) => thrown,
  );
  if (!(outcome instanceof GatewayError)) throw outcome;
  return outcome;
}

describe("checkAddress", () => {
  test("[d2.12] accepts http and https only, with a host and without a user", async () => {
    const refused = [
      "",
      "example.com",
      "ftp://example.com/",
      "file:///etc/passwd",
      "data:text/plain,x",
      "gopher://example.com/",
      "javascript:1",
      "ws://example.com/",
      "http://",
      "http://./",
      "http://../",
      "http://a..b/",
      "http://user@example.com/",
      "http://:secret@example.com/",
      "https://user:secret@example.com/",
      "http://exa mple.com/",
      "http://256.0.0.1/",
      "http://1.2.3.4.5/",
      "http://[::1",
      "http://[fe80::1%25eth0]/",
      "http://h:99999/",
      `http://${"a.".repeat(130)}b/`,
    ];
    for (const address of refused) {
      const error = await refusal(address);
      expect([address, error.code, error.param]).toEqual([address, "address_not_allowed", "base_url"]);
    }
  });

  test("[d2.12] a literal private address is refused in every spelling, without a look-up, and allowed only where that is configured", async () => {
    const spellings: readonly (readonly [address: string, pinned: string])[] = [
      ["http://127.0.0.1:8080/v1", "127.0.0.1"],
      ["http://127.1/", "127.0.0.1"],
      ["http://2130706433/", "127.0.0.1"],
      ["http://0x7f000001/", "127.0.0.1"],
      ["http://0177.0.0.1/", "127.0.0.1"],
      ["http://0x7f.0.0.0x1/", "127.0.0.1"],
      ["http://127.0.0.1./", "127.0.0.1"],
      ["http://１２７.０.０.１/", "127.0.0.1"],
      ["http://%31%32%37.0.0.1/", "127.0.0.1"],
      ["http:\\\\127.0.0.1\\", "127.0.0.1"],
      ["http://0/", "0.0.0.0"],
      ["http://10.1.2.3/", "10.1.2.3"],
      ["http://[::1]/", "::1"],
      ["http://[0:0:0:0:0:0:0:1]/", "::1"],
      ["http://[::ffff:127.0.0.1]/", "::ffff:7f00:1"],
      ["https://[fd00::1]:8443/", "fd00::1"],
    ];
    for (const [address, pinned] of spellings) {
      expect([address, (await refusal(address)).code]).toEqual([address, "address_not_allowed"]);
      expect([address, (await checkAddress(address, options({ allowPrivate: true }))).pinnedAddress]).toEqual([
        address,
        pinned,
      ]);
    }
  });

  test("[d2.12] the refusal of a private address names the field and the setting that allows it, and that of a metadata service names no setting", async () => {
    const { message } = await refusal("http://10.1.2.3/");
    for (const words of [
      "`base_url`",
      "`providers.allow_private_addresses: true`",
      "DRAGOMAN_ALLOW_PRIVATE_ADDRESSES=1",
    ])
      expect(message).toContain(words);
    const chosen = await refusal("http://10.1.2.3/", { param: "model", subject: "the provider that `model` names" });
    expect([chosen.param, chosen.message]).toEqual([
      "model",
      expect.stringMatching(/^The host of the provider that `model` names is not on .*allow_private_addresses/),
    ]);
    for (const address of ["http://169.254.169.254/", "http://metadata/"])
      expect((await refusal(address)).message).not.toContain("allow_private_addresses");
    expect((await refusal("http://10.1.2.3/", { allowPrivate: "never" })).message).not.toContain(
      "allow_private_addresses",
    );
  });

  test("[d2.12] metadata services are refused by address and by name, also where private ranges are allowed", async () => {
    const refused = [
      "http://169.254.169.254/latest/meta-data/",
      "http://2852039166/",
      "http://0xa9fea9fe/",
      "http://[::ffff:169.254.169.254]/",
      "http://[fd00:ec2::254]/",
      "http://100.100.100.200/",
      "http://168.63.129.16/",
      "http://192.0.0.192/",
      "http://metadata.google.internal/",
      "http://METADATA.google.internal./",
      "http://metadata/",
      "http://ｍetadata.google.internal/",
    ];
    for (const address of refused) {
      for (const allowPrivate of [false, true]) {
        const error = await refusal(address, { allowPrivate, resolve: resolvesTo("8.8.8.8") });
        expect([address, error.code]).toEqual([address, "address_not_allowed"]);
      }
    }
    expect(
      (
        await refusal("http://rebind.example/", {
          allowPrivate: true,
          resolve: resolvesTo("10.0.0.1", "169.254.169.254"),
        })
      ).code,
    ).toBe("address_not_allowed");
  });

  test("[d2.12] a name is looked up once, and the call goes to an address that was checked", async () => {
    const asked: string[] = [];
    const resolve: Resolve = (host) => {
      asked.push(host);
      // A second look-up would lead inside.
      return Promise.resolve(asked.length === 1 ? ["2606:4700:4700::1111", "8.8.8.8"] : ["127.0.0.1"]);
    };
    expect(await checkAddress("HTTPS://API.Example.com.:443/v1/./x?q=1#part", options({ resolve }))).toEqual({
      url: "https://api.example.com/v1/x?q=1",
      pinnedAddress: "8.8.8.8",
    });
    expect(asked).toEqual(["api.example.com"]);
    expect(
      (await checkAddress("http://six.example/", options({ resolve: resolvesTo("2606:4700:4700::1111") })))
        .pinnedAddress,
    ).toBe("2606:4700:4700::1111");
  });

  test("[d2.12] one private address among those of a name refuses it, and the answer does not say which", async () => {
    for (const bad of [
      "10.9.8.7",
      "127.0.0.1",
      "::1",
      "::ffff:10.9.8.7",
      "64:ff9b::a09:807",
      "fe80::1%eth0",
      "no address",
    ]) {
      const error = await refusal("http://inside.example/", { resolve: resolvesTo("8.8.8.8", bad) });
      expect(error.code).toBe("address_not_allowed");
      expect(error.message).not.toContain(bad);
      expect(error.detail).toContain(bad);
    }
    expect(
      (
        await checkAddress(
          "http://inside.example/",
          options({ allowPrivate: true, resolve: resolvesTo("fe80::1%eth0", "::1", "127.0.0.1") }),
        )
      ).pinnedAddress,
    ).toBe("127.0.0.1");
  });

  test("[d2.12] an international name is looked up and called in its ASCII form", async () => {
    const asked: string[] = [];
    const resolve: Resolve = (host) => {
      asked.push(host);
      return Promise.resolve(["8.8.8.8"]);
    };
    expect((await checkAddress("https://münchen.example/", options({ resolve }))).url).toBe(
      "https://xn--mnchen-3ya.example/",
    );
    expect(asked).toEqual(["xn--mnchen-3ya.example"]);
    expect((await refusal("http://ⓛocalhost/", { resolve: resolvesTo("127.0.0.1") })).code).toBe("address_not_allowed");
  });

  test("a name without an address, a failing look-up and a slow one are connection errors in bounded time", async () => {
    expect((await refusal("http://empty.example/", { resolve: resolvesTo() })).code).toBe("upstream_connection");
    expect(
      (await refusal("http://missing.example/", { allowPrivate: true, resolve: resolvesTo("no address") })).code,
    ).toBe("upstream_connection");
    expect(
      (await refusal("http://failing.example/", { resolve: () => Promise.reject(new Error("SERVFAIL")) })).code,
    ).toBe("upstream_connection");
    const slow = await refusal("http://slow.example/", {
      resolve: () => new Promise<never>(() => undefined),
      resolveTimeoutMs: 50,
    });
    expect(slow.code).toBe("upstream_connection");
    expect(slow.detail).toContain("50 ms");
  });

  test("the system's look-up is used when no other is passed in", async () => {
    const system = { allowPrivate: true, param: "base_url" };
    expect(["127.0.0.1", "::1"]).toContain((await checkAddress("http://localhost:11434/", system)).pinnedAddress);
    const refused = await checkAddress("http://localhost/", { ...system, allowPrivate: false }).catch(
      (thrown: unknown) => thrown,
    );
    expect(refused).toBeInstanceOf(GatewayError);
    expect((refused as GatewayError).code).toBe("address_not_allowed");
  });

  test("checking is idempotent: the checked URL gives itself", async () => {
    await fc.assert(
      fc.asyncProperty(fc.webUrl({ withFragments: true, withQueryParameters: true }), async (address) => {
        const once = await checkAddress(address, options({ resolve: resolvesTo("8.8.8.8") })).catch(
          (thrown: unknown) => thrown,
        );
        if (once instanceof GatewayError) return;
        expect(await checkAddress((once as { url: string }).url, options({ resolve: resolvesTo("8.8.8.8") }))).toEqual(
          once as { url: string; pinnedAddress: string },
        );
      }),
    );
  });
});
