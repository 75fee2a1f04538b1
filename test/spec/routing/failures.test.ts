// Promise 7.3: which failures end a call, and which lead to another attempt, for requests and for routes. The rows are
// those of the table in docs/routes.md, and each is tested.
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CATALOGUE } from "../../../src/core/errors.ts";
import { DEFAULT_BREAKER } from "../../../src/core/configured/route.ts";
import { type Fault, status } from "../../harness/faults.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { limitedGateway, limitSet } from "../../harness/limited.ts";
import { type Routed, routedGateway, routeOf } from "../../harness/routed.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { HELLO } from "../chat-calls.ts";

const TOO_LONG = status(
  400,
  {},
  { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
);
const UNFIT = status(400, {}, { code: "content_filter", message: "The content was flagged." });
const OWN_KEY = { api_key: "of-the-caller" };

interface Row {
  /** As in the first column of the table. */
  readonly name: string;
  readonly faults: readonly Fault[];
  /** What the request has beside its conversation. */
  readonly fields?: object;
  readonly isRepeated: boolean;
  readonly takesFurtherTargets: boolean;
  readonly takesFallbacks: boolean;
  readonly countsAtBreaker: boolean;
}

const ROWS: readonly Row[] = [
  {
    name: "no connection, a cut, an answer that is not what the protocol says",
    faults: [{ kind: "refused" }, { kind: "cut", words: 0 }, { kind: "garbage" }],
    isRepeated: true,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: true,
  },
  {
    name: "nothing was generated",
    faults: [{ kind: "empty" }],
    isRepeated: true,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "408, 500, 502, 503, 504, 529",
    faults: [408, 500, 502, 503, 504, 529].map((code) => status(code)),
    isRepeated: true,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: true,
  },
  {
    name: "429 without a time",
    faults: [status(429)],
    isRepeated: true,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: true,
  },
  {
    name: "429 that says when to come back",
    faults: [status(429, { "retry-after-ms": "1" })],
    isRepeated: true,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "401, 402, 403 for the operator's credential",
    faults: [401, 402, 403].map((code) => status(code)),
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: true,
  },
  {
    name: "401, 402, 403 for the caller's credential",
    faults: [401, 402, 403].map((code) => status(code)),
    fields: { model: "up0:m", ...OWN_KEY },
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "404",
    faults: [status(404)],
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "a redirect",
    faults: [status(302)],
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: true,
  },
  {
    name: "the context length",
    faults: [TOO_LONG],
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "the content policy",
    faults: [UNFIT],
    isRepeated: false,
    takesFurtherTargets: false,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "any other 4xx",
    faults: [405, 409, 410, 451].map((code) => status(code)),
    isRepeated: false,
    takesFurtherTargets: true,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
  {
    name: "400, 413, 422",
    faults: [400, 413, 422].map((code) => status(code)),
    isRepeated: false,
    takesFurtherTargets: false,
    takesFallbacks: true,
    countsAtBreaker: false,
  },
];

async function asked(
  gateway: Routed,
  fields: object,
): Promise<{ readonly status: number; readonly code: string | null; readonly body: Record<string, any> }> {
  const response = await gateway.chat({ messages: HELLO, ...fields });
  const body = (await response.json()) as Record<string, any>;
  return { status: response.status, code: body["error"]?.code ?? null, body };
}

describe("each row", () => {
  for (const { name, faults, fields = {}, isRepeated, takesFurtherTargets, takesFallbacks, countsAtBreaker } of ROWS) {
    const without = ({ targets, status: code }: { readonly targets: readonly string[]; readonly status: number }) => ({
      targets,
      isAnswered: code === 200,
    });
    test.each(faults.map((fault) => [fault.kind === "status" ? String(fault.status) : fault.kind, fault] as const))(
      `[d7.1] [d7.3] ${name}: %s`,
      async (_, fault) => {
        // an answer in which nothing was generated is handed on where nothing better comes
        const isAnsweredAnyway = fault.kind === "empty";
        const repeated = routedGateway([routeOf("alone", ["up0:m"])], { up0: [fault] });
        const first = await asked(repeated, { route: "alone", ...fields, num_retries: 1 });
        expect(without({ targets: repeated.upstream.targets(), status: first.status })).toEqual({
          targets: isRepeated ? ["up0", "up0"] : ["up0"],
          isAnswered: isAnsweredAnyway,
        });

        const further = routedGateway([routeOf("r", ["up0:m", "up1:m"])], { up0: [fault] });
        const second = await asked(further, { route: "r", ...fields, num_retries: 0 });
        expect(without({ targets: further.upstream.targets(), status: second.status })).toEqual({
          targets: takesFurtherTargets ? ["up0", "up1"] : ["up0"],
          isAnswered: takesFurtherTargets,
        });

        // the same where the request names the target beside its route
        const beside = routedGateway([routeOf("r", ["up0:m", "up1:m"])], { up0: [fault] });
        await asked(beside, { route: "r", ...fields, model: "up0:m", num_retries: 0 });
        expect(beside.upstream.targets()).toEqual(takesFurtherTargets ? ["up0", "up1"] : ["up0"]);

        // the request's own, and those of its route
        for (const [routes, own] of [
          [[], { model: "up0:m", fallbacks: ["up2:m"] }],
          [[routeOf("r", ["up0:m"], { fallbacks: ["up2:m"] })], { route: "r" }],
        ] as const) {
          const falling = routedGateway(routes, { up0: [fault] });
          const third = await asked(falling, {
            ...own,
            ...("route" in own ? fields : { ...fields, model: "up0:m" }),
            num_retries: 0,
          });
          expect(without({ targets: falling.upstream.targets(), status: third.status })).toEqual({
            targets: takesFallbacks ? ["up0", "up2"] : ["up0"],
            isAnswered: takesFallbacks,
          });
        }

        const broken = routedGateway(
          [routeOf("b", ["up0:m"], { breaker: { ...DEFAULT_BREAKER, failures: 1, ratio: 0 }, onExhausted: "error" })],
          { up0: [fault] },
        );
        await asked(broken, { route: "b", ...fields, num_retries: 0 });
        expect(broken.context.routing.health.snapshot(performance.now()).some(({ state }) => state === "open")).toBe(
          countsAtBreaker,
        );
      },
    );
  }

  test("[d7.3] stands in the table of docs/routes.md as it is tested here", () => {
    const page = readFileSync(fileURLToPath(new URL("../../../docs/routes.md", import.meta.url)), "utf8");
    const told = (is: boolean): string => (is ? "yes" : "no");
    for (const row of ROWS)
      expect(page).toMatch(
        new RegExp(
          `^\\| ${row.name}[^|]* \\| ${told(row.isRepeated)}[^|]* \\| ${told(row.takesFurtherTargets)} \\| ${told(row.takesFallbacks)}[^|]* \\| ${told(row.countsAtBreaker)} \\|$`,
          "m",
        ),
      );
  });
});

describe("what the gateway itself refuses", () => {
  test("[d7.3] an invalid request ends there", async () => {
    const gateway = routedGateway([], {});
    expect(await asked(gateway, { model: "up0:m", temperature: 9, fallbacks: ["up1:m"] })).toMatchObject({
      status: 400,
      code: "invalid_request",
    });
    expect(gateway.sent).toEqual([]);
  });
  test("[d7.3] a policy of the whole call ends it; a policy of one target only skips that target", async () => {
    const policy = (rule: string) => ({ snapshot: { policies: policiesFor({ name: "the-rule", rule }) } });
    const whole = routedGateway([], {}, policy("request.parameters.temperature == 1.0"));
    expect(
      await asked(whole, { model: "up0:m", temperature: 1, fallbacks: [{ model: "up1:m", temperature: 0 }] }),
    ).toMatchObject({ status: 403, code: "policy_violation" });
    expect(whole.sent).toEqual([]);
    const single = routedGateway([], {}, policy("target.provider == 'up0'"));
    expect([
      (await asked(single, { model: "up0:m", fallbacks: ["up1:m"] })).body["model"],
      single.upstream.targets(),
    ]).toEqual(["up1:m", ["up1"]]);
  });
  test("[d7.3] a limit of the whole call refuses every target; a limit of one target only skips that target", async () => {
    const whole = limitedGateway({ limits: { all: { metric: "requests", window: "day", limit: 0 } } });
    expect(await asked(whole, { model: "up0:m", fallbacks: ["up1:m"] })).toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
    });
    expect(whole.sent).toEqual([]);
    const single = limitedGateway({
      limits: { some: { metric: "requests", window: "day", limit: 0, scope: { provider: "up0" } } },
    });
    expect([
      (await asked(single, { model: "up0:m", fallbacks: ["up1:m"] })).body["model"],
      single.upstream.targets(),
    ]).toEqual(["up1:m", ["up1"]]);
  });
});

