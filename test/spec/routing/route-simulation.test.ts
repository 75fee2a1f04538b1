// A route is simulated on its recorded calls: where each of them would go now and with a change, what targets refuse and
// why, what it would cost, how long it would take, and what happens while targets fail. Both databases.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { attemptOf, type CallParts, rowOf } from "../../contract/store/call-records.ts";
import { type AdminWorld, openAdminWorld, type Told } from "../../harness/admin.ts";
import { allDatabases } from "../../harness/servers/databases.ts";

const START = Date.UTC(2026, 5, 15, 12);
const CALLS = 40;
/** Every fifth call asks for log probabilities, which Anthropic's models do not have. */
const WITH_LOGPROBS = CALLS / 5;
const TOO_LONG = 2;

/** It answered the calls whose prompts are too long for the route's present target. */
const LONG = "gpt-4.1";

function call(index: number, parts: CallParts = {}): ReturnType<typeof rowOf> {
  const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 };
  return rowOf({
    startedAtMs: START + index * 60_000,
    route: "chat",
    provider: "openai",
    model: "gpt-4o",
    modelAsked: "chat",
    stream: true,
    tokens: [index < TOO_LONG ? 150_000 : 1000, 100],
    costNanoUsd: 3_500_000,
    dispositions: { temperature: "native", ...(index % 5 === 4 && { logprobs: "native" }) },
    attempts: [
      attemptOf({ provider: "openai", model: "gpt-4o", startMs: 0, firstContentMs: 100, totalMs: 300 + index, usage }),
    ],
    totalMs: 300 + index,
    ...parts,
  });
}

const kinds = await allDatabases();
afterAll(async () => void (await Promise.all(kinds.map((kind) => kind.dispose()))));

