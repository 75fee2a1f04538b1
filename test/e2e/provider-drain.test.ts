// `dragoman provider test`, `drain` and `undrain` against the real process: routes use their other targets while a
// provider is drained, also after a restart, and a test reaches it nevertheless.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";
import { until } from "../harness/time/until.ts";
import { startUpstream } from "../harness/servers/upstream.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-drain-"));
/** It answers embeddings and nothing else. */
const vectors = startUpstream(({ path }) =>
  path === "/v1/embeddings"
    ? Response.json({
        object: "list",
        model: "m",
        data: [{ object: "embedding", index: 0, embedding: [1] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      })
    : Response.json({ error: { message: "no such path" } }, { status: 404 }),
);
const options = {
  dataFolder: join(folder, "data"),
  environment: { DRAGOMAN_ALLOW_PRIVATE_ADDRESSES: "true" },
  config: `providers:
  first: {type: sandbox}
  second: {type: sandbox}
  vectors: {type: voyage, base_url: "${vectors.url}/v1", api_key: k, models: [voyage-3.5]}
routes: {chat: {targets: ["first:echo", "second:echo"]}}
`,
};
let gateway: GatewayProcess;
let project: string;
let owner: string;

beforeAll(async () => {
  gateway = await startGateway(options);
  project = gateway.firstToken!;
  owner = await gateway.createToken("--personal", "--user", "owner");
});
afterAll(async () => {
  await gateway?.stop();
  await vectors.stop();
  rmSync(folder, { recursive: true, force: true });
});

const cli = (...words: readonly string[]) => runCli(words, { DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: owner });
const call = (model: string): Promise<Response> =>
  gateway.chat({ model, messages: [{ role: "user", content: "Hello" }] }, { token: project });
async function servedBy(): Promise<string> {
  const response = await call("chat");
  return ((await response.json()) as { model: string }).model;
}

test("a provider is drained by command for a time, over a restart, and until the drain is ended", async () => {
  expect(await servedBy()).toBe("first:echo");
  const drained = await cli("provider", "drain", "first", "--for", "2h", "--note", "a new key");
  expect([drained.code, drained.stderr]).toEqual([0, ""]);
  expect(drained.stdout).toMatch(/^first gets no calls until 20\d\d-\d\d-\d\dT[\d:.]+Z\.\n$/);
  expect(await servedBy()).toBe("second:echo");
  const listed = await cli("drain", "list", "--json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ provider: "first", model: null, note: "a new key" }]);

  const refused = await call("first:echo");
  expect([refused.status, Number(refused.headers.get("retry-after")) > 7000]).toEqual([503, true]);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe("target_drained");
  expect(error.message).toContain("(a new key)");

  await gateway.stop();
  gateway = await startGateway(options);
  expect(await servedBy()).toBe("second:echo");
  const tested = await cli("provider", "test", "first:echo");
  expect([tested.code, tested.stderr]).toEqual([0, ""]);
  expect(tested.stdout).toMatch(
    /^first:echo answers chat\.completions with status 200 in [\d.]+ ms\. The call is [0-9a-f]{32}\.\n$/,
  );

  expect(await cli("provider", "undrain", "first")).toMatchObject({ code: 0, stdout: "first gets calls again.\n" });
  expect(await servedBy()).toBe("first:echo");
  const again = await cli("provider", "undrain", "first");
  expect([again.code, again.stderr]).toEqual([1, expect.stringContaining("drain of first")]);
});

test("a drain holds in another gateway on the same database, and in every worker of one", async () => {
  const config = `${options.config}server: {workers: 2}\n`;
  const beside = await startGateway({ ...options, config });
  try {
    const models = async (): Promise<ReadonlySet<string>> => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, () =>
          beside.chat({ model: "chat", messages: [{ role: "user", content: "Hello" }] }, { token: project }),
        ),
      );
      return new Set(await Promise.all(answers.map(async (one) => ((await one.json()) as { model: string }).model)));
    };
    expect([...(await models())]).toEqual(["first:echo"]);
    expect((await cli("provider", "drain", "first", "--for", "1h")).code).toBe(0);
    // twice: the workers hear of it one after the other
    for (let times = 0; times < 2; times++)
      await until(async () => [...(await models())].join() === "second:echo", "all workers keep calls from it");
    expect((await cli("provider", "undrain", "first")).code).toBe(0);
    await until(async () => [...(await models())].join() === "first:echo", "all workers send calls there again");
  } finally {
    await beside.stop();
  }
});

test("a test says what the provider answered, and is a call of the project", async () => {
  const failed = await cli("provider", "test", "second:fail-429");
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("second:fail-429 does not answer chat.completions: status 429");
  expect(failed.stderr).toContain("rate_limit_exceeded");
  const trace = /The call is ([0-9a-f]{32})\./.exec(failed.stderr)![1]!;
  await until(
    async () => (await cli("call", "get", trace, "--project", "default", "--json")).code === 0,
    "the call is kept",
  );
  const { stdout } = await cli("call", "get", trace, "--project", "default", "--json");
  expect(JSON.parse(stdout)).toMatchObject({ provider: "second", model: "fail-429", status: 429, attempts: 1 });
});

test("a provider is tested with an operation that its model has, which the answer names", async () => {
  for (const [model, operation] of [
    ["echo", undefined],
    ["embed-8", "embeddings"],
    ["rerank", "rerank"],
    ["moderation", "moderations"],
  ] as const) {
    const words = operation === undefined ? [] : ["--operation", operation];
    const { code, stdout, stderr } = await cli("provider", "test", `first:${model}`, ...words, "--json");
    expect([model, code, stderr]).toEqual([model, 0, ""]);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true, model, operation: operation ?? "chat.completions" });
  }
  // without a word, by what is known of the model
  const known = await cli("provider", "test", "vectors", "--json");
  expect([known.stderr, JSON.parse(known.stdout)]).toMatchObject(["", { ok: true, operation: "embeddings" }]);
  const failed = await cli("provider", "test", "first:echo", "--operation", "rerank", "--json");
  expect(JSON.parse(failed.stdout)).toMatchObject({ ok: false, operation: "rerank", message: expect.any(String) });
  const unknown = await cli("provider", "test", "first:echo", "--operation", "sing");
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringContaining("operation")]);
});

test("what cannot be drained or tested is refused with the reason", async () => {
  for (const [words, what] of [
    [["provider", "drain", "first", "--for", "soon"], "--for expects a time such as 30m"],
    [["provider", "drain", "first", "--for", "8d"], "minutes"],
    [["provider", "drain", "nobody", "--for", "1h"], "provider nobody"],
    [["provider", "test", "nobody:m"], "provider nobody"],
    [["provider", "test", "second", "--project", "none"], "project none"],
  ] as const) {
    const { code, stderr } = await cli(...words);
    expect([code === 0, stderr]).toEqual([false, expect.stringContaining(what)]);
  }
});
