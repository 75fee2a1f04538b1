// `dragoman test` as its users run it: against the sandbox, against a fake provider with faults, and against servers that are not there.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LLMock } from "@copilotkit/aimock";
import type { Result } from "../../../src/cli/conformance.ts";
import { ALL_CHECKS as CHECKS } from "../../../src/diagnostics/conformance/operation-checks.ts";
import { gatewayCommand } from "../../harness/processes/gateway-program.ts";
import { type Run, runToEnd } from "../../harness/processes/processes.ts";

function dragoman(...args: readonly string[]): Promise<Run> {
  return runToEnd([...gatewayCommand, ...args], { env: { ...process.env, NO_COLOR: "1", VERTEXAI_PROJECT: "played" } });
}

async function results(...args: readonly string[]): Promise<ReadonlyMap<string, Result> & { readonly code?: number }> {
  const { stdout: out, code } = await dragoman("test", ...args, "--json");
  const read = JSON.parse(out) as { readonly results: readonly Result[] };
  return Object.assign(new Map(read.results.map((result) => [result.check, result])), { code });
}

describe("a conformance run", () => {
  test("makes at least thirty calls, each with an id of its own", () => {
    expect(CHECKS.length).toBeGreaterThanOrEqual(30);
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  });

  test("against the sandbox's assistant passes every check, and prints a table", async () => {
    const { code, stdout: out } = await dragoman("test", "sandbox:assistant");
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^CHECK +WHAT +RESULT +MS +NOTE$/);
    expect(lines.length).toBe(CHECKS.length + 3);
    expect(lines.at(-1)).toBe(`sandbox:assistant: ${CHECKS.length - 1} kept, 0 lost, 0 refused, 1 not offered`);
    expect(out).toMatch(/^logprobs +.* not offered +- +no logprobs$/m);
  });

  test("against models that break the contract names what fails", async () => {
    const echo = await results("sandbox:echo");
    expect(echo.code).toBe(1);
    expect([
      echo.get("plain")!.outcome,
      echo.get("tools")!.outcome,
      echo.get("tools")!.note,
      echo.get("json-object")!.outcome,
    ]).toEqual(["kept", "lost", "no tool was called", "lost"]);
    const broken = await results("sandbox:garbage", "--only", "plain", "stream", "cancel");
    expect([...broken.values()].map(({ check, outcome }) => [check, outcome])).toEqual([
      ["plain", "refused"],
      ["stream", "refused"],
      ["cancel", "lost"],
    ]);
    const failing = await results("sandbox:fail-429", "--only", "plain");
    expect(failing.get("plain")).toMatchObject({
      outcome: "refused",
      note: expect.stringContaining("429 rate_limit_exceeded"),
    });
  });

  test("of a model that holds no conversation offers no check of one, and calls nothing", async () => {
    const vectors = await results("custom:text-embedding-3-small", "--base-url", "http://127.0.0.1:1/v1");
    expect([vectors.code, new Set([...vectors.values()].map(({ outcome }) => outcome))]).toEqual([
      0,
      new Set(["not offered"]),
    ]);
    expect(vectors.get("plain")!.note).toBe("no chat.completions");
    expect(vectors.get("messages-tools")!.note).toBe("no messages");
  });

  test("that cannot run says why, and calls nothing", async () => {
    for (const [args, words] of [
      [["nobody:m"], /"nobody:m" is not a model/],
      [["sandbox"], /<provider>:<model_name>/],
      [["sandbox:echo", "--only", "nothing"], /unknown check "nothing"; the checks are: plain/],
    ] as const) {
      const { code, stderr: error, stdout: out } = await dragoman("test", ...args);
      expect([code, out]).toEqual([1, ""]);
      expect(error).toMatch(words);
    }
    const gone = await results("custom:m", "--base-url", "http://127.0.0.1:1/v1", "--only", "plain");
    expect(gone.get("plain")).toMatchObject({
      outcome: "refused",
      note: expect.stringContaining("502 upstream_connection"),
    });
  });
});

describe("a conformance run against a fake provider", () => {
  const mock = new LLMock({ port: 0, logLevel: "silent" });
  beforeAll(async () => {
    mock.on({ toolName: "get_weather" }, { toolCalls: [{ name: "get_weather", arguments: '{"city":"Vienna"}' }] });
    mock.onMessage(/.*/s, { content: "Hello from the fake." });
    await mock.start();
  });
  afterAll(() => mock.stop());

  const KEPT = ["plain", "shape", "stream", "stream-grammar", "tools", "stream-tools", "cancel"];
  const MODELS = [
    ["custom:gpt-4o", "/v1"],
    ["azure:gpt-4o", ""],
    ["openrouter:openai/gpt-4o", "/api/v1"],
    ["anthropic:claude-sonnet-4-5", ""],
    ["gemini:gemini-2.5-flash", ""],
    ["vertex:gemini-2.5-flash", "/v1"],
    ["bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0", ""],
    ["cohere:command-a-reasoning-08-2025", ""],
    ["ollama:qwen3:8b", ""],
  ] as const;
  // nine processes side by side
  test.concurrent.each([...MODELS])("reports which checks %s of it passes", async (model, path) => {
    const run = await results(model, "--base-url", `${mock.url}${path}`, "--api-key", "k", "--only", ...KEPT, "length");
    expect(KEPT.map((id) => [id, run.get(id)!.outcome])).toEqual(KEPT.map((id) => [id, "kept"]));
    // it always says the same, whatever the bound
    expect(run.get("length")).toMatchObject({ outcome: "lost", note: expect.stringContaining('"stop"') });
  });
});
