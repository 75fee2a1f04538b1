// A caller's own tool server in responses: a target that speaks the operation is sent it as it was written, and the
// gateway asks no such server itself; where no target speaks the operation, the gateway runs its tools.
import { describe, expect, test } from "bun:test";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { INPUT_TOKENS } from "../../../src/operations/responses/input-tokens.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { fakeToolServers, says } from "../../harness/tools/fake-tools.ts";
import {
  cannedUpstream,
  type CannedAnswer,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { NATIVE_RESPONSE } from "./native-answers.ts";

const OWN = { type: "mcp", server_label: "own", server_url: "https://tools.test/mcp", require_approval: "never" };
const BODY = { model: "openai:gpt-9", input: "Why?", tools: [OWN] };
const COMPLETION: CannedAnswer = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify(openaiAnswer("Translated")),
};

function gatewayWith(hostedTools: readonly string[] | null, options: StubOptions = {}): Stub & { asked: () => number } {
  let asked = 0;
  const tools = fakeToolServers({ own: { look: { run: () => says("looked") } } });
  const toolServers: typeof tools.toolServers = {
    ...tools.toolServers,
    list: (...given) => {
      asked++;
      return tools.toolServers.list(...given);
    },
  };
  const stub = stubGateway({
    permissions: ["byo_endpoint"],
    upstream: cannedUpstream(({ url }) => (url.endsWith("/responses") ? NATIVE_RESPONSE : COMPLETION)),
    providers: [
      providerSettings({ id: "openai", credentials: [storedKey("k")], ...(hostedTools !== null && { hostedTools }) }),
      providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("k")] }),
    ],
    tools: { ...tools, toolServers },
    ...options,
  });
  return { ...stub, asked: () => asked };
}

async function outcome(gateway: Stub, body: object): Promise<readonly unknown[]> {
  const response = await gateway.call(RESPONSES, body);
  const { error } = (await response.json()) as Record<string, any>;
  return [response.status, error?.code ?? null, error?.param ?? null];
}

