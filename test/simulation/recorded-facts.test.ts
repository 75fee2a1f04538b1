// What simulations say of recorded calls is what becomes of the calls themselves: random calls are made, and their records
// are judged by the same policies, and played on another route that the same calls are sent to.
import { expect, test } from "bun:test";
import type { CallRecord } from "../../src/core/record/record.ts";
import { DIRECT_ROUTE, directRoute, type Route } from "../../src/core/configured/route.ts";
import type { Operation } from "../../src/engine/operation.ts";
import { CHAT_COMPLETIONS } from "../../src/operations/chat/chat-completions.ts";
import { EMBEDDINGS } from "../../src/operations/embeddings/embeddings.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { compileRoute } from "../../src/routing/compile-routes.ts";
import { routeSchema } from "../../src/routing/settings.ts";
import { chanceOf } from "../../src/simulation/chance.ts";
import { observedTimes } from "../../src/simulation/observed-times.ts";
import { policyVerdicts } from "../../src/simulation/policy-replay.ts";
import { replay } from "../../src/simulation/replay.ts";
import { type RecordedToken, recordedCall } from "../../src/store/search/recorded-calls.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { openaiAnswer } from "../harness/servers/upstream.ts";
import { policiesFor } from "../policies/policy-documents.ts";

/** The provider does not say what was used, so that the record has the gateway's own estimate. */
const upstream = cannedUpstream({ body: JSON.stringify({ ...openaiAnswer("Hello"), usage: undefined }) });
const TOKEN: RecordedToken = { kind: "project", role: null, permissions: ["byo_endpoint"] };
const TARGETS = ["openai:gpt-4o", "anthropic:claude-haiku-4-5", "groq:llama", "cohere:command-r", "sandbox:echo"];
const FUNCTION = { name: "f", parameters: { type: "object", properties: {} } };
const PARAMETERS: Readonly<Record<string, unknown>> = {
  temperature: 0.3,
  top_p: 0.4,
  n: 2,
  stop: ["x"],
  max_tokens: 20,
  seed: 3,
  user: "ann",
  safety_identifier: "ann",
  response_format: { type: "json_object" },
  logprobs: true,
  service_tier: "auto",
  stream: true,
  metadata: { team: "a" },
};

interface Drawn {
  readonly operation: Operation;
  readonly body: object;
}

interface Draw {
  readonly pick: <T>(list: readonly T[]) => T;
  readonly isSo: (share: number) => boolean;
}

function draw(seed: number): Draw {
  const random = chanceOf(seed * 977);
  return { pick: (list) => list[Math.floor(random() * list.length)]!, isSo: (share) => random() < share };
}

function someOf(names: readonly string[], { isSo }: Draw): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (isSo(0.2) ? [[name, PARAMETERS[name]] as const] : [])));
}

/** `usual` are parameters with the values that mean the same as not sending them. */
function drawnCall(model: string, one: Draw, usual: object = {}): Drawn {
  const { pick, isSo } = one;
  const messages = (systems: readonly string[]) => [
    ...(systems.length > 0 && isSo(0.3) ? [{ role: pick(systems), content: "Be kind." }] : []),
    ...(isSo(0.3)
      ? [
          { role: "user", content: "One." },
          { role: "assistant", content: "Two." },
        ]
      : []),
    { role: "user", content: "word ".repeat(pick([2, 2, 9000])) },
  ];
  const tools = isSo(0.3);
  switch (pick(["chat", "chat", "chat", "responses", "messages", "embeddings"])) {
    case "responses":
      return {
        operation: RESPONSES,
        body: {
          model,
          input: messages(["system"]),
          ...(tools && { tools: [{ type: "function", ...FUNCTION }] }),
          ...someOf(["temperature", "user", "stream", "metadata"], one),
        },
      };
    case "messages":
      return {
        operation: MESSAGES,
        body: {
          model,
          max_tokens: 10,
          messages: messages([]),
          ...(tools && { tools: [{ name: "f", input_schema: FUNCTION.parameters }] }),
          ...(isSo(0.3) && { metadata: { user_id: "ann" } }),
          ...someOf(["temperature", "stream"], one),
        },
      };
    case "embeddings":
      return { operation: EMBEDDINGS, body: { model, input: "Hello", ...someOf(["user"], one) } };
    default:
      return {
        operation: CHAT_COMPLETIONS,
        body: {
          model,
          messages: messages(["system", "developer"]),
          ...(tools && pick([{ functions: [FUNCTION] }, { tools: [{ type: "function", function: FUNCTION }] }])),
          ...(isSo(0.2) && usual),
          ...someOf(Object.keys(PARAMETERS), one),
        },
      };
  }
}

async function made({ operation, body }: Drawn, options: StubOptions): Promise<readonly [CallRecord, Stub]> {
  const stub = stubGateway({ upstream, ...options });
  await (await stub.call(operation, body)).text();
  return [stub.records[0]!, stub];
}

const RULES = (
  "temperature n stop max_tokens max_completion_tokens tools tool_choice seed store user safety_identifier " +
  "response_format parallel_tool_calls logprobs service_tier stream"
)
  .split(" ")
  .flatMap((name) => [`has(request.parameters.${name})`, `!has(request.parameters.${name})`]);
