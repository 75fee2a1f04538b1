// Saved views of the console's screens: of a person, whom nobody else sees them of, and of a project.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

for (const kind of await allDatabases())
  describe.skipIf(kind.isMissing)(`saved views in ${kind.name}`, () => {
    let world: AdminWorld;
    beforeAll(async () => {
      world = await openAdminWorld({ kind });
    });
    afterAll(async () => {
      await world.close();
      await kind.dispose();
    });

    const send = (as: string, method: string, path: string, body?: unknown): Promise<Told> =>
      world.send(as, method, `/api/v1/admin${path}`, body);
    const named = async (as: string, path: string): Promise<readonly string[]> =>
      (await send(as, "GET", path)).body.data.map(({ name, is_default }: any) => (is_default ? `${name}*` : name));
    const save = (as: string, path: string, body: object) =>
      send(as, "POST", path, { screen: "calls", query: "q=status:5xx&range=7d", ...body });

    test("[d2.11] a person's views are that person's alone, in order of their names", async () => {
      const made = await save("acme.viewer", "/views", { name: "Slow" });
      expect([made.status, made.body]).toMatchObject([
        201,
        {
          name: "Slow",
          query: "q=status:5xx&range=7d",
          project_id: null,
          created_by: "acme-viewer",
          is_default: false,
        },
      ]);
      await save("acme.viewer", "/views", { name: "Dear" });
      await save("acme.viewer", "/views", { name: "Other screen", screen: "usage" });
      expect(await named("acme.viewer", "/views?screen=calls")).toEqual(["Dear", "Slow"]);
      expect(await named("acme.owner", "/views")).toEqual([]);
      expect(await named("default.owner", "/views")).toEqual([]);
      expect((await send("acme.owner", "DELETE", `/views/${made.body.id}`)).status).toBe(404);
      expect((await send("acme.viewer", "DELETE", `/projects/site/views/${made.body.id}`)).status).toBe(403);
      expect((await send("acme.viewer", "DELETE", `/views/${made.body.id}`)).status).toBe(204);
      expect(await named("acme.viewer", "/views?screen=calls")).toEqual(["Dear"]);
    });

    test("[d2.3] views of a project are for everybody in it, and made by developers", async () => {
      expect((await save("acme.site.viewer", "/projects/site/views", { name: "Errors" })).status).toBe(403);
      expect((await save("acme.site.developer", "/projects/site/views", { name: "Errors" })).status).toBe(201);
      expect(await named("acme.viewer", "/projects/site/views")).toEqual(["Errors"]);
      expect(await named("acme.viewer", "/projects/app/views")).toEqual([]);
      expect((await send("beta.owner", "GET", "/projects/site/views")).status).toBe(404);
    });

    test("[d14.5] a view is renamed and changed, and never over a change of somebody else", async () => {
      const path = "/projects/app/views";
      const made = await save("acme.owner", path, { name: "First", screen: "changes" });
      const own = `${path}/${made.body.id}`;
      const change = (as: string, body: object, etag?: string) =>
        world.send(as, "PATCH", `/api/v1/admin${own}`, body, etag === undefined ? {} : { "if-match": etag });
      const renamed = await change("acme.owner", { name: "Renamed" }, made.body.etag);
      expect([renamed.status, renamed.body]).toMatchObject([200, { name: "Renamed", query: made.body.query }]);
      expect(renamed.body.etag).not.toBe(made.body.etag);
      const late = await change("acme.admin", { query: "q=status:429" }, made.body.etag);
      expect([late.status, late.body.error.code]).toEqual([412, "etag_mismatch"]);
      const removal = await world.send("acme.admin", "DELETE", `/api/v1/admin${own}`, undefined, {
        "if-match": made.body.etag,
      });
      expect([removal.status, removal.body.error.code]).toEqual([412, "etag_mismatch"]);
      const other = await save("acme.owner", path, { name: "Second", screen: "changes", is_default: true });
      expect((await change("acme.owner", { name: "Second" })).status).toBe(409);
      expect((await change("acme.owner", { is_default: true, query: "q=status:429" })).body).toMatchObject({
        is_default: true,
        query: "q=status:429",
      });
      expect(await named("acme.owner", `${path}?screen=changes`)).toEqual(["Renamed*", "Second"]);
      expect((await change("acme.site.viewer", { name: "Taken" })).status).not.toBe(200);
      expect((await send("acme.owner", "PATCH", `${path}/viw_none`, { name: "x" })).status).toBe(404);
      const { body: audit } = await send(
        "acme.owner",
        "GET",
        `/projects/app/audit?kind=view&target_id=${made.body.id}`,
      );
      expect(audit.data.map(({ action, before, after }: any) => [action, before?.name, after?.name])).toEqual([
        ["update", "Renamed", "Renamed"],
        ["update", "First", "Renamed"],
        ["create", undefined, "First"],
      ]);
      for (const one of [made, other]) await send("acme.owner", "DELETE", `${path}/${one.body.id}`);
    });

    test("one view of a screen is the default, and each name is there once", async () => {
      const path = "/projects/app/views";
      await save("acme.owner", path, { name: "One", is_default: true });
      await save("acme.owner", path, { name: "Two", is_default: true });
      await save("acme.owner", path, { name: "Elsewhere", screen: "usage", is_default: true });
      expect(await named("acme.owner", path)).toEqual(["One", "Two*", "Elsewhere*"]);
      const again = await save("acme.owner", path, { name: "Two" });
      expect([again.status, again.body.error.code]).toEqual([409, "already_exists"]);
    });

    test("a person begins with the own default view, and with those of projects", async () => {
      await save("acme.owner", "/views", { name: "Mine", query: "range=1h", is_default: true });
      const found = await world.store.listDefaultViews("acme", "acme-owner");
      expect(found.map(({ name }) => name).toSorted()).toEqual(["Elsewhere", "Mine", "Two"]);
      const ofOther = await world.store.listDefaultViews("acme", "acme-viewer");
      expect(ofOther.map(({ name }) => name).toSorted()).toEqual(["Elsewhere", "Two"]);
      expect(await world.store.listDefaultViews("beta", "acme-owner")).toEqual([]);
    });

    test("[d5.1] what is no query of an address is refused with its path", async () => {
      for (const [body, param] of [
        [{ name: "x", query: "q=\u0000" }, "query"],
        [{ name: "x", query: "q=1#part" }, "query"],
        [{ name: "", query: "" }, "name"],
        [{ name: "x", screen: "../calls" }, "screen"],
      ] as const) {
        const { status, body: told } = await save("acme.owner", "/views", body);
        expect([status, told.error.param]).toEqual([400, param]);
      }
    });

    test("they are in the audit log, and go with their project and with their person", async () => {
      const { data } = await world.store.listAudit({ limit: 100 }, { kind: "view" });
      expect(data.map(({ action }) => action)).toContain("remove");
      expect(data.find(({ targetName }) => targetName === "Errors")).toMatchObject({
        action: "create",
        projectId: "site",
      });
      const rows = async (): Promise<readonly unknown[]> =>
        (await world.read("select name from console_views order by name")).map(({ name }) => name);
      expect(await rows()).toEqual(["Dear", "Elsewhere", "Errors", "Mine", "One", "Other screen", "Two"]);
      await world.store.change(LOCAL_ACTOR, (writer) => writer.removeProject("app"));
      expect(await rows()).toEqual(["Dear", "Errors", "Mine", "Other screen"]);
      await world.store.change(LOCAL_ACTOR, (writer) => writer.removeUser("acme-viewer"));
      expect(await rows()).toEqual(["Errors", "Mine"]);
    });
  });
