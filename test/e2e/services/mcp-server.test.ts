// The gateway as an MCP server, with the official clients of both generations of the protocol, over tool servers that
// answer, fail, hang and change their tools.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../../src/core/json.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type ModernToolServer, openModernToolServer } from "../../harness/tools/modern-tool-server.ts";
import { openToolServer, said, type ServedTool, type ToolServerEnd } from "../../harness/tools/tool-server.ts";
import { until } from "../../harness/time/until.ts";

const SECRET = "tool-server-key-5f1e0c";
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const TOOLS: readonly ServedTool[] = [
  {
    name: "look",
    description: "Looks.",
    run: () => ({
      content: [
        { type: "text", text: "a red dot" },
        { type: "image", data: PIXEL, mimeType: "image/png" },
      ],
    }),
  },
  { name: "say", run: ({ args }) => said(`you said ${JSON.stringify(args)}`) },
  { name: "fail", run: () => ({ ...said("no such file"), isError: true }) },
  { name: "leak", run: () => said(`my key is ${SECRET}`) },
  {
    name: "wait",
    run: ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(said("cancelled")))),
  },
];

let files: ToolServerEnd;
let office: ToolServerEnd;
let numbers: ModernToolServer;
/** A guard service that finds nothing. */
let judge: ReturnType<typeof Bun.serve>;
const judged: string[] = [];
let gateway: GatewayProcess;
let owner: string;

beforeAll(async () => {
  files = openToolServer({ tools: TOOLS });
  office = openToolServer({ tools: [{ name: "open_door", run: () => said("the door is open") }] });
  numbers = openModernToolServer();
  judge = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      judged.push(...((await request.json()) as { readonly texts: readonly string[] }).texts);
      return Response.json({ findings: [] });
    },
  });
  gateway = await startGateway({
    config: Object.entries({
      tool_servers: {
        files: { url: files.url, headers: { "x-key": SECRET }, require_approval: "never" },
        numbers: { url: numbers.url, require_approval: "never", allowed_tools: ["sum"] },
        office: { url: office.url },
        vault: { url: office.url, require_approval: "never", role: "admin" },
        gone: { url: "http://127.0.0.1:9/mcp", require_approval: "never" },
      },
      policies: {
        cards: { guard: { classes: ["card"], action: "block" }, message: "Card numbers stay here." },
        rules: {
          rule: 'request.operation == "tools.call" && request.tool_names.exists(name, name.startsWith("office__close"))',
          message: "The office stays open.",
        },
        mails: { guard: { classes: ["email"], action: "mask" } },
        judged: { guard: { on: "both", action: "mask", service: { type: "request", url: String(judge.url) } } },
      },
      tenants: { other: { tool_servers: { files: { url: "http://127.0.0.1:9/mcp", enabled: false } } } },
    })
      .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
      .join(""),
  });
  owner = await gateway.createToken("--personal", "--role", "owner");
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([files.stop(), office.stop(), numbers.stop(), judge.stop(true)]);
});

/** What the tests ask a client of either generation. */
interface AnyClient {
  list(): Promise<any[]>;
  call(name: string, args?: JsonObject, signal?: AbortSignal): Promise<any>;
  close(): Promise<void>;
}

interface Opening {
  readonly token?: string;
  readonly onChanged?: () => void;
  /** Answers what the server asks the user. */
  readonly elicited?: (params: any) => any;
  readonly headers?: Record<string, string>;
}

const address = (): URL => new URL(`${gateway.url}/mcp`);
const headersOf = ({ token, headers }: Opening) => ({
  requestInit: { headers: { authorization: `Bearer ${token ?? gateway.firstToken!}`, ...headers } },
});

