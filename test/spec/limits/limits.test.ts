// Promises 4.1 to 4.4 and 4.6 for limits, through the whole gateway: what is admitted, the content of a refusal, the
// headers, and that nothing stays reserved on whichever path a call ends.
import { describe, expect, test } from "bun:test";
import type { Hedge } from "../../../src/core/configured/route.ts";
import { OK, status, type Fault } from "../../harness/faults.ts";
import { ask, expectNothingOpen, limitedGateway } from "../../harness/limited.ts";
import { routeOf } from "../../harness/routed.ts";

const MINUTE = { metric: "requests", window: "minute" } as const;

describe.each([
  ["plain", {}],
  ["streamed", { stream: true }],
] as const)("simultaneous calls, %s", (_, how) => {
  test.each([
    ["requests of the project", { ...MINUTE, limit: 10 }],
    ["requests of one token", { ...MINUTE, limit: 10, scope: { token: "*" } }],
    ["requests of an end user", { ...MINUTE, limit: 10, scope: { user: "*" } }],
    ["requests of a route", { ...MINUTE, limit: 10, scope: { route: "direct" } }],
    ["requests to a provider", { ...MINUTE, limit: 10, scope: { provider: "up0" } }],
    ["requests to models", { ...MINUTE, limit: 10, scope: { model: "up0:*" } }],
    ["requests to a model with a slash after its provider", { ...MINUTE, limit: 10, scope: { model: "up0/m" } }],
    ["calls at the same time", { metric: "concurrency", limit: 10 }],
    ["calls at the same time to a model", { metric: "concurrency", limit: 10, scope: { model: "up0:m" } }],
    ["tokens, 16 a call", { metric: "tokens", window: "day", limit: 169 }],
  ])("[d4.1 d4.2] of two hundred calls against room for ten %s, ten are admitted", async (_name, limit) => {
    const gateway = limitedGateway({ limits: { one: limit } }, [], { up0: [{ kind: "ok", delayMs: 30 }] });
    const heard = await Promise.all(
      Array.from({ length: 200 }, () => ask(gateway, { ...how, user: "ann", max_tokens: 10 })),
    );
    expect([
      heard.filter((one) => one.status === 200).length,
      heard.filter((one) => one.status === 429).length,
      gateway.sent.length,
    ]).toEqual([10, 190, 10]);
    expectNothingOpen(gateway);
  });

  test("[d4.2] concurrency is free as soon as the call has ended", async () => {
    const gateway = limitedGateway({ limits: { one: { metric: "concurrency", limit: 1 } } });
    for (let index = 0; index < 5; index++) expect((await ask(gateway, how)).status).toBe(200);
  });
});

test("[d4.1] all rules that apply have to pass, and a refusal by one consumes nothing of the others", async () => {
  const gateway = limitedGateway({
    limits: { wide: { ...MINUTE, limit: 5 }, ann: { ...MINUTE, limit: 1, scope: { user: "ann" } } },
    tenantWide: ["wide"],
  });
  const statuses = [];
  for (const user of ["ann", "ann", "ann", "bob", "bob", "bob", "bob", "bob"])
    statuses.push((await ask(gateway, { user })).status);
  expect(statuses).toEqual([200, 429, 429, 200, 200, 200, 200, 429]);
});

test("[d4.1] a scope says which end users it is for, however long their names are", async () => {
  const [own, other] = ["team-a-".padEnd(300, "x"), "team-a-".padEnd(300, "y")];
  const admittedBy = async (user: string, names: readonly string[]): Promise<readonly number[]> => {
    const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, scope: { user } } } });
    const statuses = [];
    for (const name of names) statuses.push((await ask(gateway, { user: name })).status);
    return statuses;
  };
  expect(await admittedBy(own, [own, own, other])).toEqual([200, 429, 200]);
  expect(await admittedBy("team-a-*", [own, other, "team-a-1", "team-b-1"])).toEqual([200, 429, 429, 200]);
  expect(await admittedBy("*", [own, own, other, other])).toEqual([200, 429, 200, 429]);
});

test("[d4.1] `safety_identifier` names the end user where `user` does not, and an entry of `fallbacks` cannot name another", async () => {
  const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, scope: { user: "*" } } } }, [], {
    up0: [status(500)],
  });
  expect((await ask(gateway, { safety_identifier: "ann", fallbacks: [{ model: "up1:m", user: "bob" }] })).status).toBe(
    200,
  );
  expect((await ask(gateway, { user: "ann" })).status).toBe(429);
  expect((await ask(gateway, { user: "bob", model: "up1:m" })).status).toBe(200);
});