describe("a caller's own tool server", () => {
  test("[d12.3] goes to a native target as it was written, and the gateway does not ask it", async () => {
    const gateway = gatewayWith(["mcp"]);
    expect(await outcome(gateway, BODY)).toEqual([200, null, null]);
    expect(gateway.asked()).toBe(0);
    expect(gateway.sent.map(({ url }) => url)).toEqual(["https://api.openai.com/v1/responses"]);
    expect(JSON.parse(gateway.sent[0]!.body)).toMatchObject({ model: "gpt-9", tools: [OWN] });
  });

  test("[d12.3 d12.11] is counted by the vendor that would run it, and the gateway does not ask it", async () => {
    const count: CannedAnswer = {
      headers: { "content-type": "application/json" },
      body: '{"object":"response.input_tokens","input_tokens":7}',
    };
    const gateway = gatewayWith(["mcp"], { upstream: cannedUpstream(count) });
    const answer = await gateway.call(INPUT_TOKENS, BODY);
    expect([answer.status, ((await answer.json()) as Record<string, any>)["input_tokens"]]).toEqual([200, 7]);
    expect([gateway.asked(), JSON.parse(gateway.sent[0]!.body).tools]).toEqual([0, [OWN]]);
  });

  test("[d2.10] no tool of a body brings a credential, a cookie or a host in its headers, whoever runs it", async () => {
    for (const tool of [
      OWN,
      { type: "mcp", server_label: "drive", connector_id: "connector_googledrive" },
      { type: "tool_of_tomorrow" },
    ])
      for (const name of ["Authorization", "x-api-key", "Cookie", "Host", "x-amz-date"]) {
        const gateway = gatewayWith(["*"]);
        const tools = [{ ...tool, headers: { [name]: "x" } }];
        expect([tool.type, await outcome(gateway, { ...BODY, tools }), gateway.sent.length]).toEqual([
          tool.type,
          [400, "header_not_allowed", `tools[0].headers.${name}`],
          0,
        ]);
      }
    const gateway = gatewayWith(["*"]);
    const tools = [{ type: "tool_of_tomorrow", headers: { "x-of-mine": "x" } }];
    expect(await outcome(gateway, { ...BODY, tools })).toEqual([200, null, null]);
  });

  test("[d2.10] no tool of an item or of another tool brings a credential in its headers either", async () => {
    const tool = { type: "tool_of_tomorrow", headers: { Authorization: "x" } };
    const turn = { role: "user", content: "Why?" };
    for (const [body, path] of [
      [
        { input: [turn, { type: "additional_tools", role: "developer", tools: [tool] }], tools: [] },
        "input[1].tools[0]",
      ],
      [{ tools: [{ type: "namespace", name: "more", description: "", tools: [tool] }] }, "tools[0].tools[0]"],
    ] as const) {
      const gateway = gatewayWith(["*"]);
      expect([await outcome(gateway, { ...BODY, ...body }), gateway.sent.length]).toEqual([
        [400, "header_not_allowed", `${path}.headers.Authorization`],
        0,
      ]);
    }
  });

  test("[d12.3] runs at the vendor only where the operator allows it, and needs byo_endpoint", async () => {
    const forbidden = gatewayWith(null);
    expect(await outcome(forbidden, BODY)).toEqual([400, "unsupported_parameter", "tools[0]"]);
    const bare = gatewayWith(["mcp"], { permissions: [] });
    expect(await outcome(bare, BODY)).toEqual([403, "permission_required", "tools[0]"]);
    for (const gateway of [forbidden, bare]) expect([gateway.sent.length, gateway.asked()]).toEqual([0, 0]);
  });

  test("[d3.4, d12.3] is asked by the gateway where the token is restricted to tools, which the vendor would not know", async () => {
    for (const [restriction, isOffered] of [
      ["own__look", true],
      ["other__*", false],
    ] as const) {
      const gateway = gatewayWith(["mcp"], { token: { tools: [restriction] } });
      expect(await outcome(gateway, BODY)).toEqual([200, null, null]);
      expect([gateway.asked(), gateway.sent[0]!.body.includes("own__look")]).toEqual([1, isOffered]);
      expect(gateway.sent[0]!.body).not.toContain(OWN.server_url);
    }
  });

  test("[d3.4, d12.3] is left to no vendor in the vendor's own form where the token is restricted to tools", async () => {
    const body = {
      model: "anthropic:claude-9",
      max_tokens: 50,
      messages: [{ role: "user", content: "Why?" }],
      mcp_servers: [{ type: "url", name: "own", url: OWN.server_url }],
      tools: [{ type: "mcp_toolset", mcp_server_name: "own" }],
    };
    const providers = [
      providerSettings({ id: "anthropic", credentials: [storedKey("k")], hostedTools: ["mcp_toolset"] }),
    ];
    const statusOf = async (tools: readonly string[]): Promise<readonly unknown[]> => {
      const gateway = gatewayWith(null, { providers, token: { tools } });
      const answer = await gateway.call(MESSAGES, body);
      return [answer.headers.get("x-gateway-error-code"), gateway.sent.length];
    };
    expect((await statusOf([]))[1]).toBe(1);
    expect(await statusOf(["other__*"])).toEqual(["permission_required", 0]);
  });

  test("[d12.3] is asked by the gateway where no target speaks the operation", async () => {
    const gateway = gatewayWith(["mcp"]);
    expect(await outcome(gateway, { ...BODY, model: "up:m" })).toEqual([200, null, null]);
    expect(gateway.asked()).toBe(1);
    expect(gateway.sent[0]!.body).toContain("own__look");
  });

  test("[d12.3] makes a route pass over the targets that do not speak the operation", async () => {
    const route = routeOf("r", ["up:m", "openai:gpt-9"]);
    const gateway = gatewayWith(["mcp"], { snapshot: { routes: new Map([["r", route]]) } });
    expect(await outcome(gateway, { ...BODY, model: "r" })).toEqual([200, null, null]);
    expect([gateway.asked(), gateway.sent.map(({ url }) => url)]).toEqual([0, ["https://api.openai.com/v1/responses"]]);
  });
});