const NEWER = async (opening: Opening = {}): Promise<AnyClient> => {
  const client = new Client(
    { name: "newer", version: "1" },
    {
      versionNegotiation: { mode: "auto" },
      capabilities: opening.elicited === undefined ? {} : { elicitation: { form: {} } },
      ...(opening.onChanged !== undefined && {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: opening.onChanged } },
      }),
    },
  );
  if (opening.elicited !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => opening.elicited!(params));
  await client.connect(new StreamableHTTPClientTransport(address(), headersOf(opening)));
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args = {}, signal) => client.callTool({ name, arguments: args }, { ...(signal && { signal }) }),
    close: () => client.close(),
  };
};

const EARLIER = async (opening: Opening = {}): Promise<AnyClient> => {
  const client = new EarlierClient(
    { name: "earlier", version: "1" },
    {
      capabilities: opening.elicited === undefined ? {} : { elicitation: {} },
      ...(opening.onChanged !== undefined && {
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: opening.onChanged } },
      }),
    },
  );
  if (opening.elicited !== undefined)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => opening.elicited!(params));
  await client.connect(new EarlierTransport(address(), headersOf(opening)));
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args = {}, signal) =>
      client.callTool({ name, arguments: args }, undefined, { ...(signal && { signal }) }),
    close: () => client.close(),
  };
};

const GENERATIONS = [
  ["2026-07-28", NEWER],
  ["2025-11-25", EARLIER],
] as const;

const textOf = ({ content }: any): string => content.map(({ text = "" }: any) => text).join("");

const namesOf = (tools: readonly { readonly name: string }[]): readonly string[] =>
  tools.map(({ name }) => name).toSorted();

/** The log line of the last call of a tool. */
const lastLine = async (traceId: string): Promise<Record<string, any>> => {
  const line = () => gateway.lines().find(({ trace_id: id }) => id === traceId);
  await until(() => line() !== undefined);
  return line()!;
};

