// Claim links: who may make them, what they give, and what ends them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { makeLoginLink } from "../../../src/auth/logins/login-links.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type ConsoleBrowser, consoleBrowser, type Shown } from "../../harness/console/browser.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";

const HOUR_MS = 3_600_000;
for (const kind of await allDatabases()) {
  if (kind.isMissing) {
    console.log(`skipped: claim links in ${kind.name}, which is not installed`);
    continue;
  }
  describe(`claim links in ${kind.name}`, () => {
    const clock = turnedClock(1_790_000_000_000);
    let world: AdminWorld;
    beforeAll(async () => {
      world = await openAdminWorld({ kind, clock });
    });
    afterAll(async () => {
      await world.close();
      await kind.dispose();
    });
    let visitors = 0;
    /** Each from an address of its own, so that failures of one do not count for the next. */
    const visitor = (): ConsoleBrowser => {
      const peer = `198.51.100.${++visitors}`;
      return consoleBrowser({
        origin: "https://gateway.example",
        headers: { "x-forwarded-proto": "https" },
        send: (request) => world.fetch(request, peer),
      });
    };
    const SITE = "/api/v1/admin/projects/site/claims";
    const LOCAL = { host: "localhost:4100" };
    const made = async (
      as: string,
      body: unknown,
      path = SITE,
    ): Promise<{ readonly id: string; readonly code: string }> => {
      const { status, body: said } = await world.send(as, "POST", path, body, LOCAL);
      expect(status).toBe(201);
      const [, code] = /^http:\/\/localhost:4100\/console\/claim#code=([\w-]{43})$/.exec(said.link)!;
      return { id: said.id, code: code! };
    };
    const redeem = (code: string, browser: ConsoleBrowser = local()): Promise<Shown> =>
      browser.ask("POST", "/console/api/claims", { code });
    const local = (): ConsoleBrowser =>
      consoleBrowser({
        origin: "http://localhost:4100",
        send: (
          (peer: string) => (request: Request) =>
            world.fetch(request, peer)
        )(`203.0.113.${++visitors}`),
      });
    const givesNothing = async (code: string): Promise<void> => {
      const { status, body } = await redeem(code);
      expect([status, body.error.code]).toEqual([401, "login_failed"]);
      expect(body.error.message).toStartWith("The link gives nothing");
    };

    test("[d14.6] a claim link gives its token once, to somebody without a session, and the code is stored hashed", async () => {
      const { id, code } = await made("acme.site.maintainer", {
        name: "for Ann",
        role: "developer",
        models: ["sandbox:*"],
        expires_in_days: 5,
      });
      expect(JSON.stringify(await world.read("select id, code_hash, request, giver from token_claims"))).not.toContain(
        code,
      );
      const { status, body, headers } = await redeem(code);
      expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
      expect(body).toMatchObject({
        name: "for Ann",
        kind: "project",
        project_id: "site",
        base_url: "http://localhost:4100/api/v1",
      });
      const key = await world.send(body.token, "GET", "/api/v1/key");
      expect(key.body).toMatchObject({ id: body.id, role: "developer", models: ["sandbox:*"] });
      await givesNothing(code);
      const { body: list } = await world.send("acme.site.maintainer", "GET", SITE);
      expect(list.data[0]).toMatchObject({ id, state: "redeemed", token_id: body.id, name: "for Ann" });
      const { data } = await world.store.listAudit({ limit: 20 }, { kind: "claim" });
      expect(data.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
        "redeem refused",
        "redeem done",
        "create done",
      ]);
      expect(JSON.stringify(data)).not.toContain(code);
    });

    test("[d14.6] the giver's right is judged when the link is made", async () => {
      const refused = async (as: string, body: unknown, path = SITE): Promise<string> =>
        (await world.send(as, "POST", path, body, LOCAL)).body.error.code;
      expect(await refused("acme.site.developer", { name: "a" })).toBe("insufficient_role");
      expect(await refused("acme.site.maintainer", { name: "a", permissions: ["debug"] })).toBe("insufficient_role");
      expect(await refused("beta.owner", { name: "a" })).toBe("not_found");
      const tenant = "/api/v1/admin/tenants/acme/claims";
      expect(await refused("acme.admin", { name: "a", user_id: "acme-owner" }, tenant)).toBe("insufficient_role");
      expect(await refused("acme.admin", { name: "a", valid_hours: 169 })).toBe("invalid_request");
    });

    test("[d14.6] the giver's right is judged again when the link is redeemed", async () => {
      await world.store.change(LOCAL_ACTOR, async (writer) => {
        await writer.createUser({ id: "gina", tenantId: "acme", name: "gina" });
        await writer.putMembership({ userId: "gina", tenantId: "acme", projectId: null, role: "admin" });
      });
      await world.source.reload();
      const own = local();
      const token = (
        await world.send("acme.owner", "POST", "/api/v1/admin/tenants/acme/tokens", { name: "gina", user_id: "gina" })
      ).body.token as string;
      expect((await own.login(token)).status).toBe(200);
      const [byToken, bySession] = [
        await made(token, { name: "by token", permissions: ["debug"] }),
        (await own.ask("POST", `/console${SITE}`, { name: "by session", permissions: ["debug"] })).body.link as string,
      ];
      await world.store.change(LOCAL_ACTOR, (writer) =>
        writer.putMembership({ userId: "gina", tenantId: "acme", projectId: null, role: "maintainer" }),
      );
      // also before this process has read the change
      await givesNothing(byToken.code);
      await world.source.reload();
      await givesNothing(bySession.split("code=")[1]!);
      const plain = await made(token, { name: "plain" });
      const { id } = (await world.send(token, "GET", "/api/v1/key")).body as { readonly id: string };
      await world.send("acme.owner", "POST", `/api/v1/admin/tenants/acme/tokens/${id}/revoke`);
      await givesNothing(plain.code);
      const { data } = await world.store.listTokens({ limit: 100 }, { projectId: "site" });
      expect(data.filter(({ name }) => ["by token", "by session", "plain"].includes(name))).toEqual([]);
    });

    test("[d14.6] a link that was revoked or has expired gives nothing, nor does one that two open at once give two", async () => {
      const [revoked, late, raced] = [
        await made("acme.admin", { name: "revoked" }),
        await made("acme.admin", { name: "late", valid_hours: 1 }),
        await made("acme.admin", { name: "raced" }),
      ];
      expect((await world.send("acme.admin", "DELETE", `${SITE}/${revoked.id}`)).status).toBe(204);
      expect((await world.send("acme.admin", "DELETE", `${SITE}/${revoked.id}`)).status).toBe(404);
      await givesNothing(revoked.code);
      const answers = await Promise.all([redeem(raced.code), redeem(raced.code), redeem(raced.code)]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401, 401]);
      clock.turnTo(clock.now() + HOUR_MS);
      await givesNothing(late.code);
      await givesNothing("nonsense");
    });

    test("[d2.7, d14.6] links that a user has made, and those to a token of the user, end with the user and with the last role", async () => {
      const tenant = "/api/v1/admin/tenants/acme";
      const joins = async (): Promise<void> => {
        await world.send("acme.owner", "POST", `${tenant}/users`, { id: "paula", name: "Paula" });
        await world.send("acme.owner", "PUT", `${tenant}/memberships/paula`, { role: "viewer" });
        await world.send("acme.owner", "PUT", "/api/v1/admin/projects/site/memberships/paula", { role: "maintainer" });
      };
      const login = async (): Promise<ConsoleBrowser> => {
        const browser = local();
        const { code } = await makeLoginLink(world.store, { userId: "paula", permissions: [] }, clock.now());
        expect((await browser.ask("POST", "/console/api/session", { code })).status).toBe(200);
        return browser;
      };
      for (const [ends, path] of [
        ["last role", `${tenant}/memberships/paula`],
        ["user", `${tenant}/users/paula`],
      ] as const) {
        await joins();
        const other = await made("acme.owner", { name: "other" });
        const toUser = await made("acme.owner", { name: "Paula's", user_id: "paula" }, `${tenant}/claims`);
        const byUser = (await (await login()).ask("POST", `/console${SITE}`, { name: "by Paula" })).body.link as string;
        await world.send("acme.owner", "DELETE", "/api/v1/admin/projects/site/memberships/paula");
        await world.send("acme.owner", "DELETE", path);
        await joins();
        expect([ends, (await redeem(toUser.code)).status]).toEqual([ends, 401]);
        await givesNothing(byUser.split("code=")[1]!);
        expect((await redeem(other.code)).status).toBe(200);
      }
    });

    test("[d14.6] the page sends the code only when its button is pressed, and a page elsewhere cannot", async () => {
      const { code } = await made("acme.admin", { name: "page" });
      const page = await local().ask("GET", "/console/claim");
      expect([page.status, page.headers.get("content-security-policy")]).toEqual([
        200,
        expect.stringContaining("script-src 'self'"),
      ]);
      expect(page.text).toContain('<script src="claim.js" defer>');
      const script = await local().ask("GET", "/console/claim.js");
      expect(script.headers.get("content-type")).toBe("text/javascript; charset=utf-8");
      expect(script.text).toContain('addEventListener("click"');
      const foreign = { "sec-fetch-site": "cross-site", origin: "https://evil.example" };
      const tried = await local().ask("POST", "/console/api/claims", { code }, foreign);
      expect(tried.body.error.code).toBe("console_refused");
      expect((await visitor().ask("POST", "/console/api/claims", { code })).body.error.code).toBe("console_refused");
      expect((await redeem(code)).status).toBe(200);
    });

    test("[d14.2] failing links count like failed logins, and one that holds is given all the same", async () => {
      const own = local();
      for (let at = 0; at < 10; at++) expect((await redeem("nonsense", own)).status).toBe(401);
      expect((await redeem("nonsense", own)).body.error.code).toBe("too_many_logins");
      const { code } = await made("acme.site.maintainer", { name: "for Ann" });
      expect((await redeem(code, own)).status).toBe(200);
    });

    test("[d2.13] the token of a link ends with the project token that made the link", async () => {
      const { body: maker } = await world.send("acme.owner", "POST", "/api/v1/admin/projects/site/tokens", {
        name: "short",
        role: "maintainer",
        expires_in_days: 2,
      });
      (world.tokens as Map<string, string>).set("short", maker.token);
      const refused = await world.send("short", "POST", SITE, { name: "a year", expires_in_days: 365 }, LOCAL);
      expect([refused.status, refused.body.error.param]).toEqual([400, "expires_in_days"]);
      const [whole, asked] = [
        await made("short", { name: "w" }),
        await made("short", { name: "a", expires_in_days: 2 }),
      ];
      clock.turnTo(clock.now() + HOUR_MS);
      for (const { code } of [whole, asked]) expect((await redeem(code)).body.expires_at).toBe(maker.expires_at);
      clock.turnTo(clock.now() - HOUR_MS);
    });
  });
}