const CONDITIONS = [
  "request.stream",
  'request.operation == "messages"',
  "request.messages.prompt_tokens > 8000",
  "request.messages.count > 1",
  "request.messages.characters > 100",
  'request.messages.roles["system"] > 0',
  "has(request.parameters.tools)",
  "has(request.parameters.max_completion_tokens)",
  "size(request.tools) > 0",
  'has(request.metadata.team) && request.metadata.team == "a"',
  'has(request.parameters.user) && request.parameters.user == "ann"',
  'request.route == ""',
  'request.model == "r"',
  "size(request.extra) > 0",
  'token.kind == "project" && token.role == "developer" && token.user == ""',
  '"byo_endpoint" in token.permissions',
];

test("[d3.1] what a policy is said to decide about a recorded call is what it decides about the call, or unknown", async () => {
  const documents = [...RULES, ...CONDITIONS].map((rule, index) => ({ name: `p${index}`, rule, mode: "audit" }));
  const snapshot = { policies: policiesFor(...documents) };
  const verdicts = documents.map(({ name, rule }) =>
    policyVerdicts({
      tenantId: "default",
      tokens: { get: () => TOKEN } as unknown as ReadonlyMap<string, RecordedToken>,
      policy: {
        name,
        tenantId: "default",
        projectId: null,
        document: { effect: "deny", rule, mode: "enforce", scope: {} },
      },
    }),
  );
  const known = new Map<string, number>();
  for (let seed = 1; seed <= 250; seed++) {
    const one = draw(seed);
    const [record] = await made(drawnCall(one.pick(TARGETS), one, { n: 1, store: false }), { snapshot });
    const call = recordedCall(record);
    documents.forEach(({ name, rule }, index) => {
      const said = verdicts[index]!(call);
      if (said === "unknown") return;
      known.set(rule, (known.get(rule) ?? 0) + 1);
      const isDenied = record.policies.some((each) => each.name === name && each.effect === "would_deny");
      expect({ seed, rule, said }).toEqual({ seed, rule, said: isDenied ? "denied" : "allowed" });
    });
  }
  for (const rule of ["has(request.parameters.tools)", "has(request.parameters.n)", "request.messages.count > 1"])
    expect(known.get(rule)).toBeGreaterThan(50);
});

test("[d3.1] tools of a vendor of which the record does not tell leave it unknown what a policy decides", async () => {
  const policy = {
    name: "p",
    tenantId: "default",
    projectId: null,
    document: { effect: "deny", rule: "size(request.tools) > 0", mode: "enforce", scope: {} },
  } as const;
  const judge = policyVerdicts({
    tenantId: "default",
    tokens: { get: () => TOKEN } as unknown as ReadonlyMap<string, RecordedToken>,
    policy,
  });
  const x_gateway = { drop_params: true };
  const body = { model: "cohere:command-r", input: "Hello", tools: [{ type: "web_search" }], x_gateway };
  const [record] = await made({ operation: RESPONSES, body }, {});
  expect([record.attempts.length, judge(recordedCall(record))]).toEqual([1, "unknown"]);
});

test("[d16.1] a recorded call is simulated at the target at which the route has the call itself, or counted as unjudged", async () => {
  const PLAIN = compileRoute("r", routeSchema.parse({ targets: ["openai:gpt-4o"], retries: 0 }), [], null);
  const withRoute = (route: Route): StubOptions => ({
    snapshot: {
      routes: new Map([
        [DIRECT_ROUTE, { ...directRoute({ name: "", providerId: "", model: "" }), retries: 0 }],
        ["r", route],
      ]),
    },
  });
  let judged = 0;
  for (let seed = 1; seed <= 200; seed++) {
    const one = draw(seed);
    const names = [...new Set([one.pick(TARGETS), one.pick(TARGETS)])];
    const entry = {
      targets: names.map((model) => ({ model, ...(one.isSo(0.7) && { when: one.pick(CONDITIONS) }) })),
      fallbacks: one.isSo(0.3) ? [{ model: "sandbox:echo", when: one.pick(CONDITIONS) }] : [],
      retries: 0,
    };
    const drawn = drawnCall("r", one);
    const [record] = await made(drawn, withRoute(PLAIN));
    const call = recordedCall(record);
    if (call.attempts.length === 0) continue;
    const [real, stub] = await made(drawn, withRoute(compileRoute("r", routeSchema.parse(entry), [], null)));
    const played = replay({
      calls: [call],
      tenantId: "default",
      tokens: new Map([[call.tokenId!, TOKEN]]),
      route: "r",
      snapshot: stub.context.snapshot(),
      faults: [],
      times: observedTimes([call]),
      seed: 1,
    });
    if (played.unjudged > 0) continue;
    judged++;
    const { target, code } = played.calls[0]!;
    const [first] = real.attempts;
    const at = first === undefined ? real.code : `${first.provider}:${first.model}`;
    expect({ seed, entry, at: target ?? code }).toEqual({ seed, entry, at });
  }
  expect(judged).toBeGreaterThan(100);
});