test("[d4.1 d11.1] an empty name of an end user is none: `safety_identifier` names it then, or nothing does", async () => {
  const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, scope: { user: "*" } } } });
  for (const fields of [{ user: "" }, { user: "", safety_identifier: "" }, { user: "", safety_identifier: "ann" }])
    for (let call = 0; call < 2; call++) await ask(gateway, fields);
  expect(gateway.records.map((record) => [record.status, record.endUser])).toEqual([
    [200, null],
    [200, null],
    [200, null],
    [200, null],
    [200, "ann"],
    [429, "ann"],
  ]);
});

test("[d4.1 d11.1] an end user with a long name is recorded under the name by which limits count it, and none with the same beginning", async () => {
  const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, scope: { user: "*" } } } });
  const [ann, bob] = ["ann", "bob"].map((name) => `${"x".repeat(300)} ${name}`);
  for (const user of [ann, bob]) expect((await ask(gateway, { user })).status).toBe(200);
  const [first, second] = gateway.records;
  expect([first, second].map((record) => record!.limits[0]!.value)).toEqual([first!.endUser!, second!.endUser!]);
  expect(first!.endUser).not.toBe(second!.endUser);
  const long = "y".repeat(256);
  expect((await ask(gateway, { user: long })).status).toBe(200);
  expect(gateway.records[2]!.endUser).toBe(long);
});

describe("a refusal by a limit", () => {
  test("[d4.3 s:errors.429-too-many-requests] names the limit, what is left, and when there is room for this very call", async () => {
    const gateway = limitedGateway({
      limits: { per_user: { metric: "tokens", window: "minute", limit: 100, scope: { user: "*" } } },
    });
    expect((await ask(gateway, { user: "ann", max_tokens: 60 })).status).toBe(200);
    const { status: code, headers, body } = await ask(gateway, { user: "ann", max_tokens: 90 });
    expect([code, body.error.code, body.error.type, body.error.param]).toEqual([
      429,
      "rate_limit_exceeded",
      "rate_limit_error",
      null,
    ]);
    const { resets_at, ...metadata } = body.error.metadata;
    expect(metadata).toEqual({
      limit: "per_user",
      scope: { project: "default", user: "ann" },
      window: "minute",
      unit: "tokens",
      limit_value: 100,
      remaining: 92,
    });
    expect(Date.parse(resets_at)).toBeGreaterThan(1_767_225_600_000);
    const [seconds, ms] = [Number(headers.get("retry-after")), Number(headers.get("retry-after-ms"))];
    expect([ms > 59_000, ms <= 61_000, seconds === Math.ceil(ms / 1000), headers.get("x-should-retry")]).toEqual([
      true,
      true,
      true,
      null,
    ]);
    expect(body.error.message).toBe(
      `The rate limit "per_user" of 100 tokens per minute is reached; try again in ${seconds} s.`,
    );
    expect(body.error.message).not.toMatch(/bill|quota|credit|balance|pay/i);
    expect((await ask(gateway, { user: "ann", max_tokens: 80 })).status).toBe(200);
  });

  test("[d4.3] a call above the whole limit never fits: exceeds_limit, no retry-after, x-should-retry: false", async () => {
    const gateway = limitedGateway({ limits: { small: { metric: "tokens", window: "hour", limit: 100 } } });
    const { status: code, headers, body } = await ask(gateway, { max_tokens: 500 });
    expect([
      code,
      body.error.code,
      body.error.metadata.reason,
      headers.get("retry-after"),
      headers.get("retry-after-ms"),
      headers.get("x-should-retry"),
    ]).toEqual([429, "rate_limit_exceeded", "exceeds_limit", null, null, "false"]);
  });

  test("[d4.3] of concurrent calls gives an estimated wait, for the end of a call is not known", async () => {
    const gateway = limitedGateway({ limits: { one: { metric: "concurrency", limit: 1 } } }, [], {
      up0: [{ kind: "ok", delayMs: 50 }],
    });
    const [, second] = await Promise.all([ask(gateway), ask(gateway)]);
    expect(second.body.error.message).toBe(
      'The rate limit "one" of 1 call at the same time is reached; try again in 1 s.',
    );
    expect([
      second.status,
      second.headers.get("retry-after"),
      second.body.error.metadata.window,
      second.body.error.metadata.limit_value,
    ]).toEqual([429, "1", null, 1]);
  });

  test("[d4.3] [d9.9] consumes nothing, names no provider that served, and is not the target's failure: nothing is sent, repeated or counted against it", async () => {
    const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1 } } });
    await ask(gateway);
    for (let index = 0; index < 20; index++)
      expect((await ask(gateway, { num_retries: 5 })).body.error.metadata.attempts).toBeUndefined();
    expect([
      gateway.sent.length,
      gateway.context.routing.health.snapshot(performance.now()).map(({ state }) => state),
    ]).toEqual([1, ["closed"]]);
    expect(gateway.records.at(-1)!).toMatchObject({
      status: 429,
      code: "rate_limit_exceeded",
      attempts: [],
      provider: null,
      model: null,
      limits: [{ id: "id_one", before: 1, reserved: 0, settled: 0, after: 1 }],
    });
  });
});

