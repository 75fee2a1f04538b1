// Sessions of the console over a real store: how they begin, what they may do, and what ends them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loggedInByLink, loggedInByToken, newSessionSecret } from "../../../src/auth/logins/console-sessions.ts";
import { parseTokenText } from "../../../src/auth/tokens/access-token.ts";
import { createToken, revokeToken, rotateToken } from "../../../src/auth/tokens/token-admin.ts";
import type { ConsoleContext } from "../../../src/http/console/console-context.ts";
import { openSession } from "../../../src/http/console/sessions.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type ConsoleBrowser, consoleBrowser } from "../../harness/console/browser.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";

const ORIGIN = "http://127.0.0.1:4100";
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

for (const kind of await allDatabases()) {
  if (kind.isMissing) {
    console.log(`skipped: sessions in ${kind.name}, which is not installed`);
    continue;
  }
  describe(`sessions of the console in ${kind.name}`, () => {
    let world: AdminWorld;
    const clock = turnedClock(1_790_000_000_000);
    beforeAll(async () => {
      world = await openAdminWorld({ kind, clock });
    });
    afterAll(async () => {
      await world.close();
      await kind.dispose();
    });
    const pass = (ms: number): void => clock.turnTo(clock.now() + ms);
    const browser = (peer = "127.0.0.1"): ConsoleBrowser =>
      consoleBrowser({ origin: ORIGIN, send: (request) => world.fetch(request, peer) });
    const loggedIn = async (as: string): Promise<ConsoleBrowser> => {
      const own = browser();
      expect((await own.login(world.tokens.get(as)!)).status).toBe(200);
      return own;
    };
    const changed = async (work: Parameters<typeof world.store.change>[1]): Promise<void> => {
      await world.store.change(LOCAL_ACTOR, work);
      await world.source.reload();
    };
    const personal = async (userId: string): Promise<{ readonly id: string; readonly text: string }> => {
      const { result } = await world.store.change(LOCAL_ACTOR, (writer) =>
        createToken(writer, { name: "own", personal: true, userId }, clock.now()),
      );
      await world.source.reload();
      return result;
    };
    const member = async (userId: string): Promise<void> =>
      changed(async (writer) => {
        await writer.createUser({ id: userId, tenantId: "acme", name: userId });
        await writer.putMembership({ userId, tenantId: "acme", projectId: null, role: "developer" });
      });
    const isOpen = async (own: ConsoleBrowser): Promise<boolean> => {
      const { status, body } = await own.ask("GET", "/console/api/v1/key");
      if (status !== 200) expect(body.error.code).toBe("session_required");
      return status === 200;
    };

    test("[d14.2] a personal token is exchanged for an opaque session, and neither is kept as text", async () => {
      const token = world.tokens.get("acme.owner")!;
      const own = browser();
      const { status, body, headers, text } = await own.login(token);
      expect([status, body.user.id, body.session.login]).toEqual([200, "acme-owner", "token"]);
      expect(headers.getSetCookie()[0]).toMatch(
        /^dragoman_session_4100=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/,
      );
      expect(headers.get("cache-control")).toBe("no-store");
      const secret = own.cookies.get("dragoman_session_4100")!;
      const rows = JSON.stringify(
        (await world.read("select * from console_sessions")).map((row) =>
          Object.values(row).map((value) => String(value)),
        ),
      );
      expect(rows).toContain("acme-owner");
      for (const kept of [rows, text]) for (const hidden of [token, secret]) expect(kept).not.toContain(hidden);
    });

    test("[d14.1] a session has the rights of its user and nothing more, in the admin API and for calls", async () => {
      const viewer = await loggedIn("acme.viewer");
      expect((await viewer.ask("GET", "/console/api/v1/admin/projects/site")).status).toBe(200);
      expect((await viewer.ask("GET", "/console/api/v1/admin/tenants/acme/users")).body.error.code).toBe(
        "insufficient_role",
      );
      expect((await viewer.ask("GET", "/console/api/v1/admin/projects/lab")).status).toBe(404);
      expect((await viewer.ask("GET", "/console/api/v1/key")).body).toMatchObject({
        tenant_id: "acme",
        role: "viewer",
      });
      const owner = await loggedIn("acme.owner");
      const made = await owner.ask("POST", "/console/api/v1/admin/projects", { id: "made", name: "Made" });
      expect([made.status, made.body.id]).toEqual([201, "made"]);
    });

    test("[d14.2] a request of a page of another session than the browser's is refused, and does nothing", async () => {
      const own = await loggedIn("acme.owner");
      const shown = { "x-gateway-session": (await own.ask("GET", "/console/api/me")).body.session.id as string };
      expect((await own.ask("GET", "/console/api/v1/key", undefined, shown)).status).toBe(200);
      expect((await own.login(world.tokens.get("acme.viewer")!)).status).toBe(200);
      for (const [method, path] of [
        ["GET", "/console/api/v1/key"],
        ["DELETE", "/console/api/session"],
      ] as const) {
        const { status, body } = await own.ask(method, path, undefined, shown);
        expect([path, status, body.error.code]).toEqual([path, 401, "session_required"]);
      }
      expect(await isOpen(own)).toBe(true);
    });

    test("[d14.2] the cookie counts nowhere but under /console", async () => {
      const own = await loggedIn("acme.owner");
      for (const path of ["/api/v1/key", "/v1/models", "/api/v1/admin/projects", "/api/v1/admin/tenants/acme/users"])
        expect((await own.ask("GET", path)).status).toBe(401);
      const stranger = browser();
      const bearer = { authorization: `Bearer ${world.tokens.get("acme.owner")!}` };
      expect((await stranger.ask("GET", "/console/api/v1/key", undefined, bearer)).status).toBe(401);
    });

    test("me tells visitors that nobody is logged in, and how they can log in, which is no error", async () => {
      const visitor = browser();
      const nobody = { session: null, logins: { oidc: [] } };
      for (const cookie of [null, "A".repeat(43), "broken"]) {
        if (cookie !== null) visitor.cookies.set("dragoman_session_4100", cookie);
        const { status, body } = await visitor.ask("GET", "/console/api/me");
        expect([cookie, status, body]).toEqual([cookie, 200, nobody]);
      }
      const own = await loggedIn("acme.owner");
      expect((await own.ask("GET", "/console/api/me")).body).toMatchObject({
        logins: { oidc: [] },
        session: { login: "token" },
      });
      await own.ask("DELETE", "/console/api/session");
      expect((await own.ask("GET", "/console/api/me")).body).toEqual(nobody);
    });

    test("me says what may be done where, and leaves out the rest", async () => {
      const viewer = (await (await loggedIn("acme.viewer")).ask("GET", "/console/api/me")).body;
      expect(viewer.places).toContainEqual({
        tenant_id: "acme",
        project_id: "site",
        name: "site",
        role: "viewer",
        timezone: "UTC",
      });
      expect(viewer.places.every((place: { tenant_id: string }) => place.tenant_id === "acme")).toBe(true);
      expect(viewer.can.project.viewer).toContain("listProjectCalls");
      expect(viewer.can.project.viewer).not.toContain("createProjectToken");
      expect(viewer.can.project.viewer).not.toContain("readProjectLogContent");
      expect([viewer.operator, viewer.can.operator]).toEqual([false, []]);
      const reader = (await (await loggedIn("acme.reader")).ask("GET", "/console/api/me")).body;
      expect(reader.can.project.viewer).toContain("readProjectLogContent");
      const operator = (await (await loggedIn("default.owner")).ask("GET", "/console/api/me")).body;
      expect(operator.can.operator).toContain("listAudit");
      expect(new Set(operator.places.map((place: { tenant_id: string }) => place.tenant_id))).toEqual(
        new Set(["default", "acme", "beta"]),
      );
    });

    test("[d14.2] ends when it was idle, and at the latest after its whole time", async () => {
      const idle = await loggedIn("acme.developer");
      const used = await loggedIn("acme.developer");
      pass(11 * HOUR_MS);
      expect(await isOpen(used)).toBe(true);
      pass(HOUR_MS);
      expect([await isOpen(idle), await isOpen(used)]).toEqual([false, true]);
      for (let at = 12; at < 7 * 24 - 6; at += 6) {
        pass(6 * HOUR_MS);
        expect(await isOpen(used)).toBe(true);
      }
      pass(6 * HOUR_MS);
      expect(await isOpen(used)).toBe(false);
    });

    test("[d14.2] ends at logout, and a later login has another id", async () => {
      const own = await loggedIn("acme.admin");
      const stolen = browser();
      const [[name, secret]] = [...own.cookies] as [[string, string]];
      stolen.cookies.set(name, secret);
      expect(await isOpen(stolen)).toBe(true);
      await own.login(world.tokens.get("acme.admin")!);
      expect(own.cookies.get(name)).not.toBe(secret);
      expect(await isOpen(stolen)).toBe(false);
      stolen.cookies.set(name, own.cookies.get(name)!);
      expect((await own.ask("DELETE", "/console/api/session")).status).toBe(204);
      expect([own.cookies.size, await isOpen(stolen)]).toEqual([0, false]);
    });

    test("[d14.2] ends when its token is revoked, and when a rotation retires the secret", async () => {
      await member("rita");
      const [revoked, rotated] = [await personal("rita"), await personal("rita")];
      const [one, other] = [browser(), browser()];
      for (const [own, { text }] of [
        [one, revoked],
        [other, rotated],
      ] as const)
        expect((await own.login(text)).status).toBe(200);
      await changed((writer) => revokeToken(writer, revoked.id, clock.now()));
      expect([await isOpen(one), await isOpen(other)]).toEqual([false, true]);
      await changed((writer) => rotateToken(writer, rotated.id, { overlapMs: 30 * MINUTE_MS }, clock.now()));
      expect(await isOpen(other)).toBe(true);
      pass(31 * MINUTE_MS);
      expect(await isOpen(other)).toBe(false);
    });

    test("[d14.2] ends when the roles of its user change, and with the user", async () => {
      await member("rolf");
      const { text } = await personal("rolf");
      const [one, other] = [browser(), browser()];
      await one.login(text);
      await changed((writer) =>
        writer.putMembership({ userId: "rolf", tenantId: "acme", projectId: "site", role: "maintainer" }),
      );
      expect(await isOpen(one)).toBe(false);
      await other.login(text);
      expect(await isOpen(other)).toBe(true);
      await changed((writer) => writer.removeUser("rolf"));
      expect(await isOpen(other)).toBe(false);
    });

    test("a token that is restricted to addresses opens the console from there only", async () => {
      await member("adam");
      const { result } = await world.store.change(LOCAL_ACTOR, (writer) =>
        createToken(writer, { name: "own", personal: true, userId: "adam", ipRanges: ["127.0.0.1"] }, clock.now()),
      );
      await world.source.reload();
      expect((await browser("192.0.2.7").login(result.text)).body.error.code).toBe("login_failed");
      const own = browser();
      expect((await own.login(result.text)).status).toBe(200);
      const moved = browser("192.0.2.7");
      for (const [name, value] of own.cookies) moved.cookies.set(name, value);
      expect((await moved.ask("GET", "/console/api/me")).body.error.code).toBe("address_forbidden");
    });

    test("[d14.2] project tokens open the console only where the configuration says so", async () => {
      expect((await browser().login(world.tokens.get("acme.site.maintainer")!)).body.error.code).toBe("login_failed");
      expect((await browser().login(world.tokens.get("default.scraper")!)).body.error.code).toBe("login_failed");
    });

    test("[d14.6] the code of a login link works once, for ten minutes, and not where a proxy is in between", async () => {
      const link = async (): Promise<string> => {
        const { text, hash } = newSessionSecret();
        await world.store.sessions.keepCode({
          codeHash: hash,
          tenantId: "acme",
          userId: "acme-owner",
          permissions: ["read_content"],
          expiresAtMs: clock.now() + 10 * MINUTE_MS,
        });
        return text;
      };
      const by = (code: string, headers: Readonly<Record<string, string>> = {}, own = browser()) =>
        own.ask("POST", "/console/api/session", { code }, headers);
      const [used, late, kept] = [await link(), await link(), await link()];
      for (const headers of [{ "x-real-ip": "192.0.2.1" }, { "cf-connecting-ip": "192.0.2.1" }])
        expect((await by(used, headers)).body.error.code).toBe("console_refused");
      const first = await by(used);
      expect([first.status, first.body.session.login, first.body.permissions]).toEqual([200, "link", ["read_content"]]);
      expect((await by(used)).body.error.code).toBe("login_failed");
      expect((await by(kept)).status).toBe(200);
      pass(10 * MINUTE_MS);
      expect((await by(late)).body.error.code).toBe("login_failed");
      const foreign = consoleBrowser({
        origin: "http://gateway.example:4100",
        send: (request) => world.fetch(request, "127.0.0.1"),
      });
      expect((await by(await link(), {}, foreign)).body.error.code).toBe("console_refused");
      expect(
        loggedInByLink({ codeHash: "", tenantId: "acme", userId: "u", permissions: ["nosuch"], expiresAtMs: 0 }, 0),
      ).toMatchObject({ token: { permissions: [] } });
    });

    test("[d14.2] failed logins have one answer for every cause, are audited, and are limited; a valid token is let in all the same", async () => {
      const peer = "203.0.113.9";
      const wrong = [
        "nonsense",
        "dgm_ut_truncated",
        `${world.tokens.get("beta.owner")!.slice(0, -1)}!`,
        world.tokens.get("acme.site.developer")!,
        world.tokens.get("default.scraper")!,
        "eyJhbGciOiJub25lIn0.e30.c2ln",
      ];
      const answers = await Promise.all(wrong.map((token) => browser(peer).login(token)));
      expect(
        new Set(answers.map(({ status, body }) => `${status} ${body.error.code} ${body.error.message}`)).size,
      ).toBe(1);
      for (let at = wrong.length; at < 10; at++) await browser(peer).login("nonsense");
      const right = world.tokens.get("beta.owner")!;
      const limited = await browser(peer).login("nonsense");
      expect([limited.status, limited.body.error.code, limited.headers.get("retry-after")]).toEqual([
        429,
        "too_many_logins",
        "900",
      ]);
      for (const from of [peer, "203.0.113.10"]) expect((await browser(from).login(right)).status).toBe(200);
      expect((await browser(peer).login("nonsense")).status).toBe(429);
      pass(15 * MINUTE_MS + 1);
      expect((await browser(peer).login(right)).status).toBe(200);
      const { data } = await world.store.listAudit({ limit: 100 }, { kind: "session", outcome: "refused" });
      const fromThere = data.filter(({ actor }) => actor.address === peer);
      expect(fromThere).toHaveLength(10);
      expect(JSON.stringify(fromThere)).not.toContain("dgm_");
      const opened = await world.store.listAudit({ limit: 1 }, { kind: "session", outcome: "done", tenantId: "beta" });
      expect(opened.data[0]).toMatchObject({ action: "login", actor: { userId: "beta-owner", address: peer } });
    });
  });
}

