// What is kept of responses, over HTTP: retrieval, lists of input, deletion, and whom they open to.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";

let gateway: GatewayProcess;
let token: string;
let other: string;
let reader: string;
beforeAll(async () => {
  gateway = await startGateway();
  token = await gateway.createToken("--project", "default");
  other = await gateway.createToken("--project", "default");
  reader = await gateway.createToken("--project", "default", "--permission", "read_content");
}, 60_000);
afterAll(() => gateway.stop());

async function send(
  method: string,
  path: string,
  { body, as = token }: { readonly body?: object; readonly as?: string } = {},
): Promise<{ readonly status: number; readonly json: Record<string, any>; readonly headers: Headers }> {
  const response = await fetch(`${gateway.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${as}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Record<string, any>, headers: response.headers };
}
const create = async (body: object = {}): Promise<Record<string, any>> =>
  (await send("POST", "/responses", { body: { model: "sandbox:echo", input: "Hello there", ...body } })).json;

test("[d12.1, d12.8] a response is retrieved as it was answered, until it is deleted", async () => {
  const response = await create();
  const path = `/responses/${response["id"]}`;
  expect((await send("GET", path)).json).toEqual(response);
  expect(await send("GET", `${path}?stream=true`)).toMatchObject({ status: 400, json: { error: { param: "stream" } } });
  expect(await send("POST", `${path}/cancel`, { body: {} })).toMatchObject({
    status: 400,
    json: { error: { code: "invalid_request" } },
  });
  expect((await send("DELETE", path)).json).toEqual({ id: response["id"], object: "response", deleted: true });
  for (const [method, at] of [
    ["GET", path],
    ["DELETE", path],
    ["GET", `${path}/input_items`],
    ["POST", `${path}/cancel`],
  ] as const) {
    const { status, json } = await send(method, at);
    expect([status, Object.keys(json), json["error"].code]).toEqual([404, ["error"], "not_found"]);
  }
});

test("[d12.8] the input of a response is listed in pages, with that of the responses before it", async () => {
  const first = await create({ input: "One" });
  const second = await create({
    input: [
      { role: "user", content: "Two" },
      { type: "message", id: "msg_own", role: "developer", content: [{ type: "input_text", text: "Three" }] },
    ],
    previous_response_id: first["id"],
  });
  const list = async (query: string) => (await send("GET", `/responses/${second["id"]}/input_items${query}`)).json;
  const all = await list("?order=asc");
  expect(all).toMatchObject({ object: "list", has_more: false, last_id: "msg_own" });
  expect(all["data"].map(({ role, content: [{ text }] }: any) => [role, text])).toEqual([
    ["user", "One"],
    ["assistant", "One"],
    ["user", "Two"],
    ["developer", "Three"],
  ]);
  for (const item of all["data"])
    expect([item.type, item.status, typeof item.id]).toEqual(["message", "completed", "string"]);
  const newest = await list("?limit=1");
  expect(newest).toMatchObject({ data: [{ id: "msg_own" }], has_more: true, first_id: "msg_own" });
  expect((await list("?limit=3&after=msg_own"))["data"].map(({ content: [{ text }] }: any) => text)).toEqual([
    "Two",
    "One",
    "One",
  ]);
  for (const [query, param] of [
    ["?order=up", "order"],
    ["?limit=0", "limit"],
    ["?after=x", "after"],
  ] as const)
    expect(await list(query)).toMatchObject({ error: { code: "invalid_request", param } });
});

test("[d12.8] a response opens to its own token, and to one that may read content", async () => {
  const { id } = await create();
  const path = `/responses/${id}`;
  expect((await send("GET", path, { as: other })).status).toBe(404);
  expect((await send("DELETE", path, { as: other })).status).toBe(404);
  expect((await send("GET", path, { as: "dgm_pt_wrong" })).status).toBe(401);
  expect((await send("GET", path, { as: reader })).status).toBe(200);
  const body = { model: "sandbox:echo", input: "And?", previous_response_id: id };
  expect(await send("POST", "/responses", { body, as: other })).toMatchObject({
    status: 400,
    json: { error: { param: "previous_response_id" } },
  });
});
