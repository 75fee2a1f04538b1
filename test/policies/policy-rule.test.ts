// Loading rules: what is refused, with its place, and what could make a rule slow. The behaviour of the library on
// which this relies is checked too.
import { describe, expect, spyOn, test } from "bun:test";
import {
  ClientFacts,
  MAX_ITEMS,
  MAX_TEXT,
  ParameterFacts,
  PARAMETER_TYPES,
  RequestFacts,
  ScopeFacts,
  TargetFacts,
  TokenFacts,
} from "../../src/policies/policy-facts.ts";
import { type CompiledRule, compileRule, openRuleMeter, RuleError } from "../../src/policies/policy-rule.ts";
import { parseChatRequest } from "../../src/engine/request/parse.ts";
import type { Json } from "../../src/core/json.ts";
import type { OperationName } from "../../src/core/operation.ts";
import { COMMON_PARAMETERS } from "../../src/core/params.ts";
import type { RuleFacts } from "../../src/core/configured/policy.ts";
import { timesAsMuch } from "../harness/time/cpu-time.ts";

const MESSAGES = [{ role: "user", content: "Hello" }];
function facts(fields: object = {}, operation: OperationName = "chat.completions"): RuleFacts {
  return {
    request: new RequestFacts(
      parseChatRequest(JSON.stringify({ model: "openai:gpt-4o", messages: MESSAGES, ...fields })),
      operation,
    ),
    target: new TargetFacts({ provider: "openai", model: "gpt-4o", route: "direct" }),
    token: new TokenFacts({
      tokenId: "t",
      tokenKind: "project",
      tenantId: "a",
      projectId: "b",
      userId: null,
      role: "developer",
      permissions: new Set(),
      restrictions: null,
    }),
    tenant: new ScopeFacts("a"),
    project: new ScopeFacts("b"),
    client: new ClientFacts("192.0.2.1"),
    now: new Date(0),
  };
}

function refusalOf(rule: string): string {
  try {
    compileRule(rule);
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(RuleError);
    return (thrown as Error).message;
  }
  throw new Error(`not refused: ${rule}`);
}

describe("an invalid rule is refused at load", () => {
  test("[d3.1] with line, column and a caret below the place", () => {
    expect(refusalOf('request.stream &&\n  request.tols.exists(t, t == "mcp")')).toBe(
      'line 2, column 11: No such key: tols\n      request.tols.exists(t, t == "mcp")\n              ^',
    );
  });

  test.each([
    ["syntax", "request.model == ", /Unexpected/],
    ["a field that is not there", "request.modell == 'x'", /modell/],
    ["a parameter that is not there", "request.parameters.temprature > 1.0", /temprature/],
    ["a variable that is not there", "caller.ip == 'x'", /caller/],
    ["types that do not fit", "request.model > 1", /overload/],
    ["a value other than true or false", "request.model", /true or false/],
    ["what was sent as it is", "request.metadata.flag", /compare it/],
    [
      "a macro inside a macro",
      "request.tools.exists(t, request.tool_names.exists(n, n == t))",
      /macros cannot be nested/,
    ],
    [
      "a macro inside a macro, in disguise",
      "request.tools.all(t, request.tools.filter(u, u == t).size() == 1)",
      /macros cannot be nested/,
    ],
    ["names for values", "cel.bind(m, request.model, m == 'x')", /bind\(\) is not available/],
    ["functions that make long values", "request.model.split(',').size() > 1", /split\(\) is not available/],
    ["texts that grow in a macro", "request.tools.exists(t, t + t == 'x')", /cannot be joined/],
    ["a list of the request inside a macro", "request.tools.all(t, t in request.tool_names)", /must be a literal/],
    ["a pattern that is made up at run time", "request.model.matches(request.route)", /must be a text literal/],
    ["an invalid pattern", "request.model.matches('(')", /not a valid pattern/],
    ["a pattern that looks back", "request.model.matches('(?<=a)b')", /not a valid pattern/],
    ["an unknown time zone", "now.getHours('Mars/Olympus') > 1", /time zone/],
    ["too many parts", Array.from({ length: 200 }, () => "request.stream").join(" || "), /at most/],
    [
      "too much in a macro",
      `request.tools.all(t, ${Array.from({ length: 40 }, () => "t == 'x'").join(" || ")})`,
      /at most/,
    ],
    ["too deep", `${"(".repeat(200)}true${")".repeat(200)}`, /depth|nest|exceed/i],
    ["too long", `request.model == "${"x".repeat(9000)}"`, /at most/],
  ])("[d3.1] %s", (_, rule, words) => {
    expect(refusalOf(rule)).toMatch(words);
  });
});

