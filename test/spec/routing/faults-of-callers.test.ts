// Promises 7.5 and 6.9 together: what a caller can bring about by what it asks for says nothing about the target to others,
// such as content that cannot be fetched, or an answer that is larger than the gateway accepts.
import { describe, expect, test } from "bun:test";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import { targetStandings } from "../../../src/engine/plan/open-routing.ts";
import { pause } from "../../../src/core/concurrency/timeout.ts";
import { type Fault, faultyUpstream, OK, status as withStatus } from "../../harness/faults.ts";
import { cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { routeOf, type RouteParts } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

/** A public address, which is not looked up. */
const SLOW_PICTURE = "http://93.184.216.34/slow.png";
const UNKNOWN_PICTURE = "http://nowhere.invalid/picture.png";
const BREAKER = { failures: 1, ratio: 0.1, windowMs: 60_000, openMs: 60_000 };

/** A route to a provider that takes pictures as bytes alone. */
function gatewayWith(
  parts: RouteParts = {},
  answers: readonly Fault[] = [OK],
  limits: StubOptions["limits"] = {},
  keys = ["key"],
) {
  const provider = faultyUpstream({ scripts: { local: answers } });
  const gateway = stubGateway({
    limits,
    upstream: {
      async send(request, call) {
        if (request.url === SLOW_PICTURE) await pause(60_000, call.signal);
        return await provider.send(request, call);
      },
    },
    providers: [
      providerSettings({
        id: "local",
        family: "hyperbolic",
        credentials: keys.map(storedKey),
        baseUrl: "https://local.test/v1",
      }),
    ],
    snapshot: {
      routes: new Map([
        [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])],
        ["r", routeOf("r", ["local:m"], { breaker: BREAKER, onExhausted: "error", ...parts })],
      ]),
    },
  });
  return {
    states: () => targetStandings(gateway.context.routing, performance.now()).map(({ state }) => state),
    provider,
    ask: async (content: unknown, fields: object = {}): Promise<{ readonly status: number; readonly text: string }> => {
      const answered = await gateway.chat({ route: "r", messages: [{ role: "user", content }], ...fields });
      return { status: answered.status, text: await answered.text() };
    },
  };
}

const withPicture = (url: string) => [
  { type: "text", text: "What is this?" },
  { type: "image_url", image_url: { url } },
];

describe("content that does not arrive", () => {
  test("[d7.5] before the time of the call is over counts at no breaker", async () => {
    const { ask, states, provider } = gatewayWith({ timeouts: { totalMs: 300 } });
    expect((await ask(withPicture(SLOW_PICTURE))).status).toBe(504);
    expect(provider.served).toEqual([]);
    expect(states()).toEqual(["closed"]);
    expect((await ask("Hello")).status).toBe(200);
  });

  test("[d6.9] because its host is unknown is refused, is not tried again and counts at no breaker", async () => {
    const { ask, states, provider } = gatewayWith();
    const { status, text } = await ask(withPicture(UNKNOWN_PICTURE), { num_retries: 2 });
    const { code, param } = JSON.parse(text).error;
    expect([status, code, param]).toEqual([400, "content_unavailable", "messages[0].content[1].image_url.url"]);
    expect(provider.served).toEqual([]);
    expect(states()).toEqual(["closed"]);
    expect((await ask("Hello")).status).toBe(200);
  });

  test("[d7.5] closes no breaker either, whose probe another call sends", async () => {
    const { ask, states, provider } = gatewayWith({ breaker: { ...BREAKER, openMs: 1 } }, [withStatus(500)]);
    expect((await ask("Hello")).status).toBe(502);
    await Bun.sleep(5);
    expect((await ask(withPicture(UNKNOWN_PICTURE))).status).toBe(400);
    expect([provider.served.length, states()]).toEqual([1, ["half_open"]]);
  });
});

test.each([
  ["max_answer_bytes", { maxAnswerBytes: 1024 }, {}],
  ["max_event_bytes", { maxEventBytes: 1024 }, { stream: true }],
])("[d7.5] an answer beyond %s counts at no breaker", async (_, limits, fields) => {
  const large: Fault = { kind: "status", status: 200, body: `data: ${"x".repeat(4096)}` };
  const { ask, states, provider } = gatewayWith({}, [large, OK], limits);
  expect((await ask("Tell me everything.", fields)).status).toBe(502);
  expect([provider.served.length, states()]).toEqual([1, ["closed"]]);
});

test("[d7.5] a request that is larger than the provider's limit of a minute asks nobody else to wait", async () => {
  const message =
    "Request too large for m in organization o on tokens per min (TPM): Limit 30000, Requested 36278. The input or output tokens must be reduced in order to run successfully.";
  const refused = withStatus(429, { "retry-after": "60" }, { message, type: "tokens", code: "rate_limit_exceeded" });
  const { ask, states, provider } = gatewayWith({}, [refused, OK]);
  const { status: answered, text } = await ask("A long story.", { num_retries: 0 });
  expect([answered, JSON.parse(text).error.code]).toEqual([429, "rate_limit_exceeded"]);
  expect([provider.served.length, states()]).toEqual([1, ["closed"]]);
  expect((await ask("Hello")).status).toBe(200);
});

test("[d7.5] nor does it ask the keys of the others to wait", async () => {
  const message = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 36278.";
  const refused = withStatus(429, { "retry-after": "60" }, { message, type: "tokens", code: "rate_limit_exceeded" });
  const { ask, provider } = gatewayWith({}, [refused, refused, OK], {}, ["one", "two"]);
  expect((await ask("A long story.", { num_retries: 0 })).status).toBe(429);
  expect([(await ask("Hello")).status, (await ask("Hello")).status]).toEqual([200, 200]);
  const keys = provider.served.slice(2).map(({ request }) => request.headers["authorization"]);
  expect(new Set(keys).size).toBe(2);
});

test("[d7.5] a file at the vendor that the account may not read counts at no breaker", async () => {
  const error = { code: 403, message: "The account has no access to the object.", status: "PERMISSION_DENIED" };
  const breaker = { routes: new Map([[DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [], { breaker: BREAKER })]]) };
  const ask = async (permissions: StubOptions["permissions"], content: unknown) => {
    const upstream = cannedUpstream({ status: 403, body: JSON.stringify({ error }) });
    const gateway = stubGateway({ upstream, permissions: permissions!, snapshot: breaker });
    const answered = await gateway.chat({ model: "gemini:gemini-2.5-flash", messages: [{ role: "user", content }] });
    await answered.text();
    const states = targetStandings(gateway.context.routing, performance.now()).map(({ state }) => state);
    return [answered.status, gateway.sent.length, ...states];
  };
  expect(await ask([], withPicture("gs://of-others/a.png"))).toEqual([502, 1, "closed"]);
  const cached = withPicture("https://generativelanguage.googleapis.com/v1beta/files/of-others");
  expect(await ask(["vendor_objects"], cached)).toEqual([502, 1, "closed"]);
  expect(await ask([], "Hello")).toEqual([502, 1, "open"]);
});
