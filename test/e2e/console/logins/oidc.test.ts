// Logging in to the console of the real process at a company's issuer: code flow, PKCE, state and nonce.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type ConsoleBrowser, consoleBrowser } from "../../../harness/console/browser.ts";
import { type GatewayProcess, startGateway } from "../../../harness/processes/gateway-process.ts";
import { type Issuer, startIssuer } from "../../../harness/servers/issuer.ts";
import { until } from "../../../harness/time/until.ts";

let issuer: Issuer;
let gateway: GatewayProcess;
beforeAll(async () => {
  issuer = await startIssuer();
  gateway = await startGateway({
    config: `
oidc:
  - name: corp
    issuer: "${issuer.url}"
    audience: gateway
    console:
      client_id: ${issuer.codeFlow.clientId}
      client_secret: "${issuer.codeFlow.clientSecret}"
      scopes: [openid, groups]
      label: The company
    roles:
      - { claim: groups, value: ai-users, role: developer, project: default }
      - { claim: groups, value: ai-admins, role: admin, permissions: [read_content] }
  - name: calls-only
    issuer: "https://other.example"
    audience: gateway
`,
  });
});
afterAll(async () => {
  await gateway.stop();
  issuer.stop();
});

const browser = (): ConsoleBrowser =>
  consoleBrowser({ origin: gateway.url, send: (request) => fetch(request, { redirect: "manual" }) });
/** What a navigation that another site has begun sends. */
const FROM_ISSUER = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "x-gateway-console": "" };

/** Follows the browser to the issuer; gives the path of the gateway that it is sent back to. */
async function atIssuer(own: ConsoleBrowser, to = "/console/-/-/calls?status=429"): Promise<string> {
  const begun = await own.ask("GET", `/console/oidc/login?issuer=corp&to=${encodeURIComponent(to)}`, undefined, {
    "sec-fetch-mode": "navigate",
  });
  expect(begun.status).toBe(303);
  const back = await fetch(begun.headers.get("location")!, { redirect: "manual" });
  const { pathname, search } = new URL(back.headers.get("location")!);
  return pathname + search;
}

describe("a login at a company's issuer", () => {
  test("[d14.2] opens a session with the roles of its groups, and leads back to the page", async () => {
    const own = browser();
    const visitor = await own.ask("GET", "/console/api/me");
    const logins = { oidc: [{ name: "corp", label: "The company", path: "/console/oidc/login?issuer=corp" }] };
    expect([visitor.status, visitor.body]).toEqual([200, { session: null, logins }]);
    issuer.codeFlow.claims = { groups: ["ai-admins"], email: "ann@example.com" };
    const back = await own.ask("GET", await atIssuer(own), undefined, FROM_ISSUER);
    expect([back.status, back.headers.get("location")]).toEqual([303, "/console/-/-/calls?status=429"]);
    const cookies = back.headers.getSetCookie();
    expect(cookies[0]).toMatch(/^dragoman_session_\d+=[\w-]{43}; .*HttpOnly; SameSite=Strict$/);
    expect(cookies[1]).toMatch(/^dragoman_login_\d+=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/);
    const me = (await own.ask("GET", "/console/api/me")).body;
    expect(me).toMatchObject({
      user: { id: "corp.ann" },
      session: { login: "oidc" },
      logins,
      permissions: ["read_content"],
    });
    expect(me.places).toContainEqual({
      tenant_id: "default",
      project_id: "default",
      name: "Default",
      role: "admin",
      timezone: "UTC",
    });
    expect((await own.ask("GET", "/console/api/v1/admin/tenants/default/users")).status).toBe(200);
    const [sent] = issuer.codeFlow.exchanged;
    expect(sent!.get("client_secret")).toBeNull();
  });

  test("[d14.2] does not count with another state, a second time, in another browser, or with another nonce", async () => {
    issuer.codeFlow.claims = { groups: ["ai-users"] };
    const failing = async (own: ConsoleBrowser, path: string): Promise<void> => {
      const { status, text, headers } = await own.ask("GET", path, undefined, FROM_ISSUER);
      expect([status, headers.get("content-type")]).toEqual([401, "text/html; charset=utf-8"]);
      expect(text).toContain("The login failed");
      expect(headers.getSetCookie().some((cookie) => cookie.includes("session_"))).toBe(false);
    };
    const own = browser();
    const path = await atIssuer(own);
    await failing(browser(), path);
    const other = browser();
    await failing(other, (await atIssuer(other)).replace(/state=[^&]{5}/, "state=AAAAA"));
    expect((await own.ask("GET", path, undefined, FROM_ISSUER)).status).toBe(303);
    await failing(own, path);
    const mixed = browser();
    await failing(mixed, (await atIssuer(mixed)).replace(/iss=[^&]+/, "iss=https%3A%2F%2Fother.example"));
    const guessing = browser();
    await failing(guessing, (await atIssuer(guessing)).replace(/code=[^&]+/, "code=guessed"));
    issuer.codeFlow.claims = { groups: ["ai-users"], nonce: "another" };
    const late = browser();
    await failing(late, await atIssuer(late));
    issuer.codeFlow.claims = { groups: ["ai-users"], aud: "gateway" };
    const foreign = browser();
    await failing(foreign, await atIssuer(foreign));
    issuer.codeFlow.claims = { groups: ["ai-users"], aud: [issuer.codeFlow.clientId, "gateway"] };
    const shared = browser();
    await failing(shared, await atIssuer(shared));
    issuer.codeFlow.claims = { groups: ["sales"] };
    const nobody = browser();
    await failing(nobody, await atIssuer(nobody));
  });

  test("leads to no other page than the console's, and to no issuer that is not one of the console", async () => {
    issuer.codeFlow.claims = { groups: ["ai-users"] };
    for (const to of [
      "https://evil.example/console/",
      "//evil.example/console/",
      "/api/v1/models",
      "/console/../api/v1",
    ]) {
      const own = browser();
      const back = await own.ask("GET", await atIssuer(own, to), undefined, FROM_ISSUER);
      expect([to, back.headers.get("location")]).toEqual([to, "/console/"]);
    }
    const own = browser();
    for (const name of ["calls-only", "nosuch"])
      expect((await own.ask("GET", `/console/oidc/login?issuer=${name}`)).status).toBe(404);
  });

  test("says so when the issuer does not answer, and tells operators why", async () => {
    const own = browser();
    const path = await atIssuer(own);
    issuer.fail(500);
    expect((await own.ask("GET", "/console/oidc/login?issuer=corp")).status).toBe(503);
    expect((await own.ask("GET", path, undefined, FROM_ISSUER)).status).toBe(503);
    issuer.fail(null);
    await until(() => gateway.output().includes("answered 500"), "the log says why");
  });
});
