// Ids of things that live at a vendor, in whole calls: handed out to a project, taken from it alone, and from nowhere
// else (promise 12.15).
import { describe, expect, test } from "bun:test";
import type { Operation } from "../../../src/engine/operation.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import {
  openVendorObjects,
  type VendorObjects,
  OBJECT_LIFETIME_MS,
} from "../../../src/engine/objects/vendor-objects.ts";
import { referencesInText } from "../../../src/engine/objects/vendor-references.ts";
import type { Permission } from "../../../src/core/identity.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import type { ProviderSettings } from "../../../src/core/snapshot.ts";
import { CHAT_COMPLETIONS } from "../../../src/operations/chat/chat-completions.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RERANK } from "../../../src/operations/rerank/rerank.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { VendorObject } from "../../../src/store/calls/vendor-objects.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { routeOf } from "../../harness/routed.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

const START_MS = 1_767_225_600_000;

/** What a database would know. */
function memoryObjects(clock = { now: () => START_MS }): VendorObjects & { readonly rows: VendorObject[] } {
  const rows: VendorObject[] = [];
  const table = {
    bindObjects: async (objects: readonly VendorObject[]) => void rows.push(...objects),
    boundObjects: async (hashes: readonly string[], nowMs: number) =>
      rows.filter(({ idHash, expiresMs }) => hashes.includes(idHash) && expiresMs > nowMs),
  };
  return { ...openVendorObjects(table, clock, (thrown) => expect(thrown).toBeUndefined()), rows };
}

const events = (...all: readonly JsonObject[]): string =>
  all.map((event) => `event: ${event["type"] as string}\ndata: ${JSON.stringify(event)}\n\n`).join("");

const CONTAINER = "container_abc";
const FILE = "file_made";
const HEAD = { id: "msg_1", type: "message", role: "assistant", model: "claude-x" };
const RESULT = {
  type: "bash_code_execution_tool_result",
  tool_use_id: "srvtoolu_1",
  content: {
    type: "bash_code_execution_result",
    stdout: "",
    content: [{ type: "bash_code_execution_output", file_id: FILE }],
  },
};
const MESSAGE = {
  ...HEAD,
  content: [RESULT, { type: "text", text: "Done" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
  container: { id: CONTAINER, expires_at: "2099-01-01T00:00:00Z" },
};
const STREAMED_MESSAGE = events(
  { type: "message_start", message: { ...HEAD, content: [], stop_reason: null, usage: MESSAGE.usage } },
  { type: "content_block_start", index: 0, content_block: RESULT },
  { type: "content_block_stop", index: 0 },
  {
    type: "message_delta",
    delta: { stop_reason: "end_turn", container: MESSAGE.container },
    usage: { output_tokens: 2 },
  },
  { type: "message_stop" },
);
const RESPONSE = {
  id: "resp_vendor",
  object: "response",
  created_at: 1,
  status: "completed",
  model: "gpt-9",
  output: [
    { type: "code_interpreter_call", id: "ci_1", status: "completed", container_id: "cntr_1", code: "1", outputs: [] },
    {
      type: "message",
      id: "m_1",
      role: "assistant",
      status: "completed",
      content: [
        {
          type: "output_text",
          text: "Done",
          annotations: [{ type: "container_file_citation", container_id: "cntr_1", file_id: "cfile_1", filename: "x" }],
        },
      ],
    },
  ],
  usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
};

interface Asking {
  readonly operation?: Operation;
  readonly answer?: string;
  /** That of a stream for a call that asks for one, if left out. */
  readonly contentType?: string;
  readonly projectId?: string;
  readonly tenantId?: string;
  readonly permissions?: readonly Permission[];
  readonly providers?: readonly ProviderSettings[];
  readonly routes?: ReturnType<typeof routeOf>[];
  readonly kept?: KeptObjects;
  /** When the project that has the id at the end of the call was created; the call's own was created at 1. */
  readonly laterCreatedMs?: number;
}

const anthropic = (secret = "stored-key", id = "anthropic") =>
  providerSettings({
    id,
    family: "anthropic",
    baseUrl: "https://api.anthropic.com",
    credentials: [storedKey(secret)],
    hostedTools: ["code_execution*"],
  });
const openai = (more: Partial<ProviderSettings> = {}) =>
  providerSettings({
    id: "openai",
    baseUrl: "https://api.openai.com/v1",
    credentials: [storedKey("stored-key")],
    hostedTools: ["code_interpreter"],
    ...more,
  });

async function asked(objects: VendorObjects | null, body: JsonObject, asking: Asking = {}) {
  const {
    operation = MESSAGES,
    answer = JSON.stringify(MESSAGE),
    projectId = "default",
    tenantId = "default",
    contentType = body["stream"] === true ? "text/event-stream" : "application/json",
  } = asking;
  const stub = stubGateway({
    upstream: cannedUpstream({
      headers: { "content-type": contentType },
      body: answer,
      ...(body["stream"] === true && { chunk: "event" as const }),
    }),
    ...(objects !== null && { objects }),
    ...(asking.kept !== undefined && { kept: asking.kept }),
    permissions: asking.permissions ?? [],
    token: { projectId, tenantId },
    providers: asking.providers ?? [anthropic(), openai()],
    snapshot: {
      projects: new Map([[projectId, { id: projectId, tenantId, name: projectId, createdAtMs: 1 }]]),
      ...(asking.routes !== undefined && { routes: new Map(asking.routes.map((route) => [route.name, route])) }),
    },
  });
  const { laterCreatedMs } = asking;
  if (laterCreatedMs !== undefined) {
    const before = stub.context.snapshot();
    const later = new Map([...before.projects].map(([id, one]) => [id, { ...one, createdAtMs: laterCreatedMs }]));
    let taken = 0;
    // the call takes the first one
    const snapshot = () => (taken++ === 0 ? before : { ...before, version: 2, projects: later });
    Object.assign(stub.context, { snapshot });
  }
  const response = await stub.call(operation, body);
  const text = await response.text();
  const param = response.headers.get("x-gateway-error-param") ?? (/"param":"([^"]*)"/.exec(text)?.[1] || null);
  return {
    status: response.status,
    param,
    code: response.headers.get("x-gateway-error-code") ?? /"code":"([^"]*)"/.exec(text)?.[1] ?? null,
    text,
    sent: stub.sent,
    dropped: response.headers.get("x-gateway-dropped-params"),
    background: stub.context.background!,
  };
}

