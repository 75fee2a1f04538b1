// Requests and expectations of common clients beyond a plain call, the demands H, R and M of promise 9.7: each is sent
// through OpenAI's own library to a provider of each wire family, and checked where it arrives. The demands on streams
// and on errors are in the files beside this one.
import { beforeAll, describe, expect, test } from "bun:test";
import OpenAI, { APIError } from "openai";
import type { ChatCompletionMessageParam } from "openai/resources/chat/completions";
import { FAMILIES, type Family, type Form, type Refusable } from "../operations/families.ts";
import { openaiClient, standingFamilyGateway } from "../operations/standing-family-gateway.ts";
import { AFTER_TOOLS, FORECAST_SCHEMA, TEXT, WEATHER_SCHEMA } from "../operations/scripted-answers.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const PDF = "JVBERi0xLjQKJSVFT0YK";

const stage = standingFamilyGateway();
let client: OpenAI;
beforeAll(() => {
  client = openaiClient(stage);
});

/** Text of the answer to a body that may hold what the library's types do not know. */
async function say(
  body: { readonly model: string; readonly messages: readonly object[] } & Readonly<Record<string, unknown>>,
): Promise<string | null> {
  const { choices } = await client.chat.completions.create({
    ...body,
    stream: false,
    messages: body.messages as ChatCompletionMessageParam[],
  });
  return choices[0]!.message.content;
}

async function errorOf(call: PromiseLike<unknown>): Promise<APIError> {
  const error = await Promise.resolve(call).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(APIError);
  return error as APIError;
}

const user = (content: unknown) => ({ role: "user", content });
const arrived = (): Record<string, any> => stage.upstream.last().body;
const weatherTool = { type: "function", function: { name: "weather", parameters: WEATHER_SCHEMA } };

