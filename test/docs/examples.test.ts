// The clients in examples/ run unchanged against the real process, and print what they demonstrate.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment, type GatewayProcess, startGateway } from "../harness/processes/gateway-process.ts";
import { type Run, runToEnd } from "../harness/processes/processes.ts";
import { projectFolder } from "./pages.ts";

const missing = ["sh", "curl", "sed"].filter((program) => Bun.which(program) === null);
if (missing.length > 0) console.log(`skipped: the examples in shell, because ${missing.join(" and ")} cannot be found`);

let gateway: GatewayProcess;
beforeAll(async () => void (gateway = await startGateway()));
afterAll(() => gateway.stop());

function run(
  command: readonly string[],
  environment: Readonly<Record<string, string>> = { TOKEN: gateway.firstToken! },
): Promise<Run> {
  return runToEnd(command, {
    cwd: join(projectFolder, "examples"),
    env: { ...cleanEnvironment(), GATEWAY: gateway.url, ...environment },
  });
}

const withBun = (name: string): readonly string[] => [process.execPath, "--no-env-file", "--no-install", name];

test("every example is run here, loaded by the tests of the configuration, or read by those of dashboards", () => {
  expect(
    readdirSync(join(projectFolder, "examples"))
      .filter((name) => !name.endsWith(".yaml"))
      .toSorted(),
  ).toEqual(["ai-sdk.ts", "chat.sh", "grafana", "openai-sdk.ts", "prometheus", "stream.sh"]);
});

describe.skipIf(missing.length > 0)("chat.sh", () => {
  test("prints the answer, whatever the text contains", async () => {
    const { code, stdout, stderr } = await run(["sh", "chat.sh", "sandbox:echo", 'say "hi" \\ there']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout).choices[0].message.content).toBe('say "hi" \\ there');
  });
  test("reports a missing token, and fails on an error of the gateway", async () => {
    const without = await run(["sh", "chat.sh"], {});
    expect(without.code).not.toBe(0);
    expect(without.stderr).toContain("access token");
    const refused = await run(["sh", "chat.sh", "sandbox:fail-500"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stdout).toContain('"code":"upstream_error"');
  });
});

describe.skipIf(missing.length > 0)("stream.sh", () => {
  test("prints each piece", async () => {
    const { code, stdout, stderr } = await run(["sh", "stream.sh", "sandbox:words-3"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe('"the "\n"quick "\n"brown"\n');
  });
  test("fails on an error before the stream, and on one inside of it", async () => {
    const before = await run(["sh", "stream.sh", "sandbox:fail-500"]);
    expect([before.code, before.stdout]).toEqual([1, ""]);
    const inside = await run(["sh", "stream.sh", "sandbox:cut"]);
    expect([inside.code, inside.stdout]).toEqual([1, '"Hello"\n']);
    expect(inside.stderr).toContain("upstream_incomplete");
  });
});

test("openai-sdk.ts: answer, stream, tool call, typed refusal", async () => {
  const { code, stdout, stderr } = await run(withBun("openai-sdk.ts"));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    "answer: Hello, Dragoman!",
    "tokens: 4",
    "streamed: the quick brown fox jumps",
    'call: weather {"city":"Vienna"}',
    "refused: 400 unsupported_parameter logit_bias",
    "",
  ]);
});

test("ai-sdk.ts: answer, stream, object by a schema", async () => {
  const { code, stdout, stderr } = await run(withBun("ai-sdk.ts"));
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual([
    "answer: Hello, Dragoman!",
    "tokens: 4",
    "streamed: the quick brown fox jumps",
    'object: {"city":"Vienna","inhabitants":1}',
    "",
  ]);
});
