// Promise 5.8 over the real process and bare sockets: what the limits of a token or project decide without the body is
// decided before a long body is read, and is told and recorded as the same refusal of a short call.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { untilFound } from "../../harness/time/until.ts";
import { HELLO } from "../chat-calls.ts";
import { chunked, type RawAnswer, rawCall } from "../raw-calls.ts";

/** Each operation is under limits of its own, because its path names it. */
const configOf = (provider: string): string => `
providers: {openai: {base_url: "${provider}", api_key: k}}
projects:
  default:
    limits:
      once: {metric: requests, window: day, limit: 1, scope: {operation: completions}}
      tokens: {metric: tokens, window: hour, limit: 50, scope: {operation: "chat.completions"}}
      never: {metric: requests, window: minute, limit: 0, scope: {operation: responses}}
      one_at_once: {metric: concurrency, limit: 1, scope: {operation: messages}}
      audited: {metric: requests, window: minute, limit: 0, mode: audit, scope: {operation: rerank}}
      of_users: {metric: requests, window: minute, limit: 0, scope: {operation: rerank, user: "*"}}
      of_a_model: {metric: requests, window: day, limit: 1, scope: {operation: rerank, model: "sandbox:*"}}
    budgets:
      in_total: {tokens: 50, window: total, scope: {operation: embeddings}}
      money: {usd: "0", window: month, unpriced: allow, scope: {operation: rerank}}
`;

interface Asking {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}
const CHAT: Asking = { path: "chat/completions", body: { model: "openai:gpt-4o", messages: HELLO, max_tokens: 5 } };
const EMBEDDINGS: Asking = { path: "embeddings", body: { model: "openai:text-embedding-3-small", input: "Hello" } };
const COMPLETIONS: Asking = { path: "completions", body: { model: "sandbox:echo", prompt: "Hello" } };
const RESPONSES: Asking = { path: "responses", body: { model: "sandbox:echo", input: "Hello" } };
const MESSAGES: Asking = { path: "messages", body: { model: "sandbox:echo", messages: HELLO, max_tokens: 5 } };
const RERANK: Asking = { path: "rerank", body: { model: "sandbox:rerank", query: "Hello", documents: ["Hello"] } };

const FRAMINGS = ["content-length", "chunked"] as const;
type Framing = (typeof FRAMINGS)[number];
const HEADERS: Readonly<Record<Framing, Readonly<Record<string, string>>>> = {
  "content-length": { "content-length": "30000000" },
  chunked: { "transfer-encoding": "chunked" },
};
/** The beginning of a body, which has no end. */
const PIECES: Readonly<Record<Framing, readonly string[]>> = {
  "content-length": ['{"model":'],
  chunked: ['9\r\n{"model":\r\n'],
};

let gateway: GatewayProcess;
/** Its answers use more than limits of tokens allow. */
let provider: Bun.Server<undefined>;
const USED = { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 };
const VECTORS = {
  object: "list",
  model: "m",
  data: [{ object: "embedding", index: 0, embedding: [1, 0] }],
  usage: USED,
};
beforeAll(async () => {
  provider = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => Response.json(url.endsWith("/embeddings") ? VECTORS : { ...openaiAnswer(), usage: USED }),
  });
  gateway = await startGateway({ config: configOf(`http://127.0.0.1:${provider.port}`) });
});
afterAll(async () => {
  await gateway.stop("SIGKILL");
  await provider.stop(true);
});

function askShort({ path, body }: Asking): Promise<RawAnswer> {
  return rawCall(gateway.url, {
    path: `/api/v1/${path}`,
    token: gateway.firstToken!,
    pieces: [JSON.stringify(body)],
  });
}

function askEndless({ path }: Asking, framing: Framing): Promise<RawAnswer> {
  return rawCall(gateway.url, {
    path: `/api/v1/${path}`,
    token: gateway.firstToken!,
    headers: HEADERS[framing],
    pieces: PIECES[framing],
  });
}

/** A call whose body begins and then stops coming, until it is ended. */
function stalledCall({ path }: Asking, framing: Framing): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  const [name, value] = Object.entries(HEADERS[framing])[0]!;
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.write(
        `POST /api/v1/${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.firstToken!}\r\ncontent-type: application/json\r\n${name}: ${value}\r\n\r\n${PIECES[framing].join("")}`,
      );
      resolve(socket);
    });
    socket.on("error", () => {});
  });
}