describe.each([...FAMILIES])(
  "[d9.7] a provider that speaks the form of $wire",
  ({ model, wire, form, refuses }: Family) => {
    /** The ways in which one thing is said on the wire. */
    const inWords = <T>(words: Readonly<Record<Form, T>>): T => words[form];
    /** The answer's text, or the refusal of what the capability table says is not there. */
    const sayOrRefuse = async (part: Refusable, body: Parameters<typeof say>[0], refusal: object): Promise<boolean> => {
      if (refuses.includes(part)) expect(await errorOf(say(body))).toMatchObject({ status: 400, ...refusal });
      else expect(await say(body)).toBe(TEXT);
      return !refuses.includes(part);
    };

    test("R1: either bound is the provider's bound, and -1 means none", async () => {
      const bound = (): unknown =>
        inWords({
          openai: arrived()["max_tokens"] ?? arrived()["max_completion_tokens"],
          anthropic: arrived()["max_tokens"],
          gemini: arrived()["generationConfig"]?.maxOutputTokens,
          bedrock: arrived()["inferenceConfig"]?.maxTokens,
          cohere: arrived()["max_tokens"],
          ollama: arrived()["options"]?.num_predict,
        });
      for (const fields of [
        { max_tokens: 16 },
        { max_completion_tokens: 16 },
        { max_tokens: 16, max_completion_tokens: 16 },
      ]) {
        expect(await say({ model, messages: [user("#text")], ...fields })).toBe(TEXT);
        expect(bound()).toBe(16);
      }
      for (const fields of [{ max_tokens: -1, temperature: 0.7 }, { max_completion_tokens: -1 }, {}]) {
        expect(await say({ model, messages: [user("#text")], ...fields })).toBe(TEXT);
        // Anthropic demands one: the model's own
        expect(bound()).toBe(form === "anthropic" ? 64_000 : undefined);
      }
    });

    test("R2: developer and system, names, null content beside calls, results as parts", async () => {
      const messages = [
        { role: "system", content: "Be brief." },
        { role: "developer", content: [{ type: "text", text: "Be kind." }] },
        { role: "user", name: "ann", content: "#tools" },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
            { id: "call_2", type: "function", function: { name: "weather", arguments: "" } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: [{ type: "text", text: "warm" }] },
        { role: "tool", tool_call_id: "call_2", content: "cold" },
      ];
      expect(await say({ model, messages, tools: [weatherTool] })).toBe(AFTER_TOOLS);
      const { text } = stage.upstream.last();
      for (const words of ["Be brief.", "Be kind.", "warm", "cold", "Paris"]) expect(text).toContain(words);
      if (form !== "openai") expect(text).not.toContain("developer");
    });

    test("R3: images, files and audio in the forms that the libraries send", async () => {
      const parts = [
        ["image_url", { url: `data:image/png;base64,${PIXEL}`, detail: "low" }, PIXEL],
        ["file", { filename: "a.pdf", file_data: `data:application/pdf;base64,${PDF}` }, PDF],
        ["input_audio", { data: "UklGRg==", format: "wav" }, "UklGRg=="],
      ] as const;
      for (const [type, value, bytes] of parts) {
        const body = {
          model,
          messages: [
            user([
              { type: "text", text: "#text" },
              { type, [type]: value },
            ]),
          ],
        };
        if (await sayOrRefuse(type, body, { code: "unsupported_content_block", param: "messages[0].content[1]" }))
          expect(stage.upstream.last().text).toContain(bytes);
      }
    });

    test("R3: an image is passed on with its attributes", async () => {
      if (refuses.includes("image_url")) return;
      expect(
        await say({
          model,
          messages: [
            user([
              { type: "text", text: "#text" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}`, detail: "low" } },
            ]),
          ],
        }),
      ).toBe(TEXT);
      // Ollama looks at the bytes
      expect(stage.upstream.last().text).toContain(
        inWords({
          openai: '"detail":"low"',
          anthropic: '"media_type":"image/png"',
          gemini: '"mimeType":"image/png"',
          bedrock: '"format":"png"',
          cohere: '"detail":"low"',
          ollama: `"images":["${PIXEL}"]`,
        }),
      );
    });

    test("R4: the content of an earlier answer beside its text may come back", async () => {
      const earlier = {
        role: "assistant",
        content: "42",
        refusal: null,
        reasoning_content: "I thought.",
        reasoning_details: [
          { type: "reasoning.text", text: "I thought.", signature: "c2ln", format: "anthropic-claude-v1", index: 0 },
        ],
        annotations: [],
        audio: null,
        function_call: null,
      };
      expect(await say({ model, messages: [user("#text"), earlier, user("and?")] })).toBe(TEXT);
      // signed thoughts go back to the vendor that signed them
      if (form === "anthropic")
        expect(arrived()["messages"][1].content[0]).toEqual({
          type: "thinking",
          thinking: "I thought.",
          signature: "c2ln",
        });
      else if (form === "bedrock")
        expect(arrived()["messages"][1].content[0]).toEqual({
          reasoningContent: { reasoningText: { text: "I thought.", signature: "c2ln" } },
        });
      else if (form !== "openai") expect(stage.upstream.last().text).not.toContain("c2ln");
    });

    test("R6: cache marks on a part reach the vendor that knows them, and do not disturb others", async () => {
      expect(
        await say({ model, messages: [user([{ type: "text", text: "#text", cache_control: { type: "ephemeral" } }])] }),
      ).toBe(TEXT);
      expect(/cache_control|cachePoint/.exec(stage.upstream.last().text)?.[0]).toBe(
        inWords<string | undefined>({
          openai: wire === "azure" ? undefined : "cache_control",
          anthropic: "cache_control",
          gemini: undefined,
          bedrock: "cachePoint",
          cohere: undefined,
          ollama: undefined,
        }),
      );
    });

    test("R7: a schema with name, description and strictness", async () => {
      const format = {
        type: "json_schema",
        json_schema: { name: "forecast", description: "The weather to come.", strict: true, schema: FORECAST_SCHEMA },
      };
      expect(JSON.parse((await say({ model, messages: [user("#json")], response_format: format }))!)).toEqual({
        city: "Paris",
        degrees: 21,
      });
      const sent = inWords({
        openai: arrived()["response_format"]?.json_schema?.schema,
        anthropic: arrived()["output_config"]?.format.schema ?? arrived()["tools"]?.[0].input_schema,
        gemini: arrived()["generationConfig"]?.responseJsonSchema,
        bedrock: arrived()["outputConfig"]?.textFormat.structure.jsonSchema.schema,
        cohere: arrived()["response_format"]?.schema,
        ollama: arrived()["format"],
      });
      expect(typeof sent === "string" ? (JSON.parse(sent) as object) : sent).toMatchObject(FORECAST_SCHEMA);
    });

    test("R8: a required or named tool, and a strict one with a key of its own", async () => {
      const tools = [
        {
          type: "function",
          function: { name: "weather", description: "The weather.", strict: true, parameters: WEATHER_SCHEMA },
          metadata: { from: "a client" },
        },
      ];
      const calls = async (choice: unknown) =>
        (
          await client.chat.completions.create({
            model,
            messages: [{ role: "user", content: "#tools" }],
            tools: tools as never,
            tool_choice: choice as never,
            stream: false,
          })
        ).choices[0]!.message.tool_calls?.length;
      const sent = (): unknown =>
        inWords<unknown>({
          openai: arrived()["tool_choice"],
          anthropic: arrived()["tool_choice"]?.type,
          gemini: arrived()["toolConfig"]?.functionCallingConfig?.mode,
          bedrock: arrived()["toolConfig"]?.toolChoice,
          cohere: arrived()["tool_choice"],
          ollama: arrived()["tool_choice"],
        });
      const named = { type: "function", function: { name: "weather" } };
      if (refuses.includes("forced-tools"))
        for (const choice of ["required", named])
          expect(await errorOf(calls(choice))).toMatchObject({
            status: 400,
            code: "unsupported_value",
            param: "tool_choice",
          });
      else {
        expect([await calls("required"), sent()]).toEqual([
          2,
          inWords<unknown>({
            openai: "required",
            anthropic: "any",
            gemini: "ANY",
            bedrock: { any: {} },
            cohere: "REQUIRED",
            ollama: undefined,
          }),
        ]);
        expect([await calls(named), sent()]).toEqual([
          2,
          inWords<unknown>({
            openai: named,
            anthropic: "tool",
            gemini: "ANY",
            bedrock: { tool: { name: "weather" } },
            cohere: "REQUIRED",
            ollama: undefined,
          }),
        ]);
      }
      expect([await calls(undefined), sent()]).toEqual([
        2,
        inWords<unknown>({
          openai: undefined,
          anthropic: undefined,
          gemini: "VALIDATED",
          bedrock: undefined,
          cohere: undefined,
          ollama: undefined,
        }),
      ]);
    });

    test("R9: null means not set, for every optional field", async () => {
      const optional = [
        "temperature",
        "top_p",
        "n",
        "stop",
        "max_tokens",
        "max_completion_tokens",
        "presence_penalty",
        "frequency_penalty",
        "logit_bias",
        "user",
        "response_format",
        "seed",
        "tools",
        "tool_choice",
        "parallel_tool_calls",
        "logprobs",
        "top_logprobs",
        "stream_options",
        "reasoning_effort",
        "verbosity",
        "modalities",
        "audio",
        "prediction",
        "service_tier",
        "store",
        "prompt_cache_key",
        "safety_identifier",
        "web_search_options",
        "functions",
        "function_call",
        "metadata",
        "timeout",
        "fallbacks",
        "num_retries",
        "route",
        "tenant_id",
        "project_id",
      ];
      expect(
        await say({ model, messages: [user("#text")], ...Object.fromEntries(optional.map((name) => [name, null])) }),
      ).toBe(TEXT);
    });

    test("R10: a user and a large map of metadata; the map is not sent on", async () => {
      const metadata = Object.fromEntries(
        Array.from({ length: 40 }, (_, index) => [`key-of-mine-${index}`, "x".repeat(600)]),
      );
      expect(await say({ model, messages: [user("#text")], user: "user-7", metadata })).toBe(TEXT);
      expect(stage.upstream.last().text).not.toContain("key-of-mine");
      // the others have no place for it
      expect(stage.upstream.last().text.includes("user-7")).toBe(form === "openai" || form === "anthropic");
    });
  },
);

describe("[d9.7] the same for every provider", () => {
  test("R6: fields of OpenAI's schema reach a provider that has them", async () => {
    const fields = {
      reasoning_effort: "low",
      verbosity: "low",
      prompt_cache_key: "k",
      service_tier: "auto",
      store: false,
      prediction: { type: "content", content: "x" },
      parallel_tool_calls: true,
      tools: [weatherTool],
      web_search_options: {},
    };
    expect(await say({ model: "scripted:scripted-model", messages: [user("#text")], ...fields })).toBe(TEXT);
    expect(arrived()).toMatchObject(fields);
  });

  test("[d9.6] R11: an operation that is not served is refused, and the answer says what to do", async () => {
    const error = await errorOf(client.post("/unheard-of", { body: {} }));
    expect(error).toMatchObject({ status: 404, code: "operation_not_served" });
    expect(error.message).toContain("/chat/completions");
  });

  test("H14: headers that clients send about themselves change nothing", async () => {
    const talkative = new OpenAI({
      baseURL: stage.baseUrl,
      apiKey: stage.token,
      maxRetries: 0,
      organization: "org-1",
      project: "proj_1",
      defaultHeaders: { "HTTP-Referer": "https://example.com", "X-Title": "A client" },
    });
    const { choices } = await talkative.chat.completions.create(
      { model: "sandbox:echo", messages: [{ role: "user", content: "hello" }] },
      { idempotencyKey: "once-only" },
    );
    expect(choices[0]!.message.content).toBe("hello");
  });

  test("H16: a body over the limit is answered with 413 and the error body, not with a broken connection", async () => {
    const picture = { type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(33 * 1024 * 1024)}` } };
    const error = await errorOf(say({ model: "sandbox:echo", messages: [user([picture])] }));
    expect({ status: error.status, code: error.code, type: error.type }).toEqual({
      status: 413,
      code: "body_too_large",
      type: "invalid_request_error",
    });
  });

  test.each(["/api/v1", "/api/v1/", "/v1", "/v1/", "/api", "/api/", "", "/"])(
    "[d9.6] H17: the base address may end in %s",
    async (path) => {
      const elsewhere = new OpenAI({ baseURL: stage.gateway.url + path, apiKey: stage.token, maxRetries: 0 });
      const { choices } = await elsewhere.chat.completions.create({
        model: "sandbox/echo",
        messages: [{ role: "user", content: "hello" }],
      });
      expect(choices[0]!.message.content).toBe("hello");
      expect((await elsewhere.models.list()).data.length).toBeGreaterThan(5);
    },
  );

  test("H18: pages of other origins may not call until the configuration names them", async () => {
    const response = await stage.gateway.chat(
      { model: "sandbox:echo", messages: [user("hello")] },
      { headers: { origin: "https://elsewhere.example" } },
    );
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([200, null]);
  });

  test("M2: the list of models asks no provider", async () => {
    const before = stage.upstream.seen.length;
    expect((await client.models.list()).data.map((model) => model.id)).toContain("scripted:scripted-model");
    expect(stage.upstream.seen.length).toBe(before);
  });
});
