// The console below a path of a proxy that takes the path off: what stands in pages and links names the path, and nobody but a trusted
// proxy or the configuration says which it is.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type ConsoleBrowser, consoleBrowser } from "../../harness/console/browser.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-console-"));
const file = join(folder, "dragoman.yaml");
let world: AdminWorld;
beforeAll(async () => {
  writeFileSync(join(folder, "index.html"), '<script src="/console/assets/main-0a1b2c3d.js"></script>');
  writeFileSync(
    file,
    'server: { trusted_proxies: ["10.0.0.0/8"] }\nconsole: { url: "https://example.com/tools/llm" }\n',
  );
  world = await openAdminWorld({ file, consoleFolder: folder });
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

const at = (origin: string, peer = "192.0.2.7", headers: Readonly<Record<string, string>> = {}): ConsoleBrowser =>
  consoleBrowser({ origin, headers, send: (request) => world.fetch(request, peer) });
const scriptOf = async (browser: ConsoleBrowser): Promise<string | undefined> =>
  /src="([^"]+)"/.exec((await browser.ask("GET", "/console/acme/site/calls")).text)?.[1];
const proxied = (prefix: string): ConsoleBrowser =>
  at("https://inner.example", "10.1.2.3", { "x-forwarded-proto": "https", "x-forwarded-prefix": prefix });

test("the page names its files below the path of console.url, and below none at other addresses of the gateway", async () => {
  expect(await scriptOf(at("https://example.com"))).toBe("/tools/llm/console/assets/main-0a1b2c3d.js");
  expect(await scriptOf(at("http://localhost:4100", "127.0.0.1"))).toBe("/console/assets/main-0a1b2c3d.js");
});

test("a trusted proxy names the path in x-forwarded-prefix; what could be markup or lead elsewhere counts as no path", async () => {
  expect(await scriptOf(proxied("/llm/"))).toBe("/llm/console/assets/main-0a1b2c3d.js");
  for (const prefix of ['/"><script>', "//evil.example", "/..", "/a/../b", "https://evil.example", "/a b", "/%22"])
    expect([prefix, await scriptOf(proxied(prefix))]).toEqual([prefix, "/console/assets/main-0a1b2c3d.js"]);
  const lying = at("http://localhost:4100", "127.0.0.1", { "x-forwarded-prefix": "/elsewhere" });
  expect(await scriptOf(lying)).toBe("/console/assets/main-0a1b2c3d.js");
});

test("[d14.6] a claim link and what it gives name the path", async () => {
  const made = await world.send(
    "acme.admin",
    "POST",
    "/api/v1/admin/projects/site/claims",
    JSON.stringify({ name: "for Ann" }),
  );
  expect(made.body.link).toStartWith("https://example.com/tools/llm/console/claim#code=");
  const given = await at("https://example.com").ask("POST", "/console/api/claims", {
    code: made.body.link.split("=")[1],
  });
  expect([given.status, given.body.base_url]).toEqual([200, "https://example.com/tools/llm/api/v1"]);
});
