// What stands beside the body of a native call: members of the query, and the features that a header asks for
// (promise 12.3).
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../src/engine/handle.ts";
import type { Operation } from "../../src/engine/operation.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { COUNT_TOKENS } from "../../src/operations/messages/count-tokens.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../harness/in-process.ts";
import { providerSettings } from "../harness/targets.ts";

const HELLO = { max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const ANSWER = JSON.stringify({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: [{ type: "text", text: "Hi" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 1, output_tokens: 1 },
  input_tokens: 1,
});

async function sent(
  operation: Operation,
  query: string,
  body: JsonObject,
  headers: Record<string, string> = {},
  settings: Parameters<typeof providerSettings>[0][] = [],
) {
  const stub = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "application/json" }, body: ANSWER }),
    ...(settings.length > 0 && { providers: settings.map(providerSettings) }),
  });
  const response = await handleCall(
    operation,
    new Request(`http://gateway.test/v1/x${query}`, {
      method: "POST",
      headers: { authorization: stub.authorization, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    }),
    stub.context,
  );
  await response.text();
  return { request: stub.sent[0]!, dropped: response.headers.get("x-gateway-dropped-params") };
}

const urlOf = async (...asked: Parameters<typeof sent>) => (await sent(...asked)).request.url;

describe("the query", () => {
  test("[d12.3] beta goes along where the target speaks the operation, and nothing else does", async () => {
    const model = "anthropic:claude-x";
    for (const query of ["?beta=true", "?x=1&beta=true&api_key=secret"])
      expect(await urlOf(MESSAGES, query, { ...HELLO, model })).toBe("https://api.anthropic.com/v1/messages?beta=true");
    const { max_tokens: _bound, ...counted } = HELLO;
    expect(await urlOf(COUNT_TOKENS, "?beta=true", { ...counted, model })).toBe(
      "https://api.anthropic.com/v1/messages/count_tokens?beta=true",
    );
    expect(await urlOf(RESPONSES, "?beta=true", { model: "openai:gpt-9", input: "Why?" })).toBe(
      "https://api.openai.com/v1/responses?beta=true",
    );
    expect(await urlOf(MESSAGES, "", { ...HELLO, model })).toBe("https://api.anthropic.com/v1/messages");
    expect(await urlOf(MESSAGES, "?beta=tr%0d%0aue", { ...HELLO, model })).toBe(
      "https://api.anthropic.com/v1/messages",
    );
  });

  test("[d12.3] nothing of it goes to a target whose row names no member, or that is sent the translation", async () => {
    expect(await urlOf(RESPONSES, "?beta=true", { model: "xai:grok", input: "Why?" })).toBe(
      "https://api.x.ai/v1/responses",
    );
    expect(await urlOf(MESSAGES, "?beta=true", { ...HELLO, model: "mistral:m" })).not.toContain("?");
  });
});

describe("features in a header", () => {
  const vertex = {
    id: "vertex",
    credentials: [{ kind: "token" as const, secret: "k", weight: 1, fromCaller: false }],
    settings: { project: "p", location: "us-east5" },
  };
  const beta =
    "fast-mode-2026-02-01, interleaved-thinking-2025-05-14,files-api-2025-04-14,advanced-tool-use-2025-11-20";
  const asked = (body: JsonObject, header = beta) =>
    sent(MESSAGES, "?beta=true", { ...HELLO, model: "vertex:claude-x", ...body }, { "anthropic-beta": header }, [
      vertex,
    ]);

  test("[d12.3] those of the vendor's own platform are left out elsewhere and told, and others go in their order", async () => {
    const { request, dropped } = await asked({});
    expect(request.headers["anthropic-beta"]).toBe("interleaved-thinking-2025-05-14,tool-search-tool-2025-10-19");
    expect(dropped).toBe("anthropic-beta.fast-mode-2026-02-01,anthropic-beta.files-api-2025-04-14");
    expect(request.url).not.toContain("?");
  });

  test("[d12.3] a header of nothing else is not sent", async () => {
    expect((await asked({}, "skills-2025-10-02")).request.headers).not.toHaveProperty("anthropic-beta");
  });

  test("[d12.3] a feature that the body uses goes along with it", async () => {
    const { request, dropped } = await asked({ speed: "fast" });
    expect(request.headers["anthropic-beta"]).toStartWith("fast-mode-2026-02-01,");
    expect(request.body).toContain('"speed":"fast"');
    expect(dropped).toBe("anthropic-beta.files-api-2025-04-14");
  });

  test("[d12.3] the vendor itself gets the header as it came", async () => {
    const { request, dropped } = await sent(
      MESSAGES,
      "",
      { ...HELLO, model: "anthropic:claude-x" },
      { "anthropic-beta": beta },
    );
    expect(request.headers["anthropic-beta"]).toBe(beta);
    expect(dropped).toBeNull();
  });
});
