// The console's files: what browsers may keep, what protects the page, and which paths are the page itself.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "../../../src/http/app.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { consoleBrowser } from "../../harness/console/browser.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-console-"));
const built = join(folder, "dist");
const SHELL = "<!doctype html><title>Dragoman</title>";
const SCRIPT = `console.log(${JSON.stringify("x".repeat(5000))});`;
let world: AdminWorld;
beforeAll(async () => {
  mkdirSync(join(built, "parts"), { recursive: true });
  writeFileSync(join(folder, "secret.js"), "no");
  world = await openAdminWorld({ consoleFolder: built });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});
const browser = consoleBrowser({
  origin: "http://127.0.0.1:4100",
  send: (request) => world.fetch(request, "127.0.0.1"),
});

describe("the console's files", () => {
  test("say how they are built while there are none", async () => {
    const { status, body } = await browser.ask("GET", "/console/");
    expect([status, body.error.code]).toEqual([404, "not_found"]);
    expect(body.error.message).toContain("npm run console:build");
    writeFileSync(join(built, "index.html"), SHELL);
    writeFileSync(join(built, "theme.js"), "document");
    writeFileSync(join(built, "parts/main-0a1b2c3d.js"), SCRIPT);
    expect((await browser.ask("GET", "/console")).text).toBe(SHELL);
  });

  test("the page stands at every path that is no file, and is never kept", async () => {
    for (const path of [
      "",
      "/",
      "/index.html",
      "/acme/site/calls?status=429",
      "/-/-/models/gpt-4.1",
      "/..%2fsecret.js",
      "/parts",
    ]) {
      const { status, text, headers } = await browser.ask("GET", `/console${path}`);
      expect([path, status, text, headers.get("cache-control")]).toEqual([path, 200, SHELL, "no-store"]);
    }
    expect((await browser.ask("GET", "/console/parts/main-ffffffff.js")).status).toBe(404);
    expect((await browser.ask("POST", "/console/acme", {})).headers.get("allow")).toBe("GET, HEAD");
    expect((await browser.ask("HEAD", "/console/acme")).text).toBe("");
  });

  test("files whose names have a hash are kept for a year, and others are asked for again", async () => {
    const hashed = await browser.ask("GET", "/console/parts/main-0a1b2c3d.js");
    expect([hashed.text, hashed.headers.get("cache-control"), hashed.headers.get("content-type")]).toEqual([
      SCRIPT,
      "public, max-age=31536000, immutable",
      "text/javascript; charset=utf-8",
    ]);
    const other = await browser.ask("GET", "/console/theme.js");
    expect(other.headers.get("cache-control")).toBe("no-cache");
    const again = { "if-none-match": other.headers.get("etag")! };
    expect((await browser.ask("GET", "/console/theme.js", undefined, again)).status).toBe(304);
    writeFileSync(join(built, "theme.js"), "document.body");
    expect((await browser.ask("GET", "/console/theme.js", undefined, again)).text).toBe("document.body");
  });

  test("long ones are sent packed to browsers that take that", async () => {
    const { headers } = await world.fetch(
      new Request("http://127.0.0.1:4100/console/parts/main-0a1b2c3d.js", {
        headers: { host: "127.0.0.1:4100", "accept-encoding": "br, gzip" },
      }),
    );
    expect([headers.get("content-encoding"), headers.get("vary")]).toEqual(["gzip", "accept-encoding"]);
  });

  test("none is sent packed to a client that refuses it", async () => {
    for (const [accepted, encoding] of [
      ["gzip;q=0", null],
      ["identity, GZIP ; q=0.000, br", null],
      ["gzip;q=0.5", "gzip"],
      ["identity;q=0, gzip;q=1", "gzip"],
    ] as const) {
      const { headers } = await world.fetch(
        new Request("http://127.0.0.1:4100/console/parts/main-0a1b2c3d.js", {
          headers: { host: "127.0.0.1:4100", "accept-encoding": accepted },
        }),
      );
      expect([accepted, headers.get("content-encoding")]).toEqual([accepted, encoding]);
    }
  });

  test("nothing from elsewhere runs in the page, frames it, or hears of it", async () => {
    for (const path of ["/console/", "/console/theme.js"]) {
      const { headers } = await browser.ask("GET", path);
      expect(headers.get("content-security-policy")).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      );
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("no-referrer");
      expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
      expect(headers.get("cross-origin-resource-policy")).toBe("same-origin");
      expect(headers.get("permissions-policy")).toContain("camera=()");
    }
    const failed = await browser.ask("GET", "/console/api/v1/key");
    expect([failed.status, failed.headers.get("cache-control"), failed.headers.get("x-content-type-options")]).toEqual([
      401,
      "no-store",
      "nosniff",
    ]);
  });

  test("are not served where the console is switched off, which the answer says", async () => {
    const off = createApp({
      ...({ clock: { now: Date.now, monotonic: () => 0 }, snapshot: () => world.source.current() } as any),
    });
    const response = await off.fetch(new Request("http://127.0.0.1:4100/console/"), { peer: "127.0.0.1" });
    expect([response.status, await response.text()]).toEqual([404, expect.stringContaining("console.enabled")]);
  });
});
