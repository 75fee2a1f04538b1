// The commands that the console shows: each is carried out against a real gateway. One that stands for a change has done what the dialog does, and
// one that stands for a screen tells what the screen is told.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { commandOf, openCommandShell } from "../../harness/shown-commands.ts";
import { until } from "../../harness/time/until.ts";

const shell = openCommandShell();
let gateway: GatewayProcess;
let owner: string;
beforeAll(async () => {
  gateway = await startGateway();
  owner = await gateway.createToken("--personal", "--user", "owner");
});
afterAll(async () => {
  await gateway?.stop();
  shell.close();
});

async function admin(method: string, path: string): Promise<{ readonly status: number; readonly body: any }> {
  const answer = await fetch(`${gateway.url}/api/v1/admin${path}`, {
    method,
    headers: { authorization: `Bearer ${owner}` },
  });
  return { status: answer.status, body: await answer.json() };
}
const read = async (path: string): Promise<any> => (await admin("GET", path)).body;

test("[d14.1] every change that a dialog makes has a command that makes it", async () => {
  const project = "/projects/default";
  const tenant = "/tenants/default";
  const does = async (method: string, path: string, body?: object): Promise<void> => {
    const command = commandOf({ method, path: `/v1/admin${path}`, ...(body !== undefined && { body }) });
    if (command === null) throw new Error(`${method} ${path} has no command`);
    await shell.run(command, { url: gateway.url, token: owner });
  };
  const names = async (path: string): Promise<readonly string[]> =>
    (await read(path)).data.map(({ name }: any) => name);

  await does("POST", `${project}/routes`, { name: "made", targets: ["sandbox:echo"], retries: 1 });
  const made = await read(`${project}/routes/made`);
  expect([made.targets, made.retries]).toEqual([["sandbox:echo"], 1]);
  await does("PATCH", `${project}/routes/made`, { targets: ["sandbox:words-5", "sandbox:echo"], retries: null });
  const changed = await read(`${project}/routes/made`);
  expect([changed.targets, changed.retries]).toEqual([["sandbox:words-5", "sandbox:echo"], undefined]);
  await does("DELETE", `${project}/routes/made`);
  expect(await names(`${project}/routes`)).not.toContain("made");

  await does("POST", `${project}/budgets`, { name: "raised", usd: "5", window: "day" });
  const budget = (await read(`${project}/budgets`)).data.find(({ name }: any) => name === "raised");
  await does("PATCH", `${project}/budgets/${budget.id}`, { usd: "12.50" });
  expect((await read(`${project}/budgets/${budget.id}`)).usd).toBe("12.50");
  await does("DELETE", `${project}/budgets/${budget.id}`);

  await does("PATCH", `${tenant}/settings`, { timezone: "Asia/Kolkata", content_log: { enabled: false } });
  expect(await read(`${tenant}/settings`)).toMatchObject({
    timezone: "Asia/Kolkata",
    content_log: { enabled: false },
  });
  await does("DELETE", `${tenant}/settings`);
  expect((await read(`${tenant}/settings`)).timezone).toBeUndefined();

  await does("POST", `${project}/tokens`, {
    name: "by command's name",
    expires_in_days: 7,
    role: "viewer",
    models: ["sandbox:*"],
    routes: [],
    tools: ["files__*"],
    ip: ["127.0.0.0/8"],
  });
  const find = async (path: string, name: string) => (await read(path)).data.find((each: any) => each.name === name);
  const token = await find(`${project}/tokens`, "by command's name");
  expect(token).toMatchObject({
    role: "viewer",
    models: ["sandbox:*"],
    tools: ["files__*"],
    ip: ["127.0.0.0/8"],
    state: "live",
  });
  await does("POST", `${project}/tokens/${token.id}/rotate`);
  await does("POST", `${project}/tokens/${token.id}/revoke`);
  expect((await read(`${project}/tokens/${token.id}`)).state).toBe("revoked");
  await does("POST", `${tenant}/tokens`, {
    name: "own",
    user_id: "owner",
    expires_in_days: 7,
    models: [],
    routes: [],
  });
  expect(await find(`${tenant}/tokens`, "own")).toMatchObject({ user_id: "owner" });

  await does("POST", `${project}/claims`, { name: "for Ann", role: "developer", expires_in_days: 30, models: [] });
  const claim = await find(`${project}/claims`, "for Ann");
  await does("DELETE", `${project}/claims/${claim.id}`);
  expect((await find(`${project}/claims`, "for Ann"))?.state).not.toBe("open");

  await does("POST", `${tenant}/users`, { id: "ann", name: "Ann B", role: "developer" });
  expect(await read(`${tenant}/users/ann`)).toMatchObject({ name: "Ann B" });
  await does("PUT", `${project}/memberships/ann`, { role: "maintainer" });
  expect((await read(`${project}/memberships`)).data).toContainEqual(
    expect.objectContaining({ user_id: "ann", role: "maintainer" }),
  );
  await does("DELETE", `${project}/memberships/ann`);
  await does("DELETE", `${tenant}/users/ann`);
  expect((await admin("GET", `${tenant}/users/ann`)).status).toBe(404);

  await does("POST", `${tenant}/providers/sandbox/drain`, { minutes: 15, model: "echo", note: "upkeep & rest" });
  expect((await read(`${tenant}/drains`)).data).toMatchObject([{ model: "echo", note: "upkeep & rest" }]);
  await does("DELETE", `${tenant}/providers/sandbox/drain?model=echo`);
  expect((await read(`${tenant}/drains`)).data).toEqual([]);
  await does("POST", `${project}/providers/sandbox/test`, { model: "echo" });

  await does("POST", "/views", { screen: "calls", name: "Failed", query: "q=status:5xx", is_default: true });
  const view = await find("/views", "Failed");
  await does("PATCH", `/views/${view.id}`, { name: "Failed calls" });
  expect(await names("/views")).toEqual(["Failed calls"]);
  await does("DELETE", `/views/${view.id}`);
  expect(await names("/views")).toEqual([]);
});

