// Promise 5.8 over the real process and bare sockets: a refusal that depends on the token alone is made before the body
// is read, and a caller who sends a body without end holds no place that another caller needs.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { openTraffic } from "../../../src/http/traffic.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { HELLO, readError } from "../chat-calls.ts";
import { type RawAnswer, rawCall } from "../raw-calls.ts";
import { until, untilFound } from "../../harness/time/until.ts";

const ECHO = { model: "sandbox:echo", messages: HELLO };
const ENDLESS = { "content-length": "30000000" };

let gateway: GatewayProcess;
let viewer: string;
let scraper: string;
beforeAll(async () => {
  gateway = await startGateway({ config: "server: {max_concurrent_calls: 2, max_concurrent_calls_per_tenant: 1}\n" });
  viewer = await gateway.createToken("--role", "viewer");
  scraper = await gateway.createToken("--permission", "ops");
});
afterAll(async () => {
  await gateway.stop("SIGKILL");
});

function codeOf({ status, headers, text }: RawAnswer): string {
  return status < 400 ? String(status) : `${status} ${readError(status, headers, text).code}`;
}

/** A request whose body begins and then stops coming, until it is ended. */
function stalledCall(token: string): Promise<Socket> {
  const { hostname, port } = new URL(gateway.url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      socket.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: 30000000\r\n\r\n{"model":`,
      );
      resolve(socket);
    });
    socket.on("error", () => {});
  });
}

function untilAnswered(token: string, wanted: string): Promise<Response> {
  return untilFound(async () => {
    const answer = await gateway.chat(ECHO, { token });
    const code =
      answer.status < 400
        ? String(answer.status)
        : `${answer.status} ${readError(answer.status, answer.headers, await answer.clone().text()).code}`;
    return code === wanted && answer;
  }, `the answer ${wanted}`);
}

describe("a body that never ends", () => {
  test("[d5.8] [d2.3] from a caller without access is answered without being read, and the connection is closed after the answer", async () => {
    const body = ['{"model":'];
    const forged = `${viewer.slice(0, 12)}${viewer.slice(12).split("").toReversed().join("")}`;
    const sent = [
      { token: "dgm_pt_wrong" },
      { token: forged },
      { token: viewer },
      { token: scraper },
      { token: gateway.firstToken!, headers: { "x-gateway-explain": "true" } },
    ];
    const answers = await Promise.all(
      sent.map(({ token, headers }) =>
        rawCall(gateway.url, { token, headers: { ...ENDLESS, ...headers }, pieces: body }),
      ),
    );
    expect(answers.map(codeOf)).toEqual([
      "401 invalid_token",
      "401 invalid_token",
      "403 insufficient_role",
      "403 insufficient_role",
      "403 permission_required",
    ]);
    for (const { headers } of answers) expect(headers.get("connection")).toBe("close");
  });

  test("[d5.8] of any length does not cost the caller the answer, and no more than 1 MiB of it is read", async () => {
    const answer = await gateway.chat(" ".repeat(8 * 1024 * 1024), { token: viewer });
    expect([answer.status, answer.headers.get("connection")]).toEqual([403, "close"]);
    const short = await rawCall(gateway.url, { token: viewer, pieces: ["no JSON"] });
    expect([codeOf(short), short.headers.get("connection")]).toEqual(["403 insufficient_role", null]);
  });

  test("[d5.8] at a path that takes none is answered too, and read no further", async () => {
    const requests = [
      ["POST", "/api/v1/models", 405],
      ["POST", "/nowhere", 404],
      ["PUT", "/api/v1/chat/completions", 405],
      ["POST", "/api/v1/admin/tenants", 401],
    ] as const;
    const answers = await Promise.all(
      requests.map(([method, path]) =>
        rawCall(gateway.url, { method, path, token: "none", headers: ENDLESS, pieces: ["{"] }),
      ),
    );
    expect(answers.map(({ status, headers }) => [status, headers.get("connection")])).toEqual(
      requests.map(([, , status]) => [status, "close"]),
    );
  });
});

describe("places for calls", () => {
  test("[d5.8] are not held by a caller without access, however slow the body is", async () => {
    const stalled = await Promise.all(Array.from({ length: 4 }, () => stalledCall(viewer)));
    try {
      for (let calls = 0; calls < 5; calls++) expect((await gateway.chat(ECHO)).status).toBe(200);
    } finally {
      for (const socket of stalled) socket.destroy();
    }
  });

  test("[d5.8] are held by one tenant in no greater number than the configuration gives it", async () => {
    const stalled = await stalledCall(gateway.firstToken!);
    try {
      // a call that came before it would take its place
      await until(async () =>
        /^dragoman_calls_in_flight 1$/m.test(await (await fetch(`${gateway.url}/metrics`)).text()),
      );
      const refused = await untilAnswered(gateway.firstToken!, "503 gateway_overloaded");
      expect(refused.headers.get("retry-after")).toBe("1");
      expect(await refused.text()).toContain("calls of the tenant in flight (limit 1)");
    } finally {
      stalled.destroy();
    }
    await untilAnswered(gateway.firstToken!, "200");
  });

  test("[d5.8] remain for another tenant when one holds all of its own", () => {
    const traffic = openTraffic({ inc: () => {}, dec: () => {} }, () => null);
    const bounds = { maxConcurrentCalls: 3, maxConcurrentCallsPerTenant: 2 };
    const callOf = (tenantId: string) => ({ tenantId, abandon: () => {} });
    const first = callOf("a");
    traffic.enter(first, bounds);
    traffic.enter(callOf("a"), bounds);
    expect(() => traffic.enter(callOf("a"), bounds)).toThrow("calls of the tenant");
    traffic.enter(callOf("b"), bounds);
    expect(() => traffic.enter(callOf("b"), bounds)).toThrow("Too many calls in flight");
    traffic.leave(first);
    traffic.enter(callOf("b"), bounds);
    expect(traffic.count()).toBe(3);
  });
});
