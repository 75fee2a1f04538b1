// What the admin API says of integrations and of the gateway itself: who may see what, and what becomes of it when deliveries fail.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AdminWorld, openAdminWorld } from "../../harness/admin.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { until } from "../../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-integration-states-"));
let world: AdminWorld;
beforeAll(async () => {
  const file = join(folder, "dragoman.yaml");
  writeFileSync(
    file,
    [
      "content_log: { allowed: false }",
      "integrations:",
      `  all: { type: json_lines, path: ${folder}/all.jsonl }`,
      `  ours: { type: json_lines, path: ${folder}/ours.jsonl, tenants: [acme], only: errors }`,
      `  site: { type: json_lines, path: ${folder}/site.jsonl, projects: [site, lab] }`,
      `  off: { type: otlp, endpoint: "http://127.0.0.1:9", sample: 0.5, enabled: false, tenants: [beta] }`,
      "",
    ].join("\n"),
  );
  world = await openAdminWorld({ file });
});
afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

const named = async (as: string, path: string): Promise<readonly unknown[]> =>
  (await world.send(as, "GET", `/api/v1/admin${path}/integrations`)).body.data.map(({ name, projects }: any) =>
    projects === null ? name : `${name} of ${projects.join(" ")}`,
  );

test("[d2.11] everybody sees the integrations that receive their calls, and nothing of others", async () => {
  expect(await named("acme.viewer", "/tenants/acme")).toEqual(["all", "ours", "site of site"]);
  expect(await named("acme.viewer", "/projects/app")).toEqual(["all", "ours"]);
  expect(await named("default.owner", "/tenants/beta")).toEqual(["all", "site of lab", "off"]);
  expect(await named("default.owner", "")).toEqual(["all", "ours", "site of site lab", "off"]);
  const [, , , off] = (await world.send("default.owner", "GET", "/api/v1/admin/integrations")).body.data;
  expect(off).toMatchObject({ type: "otlp", state: "disabled", sample: 0.5, last_delivery_at: null });
});

test("[d2.11] how the gateway is run is for operators", async () => {
  const { body } = await world.send("acme.viewer", "GET", "/api/v1/admin/gateway");
  expect(body).toMatchObject({
    ready: true,
    retention: { calls_days: 90, audit_days: null, content_allowed: false },
    console: { session_idle_s: 43_200 },
    run: null,
  });
  expect((await world.send("default.owner", "GET", "/api/v1/admin/gateway")).body.run).toMatchObject({
    database: "sqlite",
  });
});

test("the last delivery and the last failure have their times, and operators see figures and errors", async () => {
  const gateway: GatewayProcess = await startGateway({
    config: [
      "integrations:",
      `  good: { type: json_lines, path: ${folder}/good.jsonl, batch_wait_ms: 10 }`,
      `  bad: { type: otlp, endpoint: "http://127.0.0.1:9", metrics: false, batch_wait_ms: 10 }`,
      "",
    ].join("\n"),
  });
  try {
    const owner = await gateway.createToken("--personal", "--user", "owner");
    await (await gateway.chat({ model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] })).text();
    const states = async (): Promise<readonly any[]> => {
      const answer = await fetch(`${gateway.url}/api/v1/admin/tenants/default/integrations`, {
        headers: { authorization: `Bearer ${owner}` },
      });
      return ((await answer.json()) as { readonly data: readonly any[] }).data;
    };
    await until(async () => {
      const [good, bad] = await states();
      return good.state === "delivering" && bad.state === "failing" && bad.last_error !== null;
    }, "both have been tried");
    const [good, bad] = await states();
    expect(good).toMatchObject({ last_failure_at: null, figures: { delivered: 1, failures: 0 } });
    expect(Date.parse(good.last_delivery_at)).toBeGreaterThan(0);
    expect(bad).toMatchObject({ last_delivery_at: null, figures: { delivered: 0 } });
    expect(Date.parse(bad.last_failure_at)).toBeGreaterThan(0);
  } finally {
    await gateway.stop();
  }
});
