// Promises 2.1 to 2.7 for personal tokens over the real process: their access follows their user's roles in the
// database within a second, a call in flight keeps the access with which it was admitted, and neither scope nor token
// is sent to a provider.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readEnvironment } from "../../../src/config/environment.ts";
import { openDatabase } from "../../../src/store/open-database.ts";
import { createToken, rotateToken } from "../../../src/auth/tokens/token-admin.ts";
import type { Role } from "../../../src/core/identity.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import type { Store } from "../../../src/store/store.ts";
import type { Writer } from "../../../src/store/writer.ts";
import { type GatewayProcess, runCli, startGateway } from "../../harness/processes/gateway-process.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  startUpstream,
} from "../../harness/servers/upstream.ts";
import { HELLO, readError } from "../chat-calls.ts";
import { until } from "../../harness/time/until.ts";

const DAY_MS = 86_400_000;
let gateway: GatewayProcess;
let store: Store;
let upstream: FakeUpstream;
/** What answers of the upstream wait for. */
let hold = Promise.resolve();

const change = async <T>(work: (writer: Writer) => Promise<T>): Promise<T> =>
  (await store.change(LOCAL_ACTOR, work)).result;
const put = (userId: string, projectId: string | null, role: Role, tenantId = "default"): Promise<unknown> =>
  change((writer) => writer.putMembership({ userId, tenantId, projectId, role }));

beforeAll(async () => {
  upstream = startUpstream(async ({ body }) => {
    await hold;
    return body["stream"] === true
      ? new Response(eventStream(openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")), {
          headers: { "content-type": "text/event-stream" },
        })
      : Response.json(openaiAnswer());
  });
  gateway = await startGateway({ config: `providers: { local: { type: custom, base_url: "${upstream.url}" } }\n` });
  ({ store } = await openDatabase({
    dataFolder: gateway.dataFolder,
    databaseUrl: null,
    environment: readEnvironment({}),
  }));
  await change(async (writer) => {
    for (const id of ["red", "green", "blue"]) await writer.createProject({ id, tenantId: "default", name: id });
    await writer.createTenant({ id: "beta", name: "Beta" });
    await writer.createProject({ id: "lab", tenantId: "beta", name: "Lab" });
    for (const id of ["ann", "bob", "carol", "dave", "erin", "frank"])
      await writer.createUser({ id, tenantId: "default", name: id });
  });
});
afterAll(async () => {
  await store.close();
  await gateway.stop();
  await upstream.stop();
});

interface Got {
  readonly outcome: string;
  readonly message: string;
}

async function call(token: string, fields: object = {}, headers: Record<string, string> = {}): Promise<Got> {
  const response = await gateway.chat({ model: "sandbox:echo", messages: HELLO, ...fields }, { token, headers });
  const text = await response.text();
  if (response.status === 200) return { outcome: "200", message: "" };
  const { code, message } = readError(response.status, response.headers, text);
  return { outcome: `${response.status} ${code}`, message };
}

/** That it comes within the second that is promised follows from how often the store is asked, which has a test of its own (snapshot/source.test.ts). */
const soon = (token: string, outcome: string, fields: object = {}): Promise<void> =>
  until(async () => (await call(token, fields)).outcome === outcome, outcome);

async function tokenOf(userId: string): Promise<string> {
  const { text } = await change((writer) => createToken(writer, { name: userId, personal: true, userId }, Date.now()));
  await until(async () => !(await call(text)).outcome.startsWith("401"));
  return text;
}

