// Rules, limits and explanations that tell operations apart: what holds for one does not touch another, and the refusal
// has the form of the operation that was called.
import { expect, test } from "bun:test";
import { handleCall } from "../../src/engine/handle.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { PolicySet } from "../../src/core/configured/policy.ts";
import { OPERATIONS } from "../../src/operations/operations.ts";
import { compilePolicies } from "../../src/policies/compile-policies.ts";
import { policiesSection } from "../../src/policies/policy-settings.ts";
import { type Stub, stubGateway } from "../harness/in-process.ts";
import { limitSet } from "../harness/limited.ts";
import { REQUESTS } from "./hostile-bodies.ts";

const SERVED = [...OPERATIONS].filter(([, { name }]) =>
  ["chat.completions", "responses", "messages", "embeddings", "completions"].includes(name),
);

async function called(gateway: Stub, path: string, headers: Record<string, string> = {}): Promise<Response> {
  const operation = OPERATIONS.get(path)!;
  return handleCall(
    operation,
    new Request(`http://gateway.test${path}`, {
      method: "POST",
      headers: { authorization: gateway.authorization, "content-type": "application/json", ...headers },
      body: JSON.stringify(REQUESTS[operation.name]),
    }),
    gateway.context,
  );
}

/** A policy that denies calls by a rule, with the message "Not these." */
function forbidding(rule: string): PolicySet {
  const document = policiesSection.parse({ none: { rule, message: "Not these." } });
  return compilePolicies([
    {
      id: "none",
      name: "none",
      tenantId: null,
      projectId: null,
      origin: "file",
      setBy: null,
      version: 0,
      document: document["none"]!,
    },
  ]);
}

test("[d12.2 d3.1] a rule forbids one operation and leaves the others alone", async () => {
  const policies = forbidding('request.operation == "messages"');
  const gateway = stubGateway({ snapshot: { policies } });
  for (const [path, { name }] of SERVED) {
    const response = await called(gateway, path);
    expect([name, response.status]).toEqual([name, name === "messages" ? 403 : 200]);
    const text = await response.text();
    if (name === "messages")
      expect(JSON.parse(text)).toMatchObject({
        type: "error",
        error: { message: expect.stringContaining("Not these.") },
      });
  }
});

test("[d12.2 d4.1] a limit of one operation is used up by its calls alone", async () => {
  const limitRules = limitSet({
    limits: { vectors: { metric: "requests", window: "day", limit: 1, scope: { operation: "embeddings" } } },
  });
  const gateway = stubGateway({ snapshot: { limitRules } });
  const statuses = async (path: string) => {
    const response = await called(gateway, path);
    await response.text();
    return response.status;
  };
  for (const [path, { name }] of SERVED)
    expect([name, await statuses(path), await statuses(path)]).toEqual([name, 200, name === "embeddings" ? 429 : 200]);
  expect(gateway.records.at(-1)!.limits).toEqual([]);
});

test("[d12.2 d9.4] an explanation of any operation names it, and nothing is sent", async () => {
  const gateway = stubGateway({ permissions: ["debug", "byo_endpoint"] });
  for (const [path, { name }] of SERVED) {
    const response = await called(gateway, path, { "x-gateway-explain": "true" });
    const told = (await response.json()) as Record<string, unknown>;
    expect([name, response.status, told["object"], told["operation"]]).toEqual([
      name,
      200,
      "gateway.explanation",
      name,
    ]);
  }
  expect(gateway.sent).toEqual([]);
});

test("[d12.6] what token, policy and limit refuse is told in the form of each operation, with code and trace id in its head", async () => {
  const limitRules = limitSet({ limits: { none: { metric: "requests", window: "day", limit: 1 } } });
  for (const [path, { name, errors }] of OPERATIONS) {
    const limited = stubGateway({ snapshot: { limitRules } });
    await (await called(limited, path)).text();
    for (const [code, status, response] of [
      ["invalid_token", 401, await called(stubGateway(), path, { authorization: "Bearer none" })],
      ["policy_violation", 403, await called(stubGateway({ snapshot: { policies: forbidding("true") } }), path)],
      ["rate_limit_exceeded", 429, await called(limited, path)],
    ] as const) {
      // what has no count of tokens of its own says so first
      if (name === "messages.count_tokens" || name === "responses.input_tokens") continue;
      expect([name, code, response.status]).toEqual([name, code, status]);
      const traceId = response.headers.get("x-gateway-trace-id")!;
      const sent = (await response.json()) as object;
      const example = errors.body(new GatewayError(code, "x", {}), traceId);
      expect([name, Object.keys(sent).toSorted()]).toEqual([name, Object.keys(example).toSorted()]);
      expect([name, response.headers.get("x-gateway-error-code")]).toEqual([name, code]);
    }
  }
});
