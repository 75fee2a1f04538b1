// Responses that a tenant keeps like the content of calls: they outlive the process, encrypted and redacted, and go with
// the content of their project.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";

const CONFIG = `
tenants:
  default:
    settings:
      responses: {store: on}
      content_log: {enabled: true, retention_days: 3, redact: {classes: [email]}}
`;
const SAID = "the river is called Ilm";
const DAY_MS = 86_400_000;

const folder = mkdtempSync(join(tmpdir(), "dragoman-stored-"));
const dataFolder = join(folder, "data");
let gateway: GatewayProcess;
let token: string;
const start = async (config = CONFIG): Promise<void> => {
  gateway = await startGateway({ config, dataFolder });
};
beforeAll(async () => {
  await start();
  token = await gateway.createToken("--project", "default");
}, 60_000);
afterAll(async () => {
  await gateway.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function send(
  path: string,
  { method = "GET", body, as = token }: { readonly method?: string; readonly body?: object; readonly as?: string } = {},
): Promise<{ readonly status: number; readonly json: Record<string, any>; readonly headers: Headers }> {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method: body === undefined ? method : "POST",
    headers: { authorization: `Bearer ${as}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify({ model: "sandbox:echo", ...body }) }),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const json = isStream ? JSON.parse(text.split("data: ").at(-2)!)["response"] : JSON.parse(text);
  return { status: response.status, json: json as Record<string, any>, headers: response.headers };
}

/** A date in a header may lack the part of a second. */
function expectKeptFor(headers: Headers, keptMs: number, beganMs: number): void {
  const untilMs = Date.parse(headers.get("x-gateway-response-kept-until")!);
  expect(untilMs - keptMs).toBeWithin(beganMs - 1000, Date.now() + 1000);
}

test("[d12.8] where the tenant says on, a response says store: true, outlives a restart, and is read and referred to", async () => {
  const made = [];
  for (const stream of [false, true]) {
    const beganMs = Date.now();
    const { json, headers } = await send("/responses", { body: { input: SAID, stream } });
    expect(json["store"]).toBe(true);
    expectKeptFor(headers, 3 * DAY_MS, beganMs);
    made.push(json);
  }
  expect((await send("/responses", { body: { input: SAID, store: true } })).json["store"]).toBe(true);
  const unkept = await send("/responses", { body: { input: SAID, store: false } });
  expect([unkept.json["store"], unkept.headers.get("x-gateway-response-kept-until")]).toEqual([false, null]);
  expect((await send(`/responses/${unkept.json["id"]}`)).status).toBe(404);
  await gateway.stop("SIGKILL");
  const files = readdirSync(dataFolder, { recursive: true, encoding: "utf8" }).map((name) => join(dataFolder, name));
  expect(files.filter((path) => statSync(path).isFile() && readFileSync(path).includes(SAID))).toEqual([]);
  await start();
  for (const response of made) {
    const path = `/responses/${response["id"]}`;
    expect((await send(path)).json).toEqual(response);
    expect((await send(`${path}/input_items`)).json["data"][0].content[0].text).toBe(SAID);
    const item = { type: "item_reference", id: response["output"][0].id };
    for (const body of [
      { previous_response_id: response["id"], input: "And?" },
      { input: [item, { role: "user", content: "And?" }] },
    ])
      expect((await send("/responses", { body })).status).toBe(200);
    const other = await gateway.createToken("--project", "default");
    const reader = await gateway.createToken("--project", "default", "--permission", "read_content");
    expect([(await send(path, { as: other })).status, (await send(path, { as: reader })).status]).toEqual([404, 200]);
    expect((await send(path, { method: "DELETE" })).json["deleted"]).toBe(true);
    expect((await send(path)).status).toBe(404);
    expect((await send("/responses", { body: { input: [item] } })).status).toBe(400);
  }
}, 120_000);

test("[d11.3, d12.5, d12.8] what is kept is redacted as the content of calls is, and items still refer to one another", async () => {
  const tools = [{ type: "function", name: "f", parameters: {} }];
  const input = [
    { role: "user", content: "Write to ann@example.org" },
    { type: "function_call", call_id: "call_4111111111111111", name: "f", arguments: '{"to":"ann@example.org"}' },
    { type: "function_call_output", call_id: "call_4111111111111111", output: "sent to ann@example.org" },
    { role: "user", content: "Say ann@example.org" },
  ];
  const { json } = await send("/responses", { body: { input, tools } });
  expect(JSON.stringify(json["output"])).toContain("ann@example.org");
  const path = `/responses/${json["id"]}`;
  const kept = (await send(path)).json;
  const items = (await send(`${path}/input_items?order=asc`)).json["data"];
  expect(JSON.stringify([kept, items])).not.toContain("ann@example.org");
  expect(kept).toMatchObject({ id: json["id"], created_at: json["created_at"], usage: json["usage"] });
  expect(items.map(({ type, call_id: call }: any) => call ?? type)).toEqual([
    "message",
    "call_4111111111111111",
    "call_4111111111111111",
    "message",
  ]);
  expect((await send("/responses", { body: { input: "And?", tools, previous_response_id: json["id"] } })).status).toBe(
    200,
  );
}, 60_000);

test("[d11.3, d12.8] a tenant that keeps no content keeps responses for an hour, and says store: false", async () => {
  await gateway.stop();
  await start(CONFIG.replace("enabled: true", "enabled: false"));
  const beganMs = Date.now();
  const { json, headers } = await send("/responses", { body: { input: SAID, store: true } });
  expect(json["store"]).toBe(false);
  expectKeptFor(headers, 3_600_000, beganMs);
}, 60_000);
