// Approval of calls at `/mcp` by clients of the protocol's versions before 2026-07-28, attacked: the token that ends while
// a person thinks, answers of others, questions that nobody answers, and names that two clients share.
import { afterEach, describe, expect, test } from "bun:test";
import type { AccessToken } from "../../src/core/identity.ts";
import { asGatewayError, GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { KeptObjects } from "../../src/engine/keeping/kept-objects.ts";
import { createMcpApp } from "../../src/http/mcp/mcp-app.ts";
import type { McpContext } from "../../src/http/mcp/serving.ts";
import type { ToolServers } from "../../src/mcp/tool-servers.ts";
import { fakeToolServers, says } from "../harness/tools/fake-tools.ts";
import { projectToken, type StubOptions, stubGateway } from "../harness/in-process.ts";
import { until } from "../harness/time/until.ts";

const noCalls = { calls: [], mostAtOnce: () => 0 };
const SESSION = "asks-0123456789abcdef";

type Called = { readonly body: JsonObject; readonly signal: AbortSignal };

let over: AbortController[] = [];
afterEach(() => {
  for (const one of over) one.abort();
  over = [];
});

/** The MCP server over a call of tools that the test answers: each needs an approval. */
function mcp(limits: StubOptions["limits"] = {}, run: (called: Called) => Promise<JsonObject> = approvedCall) {
  const { token: first } = projectToken();
  const { token: second } = projectToken();
  const { context } = stubGateway({ limits, snapshot: { tokens: new Map() } });
  const called: Called[] = [];
  let isEnding = false;
  const kept = new KeptObjects(context.clock);
  const call: McpContext["call"] = async (_operation, request) => {
    const one = { body: (await request.json()) as JsonObject, signal: request.signal };
    called.push(one);
    return Response.json(await run(one));
  };
  const app = createMcpApp({
    ...context,
    kept,
    held: context.traffic.held,
    suspend: () => ({ call, end: () => {} }),
    isEnding: () => isEnding,
    isRetiring: () => isEnding,
    call,
  });
  /** Sends a message with a token, which the gateway knows by `identify`. */
  const send = async (message: JsonObject, identify: () => AccessToken = () => first): Promise<Response> => {
    const client = new AbortController();
    over.push(client);
    const http = new Request("http://gateway.test/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": SESSION,
        "mcp-protocol-version": "2025-11-25",
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal: client.signal,
    });
    return await app.answer({ http, address: "203.0.113.7", identify });
  };
  return { first, second, called, send, kept, end: () => (isEnding = true) };
}

async function approvedCall({ body }: Called): Promise<JsonObject> {
  return body["approved"] === true
    ? { result: { content: [{ type: "text", text: "the door is open" }] }, code: null, output_schema: null }
    : { needs_approval: { server_label: "office", tool: "open_door" } };
}

const CALL = { id: 1, method: "tools/call", params: { name: "office__open_door", arguments: {} } };

/** The messages on a stream, one after another. */
async function* messagesOf(response: Response): AsyncGenerator<any> {
  let text = "";
  for await (const piece of response.body!.pipeThrough(new TextDecoderStream() as any) as AsyncIterable<string>) {
    text += piece;
    const events = text.split("\n\n");
    text = events.pop()!;
    for (const event of events) {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6))
        .join("");
      if (data !== "") yield JSON.parse(data);
    }
  }
}

async function next(messages: AsyncGenerator<any>): Promise<any> {
  const { value, done } = await messages.next();
  if (done === true) throw new Error("the stream has ended");
  return value;
}

const yes = (id: string): JsonObject => ({ id, result: { action: "accept", content: { approve: true } } });

