// Promises 2.9 and 5.8 over sockets: the connection of an answer that is none serves no other call, because the provider
// may still send what it holds for the answer; a valid answer gives its connection back.
import { describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { createSocketUpstream } from "../../../src/wire/http/upstream-socket.ts";
import { EMBEDDINGS } from "../../../src/operations/embeddings/embeddings.ts";
import { type Stub, stubGateway } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { eventStream, openaiAnswer, openaiChunk, startRawUpstream } from "../../harness/servers/upstream.ts";
import { HELLO } from "../chat-calls.ts";

const framed = (body: string, type = "application/json", status = "200 OK"): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const WHOLE = framed(JSON.stringify(openaiAnswer("Hello")));
const STREAM = framed(eventStream(openaiChunk({ content: "Hello" }), openaiChunk({}, "stop")), "text/event-stream");
const VECTOR = framed(
  JSON.stringify({
    object: "list",
    model: "m",
    data: [{ index: 0, embedding: [1] }],
    usage: { prompt_tokens: 1, total_tokens: 1 },
  }),
);
const REFUSAL = JSON.stringify({
  error: { message: "Slow down.", type: "rate_limit_error", code: "rate_limit_exceeded" },
});

type Ask = (stub: Stub) => Promise<Response>;
const CALLS: Readonly<Record<string, { readonly ask: Ask; readonly valid: string }>> = {
  "an answer": { valid: WHOLE, ask: (stub) => stub.chat({ model: "openai:m", messages: HELLO }) },
  "a stream": { valid: STREAM, ask: (stub) => stub.chat({ model: "openai:m", messages: HELLO, stream: true }) },
  embeddings: { valid: VECTOR, ask: (stub) => stub.call(EMBEDDINGS, { model: "openai:m", input: ["x"] }) },
};
const NONE: Readonly<Record<string, string>> = {
  "with an empty body": framed(""),
  "with an empty body in chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
  "that is a web page": framed("<html>Hello</html>", "text/html"),
  "that is no JSON": framed('{"choices":['),
  "that is no answer": framed('{"hello":1}'),
  "with an empty refusal": framed("", "application/json", "500 Internal Server Error"),
  "with a refusal that is a web page": framed("<html>Busy</html>", "text/html", "503 Service Unavailable"),
  "with a refusal whose type is another": framed(REFUSAL, "text/plain", "429 Too Many Requests"),
};

/** Returns for each of the calls, which are made one after the other, on which connection its request came. */
async function connectionsOf(answers: readonly string[], ask: Ask): Promise<readonly number[]> {
  const connections = new Map<Socket, number>();
  const seen: number[] = [];
  const upstream = await startRawUpstream((socket) => {
    if (!connections.has(socket)) connections.set(socket, connections.size);
    const answer = answers[seen.push(connections.get(socket)!) - 1];
    socket.write(answer ?? WHOLE);
  });
  const stub = stubGateway({
    upstream: createSocketUpstream(),
    providers: [providerSettings({ id: "openai", baseUrl: `${upstream.url}/v1`, credentials: [storedKey("sk-x")] })],
  });
  try {
    for (const _ of answers) await (await ask(stub)).text();
    return seen;
  } finally {
    await upstream.stop();
  }
}

describe("the connection of a provider's answer", () => {
  for (const [name, { ask, valid }] of Object.entries(CALLS)) {
    for (const [title, none] of Object.entries(NONE))
      test(`[d2.9 d5.8] ${title} serves no other call: ${name}`, async () => {
        expect(await connectionsOf([none, valid, valid], ask)).toEqual([0, 1, 1]);
      });
    test(`[d5.8] serves again behind a valid one and behind a refusal in JSON: ${name}`, async () => {
      const refusal = framed(REFUSAL, "application/json; charset=utf-8", "429 Too Many Requests");
      expect(await connectionsOf([valid, valid, refusal, valid], ask)).toEqual([0, 0, 0, 0]);
    });
  }

  test("[d2.9] serves no other call behind a stream without its end", async () => {
    const cut = framed(
      eventStream(openaiChunk({ content: "Hello" })).replace("data: [DONE]\n\n", ""),
      "text/event-stream",
    );
    expect(await connectionsOf([cut, STREAM, STREAM], CALLS["a stream"]!.ask)).toEqual([0, 1, 1]);
  });
});
