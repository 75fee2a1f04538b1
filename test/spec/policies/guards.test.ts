// Promise 3.3 through the whole gateway: what a provider and a client receive where guards search the text.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Fault } from "../../harness/faults.ts";
import { cannedUpstream, type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { routedGateway, routeOf } from "../../harness/routed.ts";
import { eventStream, openaiAnswer } from "../../harness/servers/upstream.ts";
import { policiesFor } from "../../policies/policy-documents.ts";
import { FAMILIES, HELLO, TOOL } from "../chat-calls.ts";
import { choiceChunk, chunk, play, type Played, USAGE, usageChunk } from "../answers/played-stream.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const MAIL = "ada@mail.example.org";
const CARD = "4111 1111 1111 1111";
const MASKS = { name: "no-pii", guard: { classes: ["email", "card"], action: "mask" } } as const;
const BLOCKS = {
  name: "no-pii",
  message: "Keep it out.",
  guard: { classes: ["email", "card"], action: "block" },
} as const;
const on = (document: typeof MASKS | typeof BLOCKS, side: "input" | "output", more: object = {}): object => ({
  ...document,
  ...more,
  guard: { ...document.guard, on: side },
});

const guarded = (policy: object, options: StubOptions = {}): StubOptions => ({
  ...options,
  snapshot: { ...options.snapshot, policies: policiesFor(policy) },
});
const answering = (policy: object, answer: object = openaiAnswer("Hello")): Stub =>
  stubGateway(
    guarded(policy, {
      upstream: cannedUpstream({ body: JSON.stringify(answer) }),
      permissions: ["byo_endpoint", "vendor_objects"],
    }),
  );
const said = async (
  stub: Stub,
  fields: object,
): Promise<{ readonly status: number; readonly body: Record<string, any>; readonly headers: Headers }> => {
  const response = await stub.chat({ model: "openai:gpt-4o", messages: HELLO, ...fields });
  return { status: response.status, body: (await response.json()) as Record<string, any>, headers: response.headers };
};

describe("guards on input", () => {
  const CONVERSATION = [
    { role: "system", content: `You write for ${MAIL}.` },
    {
      role: "user",
      name: MAIL,
      content: [
        { type: "text", text: `My card is ${CARD}.` },
        { type: "image_url", image_url: { url: "https://images.example/a.png" } },
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: `{"card":"${CARD}"}` } }],
    },
    { role: "tool", tool_call_id: "call_1", content: `It belongs to ${MAIL}` },
  ];
  const FIELDS = {
    messages: CONVERSATION,
    user: MAIL,
    metadata: { mail: MAIL },
    custom_field: { note: `ask ${MAIL}` },
    temperature: 0.5,
    tools: [{ ...TOOL, function: { ...TOOL.function, description: `Ask ${MAIL} first.` } }],
  };

  test("[d3.3] a guard that masks rewrites all text that the provider receives, and nothing else, also where the request is copied from the caller's text", async () => {
    const stub = answering(on(MASKS, "input"));
    expect((await said(stub, FIELDS)).status).toBe(200);
    const wire = JSON.parse(stub.sent[0]!.body);
    expect(wire).toEqual({
      model: "gpt-4o",
      temperature: 0.5,
      user: "[email]",
      custom_field: { note: "ask [email]" },
      tools: [{ ...TOOL, function: { ...TOOL.function, description: "Ask [email] first." } }],
      messages: [
        { role: "system", content: "You write for [email]." },
        {
          role: "user",
          name: "[email]",
          content: [
            { type: "text", text: "My card is [card]." },
            { type: "image_url", image_url: { url: "https://images.example/a.png" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "call_1", type: "function", function: { name: "weather", arguments: '{"card":"[card]"}' } },
          ],
        },
        { role: "tool", tool_call_id: "call_1", content: "It belongs to [email]" },
      ],
    });
    expect(stub.records[0]!.policies).toEqual([{ name: "no-pii", effect: "masked" }]);
  });

  test.each(FAMILIES)("[d3.3] nothing that is masked reaches %s", async (model) => {
    const { custom_field: _field, ...fields } = FIELDS;
    const stub = stubGateway(guarded(on(MASKS, "input"), { upstream: cannedUpstream({ body: "{}" }) }));
    await said(stub, {
      ...fields,
      model,
      messages: CONVERSATION.map((message) =>
        message.role === "user" ? { role: "user", content: `My card is ${CARD}.` } : message,
      ),
      num_retries: 0,
    });
    expect(stub.sent).toHaveLength(1);
    expect(stub.sent[0]!.body).not.toContain(MAIL);
    expect(stub.sent[0]!.body).not.toContain(CARD);
    expect(stub.sent[0]!.body).toContain("My card is [card].");
  });

  test("[d3.3] nor is it sent to a fallback with parameters of its own, or to the target of a route with some", async () => {
    const dead: Fault = { kind: "refused" };
    const target = { name: "up1:m", params: { extra_words: `for ${MAIL}` } };
    const stub = routedGateway(
      [routeOf("r", ["up0:m", target])],
      { up0: [dead], up1: [dead] },
      guarded(on(MASKS, "input")),
    );
    await stub.chat({
      route: "r",
      messages: CONVERSATION,
      fallbacks: [{ model: "up2:m", user: MAIL, note: `from ${MAIL}` }],
    });
    expect(stub.upstream.targets()).toEqual(["up0", "up1", "up2"]);
    for (const { request } of stub.upstream.served) {
      expect(request.body).not.toContain(MAIL);
      expect(request.body).not.toContain(CARD);
      expect(request.body).toContain("My card is [card].");
    }
  });

  test("[d3.3] a guard that blocks refuses before any provider is called: 403 with the policy's name and message, and nothing of the text", async () => {
    for (const fields of [
      { messages: CONVERSATION },
      { user: MAIL },
      { custom_field: `ask ${MAIL}` },
      { tools: FIELDS.tools },
    ]) {
      const stub = answering(on(BLOCKS, "input"));
      const { status, body } = await said(stub, fields);
      expect([status, body["error"]]).toEqual([
        403,
        {
          message: "Keep it out.",
          type: "permission_error",
          param: null,
          code: "policy_violation",
          metadata: { policy: "no-pii" },
        },
      ]);
      expect(stub.sent).toEqual([]);
      expect(stub.records[0]!.policies).toEqual([{ name: "no-pii", effect: "denied" }]);
    }
  });

  test("[d3.3] [d3.4] a guard with a scope searches what goes to targets of that scope", async () => {
    const stub = routedGateway(
      [routeOf("r", ["up0:m", "up1:m"])],
      { up0: [{ kind: "refused" }] },
      guarded(on(MASKS, "input", { scope: { provider: "up1" } })),
    );
    await stub.chat({ route: "r", messages: [{ role: "user", content: MAIL }] });
    expect(stub.upstream.served.map(({ request }) => JSON.parse(request.body).messages[0].content)).toEqual([
      MAIL,
      "[email]",
    ]);
    const blocking = routedGateway(
      [routeOf("r", ["up0:m", "up1:m"])],
      {},
      guarded(on(BLOCKS, "input", { scope: { provider: "up0" } })),
    );
    expect((await blocking.chat({ route: "r", messages: [{ role: "user", content: MAIL }] })).status).toBe(200);
    expect(blocking.upstream.targets()).toEqual(["up1"]);
  });

  test("[d3.3] in audit mode a guard changes nothing and records what it would have done", async () => {
    const stub = answering(on(MASKS, "input", { mode: "audit" }));
    await said(stub, FIELDS);
    expect(stub.sent[0]!.body).toContain(MAIL);
    expect(stub.records[0]!.policies).toEqual([{ name: "no-pii", effect: "would_deny" }]);
  });

  test("[d3.3] a request without a match goes out byte for byte as it would without the guard", async () => {
    const text =
      '{ "model":"openai:gpt-4o" ,"messages":[ {"role":"user","content":"Caf\\u00e9"} ], "big": 12345678901234567890 }';
    const bodies = await Promise.all(
      [
        answering(on(MASKS, "input")),
        stubGateway({ upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer("x")) }) }),
      ].map(async (stub) => {
        await stub.chat(text);
        return stub.sent[0]!.body;
      }),
    );
    expect(bodies[0]).toBe(bodies[1]);
  });
});