/** Without what is different at each reading. */
const steady = (value: unknown): string =>
  JSON.stringify(value, (name, one: unknown) =>
    /^(at|as_of|seen_at|idle_ends_at|\w*_ms)$/.test(name) ? undefined : one,
  );

test("[d14.1] the commands that screens show tell what the requests of the screens tell", async () => {
  const answer = await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] });
  const trace = answer.headers.get("x-gateway-trace-id");
  await answer.text();
  await until(
    async () => (await read("/projects/default/calls")).data.some(({ trace_id: one }: any) => one === trace),
    "the call is recorded",
  );
  const { id: token } = (await read("/projects/default/tokens")).data[0];
  const from = "2026-01-01T00:00:00.000Z";
  const ofPlace = [
    `/logs?from=${from}&status_class=2xx`,
    "/calls?limit=1",
    `/usage?from=${from}&group_by=project,model&order=cost&timezone=Asia/Kolkata&limit=200`,
    "/routes",
    "/policies",
    "/prices",
    "/tool_servers",
    "/limit_states",
    "/provider_health",
    "/attention",
    "/memberships",
    "/integrations",
    "/webhook_deliveries?limit=20",
    "/settings",
    "/tokens?limit=100&state=live",
    `/logs/${trace}`,
    `/calls/${trace}`,
  ];
  const paths = [
    ...ofPlace.map((path) => `/projects/default${path}`),
    ...ofPlace.map((path) => `/tenants/default${path}`),
    ...["/users", "/users/owner", "/sessions", "/logins", "/providers"].map((path) => `/tenants/default${path}`),
    `/projects/default/tokens/${token}`,
    "/sessions",
    "/gateway",
    "/views?screen=calls",
    "/integrations",
    `/logs?&from=${from}`,
    `/usage?from=${from}&group_by=tenant`,
    `/calls/facets?from=${from}`,
  ];
  const different: string[] = [];
  const waiting = [...paths];
  const compare = async (path: string): Promise<void> => {
    const command = commandOf({ path: `/v1/admin${path}` });
    if (command === null) return void different.push(`${path} has no command`);
    const asked = await read(path);
    const told = JSON.parse(await shell.run(`${command} --json`, { url: gateway.url, token: owner })) as unknown;
    if (steady(told) !== steady(Array.isArray(told) ? asked.data : asked))
      different.push(`${command}: ${steady(told).slice(0, 300)}, and ${path}: ${steady(asked).slice(0, 300)}`);
  };
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        await compare(next).catch((thrown: unknown) => different.push(String(thrown)));
    }),
  );
  expect(different).toEqual([]);
});