async function within<T>(opened: Promise<AnyClient>, use: (client: AnyClient) => Promise<T>): Promise<T> {
  const client = await opened;
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

describe.each(GENERATIONS)("[d16.3] a client of version %s", (_version, open) => {
  test("lists the tools of all servers that answer, under their names and as their servers describe them", () =>
    within(open(), async (client) => {
      const tools = await client.list();
      expect(namesOf(tools)).toEqual([
        "files__fail",
        "files__leak",
        "files__look",
        "files__say",
        "files__wait",
        "numbers__sum",
        "office__open_door",
      ]);
      expect(tools.find(({ name }) => name === "files__look")).toMatchObject({ description: "Looks." });
      expect(tools.find(({ name }) => name === "numbers__sum").outputSchema.properties.sum).toEqual({ type: "number" });
    }));

  test("gets the blocks and the structured content of a result, and what a tool says of its failure", () =>
    within(open(), async (client) => {
      await client.list();
      expect((await client.call("files__look")).content).toEqual([
        { type: "text", text: "a red dot" },
        { type: "image", data: PIXEL, mimeType: "image/png" },
      ]);
      const sum = await client.call("numbers__sum", { a: 2, b: 3 });
      expect(sum.structuredContent).toEqual({ sum: 5 });
      expect(sum.isError).toBeFalsy();
      expect(await client.call("files__fail")).toMatchObject({
        content: [{ type: "text", text: "no such file" }],
        isError: true,
      });
      // a rule of a policy sees which tool is called
      expect(await client.call("office__close_door")).toMatchObject({
        content: [{ type: "text", text: expect.stringContaining("The office stays open.") }],
        isError: true,
        _meta: { "dragoman/error_code": "policy_violation" },
      });
      // arguments are checked before the server is asked
      const wrong = await client.call("numbers__sum", { a: "two", b: 3 });
      expect(wrong).toMatchObject({ isError: true, _meta: { "dragoman/error_code": "invalid_request" } });
      expect(textOf(wrong)).toContain("do not match the tool's schema");
    }));

  test("makes one record for each call, with the tool and without arguments", () =>
    within(open(), async (client) => {
      const result = await client.call("files__say", { text: "heliotrope" });
      const line = await lastLine(result._meta["dragoman/trace_id"]);
      expect(line).toMatchObject({ operation: "tools.call", status: 200, tenant: "default", project: "default" });
      expect(line["tools"]).toMatchObject([{ server: "files", tool: "say" }]);
      expect(JSON.stringify(line)).not.toContain("heliotrope");
    }));

  test("never sees a credential of a tool server, and cannot call a tool that is not listed", () =>
    within(open(), async (client) => {
      const leak = JSON.stringify(await client.call("files__leak"));
      expect(leak).toContain("my key is");
      expect(leak).not.toContain(SECRET);
      for (const name of ["numbers__echo", "vault__open_door", "nobody__knows", "files__"])
        expect(client.call(name)).rejects.toThrow("There is no tool");
      expect(client.call("no tool of this name")).rejects.toThrow("name must be");
    }));

  test("[d16.4] is judged by guard services, which get no names of functions", () =>
    within(open(), async (client) => {
      judged.length = 0;
      await client.call("files__say", { text: "hello, judge" });
      // each text once
      expect(judged.filter((text) => text.includes("hello, judge") && !text.startsWith("you said"))).toEqual([
        '{"text":"hello, judge"}',
      ]);
      expect(judged.some((text) => text.startsWith("you said"))).toBe(true);
      expect(judged.filter((text) => text === "files__say")).toEqual([]);
    }));

  test("is guarded in arguments and in results", () =>
    within(open(), async (client) => {
      const before = files.sent.length;
      const blocked = await client.call("files__say", { text: "my card is 4111 1111 1111 1111" });
      expect(blocked).toMatchObject({ isError: true, _meta: { "dragoman/error_code": "policy_violation" } });
      expect(textOf(blocked)).toContain("Card numbers stay here.");
      expect(files.sent.slice(before).filter(({ message }) => message["method"] === "tools/call")).toEqual([]);
      const masked = await client.call("files__say", { text: "write to ada@mail.example.org" });
      const sent = files.sent.findLast(({ message }) => message["method"] === "tools/call")!;
      expect(JSON.stringify(sent.message)).not.toContain("ada@");
      expect(textOf(masked)).toStartWith("you said ");
      files.change([
        ...TOOLS,
        {
          name: "mail",
          run: () => ({
            content: [
              { type: "text", text: "from ada@mail.example.org" },
              {
                type: "resource",
                resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "ada@mail.example.org wrote" },
              },
            ],
            structuredContent: { from: "ada@mail.example.org", count: 2 },
          }),
        },
      ]);
      try {
        await until(async () => (await client.list()).some(({ name }) => name === "files__mail"));
        const mail = await client.call("files__mail");
        expect(JSON.stringify(mail)).not.toContain("ada@");
        expect(mail.content[1].resource.uri).toBe("file:///a.txt");
        expect(mail.structuredContent.count).toBe(2);
      } finally {
        files.change(TOOLS);
      }
    }));

  test("leaves, and the tool is cancelled", () =>
    within(open(), async (client) => {
      const abort = new AbortController();
      const before = files.sent.length;
      const calling = client.call("files__wait", {}, abort.signal).catch((thrown: unknown) => thrown);
      const methods = () => files.sent.slice(before).map(({ message }) => message["method"]);
      await until(() => methods().includes("tools/call"));
      abort.abort();
      await calling;
      await until(() => methods().includes("notifications/cancelled"));
    }));

  test("hears that its list has changed, and nothing of what it may not use", async () => {
    let heard = 0;
    const client = await open({ onChanged: () => (heard += 1) });
    try {
      await client.list();
      files.change([...TOOLS, { name: "fresh" }]);
      await until(() => heard > 0);
      expect(namesOf(await client.list())).toContain("files__fresh");
      const before = heard;
      // the token may not use this tool of the server, and a list that is announced again has not changed
      numbers.grow(`hidden-${_version}`);
      files.change([...TOOLS, { name: "fresh" }]);
      files.change(TOOLS);
      await until(() => heard > before);
      expect(namesOf(await client.list())).not.toContain("files__fresh");
    } finally {
      files.change(TOOLS);
      await client.close();
    }
  });
});

