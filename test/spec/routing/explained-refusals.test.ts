// A call that no target of its route takes: its explanation ends as the call does, and its record says what was asked for.
import { expect, test } from "bun:test";
import { DIRECT_ROUTE, directRoute } from "../../../src/core/configured/route.ts";
import { compileRoute } from "../../../src/routing/compile-routes.ts";
import { routeSchema } from "../../../src/routing/settings.ts";
import { type Stub, stubGateway } from "../../harness/in-process.ts";
import { HELLO } from "../chat-calls.ts";

const CLAUDE = "anthropic:claude-haiku-4-5";
const GEMINI = "gemini:gemini-2.5-flash";

function gatewayOf(targets: readonly (string | object)[]): Stub {
  const routes = new Map([
    [DIRECT_ROUTE, directRoute({ name: "", providerId: "", model: "" })],
    ["r", compileRoute("r", routeSchema.parse({ targets, retries: 0 }), [], null)],
  ]);
  return stubGateway({ permissions: ["debug"], snapshot: { routes } });
}

test("[d9.4] [d16.1] an explanation of a call that no target takes ends with what the call ends with", async () => {
  const never = { when: 'request.operation == "messages"' };
  for (const [targets, code] of [
    [[CLAUDE, { model: GEMINI, ...never }], "unsupported_parameter"],
    [[{ model: GEMINI, ...never }, CLAUDE], "unsupported_parameter"],
    [
      [
        { model: CLAUDE, ...never },
        { model: GEMINI, ...never },
      ],
      "target_not_eligible",
    ],
  ] as const) {
    const gateway = gatewayOf(targets);
    const ended = async (headers: Record<string, string>): Promise<object> => {
      const response = await gateway.chat({ route: "r", messages: HELLO, logprobs: true }, { headers });
      const { error } = (await response.json()) as { readonly error: Record<string, unknown> };
      return { status: response.status, code: error["code"], param: error["param"], message: error["message"] };
    };
    const called = await ended({});
    expect(called).toMatchObject({ code });
    expect(await ended({ "x-gateway-explain": "true" })).toEqual(called);
    // the record says which of the two was no call
    expect(gateway.records.map(({ explained, code: recorded }) => [explained, recorded])).toEqual([
      [false, code],
      [true, code],
    ]);
  }
});

test("[d11.1] the record of a call that failed at several targets has the fate of its parameters at the last", async () => {
  const gateway = gatewayOf([CLAUDE, GEMINI]);
  await (await gateway.chat({ route: "r", messages: HELLO, temperature: 0.5, seed: 1, drop_params: true })).text();
  expect(gateway.records[0]!.attempts).toHaveLength(2);
  expect(gateway.records[0]!.dispositions).toEqual({ temperature: "mapped", seed: "mapped" });
});
