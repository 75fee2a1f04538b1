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
    ["r", compileRoute("r", routeSchema.parse({ targets, retries: 0 }), [])],
  ]);
  return stubGateway({ permissions: ["debug"], snapshot: { routes } });
}

test("[d11.1] the record of a call that failed at several targets has the fate of its parameters at the last", async () => {
  const gateway = gatewayOf([CLAUDE, GEMINI]);
  await (await gateway.chat({ route: "r", messages: HELLO, temperature: 0.5, seed: 1, drop_params: true })).text();
  expect(gateway.records[0]!.attempts).toHaveLength(2);
  expect(gateway.records[0]!.dispositions).toEqual({ temperature: "mapped", seed: "mapped" });
});