describe("[d16.3] an approval on the stream of a call", () => {
  test("runs the tool for the client that was asked", async () => {
    const { send, called } = mcp();
    const messages = messagesOf(await send(CALL));
    const question = await next(messages);
    expect(question.method).toBe("elicitation/create");
    expect((await send(yes(question.id))).status).toBe(202);
    expect(await next(messages)).toMatchObject({ id: 1, result: { content: [{ text: "the door is open" }] } });
    expect(called.map(({ body }) => body["approved"])).toEqual([false, true]);
  });

  test("waits for a person also while the store of its answer is away, and when that comes back without what it had", async () => {
    const { send, kept } = mcp();
    const messages = messagesOf(await send(CALL));
    const question = await next(messages);
    const find = kept.find.bind(kept);
    const looked = Promise.withResolvers<void>();
    let looks = 0;
    kept.find = () => {
      if (++looks === 2) looked.resolve();
      throw new GatewayError("kept_store_unavailable", "The store is away.");
    };
    await looked.promise;
    kept.close();
    kept.find = find;
    const questionOf = `mcp-question ${question.id}`;
    await until(() => find("default", questionOf) !== null, "the question is kept again");
    expect((await send(yes(question.id))).status).toBe(202);
    expect(await next(messages)).toMatchObject({ id: 1, result: { content: [{ text: "the door is open" }] } });
    await until(() => find("default", questionOf) === null, "nothing is left of the question");
    expect(find("default", `mcp-answer ${question.id}`)).toBeNull();
  });

  test("counts also where other objects of the tenant have taken the place of the question meanwhile", async () => {
    const { send, kept } = mcp();
    const messages = messagesOf(await send(CALL));
    const question = await next(messages);
    const questionOf = `mcp-question ${question.id}`;
    kept.remove("default", questionOf);
    await until(() => kept.find("default", questionOf) !== null, "the question is kept again");
    expect((await send(yes(question.id))).status).toBe(202);
    expect(await next(messages)).toMatchObject({ id: 1, result: { content: [{ text: "the door is open" }] } });
  });

  test("comes too late for a token that was revoked meanwhile, and the tool does not run", async () => {
    const { send, called, first } = mcp();
    let isRevoked = false;
    const identify = (): AccessToken => {
      if (isRevoked) throw new GatewayError("revoked_token", "The access token was revoked.");
      return first;
    };
    const messages = messagesOf(await send(CALL, identify));
    const question = await next(messages);
    await send(yes(question.id), () => {
      isRevoked = true;
      return first;
    });
    const { result } = await next(messages);
    expect(result).toMatchObject({ isError: true, _meta: { "dragoman/error_code": "revoked_token" } });
    expect(called).toHaveLength(1);
  });

  test("is given by the token that was asked alone, and an answer that nobody waits for is not kept", async () => {
    const { send, second, kept } = mcp();
    const messages = messagesOf(await send(CALL));
    const question = await next(messages);
    await send(yes(question.id), () => second);
    await send(yes("no-such-question"));
    expect(kept.find("default", `mcp-answer ${question.id as string}`)).toBeNull();
    expect(kept.find("default", "mcp-answer no-such-question")).toBeNull();
    await send(yes(question.id));
    expect(await next(messages)).toMatchObject({ result: { content: [{ text: "the door is open" }] } });
    await send(yes(question.id));
    expect(kept.find("default", `mcp-answer ${question.id as string}`)).toBeNull();
  });

  test("is waited for no longer than a call may take, and not at the end of the process", async () => {
    const late = mcp({ defaultTimeoutMs: 20 });
    const messages = messagesOf(await late.send(CALL));
    await next(messages);
    expect((await next(messages)).result).toMatchObject({
      isError: true,
      _meta: { "dragoman/error_code": "approval_required" },
    });
    expect(late.called).toHaveLength(1);
    const ending = mcp();
    const last = messagesOf(await ending.send(CALL));
    await next(last);
    ending.end();
    expect((await next(last)).result).toMatchObject({
      isError: true,
      _meta: { "dragoman/error_code": "shutting_down" },
    });
  });

  test("is asked of a bounded number of persons at once with one token", async () => {
    const { send, second } = mcp();
    for (let id = 0; id < 50; id += 1) await next(messagesOf(await send({ ...CALL, id })));
    expect((await next(messagesOf(await send({ ...CALL, id: 50 })))).result).toMatchObject({
      isError: true,
      _meta: { "dragoman/error_code": "gateway_overloaded" },
    });
    expect((await next(messagesOf(await send(CALL, () => second)))).method).toBe("elicitation/create");
  });
});

