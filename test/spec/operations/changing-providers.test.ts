// Conversations with tools that change their provider on the way (promise 12.9). The vendors of this test refuse reasoning
// that they have not written, as the real ones do; clients send everything back that they were given.
import { describe, expect, test } from "bun:test";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import type { UpstreamRequest } from "../../../src/wire/upstream.ts";
import { type CannedAnswer, cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { openaiAnswer } from "../../harness/servers/upstream.ts";
import { claudeAnswer } from "../../operations/bridges/claude-turns.ts";
import { geminiAnswer } from "../../operations/bridges/gemini-turns.ts";
import { call, reasoning, responseOf } from "../../providers/responses/events.ts";

type Body = Record<string, any>;

const CLOCK = { now: (): number => 1_767_225_600_000, monotonic: () => performance.now() };
const MODELS = {
  anthropic: "anthropic:claude-sonnet-4-6",
  openai: "openai:gpt-5.2",
  gemini: "gemini:gemini-3-flash-preview",
  deepseek: "deepseek:deepseek-chat",
} as const;
type Vendor = keyof typeof MODELS;
const HOSTS: Readonly<Record<string, Vendor>> = {
  "api.anthropic.com": "anthropic",
  "api.openai.com": "openai",
  "generativelanguage.googleapis.com": "gemini",
  "api.deepseek.com": "deepseek",
};
const INPUT = { city: "Wien" };

/** Answers each request with reasoning and a call, and remembers what it has sealed. */
class Vendors {
  readonly #sealed = new Map<string, Vendor>();
  #turn = 0;

  readonly answer = (request: UpstreamRequest): CannedAnswer => {
    const { hostname, pathname } = new URL(request.url);
    const vendor = HOSTS[hostname]!;
    const body = JSON.parse(request.body) as Body;
    const refusal = this.#refusal(vendor, body);
    if (refusal !== null)
      return { status: 400, body: JSON.stringify({ error: { type: "invalid_request_error", message: refusal } }) };
    return {
      headers: { "content-type": "application/json" },
      body: JSON.stringify(this.#answer(vendor, pathname, body)),
    };
  };

  #refusal(vendor: Vendor, body: Body): string | null {
    const isOwn = (sealed: unknown): boolean => this.#sealed.get(sealed as string) === vendor;
    const blocks: readonly Body[] = [body["messages"] ?? [], body["contents"] ?? []]
      .flat()
      .flatMap(({ content, parts }: Body) => (Array.isArray(content) ? content : (parts ?? [])));
    for (const { type, signature, thoughtSignature } of blocks) {
      if (type === "thinking" && !isOwn(signature)) return `Invalid signature in thinking block: ${signature}`;
      if (thoughtSignature !== undefined && !thoughtSignature.includes("skip") && !isOwn(thoughtSignature))
        return `Invalid thought signature: ${thoughtSignature}`;
    }
    for (const { type, id, encrypted_content: encrypted } of Array.isArray(body["input"]) ? body["input"] : [])
      if (type === "reasoning" && !isOwn(encrypted)) return `Item with id '${id}' not found.`;
    return null;
  }

  #seal(vendor: Vendor, text: string): string {
    this.#sealed.set(text, vendor);
    return text;
  }

  #answer(vendor: Vendor, path: string, { include }: Body): JsonObject {
    const turn = ++this.#turn;
    const [id, thought] = [`call_${turn}`, `Thought ${turn}.`];
    const base64 = Buffer.from(`${vendor} ${turn}`).toString("base64");
    if (vendor === "gemini") {
      const called = { functionCall: { name: "weather", args: INPUT }, thoughtSignature: this.#seal(vendor, base64) };
      const content = { role: "model", parts: [{ text: thought, thought: true }, called] };
      return { ...geminiAnswer([]), candidates: [{ content, finishReason: "STOP", index: 0 }] };
    }
    if (path.endsWith("/responses")) {
      const encrypted = include?.includes("reasoning.encrypted_content")
        ? this.#seal(vendor, `${vendor === "openai" ? "gAAAA" : ""}${base64}`)
        : "";
      const { encrypted_content: _none, ...open } = reasoning(`rs_${turn}`, [thought], encrypted);
      const item = encrypted === "" ? open : { ...open, encrypted_content: encrypted };
      return responseOf([item, call(`${turn}`, "weather", JSON.stringify(INPUT))]);
    }
    if (path.endsWith("/messages")) {
      const uuid = `91cfbb94-554b-4136-8e21-${String(turn).padStart(12, "0")}`;
      const signature = this.#seal(vendor, vendor === "deepseek" ? uuid : `Eq${base64}`);
      return claudeAnswer([
        { thinking: thought, signature },
        { call: id, name: "weather", input: INPUT },
      ]);
    }
    const called = { id, type: "function", function: { name: "weather", arguments: JSON.stringify(INPUT) } };
    return openaiAnswer(null, {
      message: { reasoning_content: thought, tool_calls: [called] },
      finish_reason: "tool_calls",
    }) as JsonObject;
  }
}

