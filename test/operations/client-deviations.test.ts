// What the gateway does for named clients alone, and that each of it can be switched off (promise 12.14).
import { describe, expect, test } from "bun:test";
import type { Operation } from "../../src/engine/operation.ts";
import {
  CLIENT_DEVIATION_NAMES,
  CLIENT_DEVIATIONS,
  type ClientDeviationName,
} from "../../src/core/configured/client-deviations.ts";
import type { JsonObject } from "../../src/core/json.ts";
import type { ScopeSettings } from "../../src/core/snapshot.ts";
import { MESSAGES } from "../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../src/operations/responses/responses.ts";
import { parseConfiguration } from "../../src/snapshot/configuration.ts";
import { type CannedAnswer, cannedUpstream, stubGateway, type StubOptions } from "../harness/in-process.ts";
import { openaiAnswer } from "../harness/servers/upstream.ts";

const CHAT = { headers: { "content-type": "application/json" }, body: JSON.stringify(openaiAnswer()) };
const NATIVE = {
  headers: { "content-type": "application/json" },
  body: JSON.stringify({
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "completed",
    model: "gpt-9",
    output: [
      { id: "m", type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi", annotations: [] }] },
    ],
  }),
};
const NOTHING_SET = { dropParams: null, disableStopSequenceLimit: null };
const setting = (name: ClientDeviationName, isOn: boolean): ScopeSettings => ({
  ...NOTHING_SET,
  clientDeviations: { [name]: isOn },
});

async function asked(
  operation: Operation,
  body: JsonObject,
  snapshot: StubOptions["snapshot"] = {},
  answer: CannedAnswer = CHAT,
) {
  const response = await stubGateway({ upstream: cannedUpstream(answer), snapshot }).call(operation, body);
  const { error } = (await response.json()) as { readonly error?: { readonly message: string } | null };
  return {
    status: response.status,
    dropped: response.headers.get("x-gateway-dropped-params"),
    message: error?.message ?? null,
  };
}

const SEARCH = {
  model: "mistral:m",
  input: "Why?",
  tools: [
    { type: "function", name: "f", parameters: {} },
    { type: "web_search", external_web_access: false },
  ],
};
const HELLO = { model: "groq:m", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };
const EDITS = { ...HELLO, context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] } };
const EFFORT = { ...HELLO, model: "cohere:m", output_config: { effort: "max" } };

describe("what is done for named clients", () => {
  test("[d12.14] is a table with a source for each", () => {
    for (const name of CLIENT_DEVIATION_NAMES) expect(CLIENT_DEVIATIONS[name].source).toStartWith("https://");
    expect(CLIENT_DEVIATION_NAMES).toHaveLength(5);
  });

  test("[d12.14] a default tool and a default edit are left out and told, and refused with the cure where that is off", async () => {
    for (const [operation, body, name, path] of [
      [RESPONSES, SEARCH, "default_search_tool", "tools[1]"],
      [MESSAGES, EDITS, "default_context_edits", "context_management"],
    ] as const) {
      expect(await asked(operation, body)).toEqual({ status: 200, dropped: path, message: null });
      const settings = setting(name, false);
      const refused = await asked(operation, body, { settings });
      expect(refused.status).toBe(400);
      expect(refused.message).toContain(path);
      expect(refused.message).toContain("x_gateway.drop_params");
      const dropping = await asked(operation, { ...body, x_gateway: { drop_params: true } }, { settings });
      expect(dropping).toEqual({ status: 200, dropped: path, message: null });
    }
  });

  test("[d12.14] settings that a client sends for its models are left out and told, and refused where that is off", async () => {
    const body = {
      model: "gemini:gemini-3-pro",
      input: "Why?",
      tools: [{ type: "function", name: "f", parameters: {} }],
      text: { verbosity: "low" },
      parallel_tool_calls: false,
      reasoning: { context: "all_turns" },
    };
    const answer = {
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ candidates: [{ content: { parts: [{ text: "Hi" }] }, finishReason: "STOP" }] }),
    };
    const ofClient = { ...body, client_metadata: { session_id: "1" } };
    const { status, dropped } = await asked(RESPONSES, ofClient, {}, answer);
    expect([status, dropped!.split(",").toSorted()]).toEqual([
      200,
      ["client_metadata", "reasoning.context", "text.verbosity"],
    ]);
    const settings = setting("default_model_settings", false);
    for (const refused of [await asked(RESPONSES, ofClient, { settings }), await asked(RESPONSES, body)])
      expect(refused).toMatchObject({ status: 400, message: expect.stringContaining("drop_params") });
    const { reasoning: _, ...others } = ofClient;
    expect((await asked(RESPONSES, others, { settings })).message).toContain("verbosity");
  });

  test("[d12.14] a tool that no client adds by itself is not left out unasked", async () => {
    const body = { ...SEARCH, tools: [{ type: "web_search" }] };
    expect((await asked(RESPONSES, body)).status).toBe(400);
  });

  test("[d12.14] a tool that a provider may not run is left out for the client alone, where that is not off", async () => {
    const native = { ...SEARCH, model: "groq:m" };
    expect((await asked(RESPONSES, native, {}, NATIVE)).dropped).toBe("tools[1]");
    const refused = await asked(RESPONSES, native, { settings: setting("default_search_tool", false) });
    expect(refused).toMatchObject({ status: 400, dropped: null });
    expect(refused.message).toContain("hosted_tools");
  });

  test("[d12.14] refusals are words that a client knows, and sentences where that is off", async () => {
    expect(await asked(MESSAGES, EFFORT)).toMatchObject({
      status: 400,
      message: "capability_rejected: effort_unsupported",
    });
    const off = await asked(MESSAGES, EFFORT, { settings: setting("capability_words", false) });
    expect(off.status).toBe(400);
    expect(off.message).toContain("output_config.effort");
    expect(off.message).not.toContain("capability_rejected");
  });

  test("[d12.14] the narrowest scope that says so decides", async () => {
    const name = "default_search_tool";
    const [on, off] = [setting(name, true), setting(name, false)];
    const at = (settings: ScopeSettings) => new Map([["default", settings]]);
    const status = async (snapshot: StubOptions["snapshot"]) => (await asked(RESPONSES, SEARCH, snapshot)).status;
    expect(await status({ settings: on, tenantSettings: at(off) })).toBe(400);
    expect(await status({ tenantSettings: at(off), projectSettings: at(on) })).toBe(200);
    expect(await status({ settings: off, projectSettings: at(on) })).toBe(200);
    expect(await status({ projectSettings: at(off) })).toBe(400);
  });

  test("[d12.14] the configuration names them, and no others", () => {
    const parsed = (text: string) => parseConfiguration({ file: "f", text, families: [], environment: new Map() });
    expect(parsed("settings: {client_deviations: {default_search_tool: false}}").settings).toMatchObject({
      clientDeviations: { default_search_tool: false },
    });
    expect(() => parsed("settings: {client_deviations: {another: false}}")).toThrow();
  });
});
