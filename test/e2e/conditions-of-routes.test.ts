// Conditions and shares of routes in the real process: all operations see them, a changed file takes effect, the admin
// API checks them, and the log line has the plan.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { until } from "../harness/time/until.ts";

/** The sections, each as JSON, which is YAML. */
const configOf = (tier: string): string =>
  Object.entries({
    server: { condition_headers: ["x-tier"] },
    routes: {
      r: {
        targets: [
          { model: "sandbox:words-7", when: `headers["x-tier"] == "${tier}"` },
          { model: "sandbox:embed-4", when: 'request.operation == "embeddings"' },
          "sandbox:echo",
        ],
      },
      canary: { sticky: "user", targets: ["sandbox:echo", { model: "sandbox:words-7", share: 30 }] },
    },
  })
    .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
    .join("");

let gateway: GatewayProcess;
let admin: string;
beforeAll(async () => {
  gateway = await startGateway({ config: configOf("gold") });
  admin = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
});

const MESSAGES = [{ role: "user", content: "Hello" }];
async function asked(path: string, body: object, headers: Record<string, string> = {}): Promise<any> {
  return (await gateway.chat(body, { path, headers })).json();
}
const chatAt = async (headers: Record<string, string> = {}): Promise<string> =>
  (await asked("/api/v1/chat/completions", { model: "r", messages: MESSAGES }, headers)).model;

describe("[d16.1] conditions of a route", () => {
  test("decide calls of every operation", async () => {
    expect(await chatAt({ "x-tier": "gold" })).toContain("words-7");
    expect(await chatAt()).toContain("echo");
    // answers of other operations may name the model as the client wrote it
    const gold = { "x-tier": "gold" };
    const message = { model: "r", max_tokens: 50, messages: MESSAGES };
    await asked("/api/v1/messages", message, gold);
    await asked("/api/v1/messages", message);
    await asked("/api/v1/responses", { model: "r", input: "Hello" }, gold);
    await asked("/api/v1/responses", { model: "r", input: "Hello" });
    await asked("/api/v1/embeddings", { model: "r", input: "Hello" });
    const reached = (): readonly string[] =>
      gateway
        .lines()
        .filter(({ operation, plan }) => operation !== "chat.completions" && Array.isArray(plan))
        .map(({ plan }) => (plan as any).at(-1).target);
    await until(() => reached().length === 5);
    expect(reached()).toEqual([
      "sandbox:words-7",
      "sandbox:echo",
      "sandbox:words-7",
      "sandbox:echo",
      "sandbox:embed-4",
    ]);
  });

  test("stand in the plan of the log line", async () => {
    await chatAt();
    const planned = () =>
      gateway
        .lines()
        .findLast(({ operation, plan }) => operation === "chat.completions" && (plan as any)?.length === 3);
    await until(() => planned() !== undefined);
    const plan = planned()!["plan"];
    expect(plan).toMatchObject([
      { target: "sandbox:words-7", why: "passed over: `when` is false", refused: "target_not_eligible" },
      { target: "sandbox:embed-4", refused: "target_not_eligible" },
      { target: "sandbox:echo" },
    ]);
  });

  test("take effect when the file is saved", async () => {
    writeFileSync(join(gateway.folder, "dragoman.yaml"), configOf("silver"));
    await until(async () => (await chatAt({ "x-tier": "silver" })).includes("words-7"));
    expect(await chatAt({ "x-tier": "gold" })).toContain("echo");
  });

  test("are checked by the admin API, and hold for its routes at once", async () => {
    const path = `${gateway.url}/api/v1/admin/projects/default/routes`;
    const post = (targets: readonly (string | object)[]) =>
      fetch(path, {
        method: "POST",
        headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
        body: JSON.stringify({ name: "stored", targets }),
      });
    const refused = await post([{ model: "sandbox:words-7", when: 'headers["x-plan"] == "pro"' }, "sandbox:echo"]);
    expect(refused.status).toBe(400);
    const { error } = (await refused.json()) as any;
    expect(error.param).toBe("targets[0].when");
    expect(error.message).toContain("server.condition_headers");
    expect((await post([{ model: "sandbox:words-7", when: 'headers["x-tier"] == "a"' }, "sandbox:echo"])).status).toBe(
      201,
    );
    const stored = async (headers: Record<string, string>): Promise<any> =>
      asked("/api/v1/chat/completions", { model: "stored", messages: MESSAGES }, headers);
    await until(async () => String((await stored({ "x-tier": "a" })).model).includes("words-7"));
    expect((await stored({ "x-tier": "b" })).model).toContain("echo");
  });
});

test("[d16.1] a share keeps each user in or out of it, in every process", async () => {
  const modelOf = async (user: string): Promise<string> =>
    (await asked("/api/v1/chat/completions", { model: "canary", messages: MESSAGES, user })).model;
  const users = Array.from({ length: 40 }, (_, user) => `user-${user}`);
  const before = [];
  for (const user of users) before.push(await modelOf(user));
  expect(new Set(before).size).toBe(2);
  const other = await startGateway({ config: configOf("gold") });
  try {
    for (const [index, user] of users.slice(0, 10).entries()) {
      const response = await other.chat({ model: "canary", messages: MESSAGES, user });
      expect(((await response.json()) as any).model).toBe(before[index]!);
    }
  } finally {
    await other.stop();
  }
});
