// How many tokens one caller can make, and what making one costs (promise 2.6).
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Contents } from "../../../src/store/configuration/contents.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";
import { turnedClock } from "../../harness/time/turned-clock.ts";

const MOST = 5;
const HOUR_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), "dragoman-token-bounds-"));
const file = join(folder, "dragoman.yaml");
writeFileSync(file, `server:\n  max_live_tokens: ${MOST}\n`);
const kinds = await allDatabases();
afterAll(async () => {
  await Promise.all(kinds.map((kind) => kind.dispose()));
  rmSync(folder, { recursive: true, force: true });
});

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    const clock = turnedClock(1_790_000_000_000);
    const reads: (Contents | null)[] = [];
    let world: AdminWorld;
    beforeAll(async () => {
      world = await openAdminWorld({
        kind,
        file,
        clock,
        followed: (store) => ({
          ...store,
          readContents: (known = null) => {
            reads.push(known);
            return store.readContents(known);
          },
        }),
      });
    });
    afterAll(() => world.close());

    const PROJECT = "/api/v1/admin/projects/app/tokens";
    const make = (path = PROJECT, body: object = {}): Promise<Told> =>
      world.send("acme.owner", "POST", path, { name: "one of many", ...body });
    const liveIn = async (path: string, query = ""): Promise<readonly { readonly id: string }[]> =>
      (await world.send("acme.owner", "GET", `${path}?state=live&limit=100${query}`)).body.data;
    const fill = async (path: string, query = "", body: object = {}): Promise<void> => {
      const { length } = await liveIn(path, query);
      for (let at = length; at < MOST; at++) expect((await make(path, body)).status).toBe(201);
    };

    test("[d2.6] a project has a bounded number of live tokens: one more is 409 with the cure, until one is revoked", async () => {
      await fill(PROJECT);
      const refused = await make();
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("project app has 5 live access tokens");
      expect(refused.body.error.message).toContain("server.max_live_tokens");
      expect((await make("/api/v1/admin/projects/lab/tokens")).status).toBe(404);
      const [first] = await liveIn(PROJECT);
      await world.send("acme.owner", "POST", `${PROJECT}/${first!.id}/revoke`);
      expect((await make()).status).toBe(201);
      expect((await make()).status).toBe(409);
    });

    test("[d2.6] a user has a bounded number of live personal tokens", async () => {
      const path = "/api/v1/admin/tenants/acme/tokens";
      const user = { user_id: "acme-viewer" };
      await fill(path, "&user_id=acme-viewer", user);
      const refused = await make(path, user);
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      expect(refused.body.error.message).toContain("user acme-viewer");
      expect((await make(path, { user_id: "acme-developer" })).status).toBe(201);
    });

    test("[d2.6] tokens that have expired leave room, and a rotation does not make more live than there may be", async () => {
      const path = "/api/v1/admin/projects/site/tokens";
      for (const { id } of await liveIn(path)) await world.send("acme.owner", "POST", `${path}/${id}/revoke`);
      const short = await make(path, { expires_in_days: 1 / 48 });
      clock.turnTo(clock.now() + HOUR_MS);
      await fill(path);
      const rotate = () => world.send("acme.owner", "POST", `${path}/${short.body.id}/rotate`, {});
      expect((await rotate()).status).toBe(409);
      const [first] = await liveIn(path);
      await world.send("acme.owner", "POST", `${path}/${first!.id}/revoke`);
      expect((await rotate()).status).toBe(200);
    });

    test("[d2.6] a token has a bounded number of secrets that still work", async () => {
      const [first] = await liveIn(PROJECT);
      const rotate = () => world.send("acme.owner", "POST", `${PROJECT}/${first!.id}/rotate`, {});
      for (let secrets = 1; secrets < 10; secrets++) expect((await rotate()).status).toBe(200);
      const refused = await rotate();
      expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
      clock.turnTo(clock.now() + 24 * HOUR_MS);
      expect((await rotate()).status).toBe(200);
    });

    test("[d2.6] after a token is made, only what has changed is read", async () => {
      const [first] = await liveIn(PROJECT);
      await world.send("acme.owner", "POST", `${PROJECT}/${first!.id}/revoke`);
      reads.length = 0;
      const made = await make();
      expect(made.status).toBe(201);
      expect(reads.length).toBeGreaterThan(0);
      expect(reads).not.toContain(null);
      expect(world.source.current().tokens.has(made.body.id)).toBe(true);
    });
  });
