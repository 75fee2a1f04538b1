// A company's login over the real process, against an issuer on this machine: calls, listings and the admin API, with roles by its claims.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { type Issuer, startIssuer } from "../harness/servers/issuer.ts";
import { until } from "../harness/time/until.ts";

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
    roles:
      - { claim: groups, value: "ai-*", role: developer, project: default }
      - { claim: groups, value: ai-admins, role: admin, permissions: [debug] }
      - { claim: groups, value: ai-owners, role: owner }
`,
  });
});
afterAll(async () => {
  await gateway.stop();
  issuer.stop();
});

const get = async (path: string, token: string): Promise<{ readonly status: number; readonly body: any }> => {
  const response = await fetch(`${gateway.url}/api/v1${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { status: response.status, body: await response.json() };
};
const call = async (token: string, headers: Record<string, string> = {}): Promise<number> => {
  const response = await gateway.chat(
    { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] },
    { token, headers },
  );
  await response.body?.cancel();
  return response.status;
};

describe("a company login", () => {
  test("calls models and lists them, by the role that its claims give", async () => {
    const developer = await issuer.token({ groups: ["ai-users"] });
    expect([await call(developer), await call(developer), (await get("/models", developer)).status]).toEqual([
      200, 200, 200,
    ]);
    const nobody = await issuer.token({ sub: "eve", groups: ["sales"] });
    expect([await call(nobody), (await get("/models", nobody)).status]).toEqual([403, 403]);
    expect(await call(developer, { "x-gateway-explain": "true" })).toBe(403);
    expect(await call(await issuer.token({ sub: "kim", groups: ["ai-admins"] }), { "x-gateway-explain": "true" })).toBe(
      200,
    );
    expect(
      gateway
        .lines()
        .filter((line) => line["status"] === 200)
        .every((line) => String(line["user"]).startsWith("corp.")),
    ).toBe(true);
  });

  test("[d2.11] administers what its role allows, and appears in the audit log by name", async () => {
    const developer = await issuer.token({ groups: ["ai-users"] });
    expect((await get("/admin/tenants/default/users", developer)).status).toBe(403);
    const owner = await issuer.token({ sub: "root", groups: ["ai-owners"] });
    const run = (...args: readonly string[]) =>
      runCli(args, cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: owner }));
    expect(await run("project", "create", "search")).toMatchObject({ code: 0, stderr: "" });
    const { stdout } = await run("audit", "--json");
    expect(JSON.parse(stdout)[0]).toMatchObject({
      action: "create",
      kind: "project",
      target_id: "search",
      actor: { user_id: "corp.root", role: "owner" },
    });
  });

  test("is linked to a user of the database by issuer and subject, and has that user's roles within a second", async () => {
    const token = await gateway.createToken("--personal", "--role", "owner");
    const run = (...args: readonly string[]) =>
      runCli(args, cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: token }));
    const carol = await issuer.token({ sub: "carol", groups: [] });
    expect(await call(carol)).toBe(403);
    expect(
      await run(
        "user",
        "create",
        "carol.jones",
        "--set",
        `login={issuer: "${issuer.url}", subject: carol}`,
        "--set",
        "role=developer",
      ),
    ).toMatchObject({ code: 0, stderr: "" });
    await until(async () => (await call(carol, { "x-gateway-project-id": "default" })) === 200);
    expect((await run("user", "delete", "carol.jones", "--yes")).code).toBe(0);
    await until(async () => (await call(carol)) === 403);
  });
});
