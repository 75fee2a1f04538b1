// Promise 16.4 together with other features: cached answers, requests whose text is held in another thread, content that
// is kept, and policies that the admin API stores.
import { afterAll, describe, expect, test } from "bun:test";
import { compileContentLogs } from "../../../src/auth/settings/content-settings.ts";
import { scopeSettings, toScopeSettings } from "../../../src/auth/settings/scope-settings.ts";
import type { CallContent } from "../../../src/core/configured/content.ts";
import type { CallRecord } from "../../../src/core/record/record.ts";
import { LONG_BODY_BYTES, openLongBodyThread } from "../../../src/engine/long-bodies/long-body-thread.ts";
import { openLongRequests } from "../../../src/engine/long-bodies/long-requests.ts";
import { longBodyProgram } from "../../../src/operations/long-body-program.ts";
import { openAdminWorld } from "../../harness/admin.ts";
import { ASK, cachedGateway, WHOLE } from "../../harness/cached.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { fakeService, findingsOf } from "../../harness/servers/outside-guard.ts";
import { until } from "../../harness/time/until.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";

const thread = openLongBodyThread(longBodyProgram());
afterAll(() => thread.close());

const SERVICE = { type: "request", url: "http://guard.test/judge" } as const;
const policies = (guard: object) =>
  policiesFor({ name: "judged", guard: { action: "mask", service: SERVICE, ...guard } });
const found = (pattern: RegExp) => (body: { readonly texts: readonly string[] }) => findingsOf(body.texts, pattern);

test("[d16.4] an answer from the cache is judged as it was the first time, and what was found does not leave", async () => {
  const service = fakeService(found(/Good/g), cannedUpstream(WHOLE));
  const stub = cachedGateway({ upstream: service.upstream, snapshot: { policies: policies({ on: "output" }) } });
  const told: string[] = [];
  for (let call = 0; call < 2; call++) {
    const body: any = await (await stub.chat(ASK)).json();
    told.push(body.choices[0].message.content);
  }
  expect(told).toEqual(["[masked] day.", "[masked] day."]);
});

test("[d16.4] the texts of a long request are judged, although another thread holds them", async () => {
  const service = fakeService(found(/secret/g), cannedUpstream({ body: JSON.stringify(openaiAnswer()) }));
  const stub = stubGateway({
    upstream: service.upstream,
    longRequests: openLongRequests(thread),
    snapshot: { policies: policies({ on: "input" }) },
  });
  const padding = "The quick brown fox. ".repeat(Math.ceil(LONG_BODY_BYTES / 20));
  const messages = [
    { role: "system", content: padding },
    { role: "user", content: "a secret word" },
  ];
  expect((await stub.chat(JSON.stringify({ model: "openai:gpt-4o", messages }))).status).toBe(200);
  expect(service.asked.flatMap(({ body }) => body.texts)).toContain("a secret word");
  const { body, bytes } = stub.sent.find(({ url }) => !url.startsWith("http://guard.test"))!;
  const sent = JSON.parse(bytes === undefined ? body : Buffer.from(bytes).toString("utf8"));
  expect(sent.messages.map(({ content }: { content: string }) => content)).toEqual([padding, "a [masked] word"]);
});

test("[d16.4] a long request is refused where its service gives no verdict", async () => {
  const service = fakeService(() => ({ status: 500, body: "{}" }), cannedUpstream({ body: "{}" }));
  const stub = stubGateway({
    upstream: service.upstream,
    longRequests: openLongRequests(thread),
    snapshot: { policies: policies({ on: "input" }) },
  });
  const content = "The quick brown fox. ".repeat(Math.ceil(LONG_BODY_BYTES / 20));
  const response = await stub.chat(JSON.stringify({ model: "openai:gpt-4o", messages: [{ role: "user", content }] }));
  expect(response.status).toBe(403);
  expect(stub.sent.every(({ url }) => url.startsWith("http://guard.test"))).toBe(true);
});

