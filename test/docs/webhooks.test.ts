// docs/integrations/webhooks.md describes what is sent, and its receiver accepts it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { thresholdEvent } from "../../src/admission/budget-thresholds.ts";
import { EVENT_TYPES, type NewEvent, NO_WEBHOOKS, TEST_EVENT, type Webhook } from "../../src/core/record/event.ts";
import { UNRESTRICTED } from "../../src/core/identity.ts";
import { auditHeads } from "../../src/observe/webhooks/audit-heads.ts";
import { refusalEvents } from "../../src/observe/webhooks/refusal-events.ts";
import { watchTokenExpiry } from "../../src/observe/webhooks/token-expiry.ts";
import { webhookBody } from "../../src/observe/webhooks/webhook-sender.ts";
import { newWebhookSecret } from "../../src/observe/webhooks/webhook-settings.ts";
import { webhookHeaders } from "../../src/observe/webhooks/webhook-signature.ts";
import { breakerEvent } from "../../src/routing/health/breaker-event.ts";
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openSqliteEvents } from "../../src/store/events/sqlite-events.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";
import { rowOf } from "../contract/store/call-records.ts";
import { someEvent } from "../contract/store/event-queue.suite.ts";
import { projectFolder } from "../harness/processes/gateway-program.ts";
import { codeWords, fencesOf, readPage, tableBelow } from "./pages.ts";
import { untilFound } from "../harness/time/until.ts";

const page = readPage("docs/integrations/webhooks.md");
const rows = new Map(tableBelow(page, "## Events").map(([type, , data]) => [codeWords(type!)[0]!, codeWords(data!)]));
const folder = mkdtempSync(join(tmpdir(), "dragoman-webhook-page-"));
afterAll(() => rmSync(folder, { recursive: true }));

const TOKEN = {
  id: "AAAAAAAAAAAA",
  kind: "project" as const,
  name: "ci",
  tenantId: "default",
  projectId: "default",
  userId: null,
  role: "developer" as const,
  permissions: [],
  ...UNRESTRICTED,
  secrets: [{ sha256: new Uint8Array(32), retiresAtMs: null }],
  createdAtMs: 0,
  lifetimeMs: 1,
  expiresAtMs: 1000,
  revokedAtMs: null,
};

/** Of each type one event that was really emitted, except for those of the admin API. */
async function examples(): Promise<ReadonlyMap<string, object>> {
  const told: Pick<NewEvent, "type" | "data">[] = [];
  const events = { emit: (event: NewEvent) => told.push(event) };
  const rule = {
    id: "b",
    name: "b",
    kind: "budget",
    tenantId: "t",
    projectId: null,
    scope: {},
    unit: "tokens",
    window: "day",
    limit: 10,
    mode: "enforce",
    onStoreFailure: "open",
    assumeOutputTokens: 1,
    unpriced: "allow",
    thresholds: [],
  } as const;
  events.emit(
    thresholdEvent({
      account: { rule, value: "" },
      threshold: { percent: 80, degradeTo: null },
      status: { used: 9, limit: 10, resetsAtMs: 1 } as never,
    }),
  );
  for (const state of ["opened", "closed"] as const)
    events.emit(breakerEvent({ key: "a:b", state, faults: 1, calls: 1, windowMs: 1, openForMs: 1 }, "g")!);
  const refusals = refusalEvents(events, { now: () => 0 });
  refusals.publish({
    ...rowOf({}).record,
    status: 403,
    code: "policy_violation",
    tenantId: "t",
    policies: [{ name: "p", effect: "denied" }],
  });
  refusals.close();
  for (const nowMs of [900, 1000]) {
    const watch = watchTokenExpiry(
      events,
      () => ({ tokens: new Map([[TOKEN.id, TOKEN]]), webhooks: { ...NO_WEBHOOKS, size: 1 } }),
      { now: () => nowMs },
    );
    watch.check();
    watch.close();
  }
  const file = join(folder, "db");
  const { store } = await openSqliteDatabase({ file });
  await store.migrate();
  await store.change(LOCAL_ACTOR, async (writer) => {
    await writer.createTenant({ id: "default", name: "d" });
    await writer.createProject({ id: "default", tenantId: "default", name: "d" });
    await writer.createToken(TOKEN);
  });
  await store.change(LOCAL_ACTOR, (writer) => writer.changeToken(TOKEN.id, (now) => ({ ...now, expiresAtMs: 2000 })));
  await store.change(LOCAL_ACTOR, (writer) => writer.changeToken(TOKEN.id, (now) => ({ ...now, revokedAtMs: 1 })));
  const heard = { ...NO_WEBHOOKS, size: 1, recipients: () => [{} as Webhook] };
  await auditHeads(events, store, () => heard).report();
  const queue = openSqliteEvents({ file });
  told.push(...(await queue.awaitingFanOut(10)));
  await queue.close();
  await store.close();
  return new Map(told.map(({ type, data }) => [type, data]));
}

describe("the table of events", () => {
  test("has each type, and no other", () => {
    expect([...rows.keys()].toSorted()).toEqual([...EVENT_TYPES, TEST_EVENT].toSorted());
  });
  test("has the fields of each", async () => {
    const real = await examples();
    expect(real.size).toBe(EVENT_TYPES.length);
    for (const [type, data] of real) expect([type, ...Object.keys(data)]).toEqual([type, ...rows.get(type)!]);
  });
  test("has an example with exactly these fields", () => {
    const example = JSON.parse(fencesOf(page).find(({ info }) => info === "json")!.text) as {
      readonly type: string;
      readonly data: object;
    };
    expect(Object.keys(example.data)).toEqual([...rows.get(example.type)!]);
    expect(Object.keys(example)).toEqual(Object.keys(JSON.parse(webhookBody(someEvent())) as object));
  });
});

describe("the receiver of the page", () => {
  const secret = newWebhookSecret();
  let receiver: Bun.Subprocess<"ignore", "pipe", "inherit">;
  let url: string;
  beforeAll(async () => {
    const free = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("") });
    url = `http://127.0.0.1:${free.port}/in`;
    await free.stop(true);
    const code = fencesOf(page).find(({ info }) => info === "ts")!.text;
    const program = join(projectFolder, "node_modules", `.receiver-${process.pid}.ts`);
    writeFileSync(program, code);
    receiver = Bun.spawn([process.execPath, program], {
      env: { WEBHOOK_SECRET: secret, PORT: new URL(url).port, PATH: process.env["PATH"] ?? "" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
    await untilFound(() => fetch(url, { method: "POST" }).catch(() => null));
    rmSync(program);
  });
  afterAll(() => receiver.kill());

  test("accepts what the gateway sends, once, and nothing that another sender signed", async () => {
    const event = someEvent({ data: { token_id: "AAAAAAAAAAAA" } });
    const body = webhookBody(event);
    const send = async (by: string): Promise<number> =>
      (
        await fetch(url, {
          method: "POST",
          body,
          headers: {
            "content-type": "application/json",
            ...webhookHeaders({ id: event.id, atMs: Date.now(), body }, [by]),
          },
        })
      ).status;
    expect([await send(secret), await send(secret), await send(newWebhookSecret())]).toEqual([204, 204, 400]);
    receiver.kill();
    expect(await new Response(receiver.stdout).text()).toBe('token.created {"token_id":"AAAAAAAAAAAA"}\n');
  });
});
