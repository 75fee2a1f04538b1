// The time zone of a tenant's reports: days of usage and of histograms begin at its midnight where a request names no other zone.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

/** In Kolkata it is the next day already, in New York the day before. */
const AT = Date.UTC(2026, 2, 10, 20, 0, 0);

for (const kind of await allDatabases())
  describe.skipIf(kind.isMissing)(`the reporting zone in ${kind.name}`, () => {
    let world: AdminWorld;
    beforeAll(async () => {
      world = await openAdminWorld({ kind, file: null });
      await world.calls.ingest([rowOf({ tenantId: "acme", projectId: "site", startedAtMs: AT })]);
    });
    afterAll(async () => {
      await world.close();
      await kind.dispose();
    });
    const send = (method: string, path: string, body?: unknown, headers = {}): Promise<Told> =>
      world.send("acme.owner", method, `/api/v1/admin${path}`, body, headers);
    const days = async (path: string): Promise<readonly string[]> =>
      (await send("GET", `${path}/usage?group_by=day&from=2026-03-09&to=2026-03-13`)).body.data.map(
        ({ group }: any) => group.day,
      );
    const edges = async (query = ""): Promise<readonly string[]> =>
      (
        await send(
          "GET",
          `/tenants/acme/calls/histogram?bucket=1d&from=2026-03-10T00:00:00Z&to=2026-03-12T00:00:00Z${query}`,
        )
      ).body.data.map(({ at }: any) => at);

    test("[d9.3] is UTC, then what the tenant says, and what a request names counts more", async () => {
      expect(await days("/tenants/acme")).toEqual(["2026-03-10"]);
      const set = await send("PATCH", "/tenants/acme/settings", { timezone: "Asia/Kolkata" });
      expect([set.status, set.body.timezone]).toEqual([200, "Asia/Kolkata"]);
      expect(await days("/tenants/acme")).toEqual(["2026-03-11"]);
      expect(await days("/projects/site")).toEqual(["2026-03-11"]);
      expect((await edges())[1]).toBe("2026-03-10T18:30:00.000Z");
      expect((await edges("&timezone=UTC"))[1]).toBe("2026-03-11T00:00:00.000Z");
      const asked = await send("GET", "/tenants/acme/usage?group_by=day&timezone=America/New_York&from=2026-03-09");
      expect(asked.body.data[0].group.day).toBe("2026-03-10");
    });

    test("[d5.1] a name that is no time zone, and the settings of a project, are refused with the path", async () => {
      const wrong = await send("PATCH", "/tenants/acme/settings", { timezone: "Mars/Olympus" });
      expect([wrong.status, wrong.body.error.param]).toEqual([400, "timezone"]);
      const inProject = await send("PATCH", "/projects/site/settings", { timezone: "Asia/Kolkata" });
      expect([inProject.status, inProject.body.error.param]).toEqual([400, "timezone"]);
    });

    test("[d14.5] settings that were changed meanwhile are not overwritten, and not created twice", async () => {
      const first = await send("GET", "/projects/app/settings");
      expect(first.body.etag).not.toBeNull();
      const seen = { "if-match": first.body.etag };
      expect((await send("PUT", "/projects/app/settings", { drop_params: true }, seen)).status).toBe(200);
      const late = await send("PUT", "/projects/app/settings", { drop_params: false }, seen);
      expect([late.status, late.body.error.code]).toEqual([412, "etag_mismatch"]);
    });
  });

test("[d14.5] the zone of the configuration file counts more than that of the database, and is read-only", async () => {
  const { mkdtempSync, writeFileSync, rmSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const folder = mkdtempSync(`${tmpdir()}/dragoman-zone-`);
  const file = `${folder}/dragoman.yaml`;
  writeFileSync(
    file,
    'settings: {timezone: "America/New_York"}\ntenants: {acme: {settings: {timezone: "Europe/Berlin"}}}\n',
  );
  const world = await openAdminWorld({ file });
  try {
    const send = (method: string, path: string, body?: unknown) =>
      world.send("default.owner", method, `/api/v1/admin${path}`, body);
    expect((await send("GET", "/tenants/acme/settings")).body).toMatchObject({
      timezone: "Europe/Berlin",
      read_only_fields: ["timezone"],
    });
    const changed = await send("PATCH", "/tenants/acme/settings", { timezone: "UTC" });
    expect([changed.status, changed.body.error.code]).toEqual([403, "read_only"]);
    const at = async (path: string) =>
      (await send("GET", `${path}/calls/histogram?bucket=1d&from=2026-01-10T00:00:00Z&to=2026-01-12T00:00:00Z`)).body
        .data[1].at;
    expect(await at("/tenants/acme")).toBe("2026-01-10T23:00:00.000Z");
    expect(await at("/tenants/beta")).toBe("2026-01-10T05:00:00.000Z");
    expect(await at("")).toBe("2026-01-10T05:00:00.000Z");
  } finally {
    await world.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
