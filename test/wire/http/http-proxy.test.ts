// Which calls go through the proxy, and with which credentials.
import { describe, expect, test } from "bun:test";
import { openHttpProxy } from "../../../src/wire/http/http-proxy.ts";
import { httpTarget } from "../../../src/wire/http/http-request-encoding.ts";

const proxied = (exceptions: string, address: string, pinnedAddress?: string): boolean =>
  httpTarget(address, pinnedAddress, openHttpProxy({ url: "http://proxy.test:3128", exceptions })).proxy !== undefined;

describe("NO_PROXY", () => {
  // As the runtime's fetch and curl read it.
  const rows: readonly (readonly [exceptions: string, direct: readonly string[], through: readonly string[]])[] = [
    ["", [], ["http://127.0.0.1:1/", "http://localhost/", "https://a.test/"]],
    ["a.test", ["http://a.test/", "https://x.a.test/", "https://A.TEST/"], ["http://xa.test/", "http://a.test.b/"]],
    [".a.test", ["http://a.test/", "http://x.a.test/"], ["http://xa.test/"]],
    ["*.a.test", ["http://a.test/", "http://x.a.test/"], ["http://xa.test/"]],
    ["A.Test. , b.test", ["http://a.test/", "http://a.test./", "http://b.test/"], ["http://c.test/"]],
    ["a.test b.test", ["http://a.test/", "http://b.test/"], []],
    ["a.test:81", ["http://a.test:81/"], ["http://a.test/", "https://a.test/"]],
    ["a.test:443", ["https://a.test/"], ["http://a.test/"]],
    ["10.0.0.0/8", ["http://10.1.2.3/"], ["http://11.1.2.3/", "http://10.test/"]],
    ["127.0.0.1:1", ["http://127.0.0.1:1/"], ["http://127.0.0.1:2/"]],
    ["::1", ["http://[::1]:1/"], ["http://[::2]/"]],
    ["[::1]", ["http://[::1]:1/"], ["http://127.0.0.1/"]],
    ["[::1]:2", ["http://[::1]:2/"], ["http://[::1]:1/"]],
    ["fd00::/8", ["http://[fd00::1]/"], ["http://[fe00::1]/"]],
    ["x,*", ["http://a.test/", "https://[::1]/"], []],
    [".,*.,:,:1,[,/8", [], ["http://a.test/", "http://127.0.0.1:1/"]],
  ];
  for (const [exceptions, direct, through] of rows)
    test(JSON.stringify(exceptions), () => {
      for (const address of direct) expect([address, proxied(exceptions, address)]).toEqual([address, false]);
      for (const address of through) expect([address, proxied(exceptions, address)]).toEqual([address, true]);
    });

  test("is compared with the name and with the checked address", () => {
    expect(proxied("10.0.0.0/8", "https://a.test/", "10.0.0.1")).toBe(false);
    expect(proxied("a.test", "https://a.test/", "11.0.0.1")).toBe(false);
    expect(proxied("10.0.0.0/8", "https://a.test/", "11.0.0.1")).toBe(true);
  });
});

describe("the path through a proxy", () => {
  const way = (url: string, address: string, pinnedAddress?: string) =>
    httpTarget(address, pinnedAddress, openHttpProxy({ url, exceptions: "" }));

  test("is a request in absolute form to http addresses, and a tunnel to https addresses", () => {
    const forwarded = way("http://proxy.test:3128", "http://a.test:8080/v1?x=1");
    expect([forwarded.hostname, forwarded.port, forwarded.serverName, forwarded.proxy?.tunnel]).toEqual([
      "proxy.test",
      3128,
      undefined,
      undefined,
    ]);
    expect(forwarded.headStart).toBe(" http://a.test:8080/v1?x=1 HTTP/1.1\r\nHost: a.test:8080\r\n");
    const tunnelled = way("https://proxy.test", "https://a.test/v1");
    expect([tunnelled.hostname, tunnelled.port, tunnelled.serverName]).toEqual(["proxy.test", 443, "proxy.test"]);
    expect(tunnelled.proxy).toEqual({
      hasCredentials: false,
      tunnel: { head: "CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n", serverName: "a.test" },
    });
    expect(tunnelled.headStart).toBe(" /v1 HTTP/1.1\r\nHost: a.test\r\n");
  });

  test("[d2.12] leads to the checked address, under the name of the URL", () => {
    expect(way("http://proxy.test", "http://a.test/v1", "192.0.2.1").headStart).toBe(
      " http://192.0.2.1/v1 HTTP/1.1\r\nHost: a.test\r\n",
    );
    expect(way("http://proxy.test", "http://a.test:81/", "2001:db8::1").headStart).toStartWith(
      " http://[2001:db8::1]:81/ HTTP/1.1\r\nHost: a.test:81\r\n",
    );
    const tunnel = way("http://proxy.test", "https://a.test/", "2001:db8::1").proxy?.tunnel;
    expect([tunnel?.head, tunnel?.serverName]).toEqual([
      "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n",
      "a.test",
    ]);
    expect(way("http://proxy.test", "https://[2001:db8::2]/").proxy?.tunnel?.serverName).toBe("2001:db8::2");
  });

  test("has the credentials of the proxy's address, percent-decoded, for the proxy only", () => {
    for (const [inUrl, decoded] of [
      ["user:password", "user:password"],
      ["us%40er:p%3Aw%2F", "us@er:p:w/"],
      ["user", "user:"],
      [":password", ":password"],
      ["gr%C3%BC%C3%9Fe:%zz", "grüße:%zz"],
    ] as const) {
      const field = `Proxy-Authorization: Basic ${Buffer.from(decoded).toString("base64")}\r\n`;
      const url = `http://${inUrl}@proxy.test:3128`;
      expect(way(url, "http://a.test/").headStart).toBe(` http://a.test/ HTTP/1.1\r\nHost: a.test\r\n${field}`);
      const tunnelled = way(url, "https://a.test/");
      expect(tunnelled.proxy?.tunnel?.head).toBe(`CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n${field}\r\n`);
      expect(tunnelled.headStart).not.toContain("Proxy");
    }
    expect(way("http://proxy.test", "http://a.test/").headStart).not.toContain("Proxy");
  });

  test("shares no connection with direct requests", () => {
    expect(way("http://proxy.test", "http://a.test/").key).not.toBe(httpTarget("http://a.test/", undefined).key);
  });
});