describe("the headers of remaining limits", () => {
  const names = ["limit", "remaining", "reset"].flatMap((what) =>
    ["requests", "tokens"].map((unit) => `x-ratelimit-${what}-${unit}`),
  );
  const told = (headers: Headers): Readonly<Record<string, string>> =>
    Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name)!]] : [])));

  test.each([
    ["plain, once it is settled", {}, "992"],
    ["streamed, as it is reserved", { stream: true }, "984"],
  ] as const)("[d4.4] show the tightest limit that applied, %s", async (_, how, tokens) => {
    const gateway = limitedGateway({
      limits: {
        wide: { ...MINUTE, limit: 100 },
        tight: { metric: "requests", window: "hour", limit: 5 },
        tokens: { metric: "tokens", window: "day", limit: 1_000 },
      },
    });
    expect(told((await ask(gateway, { ...how, max_tokens: 10 })).headers)).toEqual({
      "x-ratelimit-limit-requests": "5",
      "x-ratelimit-remaining-requests": "4",
      "x-ratelimit-reset-requests": expect.stringMatching(/^1h(0m|1m)\d+s$/),
      "x-ratelimit-limit-tokens": "1000",
      "x-ratelimit-remaining-tokens": tokens,
      "x-ratelimit-reset-tokens": expect.stringMatching(/^24h\d+m\d+s$/),
    });
  });
  test("[d4.4] show the limit that is tightest once the call is settled", async () => {
    const gateway = limitedGateway({
      limits: {
        assumes: { metric: "tokens", window: "day", limit: 5_000 },
        small: { metric: "tokens", window: "hour", limit: 1_500, assume_output_tokens: 10 },
      },
    });
    // while it runs the first has 898 left and the second 1,484
    expect(told((await ask(gateway)).headers)).toMatchObject({
      "x-ratelimit-limit-tokens": "1500",
      "x-ratelimit-remaining-tokens": "1492",
    });
  });
  test("[d4.4] are sent on refusals and on failures of the provider as well", async () => {
    const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1 } } }, [], { up0: [status(500)] });
    const [failed, refused] = [await ask(gateway), await ask(gateway)];
    expect([
      failed.status,
      told(failed.headers)["x-ratelimit-remaining-requests"],
      refused.status,
      told(refused.headers)["x-ratelimit-remaining-requests"],
    ]).toEqual([502, "0", 429, "0"]);
    expect(told(refused.headers)["x-ratelimit-reset-requests"]).toMatch(/^(1m[01]s|59s)$/);
  });
  test("[d4.4] are absent where no limit applied, or only one in audit mode", async () => {
    expect(
      told((await ask(limitedGateway({ limits: { other: { ...MINUTE, limit: 1, scope: { user: "bob" } } } }))).headers),
    ).toEqual({});
    expect(
      told((await ask(limitedGateway({ limits: { audit: { ...MINUTE, limit: 1, mode: "audit" } } }))).headers),
    ).toEqual({});
  });
  test("[d4.4 d9.7] may be read by web pages of allowed origins", async () => {
    const gateway = limitedGateway(
      { limits: { one: { ...MINUTE, limit: 1 } } },
      [],
      {},
      { snapshot: { corsOrigins: ["https://a.example"] } },
    );
    const response = await gateway.chat(
      { model: "up0:m", messages: [{ role: "user", content: "Hello" }] },
      { headers: { origin: "https://a.example" } },
    );
    const exposed = response.headers.get("access-control-expose-headers")!.split(", ");
    for (const name of names) expect(exposed).toContain(name);
  });
});

