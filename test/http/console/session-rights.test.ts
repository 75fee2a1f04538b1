// Who sees and ends which sessions, and what a session may do only shortly after its login.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { ADMIN_OPERATIONS } from "../../../src/auth/admin-operations.ts";
import { needsRecentLogin } from "../../../src/auth/logins/recent-login.ts";
import { BackgroundRuns } from "../../../src/engine/keeping/background-runs.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { keepResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type ConsoleBrowser, consoleBrowser } from "../../harness/console/browser.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";

const MINUTE_MS = 60_000;
const clock = turnedClock(1_790_000_000_000);
const pass = (ms: number): void => clock.turnTo(clock.now() + ms);
let world: AdminWorld;
const kept = { kept: new KeptObjects(clock), durable: null, background: new BackgroundRuns(), audit: null, clock };
beforeAll(async () => {
  world = await openAdminWorld({ clock, kept });
});
afterAll(() => world.close());

async function loggedIn(as: string): Promise<ConsoleBrowser> {
  const own = consoleBrowser({
    origin: "http://localhost:4100",
    send: (request) => world.fetch(request, "127.0.0.1"),
  });
  expect((await own.login(world.tokens.get(as)!)).status).toBe(200);
  return own;
}
const ADMIN = "/console/api/v1/admin";
const sessionsOf = async (own: ConsoleBrowser, path: string): Promise<readonly any[]> =>
  (await own.ask("GET", `${ADMIN}${path}`)).body.data;

test("[d14.2] everybody lists and ends the own sessions, admins those of their tenant, and nobody those of another", async () => {
  const [here, there] = [await loggedIn("acme.developer"), await loggedIn("acme.developer")];
  const admin = await loggedIn("acme.admin");
  const foreign = await loggedIn("beta.owner");
  const own = await sessionsOf(here, "/sessions");
  expect(own.map(({ user_id: user, current }) => `${user} ${current}`).toSorted()).toEqual([
    "acme-developer false",
    "acme-developer true",
  ]);
  expect(own[0]).toMatchObject({ login: "token", address: "127.0.0.1", tenant_id: "acme" });
  expect(JSON.stringify(own)).not.toContain([...here.cookies.values()][0]!);
  expect((await here.ask("GET", `${ADMIN}/tenants/acme/sessions`)).body.error.code).toBe("insufficient_role");
  expect((await foreign.ask("GET", `${ADMIN}/tenants/acme/sessions`)).status).toBe(404);
  const users = (await sessionsOf(admin, "/tenants/acme/sessions")).map(({ user_id: user }) => user as string);
  expect(users.toSorted()).toEqual(["acme-admin", "acme-developer", "acme-developer"]);
  const other = own.find(({ current }) => current === false);
  for (const path of [`/sessions/${other.id}`, `/tenants/beta/sessions/${other.id}`])
    expect((await foreign.ask("DELETE", `${ADMIN}${path}`)).status).toBe(404);
  expect((await here.ask("DELETE", `${ADMIN}/sessions/${other.id}`)).status).toBe(204);
  expect([
    (await there.ask("GET", "/console/api/v1/key")).status,
    (await here.ask("GET", "/console/api/v1/key")).status,
  ]).toEqual([401, 200]);
  const [left] = await sessionsOf(admin, "/tenants/acme/sessions?user_id=acme-developer");
  expect((await admin.ask("DELETE", `${ADMIN}/tenants/acme/sessions/${left.id}`)).status).toBe(204);
  expect((await here.ask("GET", "/console/api/v1/key")).body.error.code).toBe("session_required");
  const { data } = await world.store.listAudit({ limit: 10 }, { kind: "session", action: "end" });
  expect(data.map(({ targetName, actor }) => [targetName, actor.userId])).toEqual([
    ["acme-developer", "acme-admin"],
    ["acme-developer", "acme-developer"],
  ]);
});

test("what gives rights or shows content needs a recent login in the console, and nothing more with a token", async () => {
  const owner = await loggedIn("acme.owner");
  const asked: readonly (readonly [method: string, path: string, body?: unknown])[] = [
    ["PUT", "/tenants/acme/memberships/acme-viewer", { role: "developer" }],
    ["POST", "/tenants/acme/tokens", { name: "own" }],
    ["POST", "/projects/site/tokens", { name: "with", permissions: ["read_content"] }],
    ["DELETE", "/projects/app"],
  ];
  const dry = "?dry_run=true";
  for (const [method, path, body] of asked) {
    const { status } = await owner.ask(method, `${ADMIN}${path}${dry}`, body);
    expect([path, status < 300]).toEqual([path, true]);
  }
  pass(15 * MINUTE_MS);
  for (const [method, path, body] of asked) {
    expect((await owner.ask(method, `${ADMIN}${path}${dry}`, body)).body.error.code).toBe("recent_login_required");
    expect((await world.send("acme.owner", method, `/api/v1/admin${path}${dry}`, body)).status).toBeLessThan(300);
  }
  const without = await owner.ask("POST", `${ADMIN}/projects/site/tokens${dry}`, { name: "without" });
  expect(without.status).toBe(200);
  expect((await owner.login(world.tokens.get("acme.owner")!)).status).toBe(200);
  expect((await owner.ask("DELETE", `${ADMIN}/projects/app${dry}`)).status).toBe(204);
});