describe("[d16.3] approval", () => {
  const opened = (): number => office.sent.filter(({ message }) => message["method"] === "tools/call").length;

  test.each(GENERATIONS)("is asked of a person by a client of version %s that can ask", async (_version, open) => {
    const asked: any[] = [];
    const before = opened();
    let answer: JsonObject = { action: "accept", content: { approve: true } };
    const elicited = (params: unknown): JsonObject => {
      asked.push(params);
      return answer;
    };
    await within(open({ elicited }), async (client) => {
      expect(textOf(await client.call("office__open_door", { door: 7 }))).toBe("the door is open");
      expect(asked).toHaveLength(1);
      expect(asked[0].message).toContain(
        'Run the tool open_door of the tool server office with these arguments? {"door":7}',
      );
      expect(opened()).toBe(before + 1);
      for (const refusal of [
        { action: "decline" },
        { action: "cancel" },
        { action: "accept", content: { approve: false } },
      ]) {
        answer = refusal;
        const refused = await client.call("office__open_door");
        expect(refused.isError).toBe(true);
        expect(textOf(refused)).toContain("was not approved");
      }
    });
    expect(opened()).toBe(before + 1);
  });

  test.each(GENERATIONS)(
    "is missing where a client of version %s cannot ask, and the tool does not run",
    (_version, open) =>
      within(open(), async (client) => {
        const before = opened();
        const refused = await client.call("office__open_door");
        expect(refused).toMatchObject({ isError: true, _meta: { "dragoman/error_code": "approval_required" } });
        expect(textOf(refused)).toContain("require_approval: never");
        expect(opened()).toBe(before);
      }),
  );
});

