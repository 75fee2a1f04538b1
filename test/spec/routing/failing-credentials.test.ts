// Promises 7.5 and 11.1 where no token can be obtained for a credential of the gateway: the target cannot be called, which
// its breaker and the record have to know as well as of a request that did not arrive.
import { describe, expect, test } from "bun:test";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import { cannedUpstream, type CannedAnswer, type Stub, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { type RouteParts, routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { until } from "../../harness/time/until.ts";
import { entraClient } from "../../credentials/lending.ts";
import { HELLO } from "../chat-calls.ts";
import { CLOUDS, OWN_ADDRESS } from "../made-up-cloud.ts";

const TOKENS = "https://tokens.example/entra";
const DOWN: CannedAnswer = { status: 503, body: "down" };
const REFUSED: CannedAnswer = { status: 401, body: JSON.stringify({ error: "invalid_client" }) };

/** `cloud:m` with an application of Entra, and `other:m` with a key. The route has no retries. */
function gatewayOf(
  token: () => CannedAnswer | Promise<CannedAnswer>,
  parts: RouteParts = { fallbacks: ["other:m"] },
): Stub {
  const models = cannedUpstream({ body: JSON.stringify(openaiAnswer()) });
  return stubGateway({
    upstream: {
      async send(request, call) {
        return await (request.url === TOKENS ? cannedUpstream(await token()) : models).send(request, call);
      },
    },
    families: CLOUDS,
    providers: [
      providerSettings({
        id: "cloud",
        baseUrl: OWN_ADDRESS,
        credentials: [entraClient(TOKENS)],
        settings: { region: "west" },
      }),
      providerSettings({
        id: "other",
        family: "cloud",
        baseUrl: "https://other.example/v1",
        credentials: [storedKey("key")],
      }),
    ],
    snapshot: {
      routes: new Map([
        [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])],
        [
          "r",
          routeOf("r", ["cloud:m"], {
            breaker: { failures: 3, ratio: 0.1, windowMs: 60_000, openMs: 60_000 },
            ...parts,
          }),
        ],
      ]),
    },
  });
}

async function asked(gateway: Stub, fields: object = {}) {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...fields });
  const { headers, status } = response;
  return { status, model: headers.get("x-gateway-model"), attempts: headers.get("x-gateway-attempts"), response };
}

const attemptsOf = ({ records }: Stub): readonly unknown[] =>
  records.map(({ attempts }) => attempts.map(({ provider, code, status }) => [provider, code, status]));
const FAILED = ["cloud", "upstream_authentication", null];
const ANSWERED = ["other", null, 200];

describe("a credential for which no token can be obtained", () => {
  test.each([
    ["because the token service is down", DOWN],
    ["because it refuses the credential", REFUSED],
  ])("[d7.5 d11.1] %s is an attempt of the call, and opens the breaker of its target", async (_, token) => {
    const gateway = gatewayOf(() => token);
    for (let call = 0; call < 3; call++)
      expect(await asked(gateway)).toMatchObject({ status: 200, model: "other:m", attempts: "2" });
    const before = gateway.sent.length;
    expect(await asked(gateway)).toMatchObject({ status: 200, model: "other:m", attempts: "1" });
    expect(gateway.sent.slice(before).map(({ url }) => new URL(url).host)).toEqual(["other.example"]);
    const both = [FAILED, ANSWERED];
    expect(attemptsOf(gateway)).toEqual([both, both, both, [ANSWERED]]);
    expect(gateway.records[0]!.attempts[0]).toMatchObject({ usage: null, headMs: null, fromCache: false });
  });

  test("[d7.6 d11.1] and no other target, is told with its attempt, and charges nothing", async () => {
    const gateway = gatewayOf(() => DOWN, {});
    const { response } = await asked(gateway);
    expect([response.status, ((await response.json()) as { error: unknown }).error]).toMatchObject([
      502,
      {
        code: "upstream_authentication",
        metadata: { attempts: [{ provider: "cloud", model: "m", code: "upstream_authentication" }] },
      },
    ]);
    expect(gateway.records[0]).toMatchObject({ provider: "cloud", model: "m", usage: null });
    expect(gateway.records[0]!.cost?.nanoUsd ?? 0).toBe(0);
  });

  test("[d7.5] probes the target once its breaker is half-open, and closes it when there is a token again", async () => {
    let token = DOWN;
    const gateway = gatewayOf(() => token, {
      fallbacks: ["other:m"],
      breaker: { failures: 1, ratio: 0.1, windowMs: 60_000, openMs: 1 },
    });
    expect((await asked(gateway)).attempts).toBe("2");
    token = { body: JSON.stringify({ access_token: "token-0123456789", expires_in: 3600 }) };
    await until(async () => (await asked(gateway)).model === "cloud:m", "the target is called again");
    expect(await asked(gateway)).toMatchObject({ model: "cloud:m", attempts: "1" });
  });

  test("[d7.9] says nothing about its target when the client leaves while it is exchanged", async () => {
    const held = Promise.withResolvers<void>();
    const asking = Promise.withResolvers<void>();
    const gateway = gatewayOf(async () => {
      asking.resolve();
      await held.promise;
      return DOWN;
    });
    const leaving = new AbortController();
    const call = gateway.chat({ route: "r", messages: HELLO }, { signal: leaving.signal });
    await asking.promise;
    leaving.abort();
    await Promise.resolve(call).catch(() => null);
    await until(() => gateway.records.length === 1, "the call is recorded");
    expect(gateway.records[0]).toMatchObject({ code: "client_closed", attempts: [] });
    held.resolve();
  });
});
