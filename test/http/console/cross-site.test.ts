// What pages of other origins can ask of the console, at every endpoint: nothing. Also where the console may be used at all.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { adminOperations } from "../../../src/http/admin/app.ts";
import { CALL_PATHS, MODEL_PATHS, PARAMS_PATHS } from "../../../src/http/paths.ts";
import { PROVIDER_FAMILIES } from "../../../src/process/parts/provider-families.ts";
import { providers } from "../../../src/providers/registry.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type ConsoleBrowser, consoleBrowser } from "../../harness/console/browser.ts";

const ORIGIN = "http://localhost:4100";
const folder = mkdtempSync(join(tmpdir(), "dragoman-console-"));
const file = join(folder, "dragoman.yaml");
let world: AdminWorld;
let operator: ConsoleBrowser;
beforeAll(async () => {
  // the page of the other origin may even call /api/v1 from a browser
  writeFileSync(
    file,
    'cors: { origins: ["*"] }\nserver: { trusted_proxies: ["10.0.0.0/8"] }\nconsole: { url: "https://gateway.example" }\n',
  );
  world = await openAdminWorld({ file });
  operator = consoleBrowser({ origin: ORIGIN, send: (request) => world.fetch(request, "127.0.0.1") });
  await operator.login(world.tokens.get("default.owner")!);
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Every method and path below /console/api, with values for its parameters. */
function endpoints(): readonly (readonly [method: string, path: string])[] {
  const none = (): never => {
    throw new Error("nothing runs");
  };
  const operations = adminOperations(
    { families: PROVIDER_FAMILIES, providers, snapshot: none, configuration: none },
    {
      calls: null,
      simulations: null,
      auditReads: null,
      contents: null,
      cache: null,
      toolServers: { list: none } as never,
      clock: { now: none, monotonic: none },
      limits: null,
      store: null,
      targets: none,
      integrations: none,
      notReady: none,
      version: "",
      started: null as never,
      auditSigner: none,
      isEnding: none,
      snapshot: none,
      call: none,
    },
  );
  const inner = [
    ...operations.map(({ method, path }) => [method.toUpperCase(), `/api/v1/admin${path}`] as const),
    ...[...CALL_PATHS.keys()].map((path) => ["POST", path] as const),
    ...[...MODEL_PATHS, ...PARAMS_PATHS, "/api/v1/key"].map((path) => ["GET", path] as const),
  ].filter(([, path]) => path.startsWith("/api/v1/"));
  return [
    ["POST", "/console/api/session"],
    ["DELETE", "/console/api/session"],
    ["GET", "/console/api/me"],
    ...inner.map(
      ([method, path]) =>
        [
          method,
          `/console${path}`
            .replace("{tenant}", "acme")
            .replace("{project}", "site")
            .replaceAll(/\{\w+\}/g, "x"),
        ] as const,
    ),
  ];
}

/** What a page elsewhere can make the browser send, cookie included, as it would be if SameSite did not hold. */
const FOREIGN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "a page of another site": { "sec-fetch-site": "cross-site", origin: "https://evil.example" },
  "a page of another port of this machine": { "sec-fetch-site": "same-site", origin: "http://localhost:3000" },
  "a link in a mail": { "sec-fetch-site": "cross-site", origin: "null" },
  "the address bar": { "sec-fetch-site": "none" },
};

describe("requests of other pages", () => {
  test("[d14.2] are refused at every endpoint, and get no CORS headers", async () => {
    const all = endpoints();
    expect(all.length).toBeGreaterThan(150);
    for (const [method, path] of all)
      for (const headers of Object.values(FOREIGN)) {
        const body = method === "GET" || method === "DELETE" ? undefined : {};
        const { status, body: said, headers: answered } = await operator.ask(method, path, body, headers);
        expect([method, path, status, said.error.code]).toEqual([method, path, 403, "console_refused"]);
        expect([...answered.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
      }
    expect((await operator.ask("GET", "/console/api/me")).status).toBe(200);
  });

  test("[d14.2] get no answer to a preflight", async () => {
    for (const path of ["/console/api/me", "/console/api/session", "/console/api/v1/chat/completions", "/console/"]) {
      const asked = { "access-control-request-method": "POST", "access-control-request-headers": "x-gateway-console" };
      const { status, headers } = await operator.ask("OPTIONS", path, undefined, {
        ...asked,
        ...FOREIGN["a page of another site"],
      });
      expect([path, status >= 400]).toEqual([path, true]);
      expect(headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("[d14.2] without fetch metadata the origin decides, and without an origin the console's own header", async () => {
    const plain = (headers: Readonly<Record<string, string>>) =>
      world.fetch(
        new Request(`${ORIGIN}/console/api/me`, {
          headers: {
            host: "localhost:4100",
            cookie: [...operator.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
            ...headers,
          },
        }),
        "127.0.0.1",
      );
    expect((await plain({})).status).toBe(403);
    expect((await plain({ "x-gateway-console": "1" })).status).toBe(200);
    expect((await plain({ origin: ORIGIN })).status).toBe(200);
    expect((await plain({ origin: "http://localhost:4101", "x-gateway-console": "1" })).status).toBe(403);
  });

  test("[d14.2] what changes something needs the console's own header, and JSON", async () => {
    const without = { "x-gateway-console": "0" };
    expect((await operator.ask("DELETE", "/console/api/session", undefined, without)).body.error.code).toBe(
      "console_refused",
    );
    const form = { "content-type": "text/plain" };
    const sent = await operator.ask("POST", "/console/api/v1/admin/projects", { id: "form", name: "Form" }, form);
    expect(sent.body.error.code).toBe("unsupported_media_type");
    expect((await operator.ask("GET", "/console/api/v1/admin/projects/form")).status).toBe(404);
  });
});

describe("connections", () => {
  const from = (origin: string, peer: string, headers: Readonly<Record<string, string>> = {}): ConsoleBrowser =>
    consoleBrowser({ origin, headers, send: (request) => world.fetch(request, peer) });
  const token = (): string => world.tokens.get("acme.viewer")!;

  test("[d14.2] over TLS the cookie is bound to the host; a foreign name on plain http is refused in words", async () => {
    const secure = from("https://gateway.example", "192.0.2.7");
    const { headers } = await secure.login(token());
    expect(headers.getSetCookie()[0]).toMatch(
      /^__Host-dragoman_session=[\w-]{43}; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/,
    );
    const proxied = from("https://inner.example", "10.1.2.3", {
      "x-forwarded-proto": "https",
      "x-forwarded-for": "192.0.2.7",
    });
    expect((await proxied.login(token())).headers.getSetCookie()[0]).toStartWith("__Host-");
    const open = from("http://192.0.2.1:4100", "192.0.2.7");
    expect((await open.login(token())).body.error).toMatchObject({ code: "console_refused" });
    const page = await open.ask("GET", "/console/");
    expect([page.status, page.headers.get("content-type")]).toEqual([403, "text/html; charset=utf-8"]);
    expect(page.text).toContain("plain http");
  });

  test("[d14.2] nobody but a trusted proxy says that a connection is encrypted", async () => {
    const lying = from("https://inner.example", "192.0.2.7", { "x-forwarded-proto": "https" });
    expect((await lying.login(token())).body.error).toMatchObject({ code: "console_refused" });
    const local = from("http://localhost:4100", "127.0.0.1", { "x-forwarded-for": "192.0.2.7" });
    expect((await local.login(token())).body.error.message).toContain("console.url");
  });
});