test("[d3.1] a rule sees the operation that was called, so that one can be forbidden and another allowed", () => {
  const rule = compileRule('request.operation == "embeddings"');
  expect(rule.denies(facts({}, "embeddings"))).toBe(true);
  expect(rule.denies(facts({}, "chat.completions"))).toBe(false);
});

describe("a rule cannot be slow", () => {
  const long = "a".repeat(MAX_TEXT);
  const many = Array.from({ length: 900 }, () => "a");
  const WORST: readonly (readonly [string, string, object])[] = [
    [
      "patterns that make others backtrack",
      'request.parameters.user.matches("^(a+)+$") && request.parameters.user.matches("(a|aa)+b") && request.parameters.user.matches("(.*)(.*)(.*)x")',
      { user: `${long.slice(1)}!` },
    ],
    [
      "a pattern behind a comment that names its function",
      'request.parameters.user // matches\n.matches("^(a+)+$") || (request.parameters.user) // matches(\n . // matches(\n matches("^(a+)+$")',
      { user: `${long.slice(1)}!` },
    ],
    [
      "a pattern on each of many items",
      'request.metadata.list.exists(x, x.matches("(a|aa)+$b") || request.parameters.user.matches("(a+)+!"))',
      { user: long, metadata: { list: many } },
    ],
    [
      "long lists compared with each other, for each item",
      "request.metadata.list.all(x, request.metadata.list == request.metadata.same && request.metadata.list == request.metadata.same && request.metadata.list == request.metadata.same)",
      { metadata: { list: many.slice(0, 450), same: many.slice(0, 450) } },
    ],
    [
      "long texts searched for each item",
      `request.tools.all(t, ${Array.from({ length: 8 }, () => '!request.parameters.user.contains("aaaaaaab")').join(" && ")})`,
      {
        user: long,
        tools: Array.from({ length: 1000 }, (_, index) => ({ type: "function", function: { name: `f${index}` } })),
      },
    ],
    [
      "the length of the conversation, read for each item",
      `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => "request.messages.prompt_tokens > 0").join(" && ")})`,
      { messages: [{ role: "user", content: "é".repeat(400_000) }], metadata: { list: many } },
    ],
    [
      "names of tools, read for each item",
      `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => "request.tool_names.size() > 0").join(" && ")})`,
      {
        metadata: { list: many },
        tools: Array.from({ length: 1000 }, (_, index) => ({ type: "function", function: { name: `f${index}` } })),
      },
    ],
    [
      "characters counted for each item",
      `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => "request.parameters.user.size() > 0").join(" && ")})`,
      { user: long, metadata: { list: many } },
    ],
    [
      "letters changed for each item",
      `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => 'request.parameters.user.lowerAscii() != "b"').join(" && ")})`,
      { user: `${long.slice(1)}É`, metadata: { list: many } },
    ],
    [
      "digits that could be a duration",
      'duration(request.metadata.digits) > duration("1s")',
      { metadata: { digits: "1".repeat(3000) } },
    ],
    [
      "texts that are joined to long ones",
      `(${Array.from({ length: 70 }, () => "request.parameters.user").join(" + ")}).contains("b")`,
      { user: long },
    ],
  ];
  /** A walk over the longest text that a rule may see. The worst rule on the worst request costs hundreds of them; one without a bound would not end. */
  const walk = (): number => {
    let sum = 0;
    for (let at = 0; at < long.length; at++) sum += long.charCodeAt(at);
    return sum;
  };
  const MOST_WALKS = 10_000;
  test.each(WORST)("[d3.1] %s", async (_, text, fields) => {
    const rule = compileRule(text);
    const given = facts(fields);
    const judge = (): void => {
      try {
        rule.denies(given);
      } catch {
        // what is too much fails, and denies
      }
    };
    expect(await timesAsMuch(judge, walk, MOST_WALKS)).toBeLessThan(MOST_WALKS);
  });

  test("[d3.1] all rules and conditions of one call together take no more work than one may", () => {
    const rule = compileRule(
      `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => 'x != "b"').join(" && ")})`,
    );
    const given = { ...facts({ metadata: { list: many } }), meter: openRuleMeter() };
    const evaluations = (): number => {
      for (let count = 0; ; count++)
        try {
          expect(rule.denies(given)).toBe(true);
        } catch (thrown) {
          expect((thrown as Error).message).toBe("the rules of one call together take too much work");
          return count;
        }
    };
    // what was too much for one rule is too much for the next one
    expect(evaluations()).toBeGreaterThan(10);
    expect(evaluations()).toBe(0);
    expect(rule.denies(facts({ metadata: { list: many } }))).toBe(true);
  });

  test("[d3.1] a rule that took too much work fails, also where the part that was too much decides nothing", () => {
    const slow = `request.metadata.list.all(x, ${Array.from({ length: 8 }, () => "request.parameters.user.size() > 0").join(" && ")})`;
    const given = facts({ user: long, metadata: { list: many } });
    expect(() => compileRule(`${slow} && false`).denies(given)).toThrow(/too much work/);
  });

  test("[d3.1] a duration has at most 100 characters", () => {
    const rule = compileRule('duration(request.metadata.after) > duration("1h")');
    expect(rule.denies(facts({ metadata: { after: "1h30m" } }))).toBe(true);
    expect(() => rule.denies(facts({ metadata: { after: `${"1".repeat(100)}s` } }))).toThrow(/at most 100 characters/);
  });

  test("[d3.1] texts and values of the request beyond the bounds are not passed to rules, which fail", () => {
    expect(() =>
      compileRule('request.parameters.user == "x"').denies(facts({ user: "x".repeat(MAX_TEXT + 1) })),
    ).toThrow(/longer/);
    expect(() =>
      compileRule("request.metadata.size() > 1").denies(
        facts({ metadata: Object.fromEntries(Array.from({ length: MAX_ITEMS + 1 }, (_, index) => [`k${index}`, 1])) }),
      ),
    ).toThrow(/more than/);
    let deep: unknown = "x";
    for (let level = 0; level < 30; level++) deep = [deep];
    expect(compileRule("request.metadata.deep.size() == 1").denies(facts({ metadata: { deep } }))).toBe(true);
  });

  test("[d3.1] a list that a rule builds is bounded like one of the request", () => {
    const tools = Array.from({ length: 600 }, (_, index) => ({ type: "function", function: { name: `f${index}` } }));
    expect(() =>
      compileRule('(request.tools + request.tool_names).exists(t, t == "x")').denies(facts({ tools })),
    ).toThrow(/at most 1000 items/);
    expect(
      compileRule('(request.tools + request.tool_names).exists(t, t == "f1")').denies(
        facts({ tools: tools.slice(0, 400) }),
      ),
    ).toBe(true);
  });

  test("[d3.1] patterns read a bounded number of characters in one evaluation", () => {
    expect(() =>
      compileRule('request.metadata.list.all(x, !request.parameters.user.matches("b"))').denies(
        facts({ user: "a".repeat(MAX_TEXT), metadata: { list: many } }),
      ),
    ).toThrow(/characters/);
  });
});