describe("guards on input in unusual places", () => {
  const base64 = (text: string): string => Buffer.from(text).toString("base64");
  const user = (part: object): object => ({ messages: [{ role: "user", content: [part] }] });
  const LETTER = `Dear reader, my card is ${CARD}. `.repeat(60);
  const PLACES: Readonly<Record<string, object>> = {
    "a text that begins like a data URI": { messages: [{ role: "user", content: `data: my card is ${CARD}` }] },
    "a part of it": user({ type: "text", text: `data:${CARD}` }),
    "a system message": { messages: [{ role: "system", content: CARD }, ...HELLO] },
    "a developer's message": { messages: [{ role: "developer", content: CARD }, ...HELLO] },
    "a function's result": { messages: [{ role: "function", name: "f", content: CARD }] },
    "the name beside a tool's result": { messages: [{ role: "tool", tool_call_id: "c", name: CARD, content: "x" }] },
    "a refusal": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          refusal: CARD,
          tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    },
    "reasoning that is brought back": {
      model: "openrouter:m",
      messages: [...HELLO, { role: "assistant", content: "x", reasoning_content: CARD }, ...HELLO],
    },
    "a call's arguments in escapes": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "c",
              type: "function",
              function: { name: "f", arguments: `{"a":"line\\n${CARD.replaceAll("4", "\\u0034")}"}` },
            },
          ],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    },
    "a text file": user({
      type: "file",
      file: { filename: "a.txt", file_data: `data:text/plain;base64,${base64(LETTER)}` },
    }),
    "a text file that is said to be a picture": user({
      type: "file",
      file: { filename: "a.png", file_data: `data:image/png;base64,${base64(LETTER)}` },
    }),
    "a text file without a type": user({ type: "file", file: { filename: "a.txt", file_data: base64(LETTER) } }),
    "a text file in percents": user({
      type: "file",
      file: { filename: "a.txt", file_data: `data:text/plain,${encodeURIComponent(LETTER)}` },
    }),
    "a file's name": user({ type: "file", file: { filename: `${CARD}.txt`, file_id: "file-1" } }),
    "a document": user({
      type: "document",
      source: { type: "base64", media_type: "text/plain", data: base64(LETTER) },
    }),
    "a document as text": user({ type: "document", source: { type: "text", media_type: "text/plain", data: LETTER } }),
    "a prediction": { prediction: { type: "content", content: CARD } },
    "a prediction in parts": { prediction: { type: "content", content: [{ type: "text", text: CARD }] } },
    "a stop": { stop: [CARD] },
    "a default of a schema": {
      tools: [
        {
          ...TOOL,
          function: {
            name: "f",
            parameters: { type: "object", properties: { name: { type: "string", default: CARD } } },
          },
        },
      ],
    },
    "a choice of a schema": {
      tools: [
        {
          ...TOOL,
          function: {
            name: "f",
            parameters: { type: "object", properties: { type: { type: "string", enum: ["x", CARD] } } },
          },
        },
      ],
    },
    "an example of the answer's schema": {
      response_format: {
        type: "json_schema",
        json_schema: { name: "a", schema: { type: "object", properties: { a: { type: "string", examples: [CARD] } } } },
      },
    },
    "a tool's argument beside one that is called server_url": {
      tools: [
        {
          type: "function",
          function: {
            name: "f",
            parameters: {
              type: "object",
              properties: {
                server_url: { type: "string" },
                headers: { type: "string", description: CARD },
                authorization: { type: "string", examples: [CARD] },
              },
            },
          },
        },
      ],
    },
    "a legacy function": {
      functions: [{ name: "f", description: CARD, parameters: { type: "object", properties: {} } }],
    },
    "a number that is passed through": { custom_field: { card: 4111111111111111 } },
    "a name that is passed through": { custom_field: { [CARD]: true } },
    "an id that is passed through": { custom_field: { id: CARD, data: CARD } },
    "the extra body": { extra_body: { custom_field: [[CARD]] } },
    "far inside": { custom_field: Array.from({ length: 50 }).reduce<object>((inner) => ({ a: inner }), { a: CARD }) },
  };
  test.each(Object.entries(PLACES))("[d3.3] %s: masked, and blocked", async (_place, fields) => {
    const masking = answering(on(MASKS, "input"));
    expect((await said(masking, fields)).status).toBe(200);
    const wire = masking.sent[0]!.body;
    const files = [...wire.matchAll(/"(?:data:[^,"]*;base64,)?([A-Za-z0-9+/=]{64,})"/g)].map(([, bytes]) =>
      Buffer.from(bytes!, "base64").toString(),
    );
    expect([wire, ...files].join("\n")).not.toMatch(/1111/);
    expect([wire, ...files, decodeURIComponent(wire.replaceAll(/%(?![0-9A-F]{2})/g, ""))].join("\n")).toContain(
      "[card]",
    );
    const blocking = answering(on(BLOCKS, "input"));
    expect([(await said(blocking, fields)).status, blocking.sent.length]).toEqual([403, 0]);
  });

  const parts = (...texts: readonly string[]): object => ({
    messages: [{ role: "user", content: texts.map((text) => ({ type: "text", text })) }],
  });
  test("[d3.3] a match that is divided between the parts of a message is found, and removed from all of them", async () => {
    const sentFor = async (policy: object, fields: object): Promise<unknown> => {
      const stub = answering(policy);
      const { status } = await said(stub, fields);
      return stub.sent[0] === undefined
        ? status
        : JSON.parse(stub.sent[0].body).messages[0].content.map((part: { text: string }) => part.text);
    };
    expect(await sentFor(on(MASKS, "input"), parts("my card is 4111 11", "11 1111", " 1111, he said"))).toEqual([
      "my card is [card]",
      "[card]",
      ", he said",
    ]);
    expect(await sentFor(on(BLOCKS, "input"), parts("my card is 4111 1111 ", "1111 1111"))).toBe(403);
    expect(await sentFor(on(MASKS, "input"), parts(`Write to ${MAIL}`, "Then sleep."))).toEqual([
      "Write to [email]",
      "Then sleep.",
    ]);
    expect(await sentFor(on(MASKS, "input", { mode: "audit" }), parts("4111 1111 ", "1111 1111"))).toEqual([
      "4111 1111 ",
      "1111 1111",
    ]);
  });

  test("[d3.3] a pass-through member reaches the provider under the name to which a guard has changed it", async () => {
    for (const fields of [{ [MAIL]: { n: 1 } }, { extra_body: { [MAIL]: { n: 1 } } }]) {
      const stub = answering(on(MASKS, "input"));
      expect((await said(stub, { messages: HELLO, ...fields })).status).toBe(200);
      expect(JSON.parse(stub.sent[0]!.body)).toMatchObject({ "[email]": { n: 1 } });
      expect(stub.sent[0]!.body).not.toContain(MAIL);
    }
  });

  const inTool = (parameters: object): object => ({
    tools: [{ type: "function", function: { name: "f", parameters } }],
  });
  const property = (schema: object): object => inTool({ type: "object", properties: { a: schema } });
  const utf16 = (text: string, isBig: boolean, mark: boolean): string => {
    const bytes = Buffer.from((mark ? "\ufeff" : "") + text, "utf16le");
    return (isBig ? bytes.swap16() : bytes).toString("base64");
  };
  /** Where nothing can be put in the place of what is found. */
  const UNREPLACEABLE: Readonly<Record<string, object>> = {
    "the name of a property": inTool({ type: "object", properties: { [MAIL]: { type: "string" } } }),
    "the value of type": property({ type: MAIL }),
    "the value of format": property({ type: "string", format: CARD }),
    "the value of $ref": property({ $ref: `#/$defs/${MAIL}` }),
    "the value of $id": property({ $id: `https://schemas.example/?for=${MAIL}`, type: "string" }),
    "a pattern": property({ type: "string", pattern: MAIL }),
    "a number in a schema": property({ enum: [4111111111111111] }),
    "the name of a format of the answer": {
      response_format: {
        type: "json_schema",
        json_schema: { name: CARD.replaceAll(" ", ""), schema: { type: "object" } },
      },
    },
    "the name of a function": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "function", function: { name: CARD.replaceAll(" ", ""), arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    },
    "the name of a tool that takes any text": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", type: "custom", custom: { name: CARD.replaceAll(" ", ""), input: "x" } }],
        },
        { role: "tool", tool_call_id: "c", content: "x" },
      ],
    },
    "the id of a call": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: MAIL, type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: MAIL, content: "x" },
      ],
    },
    "a chosen function": {
      ...inTool({ type: "object" }),
      tool_choice: { type: "function", function: { name: "f" }, note: { type: MAIL } },
    },
    "a service tier": { service_tier: MAIL },
    "an effort": { reasoning_effort: MAIL },
    "a key of logit_bias": { logit_bias: { [CARD.replaceAll(" ", "")]: 1 } },
    "a voice": { modalities: ["text", "audio"], audio: { voice: MAIL, format: "wav" } },
    "a modality": { modalities: [MAIL] },
    "an address": user({ type: "image_url", image_url: { url: `https://images.example/?for=${MAIL}` } }),
    "how closely to look": user({
      type: "image_url",
      image_url: { url: "https://images.example/a.png", detail: MAIL },
    }),
    "the id of a file": user({ type: "file", file: { file_id: CARD.replaceAll(" ", "") } }),
    "two names that would become one": { custom_field: { [MAIL]: 1, "bob@mail.example.org": 2 } },
    "text that claims to be a signature": {
      messages: [
        ...HELLO,
        {
          role: "assistant",
          content: "x",
          reasoning_details: [{ type: "reasoning.text", text: "t", signature: MAIL }],
        },
        ...HELLO,
      ],
    },
  };
  test.each(Object.entries(UNREPLACEABLE))(
    "[d3.3] %s: a match there cannot be replaced, and is refused also where the guard masks",
    async (_place, fields) => {
      for (const policy of [on(MASKS, "input"), on(BLOCKS, "input")]) {
        const stub = answering(policy);
        const { status, body } = await said(stub, fields);
        // what the gateway itself takes for no request at all has not left either
        expect([status, body["error"]?.code, stub.sent.length]).toEqual([403, "policy_violation", 0]);
      }
      const audited = answering(on(MASKS, "input", { mode: "audit" }));
      await said(audited, fields);
      expect(audited.records[0]!.policies).toEqual([{ name: "no-pii", effect: "would_deny" }]);
    },
  );

  const escaped = Array.from(MAIL, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`).join("");
  const toolResult = (content: unknown): object => ({
    model: "gemini:gemini-2.5-flash",
    messages: [
      ...HELLO,
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "find", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_1", content },
    ],
  });

  test("[d3.3] escapes in a tool's result are read as the provider reads them", async () => {
    const gemini = {
      candidates: [{ content: { role: "model", parts: [{ text: "Found." }] }, finishReason: "STOP" }],
    };
    const text = `{"from":"${escaped}"}`;
    const masking = answering(on(MASKS, "input"), gemini);
    expect((await said(masking, toolResult(text))).status).toBe(200);
    expect([masking.sent[0]!.body.includes(MAIL), masking.sent[0]!.body.includes("[email]")]).toEqual([false, true]);
    const pieces = [text.slice(0, 12), text.slice(12)].map((part) => ({ type: "text", text: part }));
    for (const content of [text, pieces]) {
      const blocking = answering(on(BLOCKS, "input"), gemini);
      expect([(await said(blocking, toolResult(content))).status, blocking.sent.length]).toEqual([403, 0]);
    }
    // where it is divided between parts there is no one place for the mask
    const divided = answering(on(MASKS, "input"), gemini);
    expect([(await said(divided, toolResult(pieces))).status, divided.sent.length]).toEqual([403, 0]);
  });

  const latin1 = (text: string): string => Buffer.from(text, "latin1").toString("base64");
  const SAID: Readonly<Record<string, (text: string) => object>> = {
    "a data URI": (text) => ({
      type: "file",
      file: { filename: "a", file_data: `data:text/plain;base64,${latin1(text)}` },
    }),
    "a data URI with a long head": (text) => ({
      type: "file",
      file: { filename: "a", file_data: `data:text/plain${";a=b".repeat(80)};base64,${latin1(text)}` },
    }),
    "a data URI that says more behind `base64`": (text) => ({
      type: "file",
      file: { filename: "a", file_data: `data:text/plain;base64;name=a,${latin1(text)}` },
    }),
    "the format of the file": (text) => ({ type: "file", file: { format: "text/plain", file_data: latin1(text) } }),
    "the name of the file, with another character in its base64": (text) => ({
      type: "file",
      file: { filename: "letter.md", file_data: latin1(text).replace(/^.{5}/, "$&!") },
    }),
    "the name of the file": (text) => ({ type: "file", file: { filename: "letter.md", file_data: latin1(text) } }),
    "the type of a document": (text) => ({
      type: "document",
      source: { type: "base64", media_type: "text/csv", data: latin1(text) },
    }),
    "the type of a document with a space in its base64": (text) => ({
      type: "document",
      source: { type: "base64", media_type: "text/csv", data: latin1(text).replace(/^.{5}/, "$& ") },
    }),
  };
  const HIDDEN: Readonly<Record<string, string>> = {
    "a control character": `\x01 Write to ${MAIL} soon.`,
    "a control character at its end": `Write to ${MAIL} soon.${" Please do.".repeat(100)}\x0e`,
    "letters that are not UTF-8": `In the caf\xe9: ${MAIL} is there.`,
    "a zero": `\0Write to ${MAIL} soon.`,
    "the head of a PDF": `%PDF-1.7\nWrite to ${MAIL} soon.`,
  };
  for (const [word, part] of Object.entries(SAID))
    test.each(Object.entries(HIDDEN))(
      `[d3.3] a file that is text by its ${word} is searched, also with %s`,
      async (_what, text) => {
        const model = word.startsWith("the type of a document") ? "ollama:llama3.2" : "openai:gpt-4o";
        const blocking = answering(on(BLOCKS, "input"));
        expect([(await said(blocking, { model, ...user(part(text)) })).status, blocking.sent.length]).toEqual([403, 0]);
        const masking = answering(on(MASKS, "input"));
        await said(masking, { model, ...user(part(text)) });
        const sent = masking.sent.map(({ body }) => body).join("");
        const files = [...sent.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)].map(([found]) =>
          Buffer.from(found, "base64").toString("latin1"),
        );
        expect([sent, ...files].some((one) => one.includes(MAIL))).toBe(false);
        // nothing else of it has changed
        if (files.length > 0 && !text.includes("\0")) expect(files).toContain(text.replace(MAIL, "[email]"));
      },
    );

  test("[d3.3] the head of a data URI is searched where it is longer than the type of a file", async () => {
    const uri = `data:text/plain${";a=b".repeat(80)};from=${encodeURIComponent(MAIL)};base64,${latin1("Hello")}`;
    const blocking = answering(on(BLOCKS, "input"));
    const part = { type: "file", file: { filename: "a", file_data: uri } };
    expect([(await said(blocking, user(part))).status, blocking.sent.length]).toEqual([403, 0]);
  });

  const REPLACEABLE: Readonly<Record<string, object>> = {
    "the name of an unknown member of a message": { messages: [{ role: "user", content: "x", [MAIL]: true }] },
    "the name of an unknown member of a part": user({ type: "text", text: "x", extra: { [MAIL]: 1 } }),
    "a number in an unknown member of a message": {
      messages: [{ role: "user", content: "x", order: 4111111111111111 }],
    },
    "a text file in UTF-16": user({
      type: "file",
      file: { filename: "a.txt", file_data: `data:text/plain;charset=utf-16;base64,${utf16(LETTER, false, true)}` },
    }),
    "a text file in UTF-16, the other way round": user({
      type: "file",
      file: { filename: "a.txt", file_data: utf16(LETTER, true, true) },
    }),
    "a text file in UTF-16 without a mark": user({
      type: "file",
      file: { filename: "a.txt", file_data: utf16(LETTER, false, false) },
    }),
  };
  test.each(Object.entries(REPLACEABLE))("[d3.3] %s: masked, and blocked", async (_place, fields) => {
    const masking = answering(on(MASKS, "input"));
    expect((await said(masking, fields)).status).toBe(200);
    const sent = masking.sent[0]!.body;
    const files = [...sent.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)]
      .flatMap(([found]) => [
        Buffer.from(found, "base64").toString("utf16le"),
        Buffer.from(found, "base64").swap16().toString("utf16le"),
      ])
      .join("");
    for (const secret of [MAIL, CARD, "4111111111111111"])
      expect([sent.includes(secret), files.includes(secret)]).toEqual([false, false]);
    if (files !== "") expect(files).toContain("my card is [card]");
    expect((await said(answering(on(BLOCKS, "input")), fields)).status).toBe(403);
  });

  test("[d3.3] protocol words are not text: a pattern that equals one of them finds only text that a person wrote", async () => {
    const stub = answering({
      name: "words",
      guard: { on: "input", action: "block", patterns: ["user|function|string|assistant|auto|content|properties"] },
    });
    const { status } = await said(stub, { ...property({ type: "string" }), tool_choice: "auto" });
    expect(status).toBe(200);
  });

  test("[d3.3] images, PDF files, keywords of schemas and keys of tool servers are sent unchanged", async () => {
    const fields = {
      messages: [
        {
          role: "user",
          content: [
            {
              type: "image_url",
              image_url: {
                url: "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
              },
            },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${base64(`%PDF-1.4 ${CARD}`)}` },
            },
          ],
        },
      ],
      tools: [
        {
          type: "function",
          function: {
            name: "f",
            parameters: {
              type: "object",
              properties: { email: { type: "string", format: "email", pattern: "^.+@.+$" } },
              required: ["email"],
            },
          },
        },
      ],
      seed: 4111111111111111,
    };
    const plain = answering({ ...on(MASKS, "input"), scope: { provider: "other" } });
    const masking = answering(on(MASKS, "input"));
    await said(plain, fields);
    await said(masking, fields);
    expect(masking.sent[0]!.body).toBe(plain.sent[0]!.body);
  });
});