describe("what is settled", () => {
  const TOKENS = { metric: "tokens", window: "day", limit: 100_000 } as const;
  const cases: readonly (readonly [string, readonly Fault[], object, number])[] = [
    ["a whole answer: its usage", [OK], {}, 8],
    ["a stream: its usage", [OK], { stream: true }, 8],
    ["a failure: nothing", [status(500)], {}, 0],
    ["a stream that failed before its content: nothing", [status(500)], { stream: true }, 0],
    ["a connection that was refused: nothing", [{ kind: "refused" }], {}, 0],
    ["a stream that broke off: what was seen", [{ kind: "cut", words: 2 }], { stream: true }, 6 + 3],
    ["an error in mid-stream: what was seen", [{ kind: "error_event", words: 2 }], { stream: true }, 6 + 3],
    [
      "a provider that falls silent: what was seen",
      [{ kind: "falls_silent", words: 2 }],
      { stream: true, timeout: 0.1 },
      6 + 3,
    ],
    ["a timeout of what had reached the provider: its prompt", [{ kind: "stall" }], { timeout: 0.05 }, 6],
    ["a timeout before there was a connection: nothing", [{ kind: "no_connection" }], { timeout: 0.05 }, 0],
    ["a plain answer that broke off: its prompt", [{ kind: "cut", words: 0 }], {}, 6],
    ["a failure and a repeat that answered: both", [status(500), OK], { num_retries: 1 }, 8],
    ["a failure and a fallback that answered", [status(500)], { fallbacks: ["up1:m"] }, 8],
    ["an empty answer, then one with content: both", [{ kind: "empty" }, OK], { num_retries: 1 }, 5 + 8],
  ];
  test.each(cases)("[d4.2] %s", async (_, script, fields, settled) => {
    const gateway = limitedGateway(
      { limits: { tokens: TOKENS, calls: { ...MINUTE, limit: 10 }, places: { metric: "concurrency", limit: 1 } } },
      [],
      { up0: script },
    );
    await ask(gateway, { max_tokens: 100, ...fields });
    expect(
      gateway.records.at(-1)!.limits.map(({ unit, reserved, settled: real, after }) => [unit, reserved, real, after]),
    ).toEqual([
      ["tokens", script[0]!.kind === "empty" ? 111 : 106, settled, settled],
      ["requests", 1, 1, 1],
      ["concurrency", 1, 0, 0],
    ]);
    expectNothingOpen(gateway);
    const standing = await gateway.context.limits.status(
      gateway.context
        .snapshot()
        .limitRules.forCaller("default", "default", gateway.records[0]!.tokenId!)!
        .accountsAt({ route: "direct", provider: "up0", model: "up0:m" }, null)[0]!,
    );
    expect(standing.used).toBe(settled);
  });

  test.each([
    ["plain", {}],
    ["streamed", { stream: true }],
  ] as const)(
    "[d4.2 d7.7] a client that leaves is charged what was received, and no reservation stays open (%s)",
    async (_, how) => {
      const gateway = limitedGateway({ limits: { tokens: TOKENS, places: { metric: "concurrency", limit: 1 } } }, [], {
        up0: [{ kind: "ok", words: 10, gapMs: 30 }, OK],
      });
      const leaving = new AbortController();
      const response = gateway.chat(
        { model: "up0:m", max_tokens: 100, messages: [{ role: "user", content: "Hello" }], ...how },
        { signal: leaving.signal },
      );
      if ("stream" in how) {
        const reader = (await response).body!.getReader();
        await reader.read();
        leaving.abort();
        await reader.cancel();
      } else {
        setTimeout(() => leaving.abort(), 20);
        await response;
      }
      expectNothingOpen(gateway);
      // a plain answer that has begun is read to its end, which says what it used
      expect(gateway.records.at(-1)!.limits[0]!.settled).toBe("stream" in how ? 8 : 15);
      expect((await ask(gateway)).status).toBe(200);
    },
  );

  test("[d4.2] usage beyond the reservation is charged, and counts against the next call", async () => {
    const gateway = limitedGateway({ limits: { tokens: { metric: "tokens", window: "hour", limit: 30 } } }, [], {
      up0: [{ kind: "ok", words: 40 }],
    });
    expect((await ask(gateway, { max_tokens: 10 })).status).toBe(200);
    expect(gateway.records[0]!.limits[0]).toMatchObject({ reserved: 16, settled: 45, after: 45 });
    expect((await ask(gateway, { max_tokens: 1 })).status).toBe(429);
  });

  test("[d4.2] where the second of two attempts wins, what the first has used by then is charged, and no reservation is left", async () => {
    const hedge: Hedge = { after: 20, maxExtra: 1 };
    const gateway = limitedGateway(
      { limits: { tokens: TOKENS, per_model: { ...MINUTE, limit: 10, scope: { model: "*" } } } },
      [routeOf("r", ["up0:m", "up1:m"], { hedge })],
      { up0: [{ kind: "ok", delayMs: 500 }] },
    );
    expect((await ask(gateway, { model: undefined, route: "r", max_tokens: 100 })).headers.get("x-gateway-model")).toBe(
      "up1:m",
    );
    expectNothingOpen(gateway);
    expect(
      gateway.records[0]!.limits.map(({ id, value, reserved, settled }) => [id, value, reserved, settled]),
    ).toEqual([
      ["id_tokens", "", 212, 6 + 8],
      ["id_per_model", "up0:m", 1, 1],
      ["id_per_model", "up1:m", 1, 1],
    ]);
  });
});

