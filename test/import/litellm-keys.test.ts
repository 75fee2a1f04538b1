// What becomes of teams and virtual keys in a dump of LiteLLM's database.
import { describe, expect, test } from "bun:test";
import { ConfigurationError } from "../../src/config/problem.ts";
import { parseDump } from "../../src/import/keys/dump.ts";
import { type KeyPlan, planKeys } from "../../src/import/keys/key-plan.ts";
import { type DumpRow, dumpOf, hashOf } from "./litellm-dump.ts";

const NOW = Date.UTC(2026, 5, 1);
const KEY = "sk-planted-1234567890";
const TEAM = { team_id: "t-1", team_alias: "Search Team" };

function planned(
  tables: Readonly<Record<string, readonly DumpRow[]>>,
  hasTokens = true,
  existing: readonly string[] = [],
  accepted: readonly string[] = [],
): KeyPlan {
  const choices = {
    projectId: "default",
    hasTokens,
    existing: new Set(existing),
    accepted: new Set(accepted),
    nowMs: NOW,
  };
  return planKeys(parseDump("dump.sql", dumpOf(tables)), choices);
}
const keys = (...rows: readonly DumpRow[]) => ({ LiteLLM_VerificationToken: rows });
const teams = (...rows: readonly DumpRow[]) => ({ LiteLLM_TeamTable: rows });
const key = (row: DumpRow = {}): DumpRow => ({ token: hashOf(KEY), key_alias: "build", ...row });

describe("keys", () => {
  test("are tokens of their team's project, known by their hash", () => {
    const { keys: made, projects } = planned({ ...teams(TEAM), ...keys(key({ team_id: "t-1" })) });
    expect(projects).toEqual([{ id: "Search-Team", name: "Search Team", rules: [] }]);
    expect(made).toMatchObject([
      { name: "build", projectId: "Search-Team", models: [], routes: [], expiresAtMs: null },
    ]);
    expect(Buffer.from(made[0]!.sha256).toString("hex")).toBe(hashOf(KEY));
  });
  test("that stand there in plain text are hashed, and never shown", () => {
    const { keys: made, report } = planned(keys(key({ token: KEY })));
    expect(Buffer.from(made[0]!.sha256).toString("hex")).toBe(hashOf(KEY));
    expect(JSON.stringify(report)).not.toContain(KEY.slice(3));
  });
  test("of a team whose id reads like a boolean are in its project", () => {
    const made = planned({
      ...teams({ team_id: "t", team_alias: "f" }),
      ...keys(key({ team_id: "t", key_alias: "t" })),
    });
    expect(made.keys).toMatchObject([{ name: "t", projectId: "f" }]);
  });
  test("without a team are in the project that was named", () => {
    expect(planned(keys(key())).keys[0]?.projectId).toBe("default");
  });
  test("that are blocked, expired or no keys are left out, and the report says why", () => {
    const rows = [{ blocked: "t" }, { expires: "2026-05-31 10:00:00" }, { expires: "soon" }, { token: "abc" }].map(key);
    const { keys: made, report } = planned(keys(...rows));
    expect(made).toEqual([]);
    expect(report.filter(({ path }) => path.endsWith(".token")).map(({ outcome, note }) => [outcome, note])).toEqual([
      ["without", "the key is blocked there"],
      ["without", "the key has expired"],
      ["without", "the time at which the key expires cannot be read"],
      ["without", "what stands there is neither a key nor its hash"],
    ]);
  });
  test("of a blocked team are left out with it", () => {
    const { keys: made, projects } = planned({ ...teams({ ...TEAM, blocked: "t" }), ...keys(key({ team_id: "t-1" })) });
    expect([made, projects]).toEqual([[], []]);
  });
  test("of a team that is not in the dump are left out, because the team bounds what they may call", () => {
    const { keys: made, report } = planned(keys(key({ team_id: "t-9" })));
    expect(made).toEqual([]);
    expect(report.find(({ path }) => path.endsWith(".token"))?.note).toContain("is not in the dump");
  });
  test("end when they expire there", () => {
    expect(planned(keys(key({ expires: "2026-07-01 10:00:00.5" }))).keys[0]?.expiresAtMs).toBe(
      Date.UTC(2026, 6, 1, 10, 0, 0, 500),
    );
  });
  test("[d15.2] that an earlier import accepted are reported as left as they are, and nothing of them as taken", () => {
    const rows = [key({ models: "{chat}", rpm_limit: "5" }), key({ token: hashOf("sk-other-1234567890") })];
    const { keys: made, report } = planned(keys(...rows), true, [], [hashOf(KEY)]);
    expect(made.map(({ isAccepted, rules }) => [isAccepted, rules.length])).toEqual([
      [true, 0],
      [false, 0],
    ]);
    const ofFirst = report.filter(({ path }) => path.includes("[0]"));
    expect(ofFirst.map(({ outcome }) => outcome)).toEqual(["without", "without", "without", "without"]);
    expect(ofFirst.every(({ note }) => note?.startsWith("an earlier import accepted the key"))).toBe(true);
  });
  test("of one name are told apart", () => {
    const other = key({ token: hashOf("sk-other-1234567890") });
    expect(planned(keys(key(), other)).keys.map(({ name }) => name)).toEqual(["build", "build-2"]);
  });
});