const HELLO = { model: "anthropic:claude-x", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const MAKING = { ...HELLO, tools: [{ type: "code_execution_20250825", name: "code_execution" }] };
const USING = { ...HELLO, container: CONTAINER };
const READING = {
  ...HELLO,
  messages: [
    {
      role: "user",
      content: [
        { type: "text", text: "Read" },
        { type: "container_upload", file_id: FILE },
      ],
    },
  ],
};
const INPUT = { model: "openai:gpt-9", input: "Why?" };
const RUNNING = { ...INPUT, tools: [{ type: "code_interpreter", container: { type: "auto" } }] };
const REUSING = { ...INPUT, tools: [{ type: "code_interpreter", container: "cntr_1" }] };

describe("an id that was handed out", () => {
  test("[d12.15] is taken from the project that received it, plain and streamed, and from no other", async () => {
    for (const [body, answer] of [
      [MAKING, JSON.stringify(MESSAGE)],
      [{ ...MAKING, stream: true }, STREAMED_MESSAGE],
    ] as const) {
      const objects = memoryObjects();
      expect((await asked(objects, USING)).code).toBe("unknown_reference");
      expect((await asked(objects, body, { answer })).status).toBe(200);
      expect((await asked(objects, USING)).status).toBe(200);
      expect((await asked(objects, READING)).status).toBe(200);
      for (const other of [{ projectId: "q" }, { projectId: "default", tenantId: "other" }]) {
        const { status, param, sent } = await asked(objects, USING, other);
        expect([status, param, sent.length]).toEqual([400, "container", 0]);
      }
      expect((await asked(objects, READING, { projectId: "q" })).param).toBe("messages[0].content[1].file_id");
      expect((await asked(objects, USING, { projectId: "q", permissions: ["vendor_objects"] })).status).toBe(200);
    }
  });

  test("[d12.15] is not bound to another project that has the id of one that is removed meanwhile", async () => {
    for (const [body, answer] of [
      [MAKING, JSON.stringify(MESSAGE)],
      [{ ...MAKING, stream: true }, STREAMED_MESSAGE],
    ] as const) {
      const objects = memoryObjects();
      expect((await asked(objects, body, { answer, laterCreatedMs: 2 })).status).toBe(200);
      expect(objects.rows).toEqual([]);
      await asked(objects, body, { answer, laterCreatedMs: 1 });
      expect(objects.rows).not.toEqual([]);
    }
  });

  test("[d12.15] is bound too where a server ignores that a stream was asked for", async () => {
    const objects = memoryObjects();
    const answered = await asked(objects, { ...MAKING, stream: true }, { contentType: "application/json" });
    expect(answered.text).toContain("event: message_stop");
    expect((await asked(objects, USING)).status).toBe(200);
  });

  test("[d12.15] of a message in a thread is taken from the project that received it, and from no other", async () => {
    const objects = memoryObjects();
    const creating = { ...HELLO, thread: { type: "create" } };
    const answer = JSON.stringify({ ...MESSAGE, id: "msg_of_thread" });
    const continuing = { ...HELLO, thread: { type: "continue", previous_message_id: "msg_of_thread" } };
    const unknown = await asked(objects, continuing);
    expect([unknown.status, unknown.code, unknown.param]).toEqual([
      400,
      "unknown_reference",
      "thread.previous_message_id",
    ]);
    // the vendor's libraries then begin a new thread with the whole conversation
    expect(JSON.parse(unknown.text).error.details).toEqual({ error_code: "thread_not_found" });
    expect((await asked(objects, HELLO, { answer })).status).toBe(200);
    expect((await asked(objects, continuing)).status).toBe(400);
    expect((await asked(objects, creating, { answer })).status).toBe(200);
    expect((await asked(objects, continuing)).status).toBe(200);
    expect((await asked(objects, continuing, { projectId: "q" })).code).toBe("unknown_reference");
  });

  test("[d12.15] of responses: containers, and files in citations", async () => {
    const objects = memoryObjects();
    const responses = { operation: RESPONSES, answer: JSON.stringify(RESPONSE) };
    expect((await asked(objects, REUSING, responses)).param).toBe("tools[0].container");
    expect((await asked(objects, RUNNING, responses)).status).toBe(200);
    const file = { ...INPUT, input: [{ role: "user", content: [{ type: "input_file", file_id: "cfile_1" }] }] };
    for (const body of [REUSING, file]) {
      expect((await asked(objects, body, responses)).status).toBe(200);
      expect((await asked(objects, body, { ...responses, projectId: "q" })).code).toBe("unknown_reference");
    }
  });

  test("[d12.15] is kept by its hash, until it was not handed out for 30 days", async () => {
    let nowMs = START_MS;
    const objects = memoryObjects({ now: () => nowMs });
    await asked(objects, MAKING);
    expect(JSON.stringify(objects.rows)).not.toContain(CONTAINER);
    nowMs += OBJECT_LIFETIME_MS - 1;
    expect((await asked(objects, USING)).status).toBe(200);
    // that answer has handed it out again
    nowMs += OBJECT_LIFETIME_MS - 1;
    expect((await asked(objects, USING)).status).toBe(200);
    nowMs += OBJECT_LIFETIME_MS;
    expect((await asked(objects, USING)).code).toBe("unknown_reference");
  });

  test("[d12.15] is refused with 503 while the database fails or does not answer, and nothing is sent", async () => {
    const failing = Promise.reject(new Error("The database is away."));
    failing.catch(() => {});
    for (const boundObjects of [() => failing, () => new Promise<never>(() => {})]) {
      const table = { bindObjects: async () => {}, boundObjects };
      const objects = openVendorObjects(table, { now: () => START_MS }, () => {});
      const { status, code, sent } = await asked(objects, USING);
      expect([status, code, sent]).toEqual([503, "store_unavailable", []]);
    }
  }, 60_000);

  test("[d12.15] is reached with the credential that received it, of several, and with no other", async () => {
    const objects = memoryObjects();
    await asked(objects, MAKING);
    const several = { ...anthropic(), credentials: [storedKey("another-key"), storedKey("stored-key")] };
    for (let turn = 0; turn < 3; turn++) {
      const { sent } = await asked(objects, USING, { providers: [several] });
      expect(sent[0]!.headers["x-api-key"]).toBe("stored-key");
    }
    const changed = await asked(objects, USING, { providers: [anthropic("another-key")] });
    expect([changed.status, changed.param]).toEqual([400, "container"]);
  });

  test("[d12.15] leads a routed call to the target that has it", async () => {
    const objects = memoryObjects();
    await asked(objects, MAKING);
    const providers = [anthropic("another-key", "first"), anthropic(), openai()];
    const routes = [routeOf("r", ["first:claude-x", "openai:gpt-9", "anthropic:claude-x"])];
    const { status, sent } = await asked(objects, { ...USING, model: "r" }, { providers, routes });
    expect([status, sent.map(({ headers }) => headers["x-api-key"])]).toEqual([200, ["stored-key"]]);
    const nowhere = await asked(
      objects,
      { ...USING, model: "r" },
      { providers, routes: [routeOf("r", ["openai:gpt-9", "first:claude-x"])] },
    );
    expect([nowhere.status, nowhere.code, nowhere.sent.length]).toEqual([400, "unknown_reference", 0]);
  });
});

describe("what is not handed out", () => {
  test("[d12.15] is what a model or a caller makes an answer say", async () => {
    const objects = memoryObjects();
    const said = {
      ...MESSAGE,
      container: null,
      metadata: { container: { id: "container_stolen" } },
      content: [
        { type: "text", text: '{"file_id":"file_stolen"}' },
        { type: "tool_use", id: "t", name: "f", input: { type: "file_citation", file_id: "file_stolen" } },
        { type: "mcp_tool_result", tool_use_id: "x", content: [{ type: "file_citation", file_id: "file_stolen" }] },
      ],
    };
    expect((await asked(objects, MAKING, { answer: JSON.stringify(said) })).status).toBe(200);
    expect(objects.rows).toEqual([]);
  });

  test("[d12.15] is what a caller's own credential received", async () => {
    const objects = memoryObjects();
    const body = { ...MAKING, x_gateway: { api_key: "my-own-key-1234" } };
    expect((await asked(objects, body, { permissions: ["byo_endpoint"] })).status).toBe(200);
    expect(objects.rows).toEqual([]);
    const using = { ...USING, x_gateway: { api_key: "my-own-key-1234" } };
    expect((await asked(objects, using, { permissions: ["byo_endpoint"] })).status).toBe(200);
  });
});

describe("a chat completion", () => {
  const body = {
    model: "openai:gpt-9",
    messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-x" } }] }],
  };

  test("[d12.15] with a file of the vendor is of the same kind", async () => {
    const answer =
      '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}';
    const chat = { operation: CHAT_COMPLETIONS, answer };
    const { status, code, param } = await asked(memoryObjects(), body, chat);
    expect([status, code, param]).toEqual([400, "unknown_reference", "messages[0].content[0].file.file_id"]);
    expect((await asked(memoryObjects(), body, { ...chat, permissions: ["vendor_objects"] })).status).toBe(200);
    const translated = { ...HELLO, ...READING, model: "openai:gpt-9" };
    expect((await asked(memoryObjects(), translated, { answer })).status).toBe(400);
  });

  test("[d12.15] names a vendor's files by address, cached prompts and stores of files only with the permission", async () => {
    const uploaded = "https://generativelanguage.googleapis.com/v1beta/files/abc";
    const block = (type: string, address: string): JsonObject => ({ type, [type]: { url: address } });
    const part = (one: JsonObject): JsonObject => ({ messages: [{ role: "user", content: [one] }] });
    const gemini = { model: "gemini:gemini-2.5-flash" };
    const named: readonly (readonly [path: string, body: JsonObject])[] = [
      ["messages[0].content[0].image_url.url", { ...gemini, ...part(block("image_url", "files/abc")) }],
      ["messages[0].content[0].image_url.url", { ...gemini, ...part(block("image_url", uploaded)) }],
      [
        "messages[0].content[0].video_url.url",
        { ...gemini, ...part(block("video_url", uploaded.replace("generativelanguage", "GenerativeLanguage"))) },
      ],
      ["messages[0].content[0].file.file_id", { ...gemini, ...part({ type: "file", file: { file_id: uploaded } }) }],
      [
        "messages[0].content[0].source.url",
        { ...gemini, ...part({ type: "document", source: { type: "url", url: "files/abc" } }) },
      ],
      [
        "messages[1].images[0].image_url.url",
        {
          ...gemini,
          messages: [
            { role: "user", content: "Draw" },
            { role: "assistant", content: "Here", images: [block("image_url", "files/abc")] },
            { role: "user", content: "Again" },
          ],
        },
      ],
      ...["fileUri", "file_uri"].map((name): readonly [string, JsonObject] => [
        `messages[1].extra_content.google.parts[0].fileData.${name}`,
        {
          ...gemini,
          messages: [
            { role: "user", content: "Read" },
            {
              role: "assistant",
              content: "I have read",
              extra_content: { google: { parts: [{ fileData: { [name]: uploaded } }] } },
            },
            { role: "user", content: "What does it say?" },
          ],
        },
      ]),
      ["cachedContent", { ...gemini, messages: HELLO.messages, cachedContent: "cachedContents/abc" }],
      [
        "tools[0].file_search.file_search_store_names",
        {
          ...gemini,
          messages: HELLO.messages,
          tools: [{ type: "file_search", file_search: { file_search_store_names: ["fileSearchStores/abc"] } }],
        },
      ],
      [
        "messages[0].content[0].image_url.url",
        { model: "moonshot:kimi-k2.6", ...part(block("image_url", "ms://file-1")) },
      ],
      [
        "messages[0].content",
        {
          model: "dashscope:qwen-long",
          messages: [{ role: "system", content: "fileid://file-fe-1,fileid://file-fe-2" }, ...HELLO.messages],
        },
      ],
      [
        "messages[0].content[0].text",
        { model: "dashscope:qwen-long", ...part({ type: "text", text: "\n fileid://file-fe-1" }) },
      ],
      [
        "tools[0].retrieval.knowledge_id",
        {
          model: "zai:glm-4.6",
          messages: HELLO.messages,
          tools: [{ type: "retrieval", retrieval: { knowledge_id: "k-1" } }],
        },
      ],
    ];
    const providers = ["gemini", "moonshot", "zai", "dashscope"].map((id) =>
      providerSettings({ id, family: id, baseUrl: `https://${id}.example/v1`, credentials: [storedKey("stored-key")] }),
    );
    const chat = { operation: CHAT_COMPLETIONS, providers };
    for (const [path, naming] of named) {
      const { status, code, param, sent } = await asked(memoryObjects(), naming, chat);
      expect([status, code, param, sent.length]).toEqual([400, "unknown_reference", path, 0]);
      expect((await asked(memoryObjects(), naming, { ...chat, permissions: ["vendor_objects"] })).sent).not.toEqual([]);
    }
    for (const open of [
      { ...gemini, ...part(block("image_url", "https://images.example/files/abc.png")) },
      { model: "dashscope:qwen-long", messages: [{ role: "user", content: "What is fileid://file-fe-1?" }] },
    ])
      expect((await asked(memoryObjects(), open, chat)).sent).not.toEqual([]);
  });

  test("[d12.15] [d3.4] names them no more in an entry of its fallbacks than by itself, in any form", async () => {
    const entry = { model: "anthropic:claude-x", container: CONTAINER };
    const chat = { model: "openai:gpt-9", messages: HELLO.messages, fallbacks: [entry] };
    const form = { ...HELLO, x_gateway: { fallbacks: [entry] } };
    for (const [naming, operation] of [
      [chat, CHAT_COMPLETIONS],
      [form, MESSAGES],
    ] as const) {
      const { code, param, sent } = await asked(memoryObjects(), naming, { operation });
      expect([code, param?.replace("x_gateway.", ""), sent.length]).toEqual([
        "unknown_reference",
        "fallbacks[0].container",
        0,
      ]);
      const allowed = await asked(memoryObjects(), naming, { operation, permissions: ["vendor_objects"] });
      expect(allowed.sent).not.toEqual([]);
      const objects = memoryObjects();
      await asked(objects, MAKING);
      expect((await asked(objects, naming, { operation })).sent).not.toEqual([]);
    }
  });

  test("[d12.15] [d3.4] reaches them in an entry as by itself: with the credential that received them, or not at all", async () => {
    const objects = memoryObjects();
    await asked(objects, MAKING);
    const several = { ...anthropic(), credentials: [storedKey("another-key"), storedKey("stored-key")] };
    const entry = { model: "anthropic:claude-x", container: CONTAINER };
    for (const [naming, operation] of [
      [{ model: "openai:gpt-9", messages: HELLO.messages, fallbacks: [entry] }, CHAT_COMPLETIONS],
      [{ ...HELLO, model: "openai:gpt-9", x_gateway: { fallbacks: [entry] } }, MESSAGES],
    ] as const) {
      const keysAt = async (provider: ProviderSettings): Promise<readonly unknown[]> => {
        const { sent } = await asked(objects, naming, { operation, providers: [openai(), provider] });
        return [...new Set(sent.flatMap(({ headers }) => headers["x-api-key"] ?? []))];
      };
      for (let turn = 0; turn < 3; turn++) expect(await keysAt(several)).toEqual(["stored-key"]);
      expect(await keysAt(anthropic("another-key"))).toEqual([]);
    }
  });

  test("[d12.15] [d7.3] is not held to what an entry of its fallbacks removes", async () => {
    const objects = memoryObjects();
    await asked(objects, MAKING);
    const { sent } = await asked(
      objects,
      {
        model: "anthropic:claude-x",
        messages: HELLO.messages,
        container: CONTAINER,
        fallbacks: [{ model: "other:claude-x", container: null }],
      },
      {
        operation: CHAT_COMPLETIONS,
        answer: "{}",
        providers: [anthropic(), anthropic("another-key", "other")],
      },
    );
    const named = sent.map(({ headers, body: text }) => [headers["x-api-key"], text.includes(CONTAINER)]);
    expect(named.at(0)).toEqual(["stored-key", true]);
    expect(named.at(-1)).toEqual(["another-key", false]);
  });

  test("[d12.15] names them in an entry that goes with a credential of its own, or with the request's, as the caller likes", async () => {
    const asking = {
      operation: CHAT_COMPLETIONS,
      permissions: ["byo_endpoint"],
      providers: [
        anthropic(),
        openai(),
        providerSettings({ id: "bedrock", settings: { region: "eu-west-1" }, credentials: [storedKey("stored-key")] }),
      ],
    } as const;
    const chat = { model: "openai:gpt-9", messages: HELLO.messages };
    const pair = { aws_access_key_id: "AKIAOWN", aws_secret_access_key: "own" };
    const named = { model: "bedrock:anthropic.claude-x", file_id: "file-1" };
    const inherited = { model: "anthropic:claude-x", container: CONTAINER };
    for (const [naming, code] of [
      [{ ...chat, fallbacks: [named] }, "unknown_reference"],
      [{ ...chat, fallbacks: [{ ...named, ...pair }] }, null],
      [{ ...chat, model: "anthropic:claude-y", fallbacks: [inherited] }, "unknown_reference"],
      [{ ...chat, model: "anthropic:claude-y", api_key: "own", fallbacks: [inherited] }, null],
      [{ ...chat, api_key: "own", fallbacks: [inherited] }, "unknown_reference"],
    ] as const) {
      const { code: refused, sent } = await asked(memoryObjects(), naming, asking);
      expect([refused === "unknown_reference" ? refused : null, sent.length > 0]).toEqual([code, code === null]);
    }
  });

  test("[d12.15] is held to it where its address is written with escapes, and where another form is translated", async () => {
    const providers = [
      providerSettings({
        id: "gemini",
        family: "gemini",
        baseUrl: "https://gemini.example/v1",
        credentials: [storedKey("stored-key")],
      }),
    ];
    const input = [{ role: "user", content: [{ type: "input_image", image_url: "files/abc" }] }];
    const response = await asked(
      memoryObjects(),
      { model: "gemini:gemini-2.5-flash", input },
      { operation: RESPONSES, providers },
    );
    expect([response.code, response.param]).toEqual(["unknown_reference", "input[0].content[0].image_url"]);
    const host = "https://\\u0047enerativelanguage.googleapis.com/v1beta/files/abc";
    for (const written of [
      "files\\/abc",
      "files\\u002fabc",
      "\\u0046iles/abc",
      "m\\u0073://abc",
      "\\u004ds://abc",
      "ms\\u003a//abc",
      host,
    ])
      expect(referencesInText(`{"image_url": "${written}"}`)).toHaveLength(1);
    for (const member of ["system", "instructions", "input", "prompt"])
      expect(referencesInText(`{"${member}": "fileid:\\/\\/file-fe-1"}`)).toHaveLength(1);
    expect(referencesInText('{"cached\\u0043ontent": "cachedContents/abc"}')).toHaveLength(1);
  });

  test("[d12.15] binds what it receives of a provider's own tools", async () => {
    const objects = memoryObjects();
    const making = { ...MAKING, messages: HELLO.messages };
    expect((await asked(objects, making, { operation: CHAT_COMPLETIONS })).status).toBe(200);
    expect((await asked(objects, USING)).status).toBe(200);
  });
});

describe("responses that the vendor stores", () => {
  const stored = { operation: RESPONSES, answer: JSON.stringify(RESPONSE), providers: [openai({ vendorStore: true })] };

  test("[d12.15] are continued by the id that the client was told, which goes out as the vendor's", async () => {
    const objects = memoryObjects();
    const first = await asked(objects, { ...INPUT, store: true }, stored);
    const { id } = JSON.parse(first.text) as { readonly id: string };
    expect(id).not.toBe("resp_vendor");
    const next = await asked(objects, { ...INPUT, previous_response_id: id }, stored);
    expect([next.status, JSON.parse(next.sent[0]!.body)]).toMatchObject([200, { previous_response_id: "resp_vendor" }]);
    const options = { comparison_response_id: id, ttl: "30m" };
    const compared = await asked(objects, { ...INPUT, prompt_cache_options: options }, stored);
    expect([compared.status, JSON.parse(compared.sent[0]!.body)]).toMatchObject([
      200,
      { prompt_cache_options: { comparison_response_id: "resp_vendor", ttl: "30m" } },
    ]);
    const item = { ...INPUT, input: [{ type: "item_reference", id: "m_1" }] };
    expect((await asked(objects, item, stored)).status).toBe(200);
    for (const refused of [
      await asked(objects, { ...INPUT, previous_response_id: id }, { ...stored, projectId: "q" }),
      await asked(objects, item, { ...stored, projectId: "q" }),
      await asked(objects, { ...INPUT, previous_response_id: "resp_vendor" }, stored),
      await asked(objects, { ...INPUT, prompt_cache_options: options }, { ...stored, projectId: "q" }),
      await asked(objects, { ...INPUT, prompt_cache_options: { comparison_response_id: "resp_vendor" } }, stored),
    ])
      expect([refused.status, refused.code]).toEqual([400, "unknown_reference"]);
  });

  test("[d12.8, d12.15] are continued so too where the call ran in the background and the gateway keeps it no more", async () => {
    const objects = memoryObjects();
    const kept = new KeptObjects({ now: () => START_MS, monotonic: () => START_MS });
    const first = await asked(objects, { ...INPUT, store: true, background: true }, { ...stored, kept });
    const { id, status } = JSON.parse(first.text) as Record<string, unknown>;
    expect(status).toBe("queued");
    await first.background.get(id as string)?.ended;
    const next = await asked(objects, { ...INPUT, previous_response_id: id as string }, stored);
    expect([next.status, JSON.parse(next.sent[0]!.body)]).toMatchObject([200, { previous_response_id: "resp_vendor" }]);
    const vendors = await asked(objects, { ...INPUT, previous_response_id: "resp_vendor" }, stored);
    expect([vendors.status, vendors.code]).toEqual([400, "unknown_reference"]);
  });

  test("[d12.15 d7.1] are not those of an attempt whose answer the client did not get", async () => {
    const objects = memoryObjects();
    const empty = {
      ...RESPONSE,
      id: "resp_empty",
      output: [],
      usage: { ...RESPONSE.usage, output_tokens: 0, total_tokens: 1 },
    };
    const entry = (id: string) => openai({ id, family: "openai", baseUrl: `https://${id}.test/v1`, vendorStore: true });
    const stub = stubGateway({
      upstream: cannedUpstream(({ url }) => ({
        headers: { "content-type": "application/json" },
        body: JSON.stringify(url.startsWith("https://first.test/") ? empty : RESPONSE),
      })),
      objects,
      providers: [entry("first"), entry("second")],
    });
    const ask = async (model: string, more: JsonObject) => {
      const response = await stub.call(RESPONSES, { ...INPUT, model, store: true, ...more });
      return { status: response.status, body: (await response.json()) as Record<string, any> };
    };
    const { status, body } = await ask("first:gpt-9", { x_gateway: { fallbacks: ["second:gpt-9"] } });
    expect([status, stub.sent.length]).toEqual([200, 2]);
    const previous = { previous_response_id: body["id"] as string };
    const elsewhere = await ask("first:gpt-9", previous);
    expect([elsewhere.status, elsewhere.body["error"].code]).toEqual([400, "unknown_reference"]);
    expect((await ask("second:gpt-9", previous)).status).toBe(200);
    expect(JSON.parse(stub.sent.at(-1)!.body)).toMatchObject({ previous_response_id: "resp_vendor" });
  });

  test("[d12.15] are none where the client or the provider's entry does not want it", async () => {
    const objects = memoryObjects();
    await asked(objects, { ...INPUT, store: false }, stored);
    await asked(objects, { ...INPUT, store: true }, { ...stored, providers: [openai()] });
    expect(objects.rows).toEqual([]);
  });
});

test("[d12.15] store of chat completions goes out as false, and is named, unless the provider's entry says vendor_store", async () => {
  const chat = { operation: CHAT_COMPLETIONS, answer: JSON.stringify(openaiAnswer("Hello.")) };
  const body = { model: "openai:gpt-4.1", messages: HELLO.messages };
  const sent = async (more: JsonObject, vendorStore: boolean): Promise<unknown> => {
    const {
      status,
      sent: requests,
      dropped,
    } = await asked(
      memoryObjects(),
      { ...body, ...more },
      {
        ...chat,
        providers: [openai({ vendorStore })],
      },
    );
    expect(status).toBe(200);
    return [(JSON.parse(requests[0]!.body) as JsonObject)["store"], dropped];
  };
  expect(await sent({ store: true }, false)).toEqual([false, "store"]);
  expect(await sent({ store: true }, true)).toEqual([true, null]);
  expect(await sent({ store: false }, false)).toEqual([false, null]);
  expect(await sent({}, false)).toEqual([undefined, null]);
});

test("[d12.15] a stored prompt is nothing that a project receives here", async () => {
  const body = { ...INPUT, prompt: { id: "pmpt_1" } };
  const responses = { operation: RESPONSES, answer: JSON.stringify(RESPONSE) };
  const { code, param } = await asked(memoryObjects(), body, { ...responses, permissions: ["byo_endpoint"] });
  expect([code, param]).toEqual(["unknown_reference", "prompt"]);
  const allowed = { ...responses, permissions: ["byo_endpoint", "vendor_objects"] as const };
  expect((await asked(memoryObjects(), body, allowed)).status).toBe(200);
});

test("[d12.2 d12.15] fields of documents that are ranked are no such ids, whatever their names: nothing is looked up", async () => {
  const asks: unknown[] = [];
  const away: VendorObjects = {
    find: async (ids) => {
      asks.push(ids);
      throw new Error("the database is away");
    },
    bind: () => Promise.resolve(),
  };
  const body = JSON.stringify({ results: [{ index: 0, relevance_score: 0.5 }] });
  const stub = stubGateway({ operation: RERANK, upstream: cannedUpstream({ body }), objects: away });
  const document = { text: "of a file", file_id: "file_1", container: "c", source: "gs://bucket/a.pdf" };
  const answer = await stub.chat({ model: "cohere:rerank-v3.5", query: "a", documents: [document] });
  expect([answer.status, asks, stub.sent.length]).toEqual([200, [], 1]);
});
