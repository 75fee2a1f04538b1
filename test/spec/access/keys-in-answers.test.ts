// Promise 2.9 where a provider repeats its key in the model's answer: non-streaming and streamed, in any text of the
// answer, in pieces of any size.
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { HELLO } from "../chat-calls.ts";

const KEY = "sk-live-Ab3_dEf9-ghIJ7klMNop5qrST";
const SAID = `You sent ${KEY}, and again ${KEY}: is it yours? sk-live-Ab3_d is its beginning`;

function pieces(text: string, size: number): readonly string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

/** The text of the answer of a vendor that speaks the Responses API, which repeats each text as a whole behind its pieces. */
function responsesStream(size: number): string {
  const message = (status: string, content: readonly object[]) => ({
    id: "msg_1",
    type: "message",
    role: "assistant",
    status,
    content,
  });
  const part = { item_id: "msg_1", output_index: 0, content_index: 0 };
  const whole = { type: "output_text", text: SAID, annotations: [], logprobs: [] };
  const item = message("completed", [whole]);
  const usage = { input_tokens: 3, output_tokens: 9, total_tokens: 12 };
  return [
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: message("in_progress", []) },
    { type: "response.content_part.added", ...part, part: { ...whole, text: "" } },
    ...pieces(SAID, size).map((delta) => ({ type: "response.output_text.delta", ...part, delta, logprobs: [] })),
    { type: "response.output_text.done", ...part, text: SAID, logprobs: [] },
    { type: "response.content_part.done", ...part, part: whole },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { id: "resp_1", status: "completed", output: [item], usage } },
  ]
    .map((event, number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`)
    .join("");
}

/** What is left of a key in pieces: its beginning may have left before it was one. */
const withoutBeginnings = (text: string): string =>
  text.replaceAll(/(sk-live-|sk-live|sk-liv|sk-li|sk-l|sk-|sk|s)?\[credential\]/g, "[credential]");

function gateway(size: number, key = KEY) {
  const upstream = cannedUpstream(({ body }) =>
    body.includes('"stream":true')
      ? {
          headers: { "content-type": "text/event-stream" },
          body: eventStream(
            ...pieces(SAID, size).map((content) => openaiChunk({ content })),
            ...pieces(SAID, size).map((reasoning_content) => openaiChunk({ reasoning_content })),
            openaiChunk({
              tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name: "f", arguments: "" } }],
            }),
            ...pieces(JSON.stringify({ said: SAID }), size).map((text) =>
              openaiChunk({ tool_calls: [{ index: 0, function: { arguments: text } }] }),
            ),
            openaiChunk({}, "tool_calls"),
          ),
        }
      : { body: JSON.stringify(openaiAnswer(SAID)) },
  );
  return stubGateway({
    upstream,
    providers: [
      providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey(key)] }),
    ],
  });
}

describe("[d2.9] the operator's key in an answer", () => {
  test("[d8.3] the search for it hides nothing else of a stream: one that ends with its terminator and no finish reason is complete", async () => {
    const upstream = cannedUpstream({
      headers: { "content-type": "text/event-stream" },
      body: eventStream(openaiChunk({ content: "Hel" }), openaiChunk({ content: "lo" })),
    });
    const stub = stubGateway({
      upstream,
      providers: [
        providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey(KEY)] }),
      ],
    });
    const { error, done } = readStream(
      await (await stub.chat({ model: "openai:gpt-4o", messages: HELLO, stream: true })).text(),
    );
    expect([error, done, stub.records[0]]).toMatchObject([
      null,
      true,
      { status: 200, finishReasons: ["stop"], finishInferred: true },
    ]);
  });

  test("is not shown to the client in a non-streaming answer", async () => {
    const response = await gateway(1).chat({ model: "openai:gpt-4o", messages: HELLO });
    const text = await response.text();
    expect(response.status).toBe(200);
    expect(text).not.toContain(KEY);
    expect(text).toContain(
      "You sent [credential], and again [credential]: is it yours? sk-live-Ab3_d is its beginning",
    );
  });

  for (const size of [1, 2, 3, 5, 7, 11, 16, 40, 500])
    test(`streamed in pieces of ${size}: no text of the answer shows it, and nothing else is lost`, async () => {
      const response = await gateway(size).chat({
        model: "openai:gpt-4o",
        messages: HELLO,
        stream: true,
        tools: [{ type: "function", function: { name: "f" } }],
      });
      const { events, content, done } = readStream(await response.text());
      const deltas = events.flatMap((event) =>
        (event["choices"] as readonly { readonly delta: Record<string, any> }[]).map(({ delta }) => delta),
      );
      const reasoning = deltas.map((delta) => (delta["reasoning_content"] as string | undefined) ?? "").join("");
      const called = deltas
        .map((delta) => (delta["tool_calls"]?.[0]?.function?.arguments as string | undefined) ?? "")
        .join("");
      expect(done).toBe(true);
      for (const text of [content, reasoning, (JSON.parse(called) as { readonly said: string }).said])
        expect(withoutBeginnings(text)).toBe(SAID.replaceAll(KEY, "[credential]"));
    });

  describe("streamed by a vendor that repeats the whole text behind its pieces", () => {
    const upstreamOf = (size: number) =>
      stubGateway({
        permissions: [],
        upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body: responsesStream(size) }),
        providers: [
          providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey(KEY)] }),
        ],
      });
    for (const size of [1, 3, 9, 40, 500]) {
      test(`[d12.5] in pieces of ${size}: the stream passes, and neither pieces nor whole texts show it`, async () => {
        const { authorization, context } = upstreamOf(size);
        const response = await handleCall(
          RESPONSES,
          new Request("http://gateway.test/api/v1/responses", {
            method: "POST",
            headers: { authorization, "content-type": "application/json" },
            body: JSON.stringify({ model: "openai:gpt-9", input: "Hello", stream: true }),
          }),
          context,
        );
        const text = await response.text();
        expect(text).not.toContain(KEY);
        const events = text
          .split("\n")
          .flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6)) as Record<string, any>] : []));
        expect(events.at(-1)).toMatchObject({ type: "response.completed" });
        const said = events.flatMap(({ delta }) => (typeof delta === "string" ? [delta] : [])).join("");
        const wholes = events.flatMap(({ type, text: whole, response: last }) => {
          if (type === "response.output_text.done") return [whole as string];
          return type === "response.completed" ? [last.output[0].content[0].text as string] : [];
        });
        for (const one of [said, ...wholes]) expect(withoutBeginnings(one)).toBe(SAID.replaceAll(KEY, "[credential]"));
        expect(wholes).toHaveLength(2);
      });

      test(`in pieces of ${size}, in the form of chat completions: nothing shows it, and nothing else is lost`, async () => {
        const response = await upstreamOf(size).chat({
          model: "openai:gpt-5.6-sol",
          messages: HELLO,
          stream: true,
          tools: [{ type: "function", function: { name: "f" } }],
        });
        const { content, done } = readStream(await response.text());
        expect([done, withoutBeginnings(content)]).toEqual([true, SAID.replaceAll(KEY, "[credential]")]);
      });
    }
  });

  const choice = { index: 0, delta: { role: "assistant", content: "Hello" }, finish_reason: null };
  const event = { ...openaiChunk({}), choices: [choice] };
  const last = openaiChunk({}, "stop");
  const logprobs = { content: [{ token: KEY, logprob: 0, bytes: [...Buffer.from(KEY)], top_logprobs: [] }] };
  for (const [place, events] of Object.entries<readonly object[]>({
    "the id": [{ ...event, id: KEY }, last],
    "the model": [{ ...event, model: KEY }, last],
    "the fingerprint": [{ ...event, system_fingerprint: KEY }, last],
    "a member of its own": [event, { ...last, vendor: { trace: [KEY] } }],
    "the name of a member": [{ ...event, vendor: { [KEY]: true } }, last],
    "a member of a choice": [{ ...event, choices: [{ ...choice, vendor: KEY }] }, last],
    "the log probabilities": [{ ...event, choices: [{ ...choice, logprobs }] }, last],
    "the finish reason": [event, { ...last, choices: [{ index: 0, delta: {}, finish_reason: KEY }] }],
    "the usage": [event, { ...last, usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4, tier: KEY } }],
  }))
    test(`streamed, wherever it stands in an event: ${place}`, async () => {
      const upstream = cannedUpstream({
        headers: { "content-type": "text/event-stream" },
        body: eventStream(...(events as readonly any[])),
      });
      const stub = stubGateway({
        upstream,
        providers: [
          providerSettings({ id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey(KEY)] }),
        ],
      });
      const text = await (await stub.chat({ model: "openai:gpt-4o", messages: HELLO, stream: true })).text();
      expect(readStream(text)).toMatchObject({ content: "Hello", done: true });
      expect(text).not.toContain(KEY);
      expect(stub.records).toHaveLength(1);
      expect(JSON.stringify(stub.records[0])).not.toContain(KEY);
    });

  test("a key that the caller brought may be shown to the caller, and a key that is an ordinary word is not replaced", async () => {
    const brought = await gateway(1).chat({ model: "openai:gpt-4o", messages: HELLO, api_key: KEY });
    expect(await brought.text()).toContain(KEY);
    const word = await gateway(1, "You sent").chat({ model: "openai:gpt-4o", messages: HELLO });
    expect(await word.text()).toContain("You sent");
  });
});