describe("models", () => {
  const restrictionsOf = (models: string, team = "{}") => {
    const made = planned({ ...teams({ ...TEAM, models: team }), ...keys(key({ team_id: "t-1", models })) });
    const { models: ours, routes } = made.keys[0]!;
    return { models: ours, routes };
  };
  test("of a key are the routes and models that its token may call", () => {
    expect(restrictionsOf('{chat,openai/*,"my model"}')).toEqual({
      models: ["openai:*"],
      routes: ["chat", "openai-*", "my-model"],
    });
  });
  test("[d15.2] with a star stand for all names that they match", () => {
    expect(restrictionsOf('{"team a/*"}')).toEqual({ models: [], routes: ["team-a-*"] });
    expect(restrictionsOf("{fast-*,gpt-4*}")).toEqual({ models: [], routes: ["fast-*", "gpt-4*"] });
    expect(restrictionsOf("{fast-*}", "{fast-a,slow}")).toEqual({ models: [], routes: ["fast-a"] });
  });
  test("of the team hold for a key without models of its own", () => {
    for (const own of ["{}", "{all-team-models}"])
      expect(restrictionsOf(own, "{chat}")).toEqual({ models: [], routes: ["chat"] });
  });
  test("of a key hold as far as those of its team do", () => {
    expect(restrictionsOf("{all-proxy-models}", "{chat}")).toEqual({ models: [], routes: ["chat"] });
    expect(restrictionsOf("{chat,draw}", "{chat,embed}")).toEqual({ models: [], routes: ["chat"] });
    expect(restrictionsOf("{openai/gpt-5,groq/*}", "{openai/*,groq/kimi}")).toEqual({
      models: ["openai:gpt-5", "groq:kimi"],
      routes: ["openai-gpt-5", "groq-kimi"],
    });
  });
  test("of which the team has none are no token", () => {
    const rows = { ...teams({ ...TEAM, models: "{chat}" }), ...keys(key({ team_id: "t-1", models: "{draw}" })) };
    expect(planned(rows).keys).toEqual([]);
  });
  test("with a colon in their names restrict a key too", () => {
    expect(restrictionsOf("{bedrock/anthropic.claude-v2:1}")).toEqual({
      models: ["bedrock:anthropic.claude-v2:1"],
      routes: ["bedrock-anthropic.claude-v2-1"],
    });
  });
  test("may be all", () => {
    for (const own of ["{}", "{all-proxy-models}", "{*}"])
      for (const team of ["{}", "{all-proxy-models}", "{*}"])
        expect(restrictionsOf(own, team)).toEqual({ models: [], routes: [] });
  });
});