function gateway(): { readonly stub: Stub; readonly vendors: Vendors } {
  const vendors = new Vendors();
  const stub = stubGateway({ kept: new KeptObjects(CLOCK), upstream: cannedUpstream(vendors.answer) });
  return { stub, vendors };
}

const ORDERS = ordersOf(Object.keys(MODELS) as readonly Vendor[]);
const TURNS_EACH = 5;

function ordersOf<T>(all: readonly T[]): readonly (readonly T[])[] {
  return all.length === 0
    ? [[]]
    : all.flatMap((one) => ordersOf(all.filter((other) => other !== one)).map((rest) => [one, ...rest]));
}

/** The vendor of each of the twenty turns. */
const turnsOf = (order: readonly Vendor[]): readonly Vendor[] =>
  order.flatMap((vendor) => Array.from({ length: TURNS_EACH }, () => vendor));

interface Answered {
  readonly body: Body;
  readonly warnings: string;
}

async function answered(stub: Stub, operation: typeof MESSAGES, vendor: Vendor, body: JsonObject): Promise<Answered> {
  const response = await stub.call(operation, { model: MODELS[vendor], ...body });
  const text = await response.text();
  expect({ vendor, status: response.status, text: response.status === 200 ? "" : text }).toEqual({
    vendor,
    status: 200,
    text: "",
  });
  return { body: JSON.parse(text) as Body, warnings: response.headers.get("x-gateway-warnings") ?? "" };
}

const TOLD = /reasoning_left_out/;
const SCHEMA = { type: "object", properties: { city: { type: "string" } } };

describe.each(ORDERS.map((order) => [order.join(", "), order] as const))("%s", (_, order) => {
  test("[d12.9] a conversation of 20 turns in Messages completes, and reasoning of another vendor is left out and told", async () => {
    const { stub } = gateway();
    const messages: JsonObject[] = [{ role: "user", content: "How warm is it?" }];
    for (const [turn, vendor] of turnsOf(order).entries()) {
      const tools = [{ name: "weather", input_schema: SCHEMA }];
      const { body, warnings } = await answered(stub, MESSAGES, vendor, { max_tokens: 99, tools, messages });
      const use = body["content"].find(({ type }: Body) => type === "tool_use");
      messages.push({ role: "assistant", content: body["content"] });
      messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "12" }] });
      const isNative = vendor === "anthropic" || vendor === "deepseek";
      if (isNative && turn === TURNS_EACH) expect(warnings).toMatch(TOLD);
    }
    expect(stub.sent).toHaveLength(20);
  });

  test.each([
    ["without its content", {}],
    ["with what its vendor has encrypted", { include: ["reasoning.encrypted_content"] }],
    ["that nothing is kept of", { store: false }],
  ])(
    "[d12.9] a conversation of 20 turns in Responses whose client returns reasoning %s completes",
    async (_name, asking) => {
      const { stub } = gateway();
      const input: JsonObject[] = [{ role: "user", content: "How warm is it?" }];
      for (const vendor of turnsOf(order)) {
        const tools = [{ type: "function", name: "weather", parameters: SCHEMA }];
        const { body } = await answered(stub, RESPONSES, vendor, { tools, input, ...asking });
        const called = body["output"].find(({ type }: Body) => type === "function_call");
        input.push(...body["output"], { type: "function_call_output", call_id: called.call_id, output: "12" });
      }
      expect(stub.sent).toHaveLength(20);
      const own = stub.sent
        .filter(({ url }) => new URL(url).hostname === "api.openai.com")
        .map(({ body }) => reasoningIn(body));
      // the first call after another vendor has none of its own; each later one has that of all calls before it
      expect(own).toEqual("store" in asking ? [0, 0, 0, 0, 0] : [0, 1, 2, 3, 4]);
    },
  );
});

function reasoningIn(body: string): number {
  return (JSON.parse(body) as Body)["input"].filter(({ type }: Body) => type === "reasoning").length;
}
