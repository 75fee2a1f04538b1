// Calls of tools over four forms of providers, where providers and clients differ most: ids of any form, calls without
// one, custom tools, tools that are named twice, and what clients send beside them.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { asked, FRONTS } from "./fronts.ts";
import type { Said } from "./said.ts";
import { VENDORS } from "./vendors.ts";

const RESPONSES = FRONTS["Responses"]!;
const MESSAGES = FRONTS["Messages"]!;
const callsIn = (said: readonly Said[]) => said.flatMap((one) => ("call" in one ? [one] : []));

describe.each(Object.entries(VENDORS))("over %s", (vendorName, vendor) => {
  for (const [name, front] of Object.entries(FRONTS)) {
    test(`[d12.4 d12.5] ${name}: ids of any form lead back to the provider's own, and a call without an id gets one`, async () => {
      for (const stream of [false, true])
        for (const id of ["functions.look:0", "ünï", "a/b+c==", "x".repeat(200), ""]) {
          const said: readonly Said[] = [{ call: id, name: "look", input: { at: 1 } }];
          const { text } = await asked(front, vendor, { said, stream });
          const [call] = callsIn(front.read(text, stream).said);
          expect([id, call!.name, call!.input]).toEqual([id, "look", { at: 1 }]);
          expect(call!.call).not.toBe("");
          const { sent } = await asked(front, vendor, {
            conversation: [
              { role: "user", text: "Look." },
              { role: "assistant", ...call! },
              { role: "user", result: call!.call, text: "seen" },
            ],
          });
          const heard = vendor.heard(JSON.parse(sent));
          const [made, back] = [callsIn(heard as readonly Said[])[0]!, heard.find((one) => "result" in one)!];
          expect("result" in back && back.result).toBe(made.call);
          // some vendors take ids of one form only
          if (id !== "" && /^[a-zA-Z0-9_-]{1,64}$/.test(id)) expect(made.call).toBe(id);
        }
    });

    test(`[d12.5] ${name}: a call without a name is no answer, plain and streamed`, async () => {
      for (const stream of [false, true]) {
        const said: readonly Said[] = [{ call: "call_a", name: "", input: { at: 1 } }];
        const { response, record } = await asked(front, vendor, { said, stream });
        expect([response.status, record.code]).toEqual([502, "upstream_invalid_response"]);
      }
    });
  }

  test("[d12.4] custom tools are offered with their grammar, called with one text, and their calls come back as what they are", async () => {
    const format = { type: "grammar", syntax: "lark", definition: "start: WORD" };
    const body = { tools: [{ type: "custom", name: "apply_patch", description: "Edits.", format }] };
    for (const stream of [false, true]) {
      const said: readonly Said[] = [{ call: "call_a", name: "apply_patch", input: { input: '*** Begin\n"x"' } }];
      const { text, sent } = await asked(RESPONSES, vendor, { said, stream, body });
      expect(sent).toContain("start: WORD");
      const response = stream
        ? JSON.parse(/^data: (\{"type":"response.completed".*)$/m.exec(text)![1]!).response
        : JSON.parse(text);
      expect(response.output).toMatchObject([
        { type: "custom_tool_call", call_id: "call_a", name: "apply_patch", input: '*** Begin\n"x"' },
      ]);
      const again = await asked(RESPONSES, vendor, {
        body: {
          ...body,
          input: [
            { role: "user", content: "Edit." },
            ...response.output,
            { type: "custom_tool_call_output", call_id: "call_a", output: "Done!" },
          ],
        },
      });
      expect(vendor.heard(JSON.parse(again.sent)).slice(1)).toEqual([
        { role: "assistant", call: "call_a", name: "apply_patch", input: { input: '*** Begin\n"x"' } },
        { role: "user", result: "call_a", text: "Done!" },
      ]);
    }
  });

  test("[d12.4] an empty text beside a call becomes no block of text, and arguments that are empty an empty object", async () => {
    const { sent } = await asked(RESPONSES, vendor, {
      body: {
        input: [
          { role: "user", content: "Look." },
          { role: "assistant", content: [{ type: "output_text", text: "", annotations: [] }] },
          { type: "function_call", call_id: "call_a", name: "look", arguments: "{}" },
          { type: "function_call_output", call_id: "call_a", output: "" },
          { role: "user", content: "Go on." },
        ],
      },
    });
    expect(vendor.heard(JSON.parse(sent))).toEqual([
      { role: "user", text: "Look." },
      { role: "assistant", call: "call_a", name: "look", input: {} },
      { role: "user", result: "call_a", text: "" },
      { role: "user", text: "Go on." },
    ]);
  });

  test("[d12.4 d6.10] what a coding agent sends with every request is taken: thinking, effort, context hints, a long user id", async () => {
    for (const thinking of [{ type: "adaptive", display: "omitted" }, { type: "disabled" }]) {
      const { response, text, gateway } = await asked(MESSAGES, vendor, {
        body: {
          max_tokens: 32_000,
          thinking,
          output_config: { effort: "high" },
          context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
          metadata: { user_id: JSON.stringify({ device_id: "d".repeat(64), session_id: "s" }) },
        },
      });
      expect([response.status, text]).toEqual([200, text]);
      expect(gateway.sent[0]!.headers).not.toHaveProperty("anthropic-beta");
    }
  });

  test("[d12.4] cache marks reach the vendors that have a place for them, with their lifetime; others leave them out and say so", async () => {
    const hour = { type: "ephemeral", ttl: "1h" };
    const { response, sent } = await asked(MESSAGES, vendor, {
      body: {
        system: [{ type: "text", text: "Be kind.", cache_control: hour }],
        messages: [{ role: "user", content: [{ type: "text", text: "Hi", cache_control: { type: "ephemeral" } }] }],
        tools: [{ name: "look", input_schema: { type: "object" }, cache_control: hour }],
      },
    });
    const dropped = response.headers.get("x-gateway-dropped-params") ?? "";
    const { system, messages, tools, toolConfig } = JSON.parse(sent) as Record<string, any>;
    if (vendorName === "anthropic") {
      const marks = [system[0].cache_control, messages[0].content[0].cache_control, tools[0].cache_control];
      expect([marks, dropped]).toEqual([[hour, { type: "ephemeral" }, hour], ""]);
    } else if (vendorName === "bedrock") {
      const points = [system[1], messages[0].content[1], toolConfig.tools[1]].map(({ cachePoint }) => cachePoint);
      const ofHour = { type: "default", ttl: "1h" };
      expect([points, dropped]).toEqual([[ofHour, { type: "default" }, ofHour], ""]);
    } else {
      expect(sent).not.toMatch(/cache_control|ttl|ephemeral/);
      expect(dropped).toContain("cache_control");
      expect(dropped).toContain("tools[].cache_control");
    }
  });

  test("[d12.3] beta features of the client's form reach their own vendor alone", async () => {
    const { gateway } = await asked(MESSAGES, vendor, { headers: { "anthropic-beta": "feature-of-tomorrow" } });
    const { headers, body } = gateway.sent[0]!;
    expect(JSON.stringify([headers, body]).includes("feature-of-tomorrow")).toBe(vendorName === "anthropic");
  });

  test("[d12.4] a tool that runs at another vendor is refused with its path, or left out and told where that is asked", async () => {
    const cases: readonly (readonly [typeof MESSAGES, JsonObject])[] = [
      [MESSAGES, { type: "web_search_20250305", name: "web_search" }],
      [RESPONSES, { type: "image_generation" }],
      [RESPONSES, { type: "tool_of_tomorrow" }],
    ];
    for (const [front, hosted] of cases) {
      const body = { ...front.asking([{ role: "user", text: "Hi" }]) };
      const tools = [...(body["tools"] as readonly JsonObject[]), hosted];
      const refused = await asked(front, vendor, { body: { ...body, tools } });
      const { error } = JSON.parse(refused.text);
      const path = front === MESSAGES ? refused.response.headers.get("x-gateway-error-param") : error.param;
      expect([refused.response.status, path, refused.sent]).toEqual([400, "tools[2]", ""]);
      const left = await asked(front, vendor, { body: { ...body, tools, x_gateway: { drop_params: true } } });
      expect([left.response.status, left.response.headers.get("x-gateway-dropped-params")]).toEqual([200, "tools[2]"]);
    }
  });
});