/** Turns that others got until it is asked. */
function countTurns(): () => number {
  let turns = 0;
  let goesOn = true;
  const next = (): void => {
    turns += 1;
    if (goesOn) setImmediate(next);
  };
  setImmediate(next);
  return () => {
    goesOn = false;
    return turns;
  };
}

describe("a long conversation", () => {
  const prose = "He wrote it down and went on. ".repeat(40_000);
  const long = (middle: string): object => ({
    messages: [
      { role: "user", content: `${prose}${middle}${prose}` },
      { role: "user", content: MAIL },
    ],
  });

  test("[d3.3] is masked like a short one, in turns with other calls", async () => {
    const stub = answering(on(MASKS, "input"));
    const turns = countTurns();
    const { status } = await said(stub, long(`to ${MAIL} with ${CARD} `));
    expect(status).toBe(200);
    const [first, second] = JSON.parse(stub.sent[0]!.body).messages;
    expect(first.content).toBe(`${prose}to [email] with [card] ${prose}`);
    expect(second.content).toBe("[email]");
    expect(turns()).toBeGreaterThan(20);
  });

  test("[d3.3] is masked by a guard of one target in the same way, in turns as well", async () => {
    const stub = answering(on(MASKS, "input", { scope: { provider: "openai" } }));
    const turns = countTurns();
    await said(stub, long(`to ${MAIL} with ${CARD} `));
    expect(JSON.parse(stub.sent[0]!.body).messages[0].content).toBe(`${prose}to [email] with [card] ${prose}`);
    expect(turns()).toBeGreaterThan(20);
  });

  test("[d3.3] a long answer is masked in turns too", async () => {
    const stub = answering(on(MASKS, "output"), openaiAnswer(`${prose}to ${MAIL} with ${CARD} ${prose}`));
    const turns = countTurns();
    const { body } = await said(stub, {});
    expect(body["choices"][0].message.content).toBe(`${prose}to [email] with [card] ${prose}`);
    expect(turns()).toBeGreaterThan(20);
    const blocking = answering(on(BLOCKS, "output"), openaiAnswer(`${prose}${CARD}`));
    expect([(await said(blocking, {})).status, blocking.records[0]!.cost !== null]).toEqual([403, true]);
  });

  test("[d3.3] is blocked like a short one", async () => {
    const stub = answering(on(BLOCKS, "input"));
    expect([(await said(stub, long(CARD))).status, stub.sent.length]).toEqual([403, 0]);
  });
});

