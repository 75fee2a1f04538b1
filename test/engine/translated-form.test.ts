// A form that is translated to chat completions: fields of the gateway, and errors that name the client's own paths.
import { expect, test } from "bun:test";
import { LEAST_BODY_BOUNDS } from "../../src/core/request/body-bounds.ts";
import type { ChatRequest } from "../../src/core/chat.ts";
import { GatewayError } from "../../src/core/errors.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { translatedForm } from "../../src/engine/request/translated-form.ts";

/** A form with one question, whose bound has another name. */
const FORM = translatedForm({
  names: { max_completion_tokens: "most.tokens" },
  translate: ({ model, ask, most, metadata }) => ({
    chat: {
      ...(model !== undefined && { model }),
      ...(metadata !== undefined && { metadata }),
      messages: [{ role: "user", content: ask ?? null }],
      ...(most !== undefined && { max_completion_tokens: (most as JsonObject)["tokens"] ?? null }),
    },
    origins: { messages: ["ask"], tools: [] },
    untranslated: [],
    memo: { asked: ask ?? null },
  }),
});

const parse = (body: JsonObject): ChatRequest => FORM.parse(JSON.stringify(body), LEAST_BODY_BOUNDS);
const refusal = (body: JsonObject): GatewayError => {
  try {
    parse(body);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown;
    throw thrown;
  }
  throw new Error("the request was accepted");
};

test("[d12.2] fields of the gateway stand in x_gateway, which is taken out of the body; metadata is recorded", () => {
  const request = parse({
    model: "one:m",
    ask: "Why?",
    metadata: { a: "b" },
    x_gateway: { route: "fast", timeout: 3, drop_params: true },
  });
  expect(request.options).toMatchObject({ route: "fast", timeoutMs: 3000, dropParams: true, metadata: { a: "b" } });
  expect(request.written?.body).toEqual({ model: "one:m", ask: "Why?", metadata: { a: "b" } });
  expect(request.extra as JsonObject).toEqual({});
});

test("[d12.2] a member of x_gateway that is no field of the gateway is refused with its path", () => {
  for (const name of ["temperature", "messages", "model", "no_such_field"]) {
    const { code, param } = refusal({ ask: "Why?", x_gateway: { [name]: 1 } });
    expect({ code, param }).toEqual({ code: "invalid_request", param: `x_gateway.${name}` });
  }
  expect(refusal({ ask: "Why?", x_gateway: [] }).param).toBe("x_gateway");
});

test("[d12.6] errors name the path in what the client wrote", () => {
  const bound = refusal({ model: "one:m", ask: "Why?", most: { tokens: "many" } });
  expect(bound.param).toBe("most.tokens");
  expect(bound.message).toStartWith("most.tokens must be an integer");
  expect(refusal({ model: "one:m", ask: 7 }).param).toBe("ask");
  const timeout = refusal({ model: "one:m", ask: "Why?", x_gateway: { timeout: -1 } });
  expect(timeout.param).toBe("x_gateway.timeout");
});

test("parameters of an entry are joined with the translation, and what the client wrote stays with it", () => {
  const request = parse({ model: "one:m", ask: "Why?", most: { tokens: 20 } });
  const entry = FORM.withEntry(request, { max_tokens: 5 }, true, "caller");
  expect(entry.form).toBe(FORM);
  expect(entry.params).toMatchObject({ max_tokens: 5, max_completion_tokens: 5 });
  expect(entry.written).toMatchObject({ added: { max_tokens: 5 }, memo: { asked: "Why?" } });
});
