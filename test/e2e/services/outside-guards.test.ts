// Promise 16.4 with the real process and real sockets: a service of a guard that judges requests, answers and streams, and
// services that are slow, hang up, or do not end.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { findingsOf } from "../../harness/servers/outside-guard.ts";
import { readStream } from "../../harness/sse.ts";
import { until } from "../../harness/time/until.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  type RawUpstream,
  startRawUpstream,
  startUpstream,
} from "../../harness/servers/upstream.ts";

const STREAMED = ["It is fine, ", "and here is sec", "ret7, which ", "nobody shall see."];

let provider: FakeUpstream;
let judge: FakeUpstream;
let silent: RawUpstream;
let hangsUp: RawUpstream;
let endless: RawUpstream;
/** What the endless service could write before its connection was closed. */
let writtenBytes = 0;
let gateway: GatewayProcess;
let token = "";

beforeAll(async () => {
  provider = startUpstream(({ body }) =>
    body["stream"] === true
      ? new Response(eventStream(...STREAMED.map((content) => openaiChunk({ content })), openaiChunk({}, "stop")), {
          headers: { "content-type": "text/event-stream" },
        })
      : Response.json(openaiAnswer("It is secret1.")),
  );
  judge = startUpstream(({ body }) => Response.json(findingsOf(body["texts"] as string[], /secret\w*/g)));
  silent = await startRawUpstream(() => {});
  hangsUp = await startRawUpstream((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 90\r\n\r\n{"));
  endless = await startRawUpstream((socket) => {
    const piece = "x".repeat(65_536);
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${2 ** 30}\r\n\r\n"`);
    const more = (): void => {
      while (!socket.destroyed && writtenBytes < 2 ** 30) {
        writtenBytes += piece.length;
        if (!socket.write(piece)) return;
      }
    };
    socket.on("drain", more);
    more();
  });
  const guard = (name: string, url: string, more = ""): string =>
    `  ${name}:
    scope: {user: ${name}}
    guard: {on: both, action: mask, ${more}service: {type: request, url: "${url}", timeout_s: 2, window_characters: 12, overlap_characters: 8}}
`;
  gateway = await startGateway({
    config: `providers:
  up: {type: custom, base_url: "${provider.url}/v1", api_key: key}
policies:
${guard("masked", judge.url)}${guard("silent", silent.url)}${guard("hangs", hangsUp.url)}${guard("endless", endless.url)}${guard("spared", hangsUp.url, "on_error: allow, ")}`,
  });
  token = await gateway.createToken();
});

afterAll(async () => {
  await gateway.stop();
  await Promise.all([provider, judge, silent, hangsUp, endless].map((server) => server.stop()));
});

const call = (user: string, more: object = {}): Promise<Response> =>
  gateway.chat({ model: "up:m", user, messages: [{ role: "user", content: "Keep the secret9." }], ...more }, { token });
const lineOf = async (traceId: string | null): Promise<any> => {
  const found = (): object | undefined => gateway.lines().find((line) => line["trace_id"] === traceId);
  await until(() => found() !== undefined, "the log has the call");
  return found();
};

test("[d16.4] the process has a service judge a request and its answer, and its log says what that took", async () => {
  const response = await call("masked");
  const body: any = await response.json();
  expect([response.status, body.choices?.[0].message.content]).toEqual([200, "It is [masked]."]);
  expect(provider.last().body["messages"]).toEqual([{ role: "user", content: "Keep the [masked]." }]);
  const line = await lineOf(response.headers.get("x-gateway-trace-id"));
  expect(line.guard_services).toMatchObject([
    // the text of the message, and the user that it names
    { policy: "masked", type: "request", place: "input", requests: 1, characters: 23, found: ["WORD"] },
    { policy: "masked", type: "request", place: "output", requests: 1, characters: 14, found: ["WORD"] },
  ]);
});

test("[d16.4] the process has a service judge a stream in windows", async () => {
  const read = readStream(await (await call("masked", { stream: true })).text());
  expect([read.content, read.done, read.error]).toEqual([
    "It is fine, and here is [masked], which nobody shall see.",
    true,
    null,
  ]);
  const places = judge.seen.map(({ body }) => body["place"]);
  expect(places.filter((place) => place === "output").length).toBeGreaterThan(2);
});

for (const [user, why] of [
  ["silent", /no verdict within 2 s/],
  ["hangs", /could not be asked/],
  ["endless", /could not be asked/],
] as const)
  test(`[d16.4] a service that fails (${user}) refuses the call, and no provider is called`, async () => {
    const before = provider.seen.length;
    const response = await call(user);
    const body: any = await response.json();
    expect([response.status, body.error?.code]).toEqual([403, "policy_violation"]);
    expect(provider.seen.length).toBe(before);
    const line = await lineOf(response.headers.get("x-gateway-trace-id"));
    expect(line.policies[0]).toMatchObject({ name: user, effect: "failed", why: expect.stringMatching(why) });
    expect(line.guard_services[0]).toMatchObject({ policy: user, failures: 1 });
  });

test("[d16.4] of a gigabyte no more is read than what an answer may have, and the connection is closed", async () => {
  await until(() => endless.open() === 0, "the connection is closed");
  expect(writtenBytes).toBeLessThan(64 * 1024 * 1024);
});

test("[d16.4] with `on_error: allow`, the text passes where the service hangs up", async () => {
  const response = await call("spared");
  expect([response.status, ((await response.json()) as any).choices[0].message.content]).toEqual([
    200,
    "It is secret1.",
  ]);
});