for (const kind of kinds)
  describe.skipIf(kind.isMissing)(`in ${kind.name}`, () => {
    let world: AdminWorld;
    const ask = (
      body: unknown,
      as = "acme.admin",
      path = "/api/v1/admin/tenants/acme/routes/chat/simulate",
    ): Promise<Told> => world.send(as, "POST", path, body);
    const TO_CLAUDE = { targets: ["anthropic:claude-haiku-4-5", "openai:gpt-4o"] };

    beforeAll(async () => {
      world = await openAdminWorld({ kind, variables: { OPENAI_API_KEY: "k", ANTHROPIC_API_KEY: "k" } });
      await world.store.change(LOCAL_ACTOR, async (writer) => {
        const route = { kind: "route", tenantId: "acme", name: "chat" } as const;
        await writer.createResource({
          ...route,
          projectId: null,
          document: { targets: ["openai:gpt-4o"], retries: 0 },
        });
        await writer.createResource({ ...route, projectId: "app", document: { targets: ["sandbox:echo"] } });
      });
      await world.source.reload();
      await world.calls.ingest([
        ...Array.from({ length: CALLS }, (_, index) =>
          call(
            index,
            index < TOO_LONG
              ? { model: LONG, attempts: [attemptOf({ provider: "openai", model: LONG, startMs: 0, totalMs: 900 })] }
              : {},
          ),
        ),
        call(50, { projectId: "app" }),
        call(51, { attempts: [], code: "rate_limit_exceeded", status: 429 }),
        call(52, { operation: "messages.count_tokens" }),
        call(53, { route: "other" }),
        call(54, { tenantId: "beta", projectId: "lab" }),
        // what is known of Claude's times comes from calls of other routes
        ...Array.from({ length: 12 }, (_, index) =>
          call(60 + index, {
            route: "other",
            provider: "anthropic",
            model: "claude-haiku-4-5",
            attempts: [
              attemptOf({
                provider: "anthropic",
                model: "claude-haiku-4-5",
                startMs: 0,
                firstContentMs: 40,
                totalMs: 90,
              }),
            ],
          }),
        ),
      ]);
    });
    afterAll(() => world.close());

    test("the route as it is gives what really happened, and says which calls were left out and why", async () => {
      const { status, body } = await ask({});
      expect(status).toBe(200);
      expect(body).toMatchObject({
        route: "chat",
        calls: CALLS,
        from: new Date(START).toISOString(),
        recorded: {
          targets: [
            { target: "openai:gpt-4o", calls: CALLS - TOO_LONG },
            { target: `openai:${LONG}`, calls: TOO_LONG },
          ],
          failed: 0,
        },
        now: {
          answered: CALLS - TOO_LONG,
          failed: TOO_LONG,
          failures: [{ code: "context_length_exceeded", calls: TOO_LONG }],
          first_content_ms: { p50: 100, p95: 100 },
        },
        proposed: null,
        difference: null,
      });
      expect(body.now.targets).toEqual([
        {
          target: "openai:gpt-4o",
          calls: CALLS - TOO_LONG,
          share: 1,
          refused: 0,
          too_long: TOO_LONG,
          cost_usd: body.now.cost_usd,
          unpriced: 0,
          recorded_answers: CALLS - TOO_LONG,
        },
      ]);
      // 2.50 USD and 10 USD for a million tokens
      expect(Number(body.now.cost_usd)).toBeCloseTo((CALLS - TOO_LONG) * (0.0025 + 0.001), 9);
      expect(body.left_out).toEqual([
        { reason: "Calls of the operation messages.count_tokens cannot be simulated.", calls: 1 },
        { reason: "The call ended before a target was attempted.", calls: 1 },
        { reason: "The project has a route of its own with this name.", calls: 1 },
      ]);
    });

    test("a change is compared with the route as it is: who moves, who is refused and why, the cost, the times", async () => {
      const { status, body } = await ask({ route: TO_CLAUDE });
      expect(status).toBe(200);
      const moved = CALLS - WITH_LOGPROBS;
      expect(body.proposed.targets).toMatchObject([
        { target: "anthropic:claude-haiku-4-5", calls: moved, refused: WITH_LOGPROBS, recorded_answers: 12 },
        { target: "openai:gpt-4o", calls: WITH_LOGPROBS },
      ]);
      expect(body.proposed.refusals).toMatchObject([
        {
          target: "anthropic:claude-haiku-4-5",
          code: "unsupported_parameter",
          param: "logprobs",
          calls: WITH_LOGPROBS,
        },
      ]);
      expect(body.proposed.first_content_ms.p50).toBe(40);
      expect(body.difference).toMatchObject({ moved_calls: moved, newly_failed: 0, newly_answered: TOO_LONG });
      expect(body.difference.moves).toMatchObject([
        { from: "openai:gpt-4o", to: "anthropic:claude-haiku-4-5", calls: moved - TOO_LONG },
        { from: null, to: "anthropic:claude-haiku-4-5", calls: TOO_LONG },
      ]);
      // 1 USD and 5 USD for a million tokens, instead of 2.50 and 10
      expect(Number(body.difference.cost_usd)).toBeCloseTo(-(moved - TOO_LONG) * 0.002, 9);
      expect(body.difference.sentences).toContain(
        `${(moved / CALLS) * 100} % of the calls change their target (${moved} of ${CALLS}).`,
      );
      expect(body.difference.sentences.join("\n")).toContain(
        `${WITH_LOGPROBS} calls: anthropic:claude-haiku-4-5 refuses them.`,
      );
      expect(body.difference.moves[0].trace_ids[0]).toMatch(/^[0-9a-f]{32}$/);
    });

    test("[d16.1] calls on which a condition reads what records do not keep are counted", async () => {
      const openai = "openai:gpt-4o";
      const byAddress = {
        targets: [{ model: "anthropic:claude-haiku-4-5", when: 'client.ip == "192.0.2.1"' }, openai],
      };
      const { body } = await ask({ route: byAddress });
      expect([body.now.unjudged, body.proposed.unjudged]).toEqual([0, CALLS]);
      expect(body.proposed.targets.map(({ target, calls }: any) => [target, calls])).toContainEqual([
        openai,
        CALLS - TOO_LONG,
      ]);
      const byStream = { targets: [{ model: "anthropic:claude-haiku-4-5", when: "!request.stream" }, openai] };
      expect((await ask({ route: byStream })).body.proposed.unjudged).toBe(0);
    });

    test("[d16.1] a parameter that a target adds to its calls is not asked of another target", async () => {
      const PLACE = "/api/v1/admin/tenants/acme/routes";
      const asked = { model: "openai/gpt-4o", logprobs: true };
      const others = ["openai:gpt-4.1"];
      for (const [name, tuned] of Object.entries({
        tuned: { targets: [{ model: "openai:gpt-4o", params: { logprobs: true } }] },
        fallen: { targets: others, fallbacks: [asked] },
        refused: { targets: others, content_policy_fallbacks: [asked] },
      })) {
        expect((await world.send("acme.admin", "POST", PLACE, { name, ...tuned, retries: 0 })).status).toBe(201);
        await world.calls.ingest([call(0, { route: name, dispositions: { logprobs: "native" } })]);
        const path = `${PLACE}/${name}/simulate`;
        const { body } = await ask({ route: { targets: ["anthropic:claude-haiku-4-5"] } }, "acme.admin", path);
        expect(body.proposed).toMatchObject({ answered: 1, failed: 0, refusals: [] });
        expect((await world.send("acme.admin", "DELETE", `${PLACE}/${name}`)).status).toBe(204);
      }
    });

    test("a target that refuses what calls ask for fails them where nothing else is left", async () => {
      const { body } = await ask({ route: { targets: ["anthropic:claude-haiku-4-5"] } });
      expect(body.proposed).toMatchObject({
        answered: CALLS - WITH_LOGPROBS,
        failures: [{ code: "unsupported_parameter", calls: WITH_LOGPROBS }],
        refusals: [{ target: "anthropic:claude-haiku-4-5", param: "logprobs", calls: WITH_LOGPROBS }],
      });
      expect(body.difference.newly_failed).toBe(WITH_LOGPROBS);
    });

    test("limits, budgets and policies that would refuse calls at the targets that answer them are named", async () => {
      const place = "/api/v1/admin/tenants/acme";
      const made = async (path: string, document: object): Promise<void> => {
        const { status, text } = await world.send("acme.admin", "POST", `${place}/${path}`, document);
        expect([status, text]).toEqual([201, text]);
      };
      // a call each minute
      await made("limits", {
        name: "few",
        metric: "requests",
        window: "hour",
        limit: 10,
        scope: { provider: "anthropic" },
      });
      await made("limits", { name: "tried", metric: "requests", window: "hour", limit: 1, mode: "audit" });
      await made("budgets", { name: "purse", usd: "0.05", window: "day", scope: { route: "chat" } });
      await made("policies", { name: "no-claude", rule: `target.provider == "anthropic" && request.stream` });
      await made("policies", { name: "reads", rule: `request.parameters.temperature > 1.0` });
      const { body } = await ask({ route: TO_CLAUDE });
      const named = (outcome: { readonly rules: readonly any[] }) =>
        Object.fromEntries(outcome.rules.map(({ name, calls, unknown }) => [name, [calls, unknown]]));
      const now = named(body.now);
      const then = named(body.proposed);
      expect([now["few"], now["no-claude"], now["tried"]]).toEqual([undefined, undefined, undefined]);
      expect(now["reads"]).toEqual([0, body.now.answered]);
      const claude = body.proposed.targets.find(({ target }: any) => target === TO_CLAUDE.targets[0]).calls;
      // the budget refuses the long prompts, so that the limit does not count them
      expect(then["few"]).toEqual([claude - TOO_LONG - 10, 0]);
      expect(then["no-claude"]).toEqual([claude, 0]);
      // 0.0035 USD each
      expect(now["purse"]).toEqual([body.now.answered - 14, 0]);
      const few = body.proposed.rules.find(({ name }: any) => name === "few");
      expect([few.kind, few.trace_ids.length]).toEqual(["limit", 5]);
      for (const [path, names] of [
        ["limits", ["few", "tried"]],
        ["budgets", ["purse"]],
        ["policies", ["no-claude", "reads"]],
      ] as const)
        for (const { id, name } of (await world.send("acme.admin", "GET", `${place}/${path}`)).body.data)
          if ((names as readonly string[]).includes(name))
            await world.send("acme.admin", "DELETE", `${place}/${path}/${id}`);
    });

    test("outages are switches: a dead target moves its calls, one that fails for a share of calls moves those", async () => {
      const dead = await ask({ route: TO_CLAUDE, faults: [{ target: "anthropic:*", kind: "dead" }] });
      expect(dead.body.proposed.targets).toMatchObject([
        { target: "anthropic:claude-haiku-4-5", calls: 0 },
        { target: "openai:gpt-4o", calls: CALLS - TOO_LONG },
      ]);
      const half = await ask({
        route: { ...TO_CLAUDE, retries: 0, breaker: { failures: 10_000 } },
        faults: [{ target: "anthropic:*", kind: "status", status: 529, share: 0.5 }],
      });
      const answered = half.body.proposed.targets[0].calls as number;
      expect(answered).toBeGreaterThan((CALLS - WITH_LOGPROBS) * 0.2);
      expect(answered).toBeLessThan((CALLS - WITH_LOGPROBS) * 0.8);
      const slow = await ask({ faults: [{ target: "openai:gpt-4o", kind: "slow", added_ms: 5000 }] });
      expect(slow.body.now.first_content_ms.p50).toBe(5100);
    });

    test.each(["acme.admin", "default.owner"])(
      "[d16.1] the document that is published is simulated as the route that is published (%s)",
      async (as) => {
        // a silence that is not unusual opens a breaker unless a tenant's own limit has ended it
        const document = {
          targets: ["anthropic:claude-haiku-4-5", "openai:gpt-4o"],
          retries: 0,
          timeouts: { first_byte_ms: 30 },
          breaker: { failures: 1, ratio: 0.01, window_ms: 3_600_000, open_ms: 3_600_000 },
          on_exhausted: "error",
        };
        const name = `hurried-by-${as.replace(".", "-")}`;
        const routes = "/api/v1/admin/tenants/acme/routes";
        expect((await world.send(as, "POST", routes, { name, ...document })).status).toBe(201);
        const parts = { route: name, dispositions: { temperature: "native" } } as const;
        await world.calls.ingest(Array.from({ length: 6 }, (_, index) => call(100 + index, parts)));
        const { body } = await ask({ route: document }, as, `${routes}/${name}/simulate`);
        expect(body.calls).toBe(6);
        expect(body.proposed).toEqual(body.now);
        expect(body.now.attempts).toBe(as === "default.owner" ? 2 : 12);
      },
    );

    test("a project sees its own calls only, and a reader of another tenant sees nothing", async () => {
      const path = "/api/v1/admin/projects/app/routes/chat/simulate";
      expect((await ask({}, "acme.admin", path)).body).toMatchObject({
        calls: 1,
        now: { targets: [{ target: "sandbox:echo", calls: 1 }] },
      });
      expect((await ask({}, "beta.owner")).status).toBe(404);
      expect((await ask({}, "site-only.viewer", path)).status).toBe(404);
    });

    test("[d5.1] bad input is refused with its path: an unknown route, a target that does not exist, half a fault", async () => {
      expect((await ask({}, "acme.admin", "/api/v1/admin/tenants/acme/routes/none/simulate")).status).toBe(404);
      expect((await ask({ route: { targets: ["nobody:x"] } })).body.error).toMatchObject({
        code: "invalid_request",
        param: "route.targets[0]",
      });
      expect((await ask({ route: { targets: [] } })).body.error.param).toBe("route.targets");
      expect((await ask({ faults: [{ target: "a:b", kind: "status" }] })).body.error.param).toBe("faults[0].status");
      expect((await ask({ calls: 1001 })).body.error.param).toBe("calls");
      expect((await ask({}, "acme.admin", "/api/v1/admin/tenants/acme/routes/chat/simulate?dry_run=true")).status).toBe(
        400,
      );
    });

    test("a route that is not there yet has no calls, and nothing is stored or noted by any of it", async () => {
      const path = "/api/v1/admin/tenants/acme/routes/fresh/simulate";
      const before = await world.store.revision();
      const { body } = await ask({ route: { targets: ["sandbox:echo"] } }, "acme.admin", path);
      expect(body).toMatchObject({ calls: 0, from: null, now: null, proposed: { answered: 0 }, difference: null });
      expect(await world.store.revision()).toBe(before);
      expect((await world.send("acme.admin", "GET", "/api/v1/admin/tenants/acme/routes/fresh")).status).toBe(404);
    });
  });