describe("what is reserved", () => {
  const reservedOf = async (limit: object, fields: object): Promise<number> => {
    const gateway = limitedGateway({
      limits: { one: { metric: "tokens", window: "day", limit: 1_000_000, ...limit } },
    });
    await ask(gateway, fields);
    return gateway.records[0]!.limits[0]!.reserved;
  };
  test.each([
    ["the prompt and the bound that the request names", {}, { max_completion_tokens: 100 }, 106],
    ["its older name", {}, { max_tokens: 100 }, 106],
    ["without one, what the limit assumes", {}, {}, 6 + 4_096],
    ["what this limit assumes", { assume_output_tokens: 500 }, {}, 506],
    ["the model's own bound where that is smaller", {}, { model: "up0:small" }, 56],
    ["all of it for each choice", {}, { n: 3, max_tokens: 100 }, 318],
  ])("[d4.2] %s", async (_, limit, fields, reserved) => {
    expect(await reservedOf(limit, fields)).toBe(reserved);
  });

  test("[d4.2] each attempt reserves what it needs beyond what is reserved already", async () => {
    const gateway = limitedGateway({ limits: { one: { metric: "tokens", window: "day", limit: 200 } } }, [], {
      up0: [{ kind: "empty" }],
      up1: [OK],
    });
    // 106 at first; the first used 5, so that the second needs 5 more
    expect((await ask(gateway, { max_tokens: 100, fallbacks: ["up1:m"], num_retries: 0 })).status).toBe(200);
    expect(gateway.records[0]!.limits).toMatchObject([{ reserved: 111, settled: 13 }]);
  });

  test("[d4.2] a larger fallback without room is not attempted, and the failure before it is the answer", async () => {
    const gateway = limitedGateway({ limits: { one: { metric: "tokens", window: "day", limit: 200 } } }, [], {
      up0: [status(500)],
    });
    expect((await ask(gateway, { max_tokens: 100, fallbacks: [{ model: "up1:m", max_tokens: 500 }] })).status).toBe(
      502,
    );
    expect([gateway.sent.length, gateway.records[0]!.limits.at(-1)]).toMatchObject([1, { reserved: 0 }]);
    expectNothingOpen(gateway);
  });
});