test("[d14.2] a session that is used does not end, however short the idle time is", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-idle-"));
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, "console: {session_idle_s: 60}\n");
  const clock = turnedClock(1_790_000_000_000);
  const world = await openAdminWorld({ file, clock });
  try {
    const own = consoleBrowser({ origin: ORIGIN, send: (request) => world.fetch(request, "127.0.0.1") });
    expect((await own.login(world.tokens.get("acme.owner")!)).status).toBe(200);
    const after = async (ms: number): Promise<number> => {
      clock.turnTo(clock.now() + ms);
      return (await own.ask("GET", "/console/api/v1/key")).status;
    };
    for (let used = 0; used < 5; used++) expect(await after(50_000)).toBe(200);
    expect(await after(MINUTE_MS)).toBe(401);
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
});

test("[d14.2] a session that another gateway has opened goes on where what gives its rights is known a moment later", async () => {
  const clock = turnedClock(1_790_000_000_000);
  let known: Promise<void> | null = null;
  const later = Promise.withResolvers<void>();
  const world = await openAdminWorld({
    clock,
    followed: (store) => ({
      ...store,
      watch: () => () => {},
      async revision() {
        await known;
        return await store.revision();
      },
    }),
  });
  try {
    known = later.promise;
    await Bun.sleep(50);
    const { result: made } = await world.store.change(LOCAL_ACTOR, (writer) =>
      createToken(writer, { name: "own", personal: true, userId: "acme-owner" }, clock.now()),
    );
    const other = {
      clock,
      store: world.store,
      settings: () => world.source.configuration().console,
      snapshot: () => world.source.current(),
    } as unknown as ConsoleContext;
    const { secret } = await openSession(
      loggedInByToken(made.record, parseTokenText(made.text)!.sha256),
      { address: null, headers: new Headers(), former: null },
      other,
    );
    const own = consoleBrowser({ origin: ORIGIN, send: (request) => world.fetch(request, "127.0.0.1") });
    own.cookies.set("dragoman_session_4100", secret);
    expect(world.source.current().tokens.has(made.id)).toBe(false);
    setTimeout(() => later.resolve(), 100);
    expect((await own.ask("GET", "/console/api/v1/key")).status).toBe(200);
  } finally {
    later.resolve();
    await world.close();
  }
});
