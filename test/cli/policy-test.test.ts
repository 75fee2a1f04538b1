// `dragoman policy test`: which policies apply to a sample, where and why, which expectations are not met, and mistakes
// in a file.
import { dirname } from "node:path";
import { describe, expect, test } from "bun:test";
import { runCli } from "../harness/processes/gateway-process.ts";
import { writtenFile } from "./written-files.ts";

const POLICIES = `
policies:
  team: {rule: 'request.metadata.team == "red"'}
  elsewhere: {rule: 'target.provider == "far"', message: Not there.}
  mail: {guard: {classes: [email], action: mask}}
  watch: {rule: request.stream, mode: audit}
projects:
  lab: {policies: {none: {rule: "true"}}}
`;
const request = (fields: object = {}): object => ({
  model: "near:m",
  messages: [{ role: "user", content: "Hello" }],
  metadata: { team: "blue" },
  ...fields,
});

async function tested(
  samples: unknown,
  policies = POLICIES,
): Promise<{ readonly code: number; readonly samples: readonly any[]; readonly stderr: string }> {
  const { code, stdout, stderr } = await runCli([
    "policy",
    "test",
    "-f",
    writtenFile(policies),
    "--request",
    writtenFile(JSON.stringify(samples)),
    "--json",
  ]);
  return { code, samples: stdout === "" ? [] : (JSON.parse(stdout) as { samples: readonly any[] }).samples, stderr };
}

describe("a sample", () => {
  test("[d3.1] goes to its target by the route that its request names", async () => {
    const policies = `policies: {on-chat: {rule: 'target.route == "chat"'}}`;
    const { samples } = await tested(
      [{ request: request({ route: "chat" }) }, { request: request() }, { request: request(), route: "chat" }],
      policies,
    );
    expect(samples.map(({ outcome }) => outcome)).toEqual(["deny", "allow", "deny"]);
  });

  test("[d3.1] is judged by the policies of its tenant too, where its project has some of its own", async () => {
    const policies = `
tenants: {acme: {policies: {ours: {rule: "true"}}}}
projects: {lab: {policies: {own: {rule: request.stream}}}}
`;
    const { samples } = await tested(
      [
        { request: request({ stream: true }), tenant: "acme", project: "lab" },
        { request: request({ stream: true }), tenant: "acme" },
        { request: request(), project: "lab" },
      ],
      policies,
    );
    expect(samples.map(({ outcome, spoke }) => [outcome, spoke.map(({ policy }: any) => policy)])).toEqual([
      ["deny", ["ours", "own"]],
      ["deny", ["ours"]],
      ["allow", []],
    ]);
  });

  test("[d3.1] is a call of the operation that it names", async () => {
    const policies = `policies: {talk: {rule: 'request.operation == "chat.completions"'}}`;
    const { samples, code } = await tested(
      [{ request: request() }, { request: request(), operation: "chat.completions" }],
      policies,
    );
    expect([code, samples.map(({ outcome }) => outcome)]).toEqual([0, ["deny", "deny"]]);
    const unknown = await tested([{ request: request(), operation: "chats" }], policies);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain("operation");
  });

  test("[d3.1] is allowed, denied or masked; each policy that applies is reported with the place and the reason", async () => {
    const { samples, code } = await tested([
      { request: request() },
      { request: request({ metadata: { team: "red" } }) },
      { request: request({ metadata: {} }) },
      { request: request({ model: "far:m" }) },
      { request: request(), targets: ["far:m", "near:m"] },
      { request: request({ user: "a@b.co", stream: true }) },
      { request: request(), answer: "Write to a@b.co" },
      { request: request(), project: "lab" },
    ]);
    expect(code).toBe(0);
    expect(samples.map(({ outcome }) => outcome)).toEqual([
      "allow",
      "deny",
      "deny",
      "deny",
      "allow",
      "mask",
      "mask",
      "deny",
    ]);
    expect(samples[2].spoke).toEqual([
      { policy: "team", mode: "enforce", effect: "failed", at: "request", why: "No such key: team" },
    ]);
    expect(samples[4].spoke).toEqual([
      { policy: "elsewhere", mode: "enforce", effect: "denied", at: "far:m", why: "the rule is true" },
    ]);
    expect(samples[5].spoke.map(({ policy, effect, at }: any) => [policy, effect, at])).toEqual([
      ["mail", "masked", "request"],
      ["watch", "would_deny", "request"],
    ]);
    expect(samples[6].spoke[0]).toMatchObject({ policy: "mail", effect: "masked", at: "answer" });
  });

  test("[d3.1] with an unexpected result ends the command with 1, and is reported", async () => {
    const file = writtenFile(
      JSON.stringify({ name: "first", request: request(), expect: { outcome: "deny", policy: "team" } }),
      "samples/a.json",
    );
    writtenFile(JSON.stringify(request()), "samples/b.json");
    const { code, stdout } = await runCli(["policy", "test", "-f", writtenFile(POLICIES), "--request", dirname(file)]);
    expect(code).toBe(1);
    expect(stdout).toContain("first: allowed (NOT as expected: denied by team)");
    expect(stdout).toContain("b.json: allowed");
  });
});

describe("a guard whose service is not asked", () => {
  test.each([
    ["allow", "allow"],
    ["block", "deny"],
  ])("[d16.4] with on_error: %s has the outcome %s, as in a call", async (onError, outcome) => {
    const guard = `{service: {type: request, url: "https://guard.example/"}, action: block, on_error: ${onError}}`;
    const { samples } = await tested([{ request: request() }], `policies: {judge: {guard: ${guard}}}`);
    expect(samples[0]).toMatchObject({ outcome, spoke: [{ policy: "judge", effect: "failed", at: "request" }] });
    expect(Object.keys(samples[0].spoke[0])).toEqual(["policy", "mode", "effect", "at", "why"]);
  });
});

describe("mistakes are reported", () => {
  test("[d3.1] in a rule: with the policy's name, line and caret, here and by `dragoman check`", async () => {
    const broken = "policies:\n  mine:\n    rule: |\n      request.stream &&\n        request.tols.size() > 1\n";
    const { code, stderr } = await tested([{ request: request() }], broken);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /:3:5 policies\.mine\.rule: the rule cannot be used: line 2, column 11: No such key: tols\n +request\.tols\.size\(\) > 1\n +\^/,
      ),
    ]);
    const checked = await runCli(["check", writtenFile(broken)]);
    expect([checked.code, checked.stderr]).toEqual([
      1,
      expect.stringContaining("policies.mine.rule: the rule cannot be used: line 2, column 11"),
    ]);
  });

  test("in a sample: with its name and the expected member", async () => {
    for (const [sample, words] of [
      [{ request: { model: 1 } }, "model"],
      [{ request: request(), outcom: 1 }, "outcom"],
      [{ request: request(), expect: { outcome: "maybe" } }, "outcome"],
    ] as const) {
      const { code, stderr } = await tested([{ request: request() }, sample]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(words)]);
    }
  });
});
