// Promise 16.4 with Presidio's own analyzer, whose address is in PRESIDIO_ANALYZER_URL. It needs the language `en` and the
// recognizers of its default configuration that follow patterns.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type GatewayProcess, startGateway } from "../../harness/processes/gateway-process.ts";
import { readStream } from "../../harness/sse.ts";
import { openToolServer, said, type ToolServerEnd } from "../../harness/tools/tool-server.ts";
import { until } from "../../harness/time/until.ts";
import {
  eventStream,
  type FakeUpstream,
  openaiAnswer,
  openaiChunk,
  startUpstream,
} from "../../harness/servers/upstream.ts";

const address = process.env["PRESIDIO_ANALYZER_URL"];
if (address === undefined) console.log("skipped: PRESIDIO_ANALYZER_URL names no analyzer of Presidio");

const MAIL = "zoe.lovelace@example.com";
const IBAN = "DE89370400440532013000";

describe.skipIf(address === undefined)("Presidio's analyzer", () => {
  let provider: FakeUpstream;
  /** Passes on to the analyzer, and can be stopped. */
  let analyzer: FakeUpstream;
  let stopped: FakeUpstream;
  let desk: ToolServerEnd;
  let gateway: GatewayProcess;
  let token = "";
  /** What the provider answers, or the pieces of a stream. */
  let answer: string | readonly string[] = "";

  beforeAll(async () => {
    provider = startUpstream(({ body }) => {
      if (typeof answer !== "string")
        return new Response(
          eventStream(...answer.map((content) => openaiChunk({ content })), openaiChunk({}, "stop")),
          { headers: { "content-type": "text/event-stream" } },
        );
      const messages = body["messages"] as readonly { readonly role: string }[];
      if (body["tools"] === undefined || messages.at(-1)!.role === "tool") return Response.json(openaiAnswer(answer));
      const call = { id: "call_1", type: "function", function: { name: "desk__find", arguments: "{}" } };
      const asking = { message: { content: null, tool_calls: [call] }, finish_reason: "tool_calls" };
      return Response.json(openaiAnswer(null, asking));
    });
    const passOn = (): FakeUpstream =>
      startUpstream(async ({ path, text }) => {
        const headers = { "content-type": "application/json" };
        const response = await fetch(`${address!.replace(/\/+$/, "")}${path}`, { method: "POST", headers, body: text });
        return new Response(await response.text(), { status: response.status, headers });
      });
    analyzer = passOn();
    stopped = passOn();
    desk = openToolServer({ tools: [{ name: "find", run: () => said(`Für 🎉: ${MAIL}, ${IBAN}.`) }] });
    const guard = (user: string, service: object, more: object = {}): object => ({
      [user]: {
        scope: { user },
        guard: {
          on: "both",
          action: "mask",
          ...more,
          service: { type: "presidio", url: analyzer.url, timeout_s: 60, ...service },
        },
      },
    });
    const entities = ["EMAIL_ADDRESS", "URL", "IBAN_CODE", "CREDIT_CARD", "IP_ADDRESS"];
    gateway = await startGateway({
      config: Object.entries({
        providers: { up: { type: "custom", base_url: `${provider.url}/v1`, api_key: "key" } },
        tool_servers: { desk: { url: desk.url, require_approval: "never" } },
        policies: {
          ...guard("masked", { entities, window_characters: 40, overlap_characters: 30 }),
          ...guard("everything", {}),
          ...guard("phones", { entities: ["PHONE_NUMBER"] }),
          ...guard("sure", { entities: ["PHONE_NUMBER"], score_threshold: 0.95 }),
          ...guard("blocked", { entities }, { action: "block" }),
          ...guard("unknown-language", { entities, language: "xx" }),
          ...guard("unknown-entity", { entities: ["NO_SUCH_ENTITY"] }),
          ...guard("stopped", { url: stopped.url }),
        },
      })
        .map(([name, section]) => `${name}: ${JSON.stringify(section)}\n`)
        .join(""),
    });
    token = await gateway.createToken();
  });

  afterAll(async () => {
    await gateway.stop();
    await Promise.all([provider, analyzer, stopped, desk].map((server) => server.stop()));
  });

  const call = (user: string, content: string, more: object = {}): Promise<Response> =>
    gateway.chat({ model: "up:m", user, messages: [{ role: "user", content }], ...more }, { token });
  const lineOf = async (response: Response): Promise<any> => {
    const traceId = response.headers.get("x-gateway-trace-id");
    const found = (): object | undefined => gateway.lines().find((line) => line["trace_id"] === traceId);
    await until(() => found() !== undefined, "the log has the call");
    return found();
  };
  /** What the provider gets of a message. */
  const passed = async (user: string, content: string): Promise<string> => {
    answer = "Fine.";
    const response = await call(user, content);
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("Fine.")]);
    return (provider.last().body["messages"] as { content: string }[])[0]!.content;
  };

  test("[d16.4] what it finds is masked where it stands, behind characters of every length, and where findings overlap", async () => {
    for (const before of ["", "Grüße, Žofie! ", "🎉😀 and 👩‍👩‍👧 ", "é combined, 日本語、", "\u0000 \ufeff\u2028\r\n\t"])
      expect(await passed("masked", `${before}${MAIL} 🎉 ${IBAN} at 192.168.17.4 🎉.`)).toBe(
        `${before}[masked] 🎉 [masked] at [masked] 🎉.`,
      );
  });

  test("[d16.4] without `entities`, it looks for all that it knows", async () => {
    const text = await passed("everything", `Pay with 4111 1111 1111 1111, and write to ${MAIL}.`);
    expect(text).toContain("[masked]");
    expect(text).not.toMatch(/4111|example/);
  });

  test("[d16.4] the least score of a finding is passed on", async () => {
    const text = "Here it is: 212-555-0172, and that is all.";
    expect(await passed("phones", text)).toBe("Here it is: [masked], and that is all.");
    expect(await passed("sure", text)).toBe(text);
  });

  test("[d16.4] a text without findings passes as it is", async () => {
    const text = "Nothing to be found here, 🎉 at all.";
    expect(await passed("masked", text)).toBe(text);
  });

  test("[d16.4] half of a surrogate pair has a verdict like any other text", async () => {
    expect(await passed("masked", `\ud83d ${MAIL} \ude00`)).toBe("\ud83d [masked] \ude00");
  });

  test("[d16.4] a text that is longer than one request takes is masked also where it is divided", async () => {
    const filler = "Grüße 🎉 aus der Stadt. ".repeat(1000).slice(0, 19_990);
    const text = `${filler} ${MAIL} ${filler} ${IBAN}. ${filler} ${MAIL}`;
    const before = analyzer.seen.length;
    expect(await passed("masked", text)).toBe(text.replaceAll(MAIL, "[masked]").replaceAll(IBAN, "[masked]"));
    expect(analyzer.seen.length).toBeGreaterThan(before + 3);
  });

  test("[d16.4] an answer is masked, and a call blocked", async () => {
    answer = `🎉 Write to ${MAIL}.`;
    const response = await call("masked", "Hello");
    expect(((await response.json()) as any).choices[0].message.content).toBe("🎉 Write to [masked].");
    expect((await lineOf(response)).guard_services).toMatchObject([
      { policy: "masked", type: "presidio", place: "input", requests: 1 },
      { policy: "masked", type: "presidio", place: "output", found: expect.arrayContaining(["EMAIL_ADDRESS"]) },
    ]);
    expect((await call("blocked", `Write to ${MAIL}.`)).status).toBe(403);
  });

  test("[d16.4] a stream is masked in windows, however it is divided", async () => {
    const text = `Für Zoë 🎉: write to ${MAIL} 😀 or pay to ${IBAN}, 🎉 and that is all that there is to say.`;
    for (const size of [1, 5, 7, 33]) {
      answer = text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
      const { content, done, error } = readStream(await (await call("masked", "Hello", { stream: true })).text());
      expect([content, done, error]).toEqual([text.replace(MAIL, "[masked]").replace(IBAN, "[masked]"), true, null]);
    }
  });

  test("[d16.4] the result of a tool is masked before the model reads it", async () => {
    answer = "Fine.";
    const response = await call("masked", "Look it up.", { tools: [{ type: "mcp", server_label: "desk" }] });
    expect(response.status).toBe(200);
    expect((provider.last().body["messages"] as { content: string }[]).at(-1)!.content).toBe(
      "Für 🎉: [masked], [masked].",
    );
  });

  for (const user of ["unknown-language", "unknown-entity"])
    test(`[d16.4] of an ${user.replace("-", " ")} it gives no verdict, and the log says what it answered`, async () => {
      const response = await call(user, "Hello");
      expect(response.status).toBe(403);
      expect((await lineOf(response)).policies[0]).toMatchObject({
        name: user,
        effect: "failed",
        why: "the service answered with the status 500",
      });
    });

  test("[d16.4] once it is stopped, calls are refused", async () => {
    expect(await passed("stopped", MAIL)).toBe("[masked]");
    await stopped.stop();
    const response = await call("stopped", `Hello ${MAIL}`);
    expect(response.status).toBe(403);
    expect((await lineOf(response)).policies[0]).toMatchObject({
      effect: "failed",
      why: expect.stringContaining("the service could not be asked"),
    });
  });
});