describe("the shape of what rules see", () => {
  test("every common parameter has a type and a property", () => {
    expect(Object.keys(PARAMETER_TYPES).toSorted()).toEqual([...COMMON_PARAMETERS].toSorted());
    for (const name of COMMON_PARAMETERS) expect(name in ParameterFacts.prototype).toBe(true);
  });

  test("a rule that does not use a long value does not fail by it", () => {
    expect(
      compileRule("request.messages.count == 1").denies(
        facts({ user: "x".repeat(1_000_000), metadata: { list: Array.from({ length: 5000 }, () => 1) } }),
      ),
    ).toBe(true);
  });

  test("a metadata key that exists on the prototype counts as missing", () => {
    expect(
      compileRule(
        "has(request.metadata.constructor) || 'toString' in request.metadata || has(request.extra.__proto__)",
      ).denies(facts({ metadata: { a: 1 } })),
    ).toBe(false);
  });

  test.each([
    'request.metadata.list.filter(x, x.matches("^b")).map(x, x).exists(x, x == "bc")',
    '(request.metadata.list.filter(x, x.matches("^b"))).exists(x, x == "bc")',
    '(request.metadata.list) // the words\n .map(x, x)\n.exists(x, x == "bc")',
  ])("methods work on values of any type, and macros in a row: %j", (text) => {
    expect(compileRule(text).denies(facts({ metadata: { list: ["a", "bc"] } }))).toBe(true);
  });

  test("[d3.1] macros run over the keys of a mapping as well", () => {
    expect(
      compileRule("request.messages.roles.exists(role, role == 'user' && request.messages.roles[role] == 1)").denies(
        facts(),
      ),
    ).toBe(true);
    expect(compileRule("request.metadata.exists(key, key == 'b')").denies(facts({ metadata: { a: 1 } }))).toBe(false);
    const many = Object.fromEntries(Array.from({ length: MAX_ITEMS + 1 }, (_, index) => [`k${index}`, 1]));
    expect(() => compileRule("request.metadata.exists(key, key == 'b')").denies(facts({ metadata: many }))).toThrow();
  });

  const zoned = (rule: string, now: string): boolean => compileRule(rule).denies({ ...facts(), now: new Date(now) });
  test("[d3.1] calendar functions use the zone's calendar, whatever the machine's, also where its clocks are put forward", () => {
    expect(
      zoned(
        'now.getHours("America/New_York") == 3 && now.getMinutes("America/New_York") == 30',
        "2026-03-08T07:30:00Z",
      ),
    ).toBe(true);
    expect(zoned('now.getHours("UTC") == 1 && now.getHours("Europe/Berlin") == 3', "2026-03-29T01:30:00Z")).toBe(true);
    expect(
      zoned(
        'now.getHours("Europe/Berlin") == 0 && now.getDate("Europe/Berlin") == 1 && now.getMonth("Europe/Berlin") == 0 && now.getFullYear("Europe/Berlin") == 2027 && now.getDayOfYear("Europe/Berlin") == 0 && now.getDayOfMonth("Europe/Berlin") == 0 && now.getDayOfWeek("Europe/Berlin") == 5',
        "2026-12-31T23:00:00Z",
      ),
    ).toBe(true);
    expect(
      zoned(
        "now.getSeconds('Asia/Kolkata') == 7 && now.getMilliseconds('Asia/Kolkata') == 8 && now.getMinutes('Asia/Kolkata') == 30",
        "2026-12-31T23:00:07.008Z",
      ),
    ).toBe(true);
  });

  test("[d3.1] many rules that use the calendar compute it once for a call", () => {
    const rules = Array.from({ length: 1000 }, (_, index) =>
      compileRule(`now.getHours("Europe/Berlin") == ${30 + index}`),
    );
    const computed = spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
    /** How often the calendar is computed while these rules judge a call of this hour. */
    const computedFor = (some: typeof rules, hour: number): number => {
      const before = computed.mock.calls.length;
      const call = { ...facts(), now: new Date(hour * 3_600_000) };
      for (const rule of some) rule.denies(call);
      return computed.mock.calls.length - before;
    };
    try {
      const byOne = computedFor(rules.slice(0, 1), 1);
      expect(byOne).toBeGreaterThan(0);
      expect(computedFor(rules, 2)).toBe(byOne);
    } finally {
      computed.mockRestore();
    }
  });

  test("[d3.1] a value of another kind than a macro or a function takes makes the rule fail", () => {
    const failing = ['a.exists(x, x == "a")', 'a.matches("a")', 'a.getHours("UTC") == 1'].map((text) =>
      compileRule(`request.metadata.${text}`),
    );
    const outcome = (rule: CompiledRule, a: Json): unknown => {
      try {
        return rule.denies(facts({ metadata: { a } }));
      } catch {
        return "fails";
      }
    };
    expect(failing.map((rule) => outcome(rule, 5))).toEqual(["fails", "fails", "fails"]);
    expect(failing.map((rule) => outcome(rule, null))).toEqual(["fails", "fails", "fails"]);
    expect(failing.map((rule) => outcome(rule, "a"))).toEqual(["fails", true, "fails"]);
    expect(failing.map((rule) => outcome(rule, ["a"]))).toEqual([true, "fails", "fails"]);
    expect(failing.map((rule) => outcome(rule, { a: 1 }))).toEqual([true, "fails", "fails"]);
    const overObjects = ["request", "request.messages", "now"].map((value) =>
      compileRule(`dyn(${value}).exists(x, x == "a")`),
    );
    expect(overObjects.map((rule) => outcome(rule, "a"))).toEqual(["fails", "fails", "fails"]);
    expect(outcome(compileRule('{"a": 1}.exists(x, x == "a")'), "a")).toBe(true);
  });
});

test("[d3.1] a pattern and a text that together would delay other calls are not matched: the rule fails, and so denies", () => {
  const slow = compileRule('request.metadata.note.matches("(?:a?){500}a{500}[bc]")');
  const outcome = (length: number): string => {
    try {
      return String(slow.denies(facts({ metadata: { note: "a".repeat(length) } })));
    } catch (thrown) {
      return (thrown as Error).message;
    }
  };
  expect(outcome(1000)).toBe("false");
  expect(outcome(16_000)).toContain("its patterns are too expensive for texts of this length");
  // what counts is one evaluation
  for (let time = 0; time < 50; time++) expect(outcome(1000)).toBe("false");
});
