// The service as the specification's first chapter describes it: the real process, with providers of three wire forms
// behind it.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import OpenAI from "openai";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type FakeUpstream, openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { untilFound } from "../../harness/time/until.ts";

const CONVERSATION = [
  { role: "system", content: "Be short." },
  { role: "user", content: "Hello" },
  { role: "assistant", content: "Hi." },
  { role: "user", content: "Which city?" },
];
const MODELS = {
  openai: "openai:gpt-5",
  anthropic: "anthropic:claude-sonnet-4-5",
  gemini: "gemini:gemini-2.5-flash",
} as const;
type Wire = keyof typeof MODELS;
const WIRES = Object.keys(MODELS) as Wire[];

const ANSWERS: Readonly<Record<Wire, object>> = {
  openai: openaiAnswer("Vienna"),
  anthropic: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude-sonnet-4-5",
    content: [{ type: "text", text: "Vienna" }],
    stop_reason: "end_turn",
    usage: { input_tokens: 7, output_tokens: 2 },
  },
  gemini: {
    candidates: [{ index: 0, content: { role: "model", parts: [{ text: "Vienna" }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: 2, totalTokenCount: 9 },
  },
};

let gateway: GatewayProcess;
let upstream: FakeUpstream;
let token: string;
beforeAll(async () => {
  upstream = startUpstream(({ path }) => Response.json(ANSWERS[path.split("/")[1] as Wire]));
  const providers = WIRES.map(
    (wire) => `  ${wire}: { api_key: key-of-${wire}, base_url: "${upstream.url}/${wire}/v1" }`,
  ).join("\n");
  gateway = await startGateway({
    config: `providers:\n${providers}\nroutes:\n  city:\n    targets: ["${MODELS.anthropic}"]\n`,
  });
  token = gateway.firstToken!;
});
afterAll(async () => {
  await gateway.stop();
  await upstream.stop();
});

interface Asked {
  readonly status: number;
  readonly body: any;
  /** The request that the provider received; null if none was called. */
  readonly request: { readonly path: string; readonly body: any } | null;
}

async function ask(request: object, as = token): Promise<Asked> {
  const before = upstream.seen.length;
  const response = await gateway.chat({ messages: CONVERSATION, ...request }, { token: as });
  const body: unknown = await response.json();
  return { status: response.status, body, request: upstream.seen.length > before ? upstream.last() : null };
}

test("[s:service.1] one operation and one form of request serve several providers, each of which is called in its own form", async () => {
  const answers = [];
  for (const wire of WIRES) {
    const { status, body, request } = await ask({ model: MODELS[wire] });
    answers.push({
      status,
      object: body.object,
      message: body.choices[0].message,
      finish: body.choices[0].finish_reason,
      model: body.model,
    });
    expect(request!.path.startsWith(`/${wire}/`)).toBe(true);
  }
  expect(answers).toEqual(
    WIRES.map((wire) => ({
      status: 200,
      object: "chat.completion",
      message: { role: "assistant", content: "Vienna", refusal: null },
      finish: "stop",
      model: MODELS[wire],
    })),
  );
  const shapes = upstream.seen.slice(-3).map(({ body }) =>
    Object.keys(body)
      .filter((key) => ["messages", "system", "contents", "systemInstruction"].includes(key))
      .toSorted(),
  );
  expect(shapes).toEqual([["messages"], ["messages", "system"], ["contents", "systemInstruction"]]);
});

describe("[s:service.2] a conversation goes in, and generated assistant messages with their usage come out", () => {
  test.each(WIRES)("%s gets all of its turns, in order", async (wire) => {
    const { body, request } = await ask({ model: MODELS[wire] });
    const sent = JSON.stringify(request!.body);
    const places = ["Be short.", "Hello", "Hi.", "Which city?"].map((text) => sent.indexOf(JSON.stringify(text)));
    expect(places.every((place) => place > 0)).toBe(true);
    expect(places.slice(1).toSorted((a, b) => a - b)).toEqual(places.slice(1));
    const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = body.usage;
    expect(total).toBe(prompt + completion);
    expect(prompt).toBeGreaterThan(0);
  });
  test("one message is returned, or as many as were requested", async () => {
    const several = await ask({ model: "sandbox:echo", n: 3 });
    expect(
      several.body.choices.map(({ index, message }: any) => [index, message.role, typeof message.content]),
    ).toEqual([0, 1, 2].map((index) => [index, "assistant", "string"]));
    expect(several.body.usage.completion_tokens).toBeGreaterThan(0);
  });
});

describe("[s:service.3] a route's name or a model's identifier selects the target", () => {
  test("route", async () => {
    const { body, request } = await ask({ route: "city" });
    expect([body.route, body.model, request!.path.split("/")[1]]).toEqual(["city", MODELS.anthropic, "anthropic"]);
  });
  test("model", async () => {
    for (const wire of WIRES) {
      const { body, request } = await ask({ model: MODELS[wire] });
      expect([body.route, body.model, request!.path.split("/")[1]]).toEqual(["direct", MODELS[wire], wire]);
    }
  });
  test("neither, or an unknown one, calls no provider", async () => {
    for (const [request, status, code] of [
      [{}, 400, "invalid_request"],
      [{ route: "nowhere" }, 404, "route_not_found"],
      [{ model: "nobody:m" }, 404, "model_not_found"],
    ] as const) {
      const refused = await ask(request);
      expect([refused.status, refused.body.error.code, refused.request]).toEqual([status, code, null]);
    }
  });
});

test("[s:service.4] the common parameters mean the same everywhere: each provider gets them by its own names", async () => {
  const common = {
    max_completion_tokens: 50,
    temperature: 0.5,
    stop: ["END"],
    tools: [
      {
        type: "function",
        function: { name: "weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
      },
    ],
    tool_choice: "auto",
  };
  const bodies: Record<Wire, any> = { openai: null, anthropic: null, gemini: null };
  for (const wire of WIRES) {
    const { status, request } = await ask({ model: wire === "openai" ? "openai:gpt-4o" : MODELS[wire], ...common });
    expect([wire, status]).toEqual([wire, 200]);
    bodies[wire] = request!.body;
  }
  expect(bodies.openai).toMatchObject({
    max_completion_tokens: 50,
    temperature: 0.5,
    stop: ["END"],
    tools: [{ function: { name: "weather" } }],
  });
  expect(bodies.anthropic).toMatchObject({
    max_tokens: 50,
    temperature: 0.5,
    stop_sequences: ["END"],
    tools: [{ name: "weather", input_schema: { type: "object" } }],
  });
  expect(bodies.gemini).toMatchObject({
    generationConfig: { maxOutputTokens: 50, temperature: 0.5, stopSequences: ["END"] },
    tools: [{ functionDeclarations: [{ name: "weather" }] }],
  });
  for (const wire of ["anthropic", "gemini"] as const)
    for (const name of ["max_completion_tokens", "stop"]) expect(bodies[wire]).not.toHaveProperty(name);
});

test("[s:service.5] a parameter outside the common set goes into the body of the provider's request unchanged", async () => {
  const own = { vendor_switch: { deep: [1, "two", null, { three: 3.5 }] }, another_one: true };
  for (const wire of WIRES) {
    const { status, request } = await ask({ model: MODELS[wire], ...own });
    expect([wire, status]).toEqual([wire, 200]);
    expect(request!.body).toMatchObject(own);
  }
});

describe("[s:service.6] a request belongs to a tenant, and in it to a project", () => {
  test("the token determines it; a field that names another one is refused, and one that repeats it is accepted", async () => {
    const { body } = await ask({ model: MODELS.openai, tenant_id: "default", project_id: "default" });
    expect(body.choices).toHaveLength(1);
    const line = await logged(body.x_gateway_trace_id as string);
    expect([line["tenant"], line["project"]]).toEqual(["default", "default"]);
    for (const field of ["tenant_id", "project_id"]) {
      const refused = await ask({ model: MODELS.openai, [field]: "another" });
      expect([field, refused.status, refused.body.error.code, refused.request]).toEqual([
        field,
        403,
        "scope_mismatch",
        null,
      ]);
    }
  });
  test("a user's token reaches several projects of its tenant, and the request says in which it runs", async () => {
    const admin = await gateway.createToken("--personal", "--role", "owner");
    const make = (path: string, made: object): Promise<Response> =>
      fetch(`${gateway.url}/api/v1/admin${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${admin}`, "content-type": "application/json" },
        body: JSON.stringify(made),
      });
    for (const [path, made] of [
      ["/projects", { id: "second", tenant_id: "default", name: "Second" }],
      ["/tenants", { id: "other", name: "Other" }],
      ["/projects", { id: "theirs", tenant_id: "other", name: "Theirs" }],
    ] as const) {
      const response = await make(path, made);
      if (response.status !== 201) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    }
    for (const project of ["default", "second"]) {
      const { status, body } = await ask({ model: MODELS.openai, project_id: project }, admin);
      expect([project, status]).toEqual([project, 200]);
      expect((await logged(body.x_gateway_trace_id as string))["project"]).toBe(project);
    }
    const unsaid = await ask({ model: MODELS.openai }, admin);
    expect([unsaid.status, unsaid.body.error.code, unsaid.request]).toEqual([400, "project_required", null]);
    const theirs = await ask({ model: MODELS.openai, project_id: "theirs" }, admin);
    expect([theirs.status >= 403 && theirs.status <= 404, theirs.request]).toEqual([true, null]);
  });
});

describe("[s:service.7] the base address ends in /api/v1", () => {
  test("is all that the official client needs to know", async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/api/v1`, apiKey: token, maxRetries: 0 });
    const answer = await client.chat.completions.create({
      model: MODELS.anthropic,
      messages: [{ role: "user", content: "Which city?" }],
    });
    expect(answer.choices[0]!.message.content).toBe("Vienna");
  });
  test("has no other version, and another base address does not exist", async () => {
    for (const path of ["/api/v2/chat/completions", "/api/chat", "/v2/chat/completions"]) {
      const response = await gateway.chat({ model: MODELS.openai, messages: CONVERSATION }, { path });
      expect([path, response.status]).toEqual([path, 404]);
      await response.text();
    }
  });
});

function logged(traceId: string): Promise<Record<string, unknown>> {
  return untilFound(
    () => gateway.lines().find((one) => one["trace_id"] === traceId),
    `a line of the call ${traceId} in the log`,
  );
}