describe("a request that a target's wire form cannot express", () => {
  const PDF = { type: "document", source: { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ=" } };
  const CALL = { messages: [{ role: "user", content: [{ type: "text", text: "Read." }, PDF] }], max_tokens: 9 };
  const claude = {
    model: "claude-haiku-4-5",
    id: "msg_1",
    role: "assistant",
    stop_reason: "end_turn",
    content: [{ type: "text", text: "Read it." }],
    usage: { input_tokens: 9, output_tokens: 3 },
  };
  const gateway = (options: StubOptions = {}) =>
    stubGateway({
      upstream: cannedUpstream({ body: JSON.stringify(claude) }),
      ...options,
      snapshot: options.snapshot ?? {
        routes: new Map([["docs", routeOf("docs", ["ollama:llama3.2", "anthropic:claude-haiku-4-5"])]]),
      },
    });

  test("[d3.4] [d7.3] skips that target, whichever part of the call it is in, and counts at no breaker", async () => {
    for (const fields of [
      { route: "docs" },
      { route: "docs", n: 2, drop_params: true },
      { model: "ollama:llama3.2", fallbacks: ["anthropic:claude-haiku-4-5"] },
      { model: "ollama:llama3.2", fallbacks: ["cohere:command-r", "anthropic:claude-haiku-4-5"] },
    ]) {
      const stub = gateway();
      const response = await stub.chat({ ...CALL, ...fields });
      const body = (await response.json()) as any;
      expect([fields, response.status, body.model]).toEqual([fields, 200, "anthropic:claude-haiku-4-5"]);
      expect(stub.records[0]!.attempts.every(({ provider }) => provider === "anthropic")).toBe(true);
    }
  });

  test("[d3.4] [d6.9] because of more addresses than the gateway fetches is served by a target that takes addresses", async () => {
    const image = (_: unknown, index: number) => ({ type: "image_url", image_url: { url: `https://a.test/${index}` } });
    const stub = gateway();
    const messages = [{ role: "user", content: Array.from({ length: 17 }, image) }];
    const response = await stub.chat({ ...CALL, messages, route: "docs" });
    expect([response.status, stub.sent.length, stub.records[0]!.provider]).toEqual([200, 1, "anthropic"]);
  });

  test("[d3.4] [d9.4] is skipped in an explanation, as in the call", async () => {
    const stub = gateway({ permissions: ["debug"] });
    const explained = async (fields: object) => {
      const response = await stub.chat({ ...CALL, ...fields }, { headers: { "x-gateway-explain": "true" } });
      return { status: response.status, body: (await response.json()) as any };
    };
    const { status: answered, body } = await explained({ route: "docs" });
    expect(answered).toBe(200);
    expect(body.targets.map((one: any) => [one.target, one.passed_over?.code ?? null])).toEqual([
      ["ollama:llama3.2", "unsupported_content_block"],
      ["anthropic:claude-haiku-4-5", null],
    ]);
    expect((await explained({ model: "ollama:llama3.2" })).body.error.code).toBe("unsupported_content_block");
  });

  test("[d4.2] consumes no limit", async () => {
    const stub = gateway({
      snapshot: {
        limitRules: limitSet({ limits: { once: { metric: "requests", window: "day", limit: 1 } } }),
        routes: new Map([["docs", routeOf("docs", ["ollama:llama3.2", "anthropic:claude-haiku-4-5"])]]),
      },
    });
    const statuses: number[] = [];
    for (const fields of [{ model: "ollama:llama3.2" }, { route: "docs" }, { route: "docs" }])
      statuses.push((await stub.chat({ ...CALL, ...fields })).status);
    expect(statuses).toEqual([400, 200, 429]);
    expect(stub.records.map(({ limits }) => limits[0]!.settled)).toEqual([0, 1, 0]);
  });

  test("[d3.4] is answered with that error where no target is left", async () => {
    const stub = gateway();
    const response = await stub.chat({ ...CALL, model: "ollama:llama3.2", fallbacks: ["cohere:command-r"] });
    const { error } = (await response.json()) as any;
    expect([response.status, error.code, error.param, stub.sent.length]).toEqual([
      400,
      "unsupported_content_block",
      "messages[0].content[1]",
      0,
    ]);
  });
});

describe("when everything has failed", () => {
  test("[d7.3] the client receives the first failure that repeating cannot cure, else the last", async () => {
    const cases = [
      [[status(400), status(500), status(503)], "upstream_invalid_request"],
      [[status(500), status(422), TOO_LONG], "upstream_invalid_request"],
      [[status(500), status(404), status(503)], "model_not_found"],
      [[status(500), status(503), status(429)], "rate_limit_exceeded"],
      [[{ kind: "refused" }, status(500), status(503)], "upstream_overloaded"],
    ] as const;
    for (const [[a, b, c], code] of cases) {
      const gateway = routedGateway([], { up0: [a], up1: [b], up2: [c] });
      const got = await asked(gateway, { model: "up0:m", num_retries: 0, fallbacks: ["up1:m", "up2:m"] });
      expect([got.code, got.status, gateway.upstream.targets()]).toEqual([
        code,
        CATALOGUE[code].status,
        ["up0", "up1", "up2"],
      ]);
      expect(got.body["error"].metadata.attempts).toHaveLength(3);
    }
  });
  test("[d7.3] an error in the request itself reaches three targets, and counts at none of their breakers", async () => {
    const strict = { breaker: { ...DEFAULT_BREAKER, failures: 1, ratio: 0 } };
    for (const fault of [status(400), status(413), UNFIT, TOO_LONG]) {
      const gateway = routedGateway(
        [
          routeOf("r", ["up0:m"], {
            ...strict,
            fallbacks: ["up1:m", "up2:m", "up3:m", "up0:other"],
            contentPolicyFallbacks: ["up3:free", "up3:freer"],
          }),
        ],
        { up0: [fault], up1: [fault], up2: [fault], up3: [fault] },
      );
      const got = await asked(gateway, { route: "r", num_retries: 2 });
      expect([got.status, gateway.upstream.served.length]).toEqual([400, 3]);
      for (const { state } of gateway.context.routing.health.snapshot(performance.now())) expect(state).toBe("closed");
    }
  });
  test("[d7.2] the end of the call's own time is reported as such, whatever failed before", async () => {
    const gateway = routedGateway([], { up0: [status(400)], up1: [{ kind: "stall" }] });
    expect(await asked(gateway, { model: "up0:m", timeout: 0.05, fallbacks: ["up1:m"] })).toMatchObject({
      status: 504,
      code: "upstream_timeout",
    });
  });
});
