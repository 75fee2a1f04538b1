// A policy is simulated on recorded calls: which it denies, as it is and with a change, whose they are, and what cannot be judged from records.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, DAY_ONE, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

const PATH = "/api/v1/admin/tenants/acme/policies/streams/simulate";

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    const ask = (body: unknown, as = "acme.viewer", path = PATH): Promise<Told> => world.send(as, "POST", path, body);

    beforeAll(async () => {
      world = await openAdminWorld({ kind });
      await world.store.change(LOCAL_ACTOR, async (writer) => {
        const policy = { kind: "policy", tenantId: "acme", projectId: null, name: "streams" } as const;
        await writer.createResource({ ...policy, document: { rule: "request.stream" } });
      });
      await world.source.reload();
      await world.calls.ingest([
        ...Array.from({ length: 12 }, (_, index) =>
          rowOf({
            startedAtMs: DAY_ONE + index * 1000,
            projectId: index < 4 ? "app" : "site",
            tokenId: index < 4 ? "one" : "two",
            stream: index % 2 === 0,
            dispositions: index % 3 === 0 ? { tools: "native", temperature: "native" } : {},
            metadata: { team: index < 6 ? "core" : "edge" },
            attempts: [attemptOf({ provider: "openai", model: index === 0 ? "gpt-5" : "gpt-4o" })],
            policies: index === 1 ? [{ name: "streams", effect: "denied" }] : [],
          }),
        ),
        rowOf({ tenantId: "beta", projectId: "lab", stream: true }),
      ]);
    });
    afterAll(() => world.close());

    test("the policy as it is and with a change: who is newly denied, who newly allowed", async () => {
      const { status, body } = await ask({ policy: { rule: "has(request.parameters.tools)" } });
      expect(status).toBe(200);
      // of twelve calls six are streams; of the four with tools two are
      expect(body).toMatchObject({
        policy: "streams",
        calls: 12,
        recorded: { denied: 1, would_deny: 0, masked: 0, failed: 0 },
        now: { allowed: 6, denied: 6, unknown: 0 },
        proposed: { allowed: 8, denied: 4, unknown: 0 },
        newly_denied: { calls: 2 },
        newly_allowed: { calls: 4 },
      });
      expect(body.who).toEqual([
        { project_id: "site", token_id: "two", newly_denied: 1, newly_allowed: 3 },
        { project_id: "app", token_id: "one", newly_denied: 1, newly_allowed: 1 },
      ]);
      expect((await ask({})).body).toMatchObject({ proposed: null, newly_denied: null, newly_allowed: null, who: [] });
    });

    test("what records do not hold is unknown, unless the rest of the rule decides", async () => {
      const verdicts = async (policy: object): Promise<unknown> => (await ask({ policy })).body.proposed;
      expect(await verdicts({ rule: "request.parameters.temperature > 1.0" })).toEqual({
        allowed: 0,
        denied: 8,
        unknown: 4,
      });
      expect(
        await verdicts({ rule: "has(request.parameters.temperature) && request.parameters.temperature > 1.0" }),
      ).toEqual({ allowed: 8, denied: 0, unknown: 4 });
      expect(await verdicts({ rule: `client.ip == "10.0.0.1"` })).toEqual({ allowed: 0, denied: 0, unknown: 12 });
      expect(await verdicts({ rule: `request.metadata.team == "core"` })).toMatchObject({ denied: 6, unknown: 0 });
      expect(await verdicts({ rule: "true", scope: { model: "openai:gpt-5" } })).toMatchObject({ denied: 1 });
      expect(await verdicts({ rule: `target.model == "gpt-5"` })).toMatchObject({ denied: 1, unknown: 0 });
      // the tokens are gone
      expect(await verdicts({ rule: `token.role == "viewer"` })).toMatchObject({ unknown: 12 });
      expect(await verdicts({ rule: "true", mode: "audit" })).toMatchObject({ denied: 0 });
      expect(await verdicts({ guard: { classes: ["email"], action: "block" } })).toMatchObject({ unknown: 12 });
    });

    test("[d5.1] bad input is refused with its path, and nobody sees what is not theirs", async () => {
      expect((await ask({ policy: { rule: "request.nothing" } })).body.error.param).toBe("policy.rule");
      expect((await ask({ calls: 0 })).body.error.param).toBe("calls");
      expect((await ask({}, "acme.viewer", PATH.replace("streams", "none"))).status).toBe(404);
      expect((await ask({}, "beta.owner")).status).toBe(404);
      const path = "/api/v1/admin/projects/app/policies/fresh/simulate";
      const { body } = await ask({ policy: { rule: "true" } }, "acme.viewer", path);
      expect(body).toMatchObject({ calls: 4, now: null, proposed: { denied: 4 } });
    });
  });

test("a policy of the tenant is not taken for one of the file that applies to all and has the same name", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-same-name-"));
  const file = join(folder, "dragoman.yaml");
  writeFileSync(file, "policies: {streams: {rule: 'true'}}\n");
  const world = await openAdminWorld({ file });
  try {
    await world.store.change(LOCAL_ACTOR, async (writer) => {
      const policy = { kind: "policy", tenantId: "acme", projectId: null, name: "streams" } as const;
      await writer.createResource({ ...policy, document: { rule: "request.stream" } });
    });
    await world.source.reload();
    await world.calls.ingest([true, false].map((stream) => rowOf({ projectId: "site", stream })));
    const { body } = await world.send("acme.viewer", "POST", PATH, {});
    expect(body.now).toEqual({ allowed: 1, denied: 1, unknown: 0 });
    const { body: shown } = await world.send("acme.viewer", "GET", PATH.replace("/simulate", ""));
    expect([shown.origin, shown.rule]).toEqual(["store", "request.stream"]);
  } finally {
    await world.close();
    rmSync(folder, { recursive: true });
  }
});
