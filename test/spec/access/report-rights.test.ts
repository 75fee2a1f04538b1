// Reports that are made while their reader reads them: they end with the reader's right to them.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

const ADMIN = "/api/v1/admin";
type Parts = Pick<ReadableStreamDefaultReader<Uint8Array>, "read">;
/** More than a page of rows, so that a report has several parts. */
const CALLS = 1_500;

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    beforeAll(async () => {
      world = await openAdminWorld({ kind });
      await world.calls.ingest(Array.from({ length: CALLS }, (_, at) => rowOf({ startedAtMs: Date.now() - at })));
    });
    afterAll(() => world.close());

    /** `as` is a name, or an access token. */
    const reportTo = async (as: string, path: string): Promise<Parts> => {
      const { status, body } = await world.fetch(
        new Request(`http://gateway.test${ADMIN}${path}`, {
          headers: { authorization: `Bearer ${world.tokens.get(as) ?? as}` },
        }),
      );
      expect(status).toBe(200);
      return body!.getReader();
    };
    const rest = async (parts: Parts): Promise<string> => {
      let text = "";
      for (;;) {
        const { done, value } = await parts.read();
        if (done) return text;
        text += new TextDecoder().decode(value);
      }
    };
    for (const path of [
      "/tenants/acme/logs?format=jsonl",
      "/tenants/acme/logs?format=csv",
      "/tenants/acme/audit/export",
    ])
      test(`[d2.6] GET ${path} fails for a reader whose token is revoked, and goes on for others`, async () => {
        const made = await world.send("acme.owner", "POST", `${ADMIN}/tenants/acme/tokens`, {
          name: "reader",
          user_id: "acme-admin",
        });
        const [ending, lasting] = await Promise.all([reportTo(made.body.token, path), reportTo("acme.admin", path)]);
        const [first, other] = await Promise.all([ending.read(), lasting.read()]);
        expect([first.done, other.done]).toEqual([false, false]);
        await world.send("acme.owner", "POST", `${ADMIN}/tenants/acme/tokens/${made.body.id}/revoke`);
        expect(await rest(ending).catch((error: unknown) => (error as { code?: string }).code)).toBe("revoked_token");
        expect((await rest(lasting)).endsWith("\n")).toBe(true);
      });

    test("[d2.3 d2.6] a report fails for a reader who loses the role that it needs", async () => {
      const role = `${ADMIN}/tenants/acme/memberships/acme-admin`;
      const parts = await reportTo("acme.admin", "/tenants/acme/audit/export");
      expect((await parts.read()).done).toBe(false);
      await world.send("acme.owner", "PUT", role, { role: "viewer" });
      expect(await rest(parts).catch((error: unknown) => (error as { code?: string }).code)).toBe("insufficient_role");
      await world.send("acme.owner", "PUT", role, { role: "admin" });
    });
  });