test("[d14.4] content is read only with its permission, shortly after a login", async () => {
  const reader = await loggedIn("acme.reader");
  const path = `${ADMIN}/projects/site/logs/${"0".repeat(32)}/content`;
  expect((await reader.ask("GET", path)).status).toBe(404);
  expect((await (await loggedIn("acme.owner")).ask("GET", path)).body.error.code).toBe("permission_required");
  pass(15 * MINUTE_MS);
  expect((await reader.ask("GET", path)).body.error.code).toBe("recent_login_required");
});

test("[d12.8, d14.4] what is kept of responses is read and removed only shortly after a login, and with a token at any time", async () => {
  const developer = await loggedIn("acme.developer");
  const asked = [
    ["GET", "/responses/resp_none"],
    ["GET", "/responses/resp_none/input_items"],
    ["DELETE", "/responses/resp_none"],
  ] as const;
  const codeIn = async (method: string, path: string): Promise<string> =>
    (await developer.ask(method, `/console/api/v1${path}`)).body.error.code;
  for (const [method, path] of asked) expect([path, await codeIn(method, path)]).not.toContain("recent_login_required");
  pass(15 * MINUTE_MS);
  for (const [method, path] of asked) {
    expect([path, await codeIn(method, path)]).toEqual([path, "recent_login_required"]);
    expect((await world.send("acme.developer", method, `/api/v1${path}`)).body.error.code).not.toBe(
      "recent_login_required",
    );
  }
});

test("[d14.2] a new secret of a project token with permissions needs a recent login, as the token itself does", async () => {
  const owner = await loggedIn("acme.owner");
  const made = async (name: string, permissions: readonly string[]): Promise<string> =>
    (await owner.ask("POST", `${ADMIN}/projects/site/tokens`, { name, permissions })).body.id;
  const [plain, reading] = [await made("plain", []), await made("reading", ["debug"])];
  const rotated = async (id: string) => await owner.ask("POST", `${ADMIN}/projects/site/tokens/${id}/rotate`, {});
  expect((await rotated(reading)).status).toBe(200);
  pass(15 * MINUTE_MS);
  expect((await rotated(plain)).status).toBe(200);
  expect((await rotated(reading)).body.error.code).toBe("recent_login_required");
  const path = `/api/v1/admin/projects/site/tokens/${reading}/rotate`;
  expect((await world.send("acme.owner", "POST", path, {})).status).toBe(200);
});

test("[d2.6, d14.2] the events of a response end when the session that reads them does", async () => {
  const own = await loggedIn("acme.developer");
  const over = Promise.withResolvers<void>();
  const run = kept.background.begin(
    "resp_1",
    ({ brought }) => {
      brought('event: response.created\ndata: {"type":"response.created","sequence_number":0}\n\n');
      return over.promise;
    },
    () => {},
  );
  try {
    const created = {
      projectMs: (await world.store.findProject("site"))!.createdAtMs,
      userMs: (await world.store.findUser("acme-developer"))!.createdAtMs,
    };
    const owner = { tenantId: "acme", projectId: "site", tokenId: "t1", userId: "acme-developer", created };
    const response = { id: "resp_1", status: "in_progress", output: [] };
    await keepResponse(kept.kept, { owner, response, input: [], isStreamed: true });
    const shown = own.ask("GET", "/console/api/v1/responses/resp_1?stream=true").then(({ text }) => text);
    const goesOn = (ms: number): Promise<string> => Bun.sleep(ms).then(() => "goes on");
    expect(await Promise.race([shown, goesOn(1500)])).toBe("goes on");
    expect((await own.ask("DELETE", "/console/api/session")).status).toBe(204);
    const text = await shown;
    expect(text).toContain("event: response.created");
    expect(text).toContain('"code":"session_required"');
  } finally {
    over.resolve();
    await run.ended;
  }
}, 30_000);

test("a recent login is needed by thirteen operations, and by six where they give rights", () => {
  const all = [...ADMIN_OPERATIONS.values()];
  expect(all.filter((one) => needsRecentLogin(one, { permissions: ["debug"] }))).toHaveLength(19);
  expect(all.filter((one) => needsRecentLogin(one, {}))).toHaveLength(13);
});