describe("guards on non-streaming answers", () => {
  const ANSWER = {
    id: "a",
    object: "chat.completion",
    created: 1,
    model: "m",
    usage: USAGE,
    citations: [`https://x.example`, `by ${MAIL}`],
    choices: [
      {
        index: 0,
        finish_reason: "stop",
        logprobs: { content: [{ token: "4111", logprob: -1, bytes: null, top_logprobs: [] }], refusal: null },
        message: {
          role: "assistant",
          content: `Write to ${MAIL}.`,
          refusal: `not ${CARD}`,
          reasoning_content: `They said ${CARD}`,
        },
      },
      {
        index: 1,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "c",
              type: "function",
              function: { name: "f", arguments: `{"to":"${MAIL}","card":4111111111111111}` },
            },
          ],
        },
      },
    ],
  };

  test("[d3.3] a guard that masks rewrites every text of every choice", async () => {
    const stub = answering(on(MASKS, "output"), ANSWER);
    const { status, body, headers } = await said(stub, { n: 2, logprobs: true });
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toMatch(/mail\.example|4111/);
    expect(body["choices"][0].message).toMatchObject({
      content: "Write to [email].",
      refusal: "not [card]",
      reasoning_content: "They said [card]",
    });
    expect(JSON.parse(body["choices"][1].message.tool_calls[0].function.arguments)).toEqual({
      to: "[email]",
      card: "[card]",
    });
    expect(body["citations"]).toEqual(["https://x.example", "by [email]"]);
    expect(body["choices"][0].logprobs).toBeNull();
    expect(headers.get("x-gateway-warnings")).toContain("logprobs_withheld");
    expect(body["usage"]).toMatchObject(USAGE);
    expect(stub.records[0]!.policies).toEqual([{ name: "no-pii", effect: "masked" }]);
  });

  const PICTURE = Buffer.from(`<svg><text>${CARD} of ${MAIL}</text></svg>`.repeat(30)).toString("base64");
  const ODD = {
    role: "assistant",
    content: "Look.",
    [`for ${MAIL}`]: 1,
    order: 4111111111111111,
    annotations: [
      {
        type: "url_citation",
        url_citation: { url: `https://shop.example/?for=${MAIL}`, title: "x", start_index: 0, end_index: 1 },
      },
    ],
    images: [
      { type: "image_url", image_url: { url: `data:image/svg+xml;base64,${PICTURE}` } },
      { type: "image_url", image_url: { url: `data:text/plain,${encodeURIComponent(CARD)}` } },
    ],
  };
  const decoded = (text: string): string =>
    text +
    [...text.matchAll(/[A-Za-z0-9+/]{40,}={0,2}/g)].map(([found]) => Buffer.from(found, "base64").toString()).join("") +
    decodeURIComponent(text.replaceAll(/%(?![0-9A-Fa-f]{2})/g, ""));

  test("[d3.3] addresses of annotations, images that are text, and a vendor's own names and numbers are masked in a non-streaming answer and in a stream", async () => {
    const stub = answering(on(MASKS, "output"), {
      ...openaiAnswer("x"),
      choices: [{ index: 0, finish_reason: "stop", message: ODD }],
      own: { [MAIL]: 4111111111111111 },
    });
    const plain = await said(stub, {});
    expect([plain.status, decoded(JSON.stringify(plain.body)).match(/mail\.example|4111/)]).toEqual([200, null]);
    expect(plain.body["choices"][0].message.annotations[0].url_citation.url).toBe("https://shop.example/?for=[email]");
    const streamed = await play([chunk({ ...ODD }), chunk({}, "stop", { own: { [MAIL]: 4111111111111111 } })], {
      stub: guarded(on(MASKS, "output")),
    });
    expect([streamed.error, decoded(streamed.text).match(/mail\.example|4111/), streamed.content]).toEqual([
      null,
      null,
      "Look.",
    ]);
  });

  const NAMED = CARD.replaceAll(" ", "");
  test.each([
    { id: "c", type: "function", function: { name: NAMED, arguments: "{}" } },
    { id: "c", type: "custom", custom: { name: NAMED, input: "x" } },
  ])("[d3.3] the name in the call $type cannot be replaced: the answer is refused, and a stream ends", async (call) => {
    const plain = await said(
      answering(on(MASKS, "output"), {
        ...openaiAnswer("x"),
        choices: [
          { index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null, tool_calls: [call] } },
        ],
      }),
      {},
    );
    expect([plain.status, plain.body["error"].code, JSON.stringify(plain.body).includes("4111")]).toEqual([
      403,
      "policy_violation",
      false,
    ]);
    const streamed = await play(
      [chunk({ content: "So. " }), chunk({ tool_calls: [{ index: 0, ...call }] }), chunk({}, "tool_calls")],
      { stub: guarded(on(MASKS, "output")) },
    );
    expect([streamed.error?.["code"], streamed.text.includes("4111"), streamed.done]).toEqual([
      "policy_violation",
      false,
      true,
    ]);
  });

  test("[d3.3] a blocked answer is answered with 403 and not retried, and what was generated is settled", async () => {
    const stub = answering(on(BLOCKS, "output"), ANSWER);
    const { status, body } = await said(stub, { n: 2, num_retries: 3, fallbacks: ["openai:gpt-4o-mini"] });
    expect([status, body["error"].code, body["error"].metadata.policy]).toEqual([403, "policy_violation", "no-pii"]);
    expect(JSON.stringify(body)).not.toMatch(/mail\.example|4111/);
    expect(stub.sent).toHaveLength(1);
    expect(stub.records[0]).toMatchObject({
      usage: USAGE,
      usageSource: "provider",
      policies: [{ name: "no-pii", effect: "denied" }],
    });
    expect(stub.records[0]!.cost?.nanoUsd).toBeGreaterThan(0);
  });

  const OF_OTHERS = {
    "anthropic:m": {
      id: "a",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: `Write to ${MAIL}.` }],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 2 },
    },
    "gemini:m": {
      candidates: [{ content: { role: "model", parts: [{ text: `Write to ${MAIL}.` }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2, totalTokenCount: 3 },
    },
  };
  test.each(Object.entries(OF_OTHERS))(
    "[d3.3] an answer of %s in its own form is searched as well",
    async (model, answer) => {
      expect((await said(answering(on(MASKS, "output"), answer), { model })).body["choices"][0].message.content).toBe(
        "Write to [email].",
      );
    },
  );
});