test("[d16.4] content that is kept has the masks of the service, also of a guard that only reports", async () => {
  const service = fakeService(
    found(/secret\w*/g),
    cannedUpstream({ body: JSON.stringify(openaiAnswer("the secret2")) }),
  );
  const settings = toScopeSettings(scopeSettings.parse({ content_log: { enabled: true } }));
  const projects = [{ id: "default", tenantId: "default", name: "Default" }];
  const stub = stubGateway({
    upstream: service.upstream,
    snapshot: {
      policies: policies({ on: "both" }),
      contentLogs: compileContentLogs(true, projects, new Map([["default", settings]]), new Map()),
    },
  });
  const told: (CallContent | null | undefined)[] = [];
  Object.assign(stub.context.observer, {
    publish: (_record: CallRecord, content?: CallContent | null) => told.push(content),
  });
  await (await stub.chat({ model: "openai:gpt-4o", messages: [{ role: "user", content: "my secret1" }] })).text();
  await until(() => told.length > 0);
  const text = JSON.stringify(told[0]);
  expect(text).toContain("my [masked]");
  expect(text).toContain("the [masked]");
  expect(text).not.toContain("secret");
});

describe("a policy that the admin API stores", () => {
  const A = "/api/v1/admin/tenants/acme/policies";
  const KEY = "judge-key-1234567890";
  const document = (service: object, guard: object = {}): object => ({
    guard: { action: "mask", ...guard, service: { type: "request", url: "https://93.184.216.34/judge", ...service } },
  });

  test("[d16.4] has its headers encrypted and masked, keeps them when another field changes, and not when the address does", async () => {
    const world = await openAdminWorld();
    const send = (method: string, path: string, body?: object) => world.send("acme.owner", method, path, body);
    const made = await send("POST", A, document({ headers: { Authorization: KEY } }));
    expect(made.status).toBe(201);
    expect(made.text).not.toContain(KEY);
    const masked = made.body.guard.service.headers.Authorization;
    expect(masked).toMatch(/^\*\*\* [0-9a-f]{12}$/);
    expect(JSON.stringify(await world.read("select document from resources"))).not.toContain(KEY);
    const path = `${A}/${made.body.id}`;
    const headers = { Authorization: masked };
    const kept = await send("PATCH", path, document({ headers, timeout_s: 9 }, { action: "block" }));
    expect([kept.status, kept.body.guard.service.timeout_s]).toEqual([200, 9]);
    const stored = (await world.store.readContents()).resources.policy;
    expect(JSON.stringify(stored)).toContain(KEY);
    const moved = await send("PATCH", path, document({ headers, url: "https://93.184.216.35/judge" }));
    expect([moved.status, moved.text]).toEqual([400, expect.stringContaining("Send the secret itself")]);
    await world.close();
  });

  test("[d16.4] names a provider that there is, and an address that the gateway may call", async () => {
    const world = await openAdminWorld();
    const post = (service: object) => world.send("acme.owner", "POST", A, { guard: { action: "block", service } });
    const unknown = await post({ type: "moderation", provider: "nowhere", model: "m" });
    expect([unknown.status, unknown.body.error.param]).toEqual([400, "guard.service.provider"]);
    const inside = await post({ type: "request", url: "http://127.0.0.1:9/judge" });
    expect([inside.status, inside.body.error.param]).toEqual([400, "guard.service.url"]);
    expect((await post({ type: "moderation", provider: "openai", model: "m" })).status).toBe(201);
    const providers = "/api/v1/admin/tenants/acme/providers";
    const own = await world.send("acme.owner", "POST", providers, {
      name: "mine",
      type: "openai",
      api_key: "sk-1234567890",
    });
    expect([own.status, (await post({ type: "moderation", provider: "mine", model: "m" })).status]).toEqual([201, 201]);
    const removed = await world.send("acme.owner", "DELETE", `${providers}/${own.body.id}`);
    expect([removed.status, removed.text]).toEqual([409, expect.stringContaining("is in use by the policy")]);
    await world.close();
  });
});