describe("a personal token", () => {
  test("[d2.2] [s:authentication.3] reaches the projects in which its user has a role; a single one may be left out of the request, and of several the ids are listed", async () => {
    await put("ann", "red", "developer");
    const token = await tokenOf("ann");
    expect((await call(token)).outcome).toBe("200");
    for (const project of ["green", "default", "lab", "nowhere"])
      expect((await call(token, { project_id: project })).outcome).toBe("403 scope_mismatch");
    await put("ann", "blue", "viewer");
    await soon(token, "400 project_required");
    const { message } = await call(token);
    expect(message).toContain("blue, red");
    for (const hidden of ["green", "default", "lab"]) expect(message).not.toContain(hidden);
    expect((await call(token, { project_id: "red" })).outcome).toBe("200");
    expect((await call(token, {}, { "x-gateway-project-id": "red" })).outcome).toBe("200");
  });

  test("[d2.3] [s:authentication.5] [s:errors.403-forbidden] has the role in the project, or the one in the tenant where that is higher", async () => {
    await put("bob", "red", "viewer");
    const token = await tokenOf("bob");
    expect(await call(token)).toMatchObject({
      outcome: "403 insufficient_role",
      message: expect.stringContaining("viewer"),
    });
    await put("bob", null, "developer");
    await soon(token, "200", { project_id: "red" });
    expect((await call(token, { project_id: "green" })).outcome).toBe("200");
    expect((await call(token, { project_id: "lab" })).outcome).toBe("403 scope_mismatch");
    for (const role of ["maintainer", "admin", "owner"] as const) {
      await put("bob", null, role);
      await soon(token, "200", { project_id: "blue" });
    }
  });

  test("[d2.1] takes the project from the body before the headers, and no provider sees either, nor the token", async () => {
    await put("carol", "red", "developer");
    await put("carol", "green", "developer");
    const token = await tokenOf("carol");
    const own = { model: "local:m", tenant_id: "default", project_id: "red" };
    expect((await call(token, own, { "x-gateway-tenant-id": "beta", "x-gateway-project-id": "lab" })).outcome).toBe(
      "200",
    );
    expect(
      (await call(token, { model: "local:m" }, { "x-gateway-tenant-id": "default", "x-gateway-project-id": "green" }))
        .outcome,
    ).toBe("200");
    expect(
      (await call(token, { model: "local:m", project_id: "red" }, { "x-gateway-tenant-id": "beta" })).outcome,
    ).toBe("403 scope_mismatch");
    expect(upstream.seen).toHaveLength(2);
    for (const { headers, text } of upstream.seen)
      for (const word of ["default", "red", "green", "beta", "lab", "tenant", "project", token.slice(7, 30)])
        expect(`${JSON.stringify(headers)}${text}`).not.toContain(word);
  });

  test("[d2.6] [d2.7] lets a call finish after a downgrade or a removal in its middle, and admits no new one, within a second", async () => {
    await put("dave", "red", "developer");
    const token = await tokenOf("dave");
    for (const [refused, happens] of [
      ["403 insufficient_role", () => put("dave", "red", "viewer")],
      ["401 revoked_token", () => change((writer) => writer.removeMembership("dave", "red"))],
    ] as const) {
      await put("dave", "red", "developer").catch(() => {});
      await soon(token, "200");
      const before = upstream.seen.length;
      const held = Promise.withResolvers<void>();
      hold = held.promise;
      const plain = call(token, { model: "local:m" });
      const stream = gateway.chat({ model: "local:m", messages: HELLO, stream: true }, { token });
      await until(() => upstream.seen.length === before + 2);
      await happens();
      await soon(token, refused);
      held.resolve();
      expect((await plain).outcome).toBe("200");
      const streamed = await stream;
      expect([streamed.status, (await streamed.text()).endsWith("data: [DONE]\n\n")]).toEqual([200, true]);
    }
    // with the last role they are revoked for good
    await put("dave", "red", "owner");
    await soon(await tokenOf("dave"), "200");
    expect((await call(token)).outcome).toBe("401 revoked_token");
  });

  test("[d2.7] of a removed user is unknown within a second", async () => {
    await put("erin", "red", "developer");
    const token = await tokenOf("erin");
    expect((await call(token)).outcome).toBe("200");
    await change((writer) => writer.removeUser("erin"));
    await soon(token, "401 invalid_token");
  });

  test("[d2.6] has two valid secrets during the overlap of a rotation, and none after a revocation", async () => {
    await put("frank", "red", "developer");
    const old = await tokenOf("frank");
    const id = old.split("_")[2]!;
    const { text } = await change((writer) => rotateToken(writer, id, {}, Date.now()));
    await soon(text, "200");
    expect((await call(old)).outcome).toBe("200");
    // the overlap of one that was rotated a day ago is over
    const { text: newest } = await change((writer) =>
      rotateToken(writer, id, { overlapMs: 30 * 60_000 }, Date.now() - DAY_MS),
    );
    await soon(old, "401 expired_token");
    expect((await call(text)).outcome).toBe("401 expired_token");
    await soon(newest, "200");
    expect((await runCli(["token", "revoke", id, "--data", gateway.dataFolder])).code).toBe(0);
    await soon(newest, "401 revoked_token");
  });
});

describe("the command line", () => {
  test("[d2.8] creates an administrator's token for the user who has the role, beside a running server", async () => {
    const made = await runCli([
      "token",
      "create",
      "--personal",
      "--role",
      "owner",
      "--json",
      "--data",
      gateway.dataFolder,
    ]);
    expect([made.code, made.stderr]).toEqual([0, ""]);
    const { token, user_id: user, kind, role } = JSON.parse(made.stdout) as Record<string, string>;
    expect([user, kind, role]).toEqual(["owner", "personal", null as unknown as string]);
    await soon(token!, "200", { project_id: "default" });
  });

  test("[d2.11] grants no role that the user does not have", async () => {
    await put("ann", null, "developer");
    for (const [flags, words] of [
      [["--user", "ann", "--role", "admin"], "The highest role of the user ann is developer"],
      [["--role", "maintainer"], "No user has the role maintainer"],
      [["--role", "king"], "Unknown role"],
      [["--user", "nobody", "--role", "owner"], "There is no user"],
      [["--project", "red"], "A personal token has no project"],
    ] as const) {
      const made = await runCli(["token", "create", "--personal", ...flags, "--data", gateway.dataFolder]);
      expect([flags, made.code, made.stdout]).toEqual([flags, 1, ""]);
      expect(made.stderr).toContain(words);
    }
    expect(
      (
        await runCli([
          "token",
          "create",
          "--personal",
          "--user",
          "ann",
          "--role",
          "developer",
          "--data",
          gateway.dataFolder,
        ])
      ).code,
    ).toBe(0);
  });

  test("[d2.4] restricts a token, and the running server applies the restriction", async () => {
    const token = await gateway.createToken(
      "--project",
      "default",
      "--model",
      "sandbox:echo",
      "--ip",
      "192.0.2.0/24",
      "127.0.0.0/8",
      "::1",
    );
    expect((await call(token)).outcome).toBe("200");
    expect((await call(token, { model: "sandbox:json" })).outcome).toBe("404 model_not_found");
    const elsewhere = await runCli([
      "token",
      "create",
      "--project",
      "default",
      "--ip",
      "192.0.2.1",
      "--json",
      "--data",
      gateway.dataFolder,
    ]);
    await soon((JSON.parse(elsewhere.stdout) as { readonly token: string }).token, "403 address_forbidden");
    for (const wrong of [
      ["--ip", "10.0.0"],
      ["--model", "a b"],
      ["--route", "a/b"],
    ])
      expect(
        (await runCli(["token", "create", "--project", "default", ...wrong, "--data", gateway.dataFolder])).code,
      ).toBe(1);
  });
});