describe("limits and budgets", () => {
  test("of a team are those of its project", () => {
    const row = { ...TEAM, rpm_limit: "600", tpm_limit: "100000", max_budget: "100.5", budget_duration: "30d" };
    expect(planned({ ...teams(row), ...keys(key()) }).projects[0]?.rules).toEqual([
      { kind: "limit", name: "Search-Team-requests", document: { metric: "requests", window: "minute", limit: 600 } },
      { kind: "limit", name: "Search-Team-tokens", document: { metric: "tokens", window: "minute", limit: 100_000 } },
      { kind: "budget", name: "Search-Team-budget", document: { usd: "100.5", window: "month", unpriced: "allow" } },
    ]);
  });
  test("[d15.2] of a team whose project is there already have no counterpart, because the project keeps what it has", () => {
    const row = { ...TEAM, rpm_limit: "600", max_budget: "100.5", budget_duration: "30d" };
    const { projects, report } = planned({ ...teams(row), ...keys(key()) }, true, ["Search-Team"]);
    expect(projects).toEqual([{ id: "Search-Team", name: "Search Team", rules: [] }]);
    const columns = ["rpm_limit", "max_budget", "budget_duration"];
    const lines = report.filter(({ path }) => columns.some((column) => path.endsWith(`.${column}`)));
    expect(lines.map(({ outcome, note }) => [outcome, note])).toEqual(
      columns.map(() => [
        "without",
        "the project Search-Team is there already, and keeps the limits and budgets that it has",
      ]),
    );
  });
  test("of a key are its own, or those of the budget that it names", () => {
    const budget = { budget_id: "b-1", max_budget: "5", max_parallel_requests: "2", rpm_limit: "7" };
    const made = planned({ LiteLLM_BudgetTable: [budget], ...keys(key({ budget_id: "b-1", rpm_limit: "60" })) });
    expect(made.keys[0]?.rules).toEqual([
      { kind: "limit", name: "build-requests", document: { metric: "requests", window: "minute", limit: 60 } },
      { kind: "limit", name: "build-concurrency", document: { metric: "concurrency", limit: 2 } },
      { kind: "budget", name: "build-budget", document: { usd: "5", window: "total", unpriced: "allow" } },
    ]);
  });
  test("of a key that becomes a link have no counterpart yet, and the report says so", () => {
    const { keys: made, report } = planned(keys(key({ rpm_limit: "60" })), false);
    expect(made[0]?.rules).toEqual([]);
    expect(report.find(({ path }) => path.endsWith("rpm_limit"))?.outcome).toBe("without");
  });
});

test("[d15.2] each value of the dump that is read has a line, and other tables have one", () => {
  const { report } = planned({
    ...teams({ ...TEAM, spend: "3", unheard_of: "x" }),
    ...keys(key({ metadata: '{"a": "b"}' })),
    LiteLLM_SpendLogs: [{ request_id: "1" }, { request_id: "2" }],
  });
  expect(report.map(({ path, outcome }) => `${path} ${outcome}`)).toEqual([
    "LiteLLM_TeamTable[0].team_id changed",
    "LiteLLM_TeamTable[0].team_alias taken",
    "LiteLLM_TeamTable[0].spend without",
    "LiteLLM_TeamTable[0].unheard_of without",
    "LiteLLM_VerificationToken[0].token changed",
    "LiteLLM_VerificationToken[0].key_alias taken",
    "LiteLLM_VerificationToken[0].metadata without",
    "LiteLLM_SpendLogs without",
  ]);
});

describe("what is no dump of LiteLLM's database is refused with its place", () => {
  const whole = dumpOf(keys(key()));
  const CASES: readonly (readonly [string, string, string])[] = [
    ["another file", "model_list: []\n", "dump.sql:1:1: this is no dump of LiteLLM's database"],
    ["rows without an end", whole.replace("\\.", ""), "dump.sql:6:1: the rows of this table have no end"],
    ["a dump with INSERT", `INSERT INTO public."LiteLLM_TeamTable" VALUES (1);\n${whole}`, "without --inserts"],
    ["another version", whole.replace("(token,", "(hash,"), "has no column token"],
    ["a row that was cut", whole.replace("\tbuild", ""), "dump.sql:7:1: expected 2 columns and found 1"],
    ["a table that stands there twice", whole + whole, "stands in the dump twice"],
  ];
  test.each(CASES)("%s", (_, text, message) => {
    const parse = () => parseDump("dump.sql", text);
    expect(parse).toThrow(ConfigurationError);
    expect(parse).toThrow(message);
  });
});