describe("[d16.3] who may use what", () => {
  test("a higher role sees the tools that need it", () =>
    within(NEWER({ token: owner, headers: { "x-gateway-project-id": "default" } }), async (client) => {
      expect(namesOf(await client.list())).toContain("vault__open_door");
      expect(textOf(await client.call("vault__open_door"))).toBe("the door is open");
    }));

  test("a token that is restricted to tools has these alone, at /mcp and in calls of models", async () => {
    const token = await gateway.createToken("--tool", "files__s*", "office__*", "--permission", "debug");
    await within(NEWER({ token }), async (client) => {
      expect(namesOf(await client.list())).toEqual(["files__say", "office__open_door"]);
      expect(textOf(await client.call("files__say", { a: 1 }))).toBe('you said {"a":1}');
      expect(client.call("files__look")).rejects.toThrow("There is no tool");
    });
    const explained = await gateway.chat(
      {
        model: "sandbox:echo",
        messages: [{ role: "user", content: "Hello" }],
        tools: [{ type: "mcp", server_label: "files" }],
      },
      { token, headers: { "x-gateway-explain": "true" } },
    );
    const names = JSON.stringify(await explained.json()).match(/files__\w+/g) ?? [];
    expect([...new Set(names)]).toEqual(["files__say"]);
  });

  test("a project has its own servers and none of another's", async () => {
    await administered("/projects", { id: "lab", tenant_id: "default", name: "Lab" });
    await administered("/projects/lab/tool_servers", {
      name: "probe",
      url: files.url,
      allowed_tools: ["say"],
      require_approval: "never",
    });
    const token = await gateway.createToken("--project", "lab");
    await within(NEWER({ token }), async (client) => {
      await until(async () => (await client.list()).some(({ name }) => name === "probe__say"));
      const result = await client.call("probe__say");
      expect(await lastLine(result._meta["dragoman/trace_id"])).toMatchObject({ project: "lab" });
    });
    await within(NEWER(), async (client) => {
      expect(namesOf(await client.list())).not.toContain("probe__say");
      expect(client.call("probe__say")).rejects.toThrow("There is no tool");
    });
  });

  test("limits count the calls of a token, and one that has no room answers as a result", async () => {
    const token = await gateway.createToken("--project", "default");
    const { id } = await keyOf(token);
    await administered("/projects/default/limits", {
      name: "tools",
      metric: "requests",
      window: "hour",
      limit: 2,
      scope: { token: id, operation: "tools.call" },
    });
    await within(NEWER({ token }), async (client) => {
      const codes: unknown[] = [];
      await until(async () => {
        const result = await client.call("files__say");
        codes.push(result._meta["dragoman/error_code"]);
        return result.isError === true;
      });
      expect(codes.at(-1)).toBe("rate_limit_exceeded");
      expect((await client.list()).length).toBeGreaterThan(0);
      // another operation has limits of its own
      const chat = await gateway.chat(
        { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] },
        { token },
      );
      expect(chat.status).toBe(200);
    });
  });

  test("requests without a token, with a wrong one, and from a foreign page are refused", async () => {
    const post = (headers: Record<string, string>) =>
      fetch(address(), {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
      });
    const authorization = `Bearer ${gateway.firstToken!}`;
    const none = await post({});
    expect([none.status, none.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="dragoman"']);
    // it would name no record
    expect([none.headers.has("x-request-id"), none.headers.has("x-gateway-trace-id")]).toEqual([true, false]);
    expect(((await none.json()) as any).error.code).toBe("missing_token");
    expect((await post({ authorization: "Bearer sk-wrong" })).status).toBe(401);
    const foreign = await post({ authorization, origin: "https://evil.example" });
    expect([foreign.status, ((await foreign.json()) as any).error.code]).toEqual([403, "origin_not_allowed"]);
    expect((await post({ authorization, origin: gateway.url })).status).toBe(200);
    expect((await post({ authorization })).status).toBe(200);
  });

  test("a revoked token hears nothing more", async () => {
    const token = await gateway.createToken("--project", "default");
    const response = await fetch(address(), {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
    });
    expect(response.status).toBe(200);
    const reader = response.body!.getReader();
    const { value } = await reader.read();
    expect(new TextDecoder().decode(value)).toContain(": follows");
    const { id } = await keyOf(token);
    await administered(`/projects/default/tokens/${id}/revoke`);
    let last = await reader.read();
    while (!last.done) last = await reader.read();
    expect(
      (await fetch(address(), { headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" } })).status,
    ).toBe(401);
  });

  async function administered(path: string, body: JsonObject = {}): Promise<void> {
    const response = await fetch(`${gateway.url}/api/v1/admin${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${owner}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(await response.text());
  }

  async function keyOf(token: string): Promise<{ readonly id: string }> {
    const response = await fetch(`${gateway.url}/api/v1/key`, { headers: { authorization: `Bearer ${token}` } });
    return (await response.json()) as { readonly id: string };
  }
});

describe("[d16.3] bad input", () => {
  const send = (body: string, method = "POST") =>
    fetch(address(), {
      method,
      headers: {
        authorization: `Bearer ${gateway.firstToken!}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      ...(method === "POST" && { body }),
    });

  test.each([
    ["no JSON", "{", 400, "invalid_json"],
    ["a list of messages", '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, "invalid_json"],
    ["a name that stands twice", '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', 400, "invalid_json"],
  ] as const)("%s is refused before it is read further", async (_what, body, status, code) => {
    const response = await send(body);
    expect([response.status, ((await response.json()) as any).error.code]).toEqual([status, code]);
  });

  test("what is neither a request nor an answer is refused as the protocol does, and an answer is taken", async () => {
    const refused = await send('{"a":1}');
    expect([refused.status, ((await refused.json()) as any).error.code]).toEqual([400, -32600]);
    expect((await send('{"jsonrpc":"2.0","id":7,"result":{}}')).status).toBe(202);
  });

  test("other methods of HTTP name those that are taken", async () => {
    const response = await send("", "PUT");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "POST, GET"]);
    expect(response.headers.has("x-gateway-trace-id")).toBe(false);
  });
});
