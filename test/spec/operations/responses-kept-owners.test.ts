// Whom a kept response opens to (promise 12.8): an id of another project, tenant or token is the same as an id that does
// not exist, wherever a request may name it.
import { describe, expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { handleCall } from "../../../src/engine/handle.ts";
import {
  cancelledResponse,
  deletedResponse,
  inputItems,
  type KeptResponseRequest,
  retrievedResponse,
} from "../../../src/operations/responses/kept-response-requests.ts";
import type { Snapshot } from "../../../src/core/snapshot.ts";
import { keepResponse, type KeptResponse } from "../../../src/operations/responses/keeping/kept-responses.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { Actor, AuditNote } from "../../../src/store/records.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { writes } from "../../harness/store-writes.ts";
import { keptReader } from "../../operations/responses/responses-calls.ts";

const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
const MODEL = "mistral:m";

function gateway(
  kept: KeptObjects,
  tenantId: string,
  projectId: string,
  more: StubOptions["token"] = {},
  options: StubOptions = {},
): Stub {
  return stubGateway({
    upstream: cannedUpstream({
      headers: { "content-type": "application/json" },
      body: JSON.stringify(openaiAnswer("A secret.")),
    }),
    ...options,
    clock,
    kept,
    token: { tenantId, projectId, ...more },
    snapshot: { projects: new Map([[projectId, { id: projectId, tenantId, name: projectId }]]), ...options.snapshot },
  });
}

const answered = async (stub: Stub, body: JsonObject): Promise<Record<string, any>> =>
  (await (await stub.call(RESPONSES, { model: MODEL, ...body })).json()) as Record<string, any>;

test("[d12.8] an id of another tenant, project or token is refused like one that does not exist, with the same words", async () => {
  const kept = new KeptObjects(clock);
  const owner = gateway(kept, "acme", "one");
  const { id, output } = await answered(owner, { input: "Who?" });
  const item = output[0].id as string;
  const references: readonly (readonly [made: (id: string) => JsonObject, id: string])[] = [
    [(named) => ({ input: "And?", previous_response_id: named }), id],
    [(named) => ({ input: [{ type: "item_reference", id: named }] as Json }), item],
  ];
  for (const [made, named] of references) {
    expect((await answered(owner, made(named)))["status"]).toBe("completed");
    for (const other of [
      gateway(kept, "acme", "two"),
      gateway(kept, "acme", "one"),
      gateway(kept, "else", "one"),
      gateway(kept, "else", "one", { permissions: ["read_content"] }),
      gateway(kept, "acme", "two", { permissions: ["read_content"] }),
    ]) {
      const refused = await answered(other, made(named));
      const missing = named.slice(0, -1) + (named.endsWith("0") ? "1" : "0");
      const unknown = await answered(other, made(missing));
      expect(refused["error"].code).toBe("unsupported_parameter");
      expect(JSON.stringify(refused)).toBe(JSON.stringify(unknown).replace(missing, named));
      expect(other.sent).toEqual([]);
    }
    const reader = gateway(kept, "acme", "one", { permissions: ["read_content"] });
    expect((await answered(reader, made(named)))["status"]).toBe("completed");
    expect(reader.sent[0]!.body).toContain("A secret.");
  }
});

test("[d12.8, d13.5] items with the same id open to each of their owners, as where both were given the same cached answer", async () => {
  const kept = new KeptObjects(clock);
  const body = JSON.stringify({
    id: "resp_vendor",
    object: "response",
    status: "completed",
    model: "m",
    output: [
      {
        type: "message",
        id: "msg_vendor",
        status: "completed",
        role: "assistant",
        content: [{ type: "output_text", text: "A secret.", annotations: [] }],
      },
    ],
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  });
  const upstream = cannedUpstream({ headers: { "content-type": "application/json" }, body });
  const providers = [
    providerSettings({
      id: "openai",
      family: "openai",
      baseUrl: "http://openai.test/v1",
      credentials: [storedKey("key")],
      native: ["responses"],
    }),
  ];
  const owners = [1, 2].map(() => gateway(kept, "acme", "one", {}, { upstream, providers }));
  const ask = async (owner: Stub, input: Json): Promise<Record<string, any>> =>
    answered(owner, { model: "openai:m", input });
  const answers: Record<string, any>[] = [];
  for (const owner of owners) answers.push(await ask(owner, "Who?"));
  expect(answers.map(({ output }) => output[0].id)).toEqual(["msg_vendor", "msg_vendor"]);
  const reference: Json = [{ type: "item_reference", id: "msg_vendor" }];
  for (const owner of owners) expect((await ask(owner, reference))["status"]).toBe("completed");
  // what one of them removes stays for the other
  await deletedResponse({ ...keptReader(owners[1]!), id: answers[1]!["id"] as string, query: () => undefined });
  expect((await ask(owners[0]!, reference))["status"]).toBe("completed");
});

describe("[d2.7, d12.8, d13.4] a project or a user that was removed and made again with the same id", () => {
  /** The identities as they are now, after `again` was removed and made again a second later. */
  async function madeAgain(again: "tenant" | "project" | "user") {
    let nowMs = clock.now();
    const { store } = await openSqliteDatabase({ file: ":memory:", clock: { ...clock, now: () => nowMs } });
    await store.migrate();
    const { removeTenant, removeProject, removeUser, ...write } = writes(store);
    const makeTenant = () => write.createTenant({ id: "acme", name: "Acme" });
    const makeProject = () => write.createProject({ id: "one", tenantId: "acme", name: "One" });
    const makeUser = () => write.createUser({ id: "ann", tenantId: "acme", name: "Ann", email: null });
    const identities = async (): Promise<Pick<Snapshot, "projects" | "users" | "memberships">> => {
      await write.putMembership({ userId: "ann", tenantId: "acme", projectId: "one", role: "developer" });
      const { projects, users, memberships } = await store.readIdentities();
      return {
        projects: new Map(projects.map((project) => [project.id, project])),
        users: new Map(users.map((user) => [user.id, user])),
        memberships: Map.groupBy(memberships, ({ userId }) => userId),
      };
    };
    await write.createTenant({ id: "else", name: "Else" });
    for (const make of [makeTenant, makeProject, makeUser]) await make();
    const before = await identities();
    nowMs += 1000;
    if (again === "tenant") await removeTenant("acme");
    if (again === "project") await removeProject("one");
    if (again === "user") await removeUser("ann");
    if (again === "tenant") await makeTenant();
    if (again !== "user") await makeProject();
    if (again !== "project") await makeUser();
    const after = await identities();
    await store.close();
    return { before, after };
  }

  const personal = (snapshot: Partial<Snapshot>, kept: KeptObjects, more: StubOptions["token"] = {}): Stub => {
    const token = { kind: "personal", projectId: null, userId: "ann", role: null, ...more } as const;
    return gateway(kept, "acme", "one", token, { snapshot });
  };

  test.each(["tenant", "project", "user"] as const)("opens nothing that a former %s has kept", async (again) => {
    const { before, after } = await madeAgain(again);
    const kept = new KeptObjects(clock);
    const { id, output } = await answered(personal(before, kept), { input: "Who?" });
    for (const [identities, opens] of [
      [before, true],
      [after, false],
    ] as const) {
      const other = personal(identities, kept);
      const reference: Json = [{ type: "item_reference", id: output[0].id }];
      expect((await answered(other, { input: reference }))["status"] === "completed").toBe(opens);
      const shown = await retrievedResponse({ ...keptReader(other), id, query: () => undefined }).catch(
        (thrown: unknown) => thrown,
      );
      expect(shown).toMatchObject(opens ? { id } : { code: "not_found" });
    }
    // those who may read the content of the project still may, if it is the same project
    const reader = personal(after, kept, { permissions: ["read_content"] });
    const read = retrievedResponse({ ...keptReader(reader), id, query: () => undefined }).catch(() => null);
    expect((await read) !== null).toBe(again === "user");
  });

  test("opens nothing in a session of a login link, whose id is that of its user", async () => {
    const { before, after } = await madeAgain("user");
    const kept = new KeptObjects(clock);
    const { id } = await answered(personal(before, kept), { input: "Who?" });
    const { value } = kept.find("acme", id) as { value: KeptResponse };
    const session = "console:ann";
    await keepResponse(kept, { ...value, owner: { ...value.owner, tokenId: session } });
    for (const [identities, opens] of [
      [before, true],
      [after, false],
    ] as const) {
      const reader = keptReader(personal(identities, kept));
      const token = { ...reader.token, id: session };
      const shown = await retrievedResponse({ ...reader, token, id, query: () => undefined }).catch(
        (thrown: unknown) => thrown,
      );
      expect(shown).toMatchObject(opens ? { id } : { code: "not_found" });
    }
  });
});

describe("a personal token with read_content", () => {
  const ROLES: readonly (readonly [name: string, project: string | null, opens: boolean])[] = [
    ["a role in the project", "one", true],
    ["a role in the tenant", null, true],
    ["a role in another project only", "two", false],
  ];

  async function staged(role: string | null) {
    const kept = new KeptObjects(clock);
    const { id } = await answered(gateway(kept, "acme", "one"), { input: "Who?" });
    const memberships = new Map([["ann", [{ userId: "ann", tenantId: "acme", projectId: role, role: "developer" }]]]);
    const reader = gateway(
      kept,
      "acme",
      "two",
      { kind: "personal", projectId: null, userId: "ann", role: null, permissions: ["read_content"] },
      { snapshot: { memberships: memberships as Snapshot["memberships"] } },
    );
    return { id, reader };
  }

  test.each(ROLES)("[d12.8, d14.4] that has %s, asks for a response", async (_, role, opens) => {
    const { id, reader } = await staged(role);
    const outcome = await retrievedResponse({ ...keptReader(reader), id, query: () => undefined }).catch(
      (thrown: unknown) => thrown,
    );
    expect(outcome).toMatchObject({ [opens ? "status" : "code"]: opens ? "completed" : "not_found" });
    expect(JSON.stringify(outcome).includes("A secret.")).toBe(opens);
  });

  test("[d12.8, d14.4] refers to no response of a project in which its user has no role", async () => {
    const { id, reader } = await staged("two");
    const refused = await answered(reader, { input: "And?", previous_response_id: id });
    expect(refused["error"].code).toBe("unsupported_parameter");
    expect(reader.sent).toEqual([]);
  });
});

describe("a response that another token with read_content opens", () => {
  interface Opening {
    readonly stub: Stub;
    readonly at: KeptResponseRequest;
    readonly id: string;
    readonly item: string;
  }
  const WAYS: readonly (readonly [name: string, action: string, open: (opening: Opening) => Promise<unknown>])[] = [
    ["retrieved", "read", ({ at }) => retrievedResponse(at)],
    ["listed", "read", ({ at }) => inputItems(at)],
    ["continued", "read", ({ stub, id }) => answered(stub, { input: "And?", previous_response_id: id })],
    [
      "referred to",
      "read",
      ({ stub, item }) => answered(stub, { input: [{ type: "item_reference", id: item }] as Json }),
    ],
    ["deleted", "remove", ({ at }) => deletedResponse(at)],
  ];

  async function staged(reader: StubOptions["token"], note: (actor: Actor, entry: AuditNote) => Promise<void>) {
    const kept = new KeptObjects(clock);
    const owner = gateway(kept, "acme", "one", {}, { audit: { note } });
    const { id, output } = await answered(owner, { input: "Who?" });
    const stub = reader === undefined ? owner : gateway(kept, "acme", "one", reader, { audit: { note } });
    const query = (): undefined => undefined;
    const at = { ...keptReader(stub, "192.0.2.7"), id, query };
    return { stub, at, id, item: output[0].id as string };
  }

  test("[d2.3, d12.8] is read by a viewer, who neither deletes nor cancels it", async () => {
    const noted: AuditNote[] = [];
    const note = async (_: Actor, entry: AuditNote): Promise<void> => void noted.push(entry);
    const { at, id } = await staged({ role: "viewer", permissions: ["read_content"] }, note);
    for (const change of [deletedResponse, cancelledResponse])
      expect(await change(at).catch((thrown: unknown) => thrown)).toMatchObject({ code: "insufficient_role" });
    expect(noted).toEqual([]);
    expect(await retrievedResponse(at)).toMatchObject({ id });
    expect(noted).toMatchObject([{ action: "read", targetId: id }]);
  });

  test.each(WAYS)("[d12.8, d14.4] is %s only after the audit log says so", async (_, action, open) => {
    const noted: [Actor, AuditNote][] = [];
    const note = async (...entry: [Actor, AuditNote]): Promise<void> => void noted.push(entry);
    const opening = await staged({ permissions: ["read_content"] }, note);
    await open(opening);
    const { tenantId, id: tokenId } = opening.at.token;
    expect(noted).toMatchObject([
      [
        { tokenId, tenantId },
        { action, outcome: "done", kind: "kept_response", tenantId, projectId: "one", targetId: opening.id },
      ],
    ]);
  });

  test.each(WAYS)("[d14.4] is not %s where the audit log cannot be written", async (_, __, open) => {
    const note = (): Promise<void> => Promise.reject(new Error("the disk is full"));
    const opening = await staged({ permissions: ["read_content"] }, note);
    const { stub, at, id } = opening;
    const outcome = await open(opening).catch((thrown: unknown) => thrown);
    expect(JSON.stringify(outcome)).not.toContain("A secret.");
    expect(outcome instanceof GatewayError ? outcome.code : (outcome as any).error.code).toBe("store_unavailable");
    expect(stub.sent).toEqual([]);
    expect(await at.kept.kept!.find("acme", id)).not.toBeNull();
  });

  test("[d14.4] is referred to in the console only shortly after the login, and the audit log names the session", async () => {
    const noted: Actor[] = [];
    const note = async (actor: Actor): Promise<void> => void noted.push(actor);
    const asked = ({ stub, id }: { stub: Stub; id: string }, recentUntilMs: number): Promise<Response> =>
      handleCall(
        RESPONSES,
        new Request("http://gateway.test/api/v1/responses", {
          method: "POST",
          headers: { authorization: stub.authorization, "content-type": "application/json" },
          body: JSON.stringify({ model: MODEL, input: "And?", previous_response_id: id }),
        }),
        { ...stub.context, session: { id: "ses_1", recentUntilMs } },
      );
    const other = await staged({ permissions: ["read_content"] }, note);
    const late = await asked(other, clock.now());
    expect([late.status, ((await late.json()) as any).error.code]).toEqual([403, "recent_login_required"]);
    expect([other.stub.sent, noted]).toEqual([[], []]);
    expect((await asked(other, clock.now() + 1)).status).toBe(200);
    expect(noted).toMatchObject([{ via: "console", sessionId: "ses_1" }]);
    // what one has made oneself is no reading of content
    expect((await asked(await staged(undefined, note), clock.now())).status).toBe(200);
    expect(noted.length).toBe(1);
  });

  test.each(WAYS)("[d14.4] its own token's is %s without an entry", async (_, __, open) => {
    const note = (): Promise<void> => Promise.reject(new Error("there was an entry"));
    const outcome = await open(await staged(undefined, note));
    expect(JSON.stringify(outcome)).not.toContain('"store_unavailable"');
  });
});