function lineOf({ headers }: Pick<RawAnswer, "headers">): Promise<Readonly<Record<string, unknown>>> {
  const trace = headers.get("x-gateway-trace-id") ?? headers.get("request-id") ?? headers.get("x-request-id");
  return untilFound(() => gateway.lines().find((one) => one["trace_id"] === trace), "the line of the call");
}

/** What the caller and the operator learn of a refusal, without what differs from one moment to the next. */
async function learnt({ status, headers, text }: RawAnswer) {
  const { error } = JSON.parse(text) as { readonly error: Readonly<Record<string, unknown>> };
  const line = await lineOf({ headers });
  return {
    status,
    error: { ...error, message: null, metadata: { ...(error["metadata"] as object), resets_at: null } },
    headers: [...headers.keys()].filter((name) => TOLD.test(name)).toSorted(),
    recorded: Object.fromEntries(RECORDED.map((name) => [name, line[name]])),
  };
}
const TOLD = /^(?:retry-after|x-ratelimit|x-should-retry|x-gateway-error)/;
const RECORDED = ["operation", "status", "code", "tenant", "project", "token", "limits"];

/** Ends when the call is answered so. */
function untilAnswered(asking: Asking, status: number): Promise<RawAnswer> {
  return untilFound(async () => {
    const answer = await askShort(asking);
    return answer.status === status && answer;
  }, `the answer ${status}`);
}

describe("limits that refuse each call, whatever its body says", () => {
  test.each([
    ["the requests of a window are used up", COMPLETIONS, 200],
    ["the tokens of a window are used up", CHAT, 200],
    ["a budget of tokens is used up", EMBEDDINGS, 200],
    ["a limit admits nothing", RESPONSES, 429],
  ] as const)(
    "[d5.8] %s: a long body is refused before it is read, as a short one is after it",
    async (_, asking, first) => {
      expect((await askShort(asking)).status).toBe(first);
      const later = await learnt(await askShort(asking));
      expect(later.status).toBe(429);
      for (const framing of FRAMINGS) {
        const answer = await askEndless(asking, framing);
        expect(answer.headers.get("connection")).toBe("close");
        expect(await learnt(answer)).toEqual(later);
      }
      // what was asked for is held by nobody
      expect(await learnt(await askShort(asking))).toEqual(later);
    },
  );

  test.each(FRAMINGS)(
    "[d5.8] a project with `concurrency: 1` admits one body that never ends, and none beside it: %s",
    async (framing) => {
      const stalled = await stalledCall(MESSAGES, framing);
      try {
        const later = await learnt(await untilAnswered(MESSAGES, 429));
        const answers = await Promise.all(Array.from({ length: 20 }, () => askEndless(MESSAGES, framing)));
        for (const answer of answers) expect(await learnt(answer)).toEqual(later);
      } finally {
        stalled.destroy();
      }
      await untilAnswered(MESSAGES, 200);
      const long = JSON.stringify({ ...MESSAGES.body, messages: [{ role: "user", content: "x".repeat(200_000) }] });
      const answer = await rawCall(gateway.url, {
        path: "/api/v1/messages",
        token: gateway.firstToken!,
        headers: framing === "chunked" ? HEADERS.chunked : {},
        pieces: framing === "chunked" ? chunked(long) : [long],
      });
      expect(answer.status).toBe(200);
      // the call held one place, and has given it back
      expect(await lineOf(answer)).toMatchObject({
        limits: [{ unit: "concurrency", before: 0, reserved: 1, settled: 0, after: 0 }],
      });
      expect((await askShort(MESSAGES)).status).toBe(200);
    },
  );

  test("[d5.8] what only the body decides is decided after it: models, end users, budgets of money, and nothing is refused in audit mode", async () => {
    const long = { ...RERANK.body, documents: ["x".repeat(200_000)] };
    expect((await askShort({ ...RERANK, body: long })).status).toBe(200);
    const refused = await askShort({ ...RERANK, body: long });
    expect([refused.status, (await lineOf(refused))["model_asked"]]).toEqual([429, "sandbox:rerank"]);
  });
});