/** A server of which no tool is called. */
function appOf(context: ReturnType<typeof stubGateway>["context"]): ReturnType<typeof createMcpApp> {
  return createMcpApp({
    ...context,
    kept: null,
    held: context.traffic.held,
    isEnding: () => false,
    isRetiring: () => false,
    call: () => Promise.reject(new Error("nothing is called")),
    suspend() {
      throw new Error("nothing waits for a person");
    },
  });
}

test("[d16.3 d2.6] a stream that waits for changes ends with its token, also while a tool server does not answer", async () => {
  const { token } = projectToken();
  const hanging: ToolServers["list"] = () => new Promise(() => {});
  const { toolServers, set } = fakeToolServers({ slow: { look: { run: () => says("a red dot") } } });
  const { context } = stubGateway({ tools: { ...noCalls, set, toolServers: { ...toolServers, list: hanging } } });
  let isExpired = false;
  const app = appOf(context);
  const client = new AbortController();
  over.push(client);
  const http = new Request("http://gateway.test/mcp", {
    headers: { accept: "text/event-stream" },
    signal: client.signal,
  });
  const identify = (): AccessToken => {
    if (isExpired) throw new GatewayError("expired_token", "The access token has expired.");
    return token;
  };
  const response = await app.answer({ http, address: null, identify });
  const reader = response.body!.getReader();
  expect((await reader.read()).done).toBe(false);
  isExpired = true;
  expect((await reader.read()).done).toBe(true);
});

test("[d16.3 d5.8] messages that are still arriving count against the memory of their tenant, and are bounded", async () => {
  const { token } = projectToken();
  const { context } = stubGateway({ limits: { maxHeldBytes: 400_000 } });
  const app = appOf(context);
  const arriving = (bytes: number) => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const http = new Request("http://gateway.test/mcp", {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": String(bytes) },
      body: readable,
    });
    return { writer: writable.getWriter(), answer: app.answer({ http, address: null, identify: () => token }) };
  };
  const first = arriving(150_000);
  const codeOf = (answer: Promise<Response>): Promise<string> =>
    answer.then(
      () => "answered",
      (thrown: unknown) => asGatewayError(thrown).code,
    );
  expect(await codeOf(arriving(150_000).answer)).toBe("gateway_overloaded");
  expect(await codeOf(arriving(3_000_000).answer)).toBe("body_too_large");
  await first.writer.write(new TextEncoder().encode(`{"jsonrpc":"2.0","id":"1","result":"${"a".repeat(150_000)}"}`));
  await first.writer.close();
  expect((await first.answer).status).toBe(202);
  const leaving = arriving(150_000);
  await leaving.writer.abort(new Error("the client leaves"));
  expect(await codeOf(leaving.answer)).not.toBe("gateway_overloaded");
});

test("[d16.3] a trace of the client that no header can hold does not keep the tool from running", async () => {
  const { send } = mcp();
  for (const traceparent of ["a\nb: c", "\u20ac", 7]) {
    const params = { ...CALL.params, _meta: { traceparent } };
    expect((await next(messagesOf(await send({ ...CALL, params })))).method).toBe("elicitation/create");
  }
});

test("[d16.3] a message that cancels a call ends none of another token, whatever both call it", async () => {
  const running = Promise.withResolvers<Called>();
  const { send, second } = mcp({}, (called) => {
    running.resolve(called);
    return new Promise((_resolve, reject) => called.signal.addEventListener("abort", () => reject(new Error("over"))));
  });
  const response = await send(CALL);
  response
    .body!.getReader()
    .read()
    .catch(() => undefined);
  const { signal } = await running.promise;
  const cancel = { method: "notifications/cancelled", params: { requestId: 1 } };
  await send(cancel, () => second);
  expect(signal.aborted).toBe(false);
  await send(cancel);
  expect(signal.aborted).toBe(true);
});