describe("guards on streams", () => {
  const streamed = (
    data: readonly object[],
    policy: object = on(MASKS, "output"),
    ask: Readonly<Record<string, unknown>> = {},
  ): Promise<Played> => play(data, { ask, stub: guarded(policy) });
  const spelled = (text: string, field = "content"): readonly object[] =>
    Array.from(text, (letter) => chunk({ [field]: letter }));
  const contentOf = ({ events }: Played, field = "content"): string =>
    events
      .flatMap((event) => event["choices"] ?? [])
      .map((choice) => choice.delta?.[field] ?? "")
      .join("");

  test("[d3.3] a match that spans chunks is caught, and nothing of it is sent", async () => {
    const got = await streamed([
      chunk({ role: "assistant", content: "" }),
      ...spelled(`The card ${CARD} is of ${MAIL}, he said.`),
      chunk({}, "stop"),
      usageChunk(),
    ]);
    expect([got.content, got.faults, got.error]).toEqual(["The card [card] is of [email], he said.", [], null]);
    expect(got.text).not.toMatch(/"content":"4|ada@/);
    expect(got.stub.records[0]).toMatchObject({
      status: 200,
      usage: USAGE,
      policies: [{ name: "no-pii", effect: "masked" }],
    });
  });

  test("[d3.3] text is held back only while a match could still be growing", async () => {
    const got = await streamed([
      chunk({ content: "Call 41" }),
      chunk({ content: "11 or" }),
      chunk({ content: " not" }),
      chunk({}, "stop"),
    ]);
    expect(
      got.events
        .flatMap((event) => event["choices"])
        .map((choice) => choice.delta.content)
        .filter(Boolean),
    ).toEqual(["Call ", "4111 ", "or ", "not"]);
  });

  test("[d3.3] a vendor's own members that arrive in pieces are searched as well, also inside others", async () => {
    const pieces = [CARD.slice(0, 6), CARD.slice(6, 11), CARD.slice(11)];
    const got = await streamed([
      ...pieces.map((piece) => chunk({ own_words: piece })),
      ...pieces.map((piece) => chunk({ own: { words: piece, type: "x" } })),
      chunk({ content: "Hi" }),
      chunk({}, "stop"),
    ]);
    expect([got.text.replaceAll(/[0-9a-f]{32}/g, "").includes("1111"), got.faults, got.content]).toEqual([
      false,
      [],
      "Hi",
    ]);
    expect(contentOf(got, "own_words")).toBe("[card]");
    expect(got.text).toContain('{"own":{"words":"[card]"}}');
  });

  test("[d3.3] a match at the end is caught before the finish reason", async () => {
    const got = await streamed([...spelled(`It is ${CARD}`), chunk({}, "stop")]);
    expect([got.content, got.faults]).toEqual(["It is [card]", []]);
  });

  test.each([
    ["many", 3_000, "t"],
    ["long", 3, "t".repeat(80_000)],
  ])("[d5.8] of a text that never ends, citations wait up to a bound, if they are %s", async (_are, count, title) => {
    const url_citation = { start_index: 4, end_index: 4 + MAIL.length, url: "https://example.com/", title };
    const annotations = Array.from({ length: count }, () => ({ type: "url_citation", url_citation }));
    const got = await streamed([
      chunk({ content: `Ask ${MAIL} for more.` }),
      ...Array.from({ length: 5 }, () => chunk({ annotations })),
      chunk({ content: " Bye." }),
      chunk({}, "stop"),
    ]);
    const cited = got.events.flatMap((event) => event["choices"]).map(({ delta }) => delta.annotations?.length ?? 0);
    expect([cited.filter((came) => came > 0), got.faults]).toEqual([[4 * count, count], []]);
    const [first] = got.events.flatMap((event) => event["choices"]).flatMap(({ delta }) => delta.annotations ?? []);
    expect(first.url_citation).toMatchObject({ start_index: 4, end_index: 4 + "[email]".length });
  });

  test("[d3.3] citations are moved to where their text stands in the masked text, however the answer comes", async () => {
    const text = `Ask ${MAIL} or ${MAIL} for the report of today.`;
    const citation = (cited: string): object => {
      const start = text.indexOf(cited);
      const place = { start_index: start, end_index: start + cited.length };
      return { type: "url_citation", url_citation: { ...place, url: "https://x.example/", title: "t" } };
    };
    const annotations = ["Ask", MAIL, `${MAIL} or`, "report"].map(citation);
    const { body } = await said(answering(on(MASKS, "output"), openaiAnswer(text, { message: { annotations } })), {});
    const places = (cited: readonly any[]): readonly string[] =>
      cited.map(({ url_citation: { start_index: from, end_index: to } }) => shown.slice(from, to));
    const shown = "Ask [email] or [email] for the report of today.";
    const call = { index: 0, id: "c0", type: "function", function: { name: "f", arguments: "{}" } };
    const expected = ["Ask", "[email]", "[email] or", "report"];
    expect(body["choices"][0].message.content).toBe(shown);
    expect(places(body["choices"][0].message.annotations)).toEqual(expected);
    for (const chunks of [
      [...spelled(text), chunk({ annotations })],
      [chunk({ content: text.slice(0, 5) }), chunk({ annotations }), chunk({ content: text.slice(5) })],
      [...spelled(text), chunk({ annotations }), chunk({ tool_calls: [call] })],
    ]) {
      const got = await streamed([...chunks, chunk({}, "stop")]);
      const cited = got.events.flatMap((event) => event["choices"]).flatMap(({ delta }) => delta.annotations ?? []);
      expect([got.content, places(cited), got.faults]).toEqual([shown, expected, []]);
    }
  });

  test("[d3.3] reasoning, refusals, reasoning blocks, transcripts and arguments of calls are separate texts", async () => {
    const pieces = [CARD.slice(0, 6), CARD.slice(6, 11), CARD.slice(11)];
    const call = (index: number, fields: object, text: string): object => ({
      tool_calls: [{ index, ...fields, function: { ...("id" in fields && { name: "f" }), arguments: text } }],
    });
    const got = await streamed([
      ...pieces.map((piece) => chunk({ reasoning_content: piece })),
      ...pieces.map((piece) => chunk({ reasoning_details: [{ type: "reasoning.text", text: piece, index: 0 }] })),
      ...pieces.map((piece) => chunk({ audio: { transcript: piece } })),
      ...pieces.map((piece) => chunk({ refusal: piece })),
      chunk(call(0, { id: "c0", type: "function" }, `{"card":"`)),
      ...pieces.map((piece) => chunk(call(0, {}, piece))),
      chunk(call(0, {}, '"}')),
      chunk(call(1, { id: "c1", type: "function" }, '{"card":')),
      ...pieces.map((piece) => chunk(call(1, {}, piece.replaceAll(" ", "")))),
      chunk(call(1, {}, "}")),
      chunk({}, "tool_calls"),
    ]);
    expect(got.faults).toEqual([]);
    expect(got.text).not.toContain("1111");
    expect([contentOf(got, "reasoning_content"), contentOf(got, "refusal")]).toEqual(["[card]", "[card]"]);
    const deltas = got.events.flatMap((event) => event["choices"]).map((choice) => choice.delta);
    expect(
      deltas
        .flatMap((delta) => delta.reasoning_details ?? [])
        .map((detail: { text: string }) => detail.text)
        .join(""),
    ).toBe("[card]");
    expect(deltas.flatMap((delta) => delta.audio?.transcript ?? []).join("")).toBe("[card]");
    for (const index of [0, 1]) {
      const text = deltas
        .flatMap((delta) => delta.tool_calls ?? [])
        .filter((one: { index: number }) => one.index === index)
        .map((one: { function: { arguments: string } }) => one.function.arguments)
        .join("");
      expect(JSON.parse(text)).toEqual({ card: "[card]" });
    }
  });

  test("[d3.3] choices are separate texts", async () => {
    const got = await streamed(
      [
        choiceChunk({ index: 0, delta: { content: "4111 1111" } }),
        choiceChunk({ index: 1, delta: { content: " 1111 1111" } }),
        choiceChunk({ index: 0, delta: { content: " and" } }),
        choiceChunk({ index: 0, delta: {}, finish_reason: "stop" }),
        choiceChunk({ index: 1, delta: {}, finish_reason: "stop" }),
      ],
      on(MASKS, "output"),
      { n: 2 },
    );
    expect(got.faults).toEqual([]);
    expect(got.content).toBe("4111 1111 and");
  });

  test.each(["mask", "block"] as const)(
    "[d3.3] choices that are upstream requests of their own are searched as well, to their end: %s",
    async (action) => {
      const line = (content: string, more: object): string =>
        `${JSON.stringify({ model: "m", message: { role: "assistant", content }, ...more })}\n`;
      const body =
        line("Hello, it is 4111 1111 ", { done: false }) +
        line("1111 1111", { done: false }) +
        line("", { done: true, done_reason: "stop", prompt_eval_count: 2, eval_count: 3 });
      const stub = stubGateway(
        guarded(
          { name: "p", guard: { classes: ["card"], on: "output", action } },
          { upstream: cannedUpstream({ headers: { "content-type": "application/x-ndjson" }, body, chunk: 40 }) },
        ),
      );
      const text = await (await stub.chat({ model: "ollama:m", n: 2, stream: true, messages: HELLO })).text();
      expect(text).not.toContain("1111");
      expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
      expect(text.match(/\[card\]/g)?.length ?? 0).toBe(action === "mask" ? 2 : 0);
      expect(text.includes("policy_violation")).toBe(action === "block");
    },
  );

  test("[d3.3] [d8.3] a guard that blocks ends the stream with one error event and [DONE]; nothing of the match is sent, the upstream request ends, and what was generated is settled", async () => {
    const got = await streamed(
      [chunk({ content: "The card is " }), ...spelled(`${CARD}. And more.`), chunk({}, "stop"), usageChunk()],
      on(BLOCKS, "output"),
    );
    expect(got.faults).toEqual([]);
    expect([
      got.content,
      got.done,
      got.error?.["code"],
      got.error?.["message"],
      got.error?.["metadata"].policy,
    ]).toEqual(["The card is ", true, "policy_violation", "Keep it out.", "no-pii"]);
    expect(got.text).not.toMatch(/4111|"content":"4/);
    expect(got.stub.records[0]).toMatchObject({
      status: 403,
      code: "policy_violation",
      usageSource: "estimated",
      policies: [{ name: "no-pii", effect: "denied" }],
    });
    expect(got.stub.records[0]!.usage!.completion_tokens).toBeGreaterThan(3);
    expect(got.stub.sent).toHaveLength(1);
  });

  test("[d3.3] [d7.4] a match in the first content is answered with a plain 403, because nothing has been sent", async () => {
    const stub = stubGateway(
      guarded(on(BLOCKS, "output"), {
        upstream: cannedUpstream({
          headers: { "content-type": "text/event-stream" },
          body: eventStream(...spelled(`${CARD}, yes`), chunk({}, "stop")),
          chunk: "event",
        }),
      }),
    );
    const { status, body } = await said(stub, { stream: true, num_retries: 2 });
    expect([status, body["error"].code]).toEqual([403, "policy_violation"]);
    expect(stub.sent).toHaveLength(1);
    expect(stub.records[0]!.usage).not.toBeNull();
  });

  test("[d3.3] an answer that is masked to nothing does not count as an empty one", async () => {
    const got = await streamed([chunk({ content: MAIL }), chunk({}, "stop")], {
      name: "p",
      guard: { classes: ["email"], on: "output", action: "mask", mask: "" },
    });
    expect([got.content, got.faults, got.stub.sent.length]).toEqual(["", [], 1]);
  });

  test("[d3.3] log probabilities, which would reveal the text, are left out, and vendors' own fields are searched", async () => {
    const logprobs = { content: [{ token: "4111", logprob: -1, bytes: null, top_logprobs: [] }], refusal: null };
    const got = await streamed(
      [
        choiceChunk(
          { index: 0, delta: { content: "Hello", note: `by ${MAIL}` }, logprobs, remark: MAIL },
          { search: [MAIL] },
        ),
        chunk({}, "stop"),
      ],
      on(MASKS, "output"),
      { logprobs: true },
    );
    expect(got.faults).toEqual([]);
    expect(got.text).not.toMatch(/4111|mail\.example/);
    expect(got.response.headers.get("x-gateway-warnings")).toContain("logprobs_withheld");
  });

  test("[d3.3] in audit mode nothing is held back, masked or ended", async () => {
    const got = await streamed([...spelled(CARD), chunk({}, "stop")], on(BLOCKS, "output", { mode: "audit" }));
    expect([got.content, got.error]).toEqual([CARD, null]);
    expect(got.events.filter((event) => event["choices"]?.[0]?.delta.content).length).toBe(CARD.length);
    expect(got.stub.records[0]!.policies).toEqual([{ name: "no-pii", effect: "would_deny" }]);
  });

  test("[d3.3] [d8.7] however the answer is cut into chunks, the client reads the same text as in one piece, in a stream that keeps the grammar", async () => {
    const words = fc.constantFrom("The card is ", CARD, MAIL, " 4111", "@", "x", "\n", "😀", "41", ".");
    const text = fc.array(words, { minLength: 1, maxLength: 8 }).map((parts) => `> ${parts.join("")}`);
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(60), { maxLength: 10 }), async (whole, cuts) => {
        const pieces: string[] = [];
        let from = 0;
        for (const cut of [...new Set(cuts)].toSorted((a, b) => a - b).filter((at) => at > 0 && at < whole.length)) {
          pieces.push(whole.slice(from, cut));
          from = cut;
        }
        pieces.push(whole.slice(from));
        const once = await streamed([chunk({ content: whole }), chunk({}, "stop")]);
        const many = await streamed([...pieces.map((content) => chunk({ content })), chunk({}, "stop")]);
        expect([many.content, many.faults]).toEqual([once.content, []]);
      }),
      { numRuns: drawCount(20, 60) },
    );
  });
});
