// Promises 2.5 and 2.7 under a flood: a thousand wrong tokens a second each get the correct answer, cost little, do not
// flood the log and reveal nothing.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { newAccessToken, newTokenText } from "../../../src/auth/tokens/access-token.ts";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { type Issuer, startIssuer } from "../../harness/servers/issuer.ts";
import { answeringGateway, HELLO, MODELS, readError } from "../chat-calls.ts";
import { timesAsMuch } from "../../harness/time/cpu-time.ts";
import { until } from "../../harness/time/until.ts";

let gateway: GatewayProcess;
let issuer: Issuer;
beforeAll(async () => {
  issuer = await startIssuer();
  gateway = await startGateway({ config: `oidc: [{ name: corp, issuer: "${issuer.url}", audience: gateway }]\n` });
});
afterAll(async () => {
  await gateway.stop();
  issuer.stop();
});

/** Calls without a line of their own. */
function heldBack(): number {
  return gateway
    .lines()
    .filter((line) => typeof line["calls"] === "number" && String(line["msg"]).includes("without a known token"))
    .reduce((sum, line) => sum + Number(line["calls"]), 0);
}

describe("a flood of wrong tokens", () => {
  test("[d2.5] [d2.7] is answered with 401 and its code, each time, while a caller with a valid token is served, and the log shows a few and counts the rest", async () => {
    await issuer.addKey("stranger");
    const id = gateway.firstToken!.split("_")[2]!;
    const forged = await issuer.token({}, { kid: "nobody", sign: "stranger" });
    const makers = [
      () => newAccessToken("project").text,
      () => newTokenText("project", id).text,
      () => newAccessToken("personal").text.slice(0, -1),
      () => `sk-${crypto.randomUUID()}`,
      () => forged,
    ];
    const texts = Array.from({ length: 2000 }, (_, index) => makers[index % makers.length]!());
    const startedMs = performance.now();
    const answers = texts.map(async (text) => {
      const response = await gateway.chat({ model: "sandbox:echo", messages: HELLO }, { token: text });
      const body = await response.text();
      const { code } = readError(response.status, response.headers, body);
      expect([
        response.status,
        code,
        response.headers.get("www-authenticate")?.startsWith("Bearer"),
        response.headers.get("x-should-retry"),
      ]).toEqual([401, "invalid_token", true, "false"]);
      expect(body).not.toContain(text.slice(-20));
    });
    const served = await Promise.all(
      Array.from({ length: 20 }, async () => (await gateway.chat({ model: "sandbox:echo", messages: HELLO })).status),
    );
    await Promise.all(answers);
    const tookMs = performance.now() - startedMs;
    expect(new Set(served)).toEqual(new Set([200]));
    const refused = (): number => gateway.lines().filter((line) => line["status"] === 401).length;
    await until(() => heldBack() + refused() === 2000);
    expect(refused()).toBeLessThanOrEqual(10 * (Math.ceil(tookMs / 1000) + 1));
    // nor do requests to what is not served fill it
    const heldBefore = heldBack();
    const beganMs = performance.now();
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async () => (await fetch(`${gateway.url}/v1/unheard-of`, { method: "POST" })).status),
    );
    const seconds = Math.ceil((performance.now() - beganMs) / 1000) + 1;
    expect(new Set(statuses)).toEqual(new Set([404]));
    const unserved = (): number => gateway.lines().filter((line) => line["code"] === "operation_not_served").length;
    await until(() => unserved() + heldBack() - heldBefore === 300);
    expect(unserved()).toBeLessThanOrEqual(10 * seconds);
    const output = gateway.output();
    for (const text of texts) expect(output).not.toContain(text.slice(-20));
    // strangers make no work at the issuer: one discovery, one key set
    expect(issuer.asked.length).toBeLessThanOrEqual(2);
  });

  test("[d2.5] costs less than half of a call that is served", async () => {
    const stub = answeringGateway();
    const texts = Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0 ? newAccessToken("project").text : "not a token",
    );
    const refuse = async (): Promise<void> => {
      for (const text of texts)
        expect((await stub.chat("{}", { headers: { authorization: `Bearer ${text}` } })).status).toBe(401);
    };
    const serve = async (): Promise<void> => {
      for (const _ of texts) {
        const response = await stub.chat({ model: MODELS.openai, messages: HELLO });
        expect([response.status, (await response.text()).length > 0]).toEqual([200, true]);
      }
    };
    expect(await timesAsMuch(refuse, serve, 0.5)).toBeLessThan(0.5);
  });
});