describe("targets without room", () => {
  const ROUTE = [routeOf("r", ["up0:m", "up1:m"])];
  const call = { model: undefined, route: "r" };
  test("[d3.4 d4.2] are skipped; when none is left, the last refusal is the answer", async () => {
    const gateway = limitedGateway(
      {
        limits: {
          a: { ...MINUTE, limit: 1, scope: { provider: "up0" } },
          b: { ...MINUTE, limit: 2, scope: { provider: "up1" } },
        },
      },
      ROUTE,
    );
    const heard = [];
    for (let index = 0; index < 4; index++) heard.push(await ask(gateway, call));
    expect(heard.map(({ status: code, headers }) => headers.get("x-gateway-model") ?? code)).toEqual([
      "up0:m",
      "up1:m",
      "up1:m",
      429,
    ]);
    expect(heard[3]!.body.error.metadata).toMatchObject({ limit: "b", scope: { project: "default", provider: "up1" } });
    expectNothingOpen(gateway);
  });
  test("[d3.4] a limit of a fallback's route applies to calls that reach that route", async () => {
    const gateway = limitedGateway(
      { limits: { a: { ...MINUTE, limit: 1, scope: { route: "second" } } } },
      [routeOf("r", ["up0:m"], { fallbacks: ["route:second"] }), routeOf("second", ["up1:m"])],
      { up0: [status(500)] },
    );
    expect([(await ask(gateway, call)).status, (await ask(gateway, call)).status, gateway.upstream.targets()]).toEqual([
      200,
      502,
      ["up0", "up1", "up0"],
    ]);
  });
  test("each attempt counts where a limit names the provider, and the call once where it does not", async () => {
    const gateway = limitedGateway(
      { limits: { there: { ...MINUTE, limit: 10, scope: { provider: "up0" } }, all: { ...MINUTE, limit: 10 } } },
      [],
      { up0: [status(500), status(500), OK] },
    );
    expect((await ask(gateway, { num_retries: 2 })).status).toBe(200);
    const settledOf = (of: string): number =>
      gateway.records[0]!.limits.reduce((sum, { id, settled }) => sum + (id === of ? settled! : 0), 0);
    expect([settledOf("id_there"), settledOf("id_all")]).toEqual([3, 1]);
  });
  test("a full queue after the reservation releases the whole reservation", async () => {
    const gateway = limitedGateway(
      {
        limits: { one: { ...MINUTE, limit: 10 }, places: { metric: "concurrency", limit: 10, scope: { model: "*" } } },
      },
      [routeOf("r", [{ name: "up0:m", maxConcurrency: 1 }], { queue: { max: 0, timeoutMs: 10 } })],
      { up0: [{ kind: "ok", delayMs: 30 }] },
    );
    expect(
      (await Promise.all([ask(gateway, call), ask(gateway, call)]))
        .map(({ status: code }) => code)
        .toSorted((a, b) => a - b),
    ).toEqual([200, 503]);
    expectNothingOpen(gateway);
    expect(gateway.records.find(({ status: code }) => code === 503)!.limits.map(({ settled }) => settled)).toEqual([
      0, 0,
    ]);
  });
});

test("[d4.6] audit mode refuses nothing and says what it would have refused", async () => {
  const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1, mode: "audit" } } });
  expect([(await ask(gateway)).status, (await ask(gateway)).status]).toEqual([200, 200]);
  expect(gateway.records.map(({ limits }) => limits)).toMatchObject([
    [{ before: 0, after: 1, wouldRefuse: false }],
    [{ before: 1, after: 2, settled: 1, wouldRefuse: true }],
  ]);
});

test("[d11.1] the record has the bound of each limit, of those that passed and of the one that refused", async () => {
  const gateway = limitedGateway({ limits: { one: { ...MINUTE, limit: 1 }, two: { ...MINUTE, limit: 20 } } });
  expect([(await ask(gateway)).status, (await ask(gateway)).status]).toEqual([200, 429]);
  const bounds = gateway.records.map(({ limits }) =>
    limits.map(({ limit }) => Number(limit)).toSorted((a, b) => a - b),
  );
  expect(bounds).toEqual([[1, 20], [1]]);
});

test("[d9.4] an explanation lists the limits that apply to the call, and consumes nothing of them", async () => {
  const gateway = limitedGateway(
    {
      limits: {
        calls: { ...MINUTE, limit: 5 },
        tokens: { metric: "tokens", window: "day", limit: 100, scope: { user: "*" } },
      },
      budgets: { money: { usd: "1", window: "month" } },
    },
    [],
    {},
    { permissions: ["debug"] },
  );
  const explain = async () =>
    (await (
      await gateway.chat(
        { model: "up0:m", user: "ann", max_tokens: 100, messages: [{ role: "user", content: "Hello" }] },
        { headers: { "x-gateway-explain": "true" } },
      )
    ).json()) as Record<string, any>;
  await explain();
  expect((await explain())["limits"]).toMatchObject([
    { id: "id_calls", kind: "limit", limit: "calls", limit_value: 5, remaining: 5, reserves: 1, fits: true },
    { id: "id_money", kind: "budget", unit: "usd", limit_value: "1", remaining: "1", reserves: "0.000206", fits: true },
    { id: "id_tokens", scope: { user: "ann" }, reserves: 106, fits: false },
  ]);
  expectNothingOpen(gateway);
});
