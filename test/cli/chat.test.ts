// `dragoman chat` and `dragoman models --project` at a real gateway: the answer as text, part by part, as JSON, and what is said where it fails.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cleanEnvironment, type GatewayProcess, runCli, startGateway } from "../harness/processes/gateway-process.ts";

let gateway: GatewayProcess;
let owner: string;
beforeAll(async () => {
  gateway = await startGateway();
  owner = await gateway.createToken("--personal", "--user", "owner");
});
afterAll(async () => void (await gateway?.stop()));

const run = (...args: readonly string[]) =>
  runCli(args, cleanEnvironment({ DRAGOMAN_URL: gateway.url, DRAGOMAN_TOKEN: owner }));

test("[d14.1] a call is made with a message, with fields, as a stream and as JSON", async () => {
  const project = ["--project", "default"];
  const plain = await run("chat", "Hello there", "--model", "sandbox:echo", ...project);
  expect([plain.code, plain.stdout]).toEqual([0, "Hello there\n"]);
  const streamed = await run("chat", "Hello there", "--model", "sandbox:echo", "--set", "stream=true", ...project);
  expect([streamed.code, streamed.stdout]).toEqual([0, "Hello there\n"]);
  const messages = JSON.stringify([{ role: "user", content: "Hello" }]);
  const whole = await run("chat", "--set", "model=sandbox:echo", `messages=${messages}`, "--json", ...project);
  expect(JSON.parse(whole.stdout).choices[0].message.content).toBe("Hello");
  const models = await run("models", ...project, "--json");
  expect(JSON.parse(models.stdout).map(({ id }: { readonly id: string }) => id)).toContain("sandbox:echo");
  expect((await run("models", ...project)).stdout).toMatch(/^MODEL +NAME +USD A TOKEN IN +USD A TOKEN OUT +CONTEXT\n/);
});

test("a call that is refused, or whose stream breaks, ends with 1 and says why", async () => {
  const refused = await run("chat", "Hello", "--model", "sandbox:fail-429", "--project", "default");
  expect([refused.code, refused.stdout]).toEqual([1, ""]);
  expect(refused.stderr).toMatch(/^dragoman: .*\(429 \w+, trace id [0-9a-f]{32}\)\n$/);
  const foreign = await run("models", "--project", "none-such");
  expect([foreign.code, foreign.stderr]).toEqual([1, expect.stringContaining("scope_mismatch")]);
  const explained = await run("chat", "Hello", "--model", "sandbox:echo", "--project", "default", "--explain");
  expect([explained.code, explained.stderr]).toEqual([1, expect.stringContaining("debug")]);
});

test("[d12.5] a stream that ends without the end of its answer ends with 1, and what came of it is printed", async () => {
  const chunk = JSON.stringify({ choices: [{ index: 0, delta: { content: "Half of" } }] });
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: () => new Response(`data: ${chunk}\n\n`, { headers: { "content-type": "text/event-stream" } }),
  });
  try {
    const cut = await runCli(
      ["chat", "Hello", "--model", "sandbox:echo", "--set", "stream=true"],
      cleanEnvironment({ DRAGOMAN_URL: `http://127.0.0.1:${proxy.port}`, DRAGOMAN_TOKEN: owner }),
    );
    expect([cut.code, cut.stdout]).toEqual([1, "Half of\n"]);
    expect(cut.stderr).toContain("The stream was cut");
  } finally {
    await proxy.stop(true);
  }
});
