// The two forms in which clients hold a conversation beside chat completions: how each asks, and what each reads of an
// answer. Streams are read as strictly as the strictest client library does.
import { expect } from "bun:test";
import type { Operation } from "../../../src/engine/operation.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import {
  type CannedAnswer,
  cannedUpstream,
  type Stub,
  stubGateway,
  type StubOptions,
} from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { readEvents } from "../messages/message-events.ts";
import { endOf } from "../responses/response-grammar.ts";
import { eventsOf } from "../responses/responses-calls.ts";
import type { Counted, Piece, Said, Vendor } from "./said.ts";
import { VENDORS } from "./vendors.ts";

/** What a client reads of an answer. `end` is "failed" where the client is told that the answer is not whole. */
export interface Told {
  readonly said: readonly Said[];
  readonly end: "done" | "calls" | "length" | "refusal" | "failed";
  readonly counted: Counted | null;
}

export interface Front {
  readonly operation: Operation;
  /** A request that says this, and offers the tools `look` and `see`. */
  readonly asking: (conversation: readonly Piece[]) => JsonObject;
  readonly read: (text: string, stream: boolean) => Told;
}

const SCHEMA = { type: "object", properties: {} };
const TOOLS = ["look", "see"];
export const ASKED: readonly Piece[] = [{ role: "user", text: "What is there?" }];

// Responses

function itemOf(piece: Piece): JsonObject {
  if ("thinking" in piece)
    return {
      type: "reasoning",
      summary: [{ type: "summary_text", text: piece.thinking }],
      ...(piece.signature !== undefined && { encrypted_content: piece.signature }),
    };
  if ("redacted" in piece) return { type: "reasoning", summary: [], encrypted_content: piece.redacted };
  if ("call" in piece)
    return { type: "function_call", call_id: piece.call, name: piece.name, arguments: JSON.stringify(piece.input) };
  if ("result" in piece)
    return {
      type: "function_call_output",
      call_id: piece.result,
      output:
        piece.images === undefined
          ? piece.text
          : [{ type: "input_text", text: piece.text }, ...piece.images.map((image) => inputImage(image))],
    };
  if ("image" in piece) return { role: "user", content: [inputImage(piece.image)] };
  if (piece.role === "assistant")
    return {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: piece.text, annotations: [] }],
    };
  return { role: piece.role, content: piece.text };
}

const inputImage = (data: string): JsonObject => ({
  type: "input_image",
  image_url: `data:image/png;base64,${data}`,
});

/** The arguments of a call. Those that are no JSON are what the model or its server wrote. */
function argumentsOf(text: string): JsonObject {
  try {
    return JSON.parse(text);
  } catch {
    return { "no JSON": text };
  }
}

function toldByResponse(response: Record<string, any>): Told {
  const said = (response["output"] as readonly any[]).flatMap((item): Said[] => {
    switch (item.type) {
      case "reasoning": {
        const thinking = item.summary.map(({ text }: any) => text).join("");
        return thinking === "" ? [] : [{ thinking }];
      }
      case "message":
        return item.content.map((part: any) => ({ text: part.text ?? part.refusal }));
      default:
        return [{ call: item.call_id, name: item.name, input: argumentsOf(item.arguments) }];
    }
  });
  const { status, usage, incomplete_details: details } = response;
  const hasCalls = said.some((one) => "call" in one);
  return {
    said,
    end:
      status === "completed"
        ? hasCalls
          ? "calls"
          : "done"
        : status === "failed"
          ? "failed"
          : details.reason === "content_filter"
            ? "refusal"
            : "length",
    counted:
      usage === null
        ? null
        : {
            input: usage.input_tokens,
            cached: usage.input_tokens_details.cached_tokens,
            written: usage.input_tokens_details.cache_write_tokens,
            output: usage.output_tokens,
            thinking: usage.output_tokens_details.reasoning_tokens,
          },
  };
}

// Messages

function blockOf(piece: Piece): JsonObject {
  if ("thinking" in piece) return { type: "thinking", thinking: piece.thinking, signature: piece.signature ?? "" };
  if ("redacted" in piece) return { type: "redacted_thinking", data: piece.redacted };
  if ("call" in piece) return { type: "tool_use", id: piece.call, name: piece.name, input: piece.input };
  if ("result" in piece)
    return {
      type: "tool_result",
      tool_use_id: piece.result,
      content:
        piece.images === undefined
          ? piece.text
          : [{ type: "text", text: piece.text }, ...piece.images.map((image) => imageBlock(image))],
    };
  return "image" in piece ? imageBlock(piece.image) : { type: "text", text: piece.text };
}

const imageBlock = (data: string): JsonObject => ({
  type: "image",
  source: { type: "base64", media_type: "image/png", data },
});

function turnsOf(conversation: readonly Piece[]): readonly JsonObject[] {
  const turns: { readonly role: string; readonly content: JsonObject[] }[] = [];
  for (const piece of conversation) {
    const last = turns.at(-1);
    if (last?.role === piece.role) last.content.push(blockOf(piece));
    else turns.push({ role: piece.role, content: [blockOf(piece)] });
  }
  return turns;
}

const MESSAGE_ENDS: Readonly<Record<string, Told["end"]>> = {
  end_turn: "done",
  tool_use: "calls",
  max_tokens: "length",
  refusal: "refusal",
};

/** Each part of the input is a counter of its own in this form. */
function countedIn(usage: any): Counted {
  const { cache_read_input_tokens: cached = 0, cache_creation_input_tokens: written = 0 } = usage;
  return {
    input: usage.input_tokens + cached + written,
    cached,
    written,
    output: usage.output_tokens,
    thinking: usage.output_tokens_details?.thinking_tokens ?? 0,
  };
}

function toldByBlocks(content: readonly any[]): readonly Said[] {
  return content.flatMap((block): Said[] => {
    switch (block.type) {
      case "thinking":
        expect(block.signature).toBeString();
        return block.thinking === "" ? [] : [{ thinking: block.thinking }];
      case "redacted_thinking":
        return [];
      case "text":
        expect(block.text).not.toBe("");
        return [{ text: block.text }];
      default:
        expect(block.id).toMatch(/^[a-zA-Z0-9_-]+$/);
        return [{ call: block.id, name: block.name, input: block.input }];
    }
  });
}

function toldByMessage(text: string): Told {
  const { content, stop_reason: reason, usage } = JSON.parse(text);
  return { said: toldByBlocks(content), end: MESSAGE_ENDS[reason]!, counted: countedIn(usage) };
}

function toldByEvents(text: string): Told {
  const { events, content } = readEvents(text);
  const last = events.at(-1)!;
  const said = toldByBlocks(
    content.map(({ pieces, ...block }) => {
      if (block["type"] === "tool_use") return { ...block, input: argumentsOf(pieces) };
      return block["type"] === "text" ? { ...block, text: pieces } : { ...block, thinking: pieces };
    }),
  );
  if (last.type === "error") return { said, end: "failed", counted: null };
  const [ending, ...more] = events.filter(({ type }) => type === "message_delta");
  expect([more.length, last.type, events[0]!.type]).toEqual([0, "message_stop", "message_start"]);
  expect(events.filter(({ type }) => type === "message_start")).toHaveLength(1);
  // an estimate of the input: a program shows it until the end
  expect(events[0]!["message"].usage).toEqual({ input_tokens: expect.any(Number), output_tokens: 0 });
  expect(events[0]!["message"].usage.input_tokens).toBeGreaterThan(0);
  return { said, end: MESSAGE_ENDS[ending!["delta"].stop_reason]!, counted: countedIn(ending!["usage"]) };
}

export const FRONTS: Readonly<Record<string, Front>> = {
  Responses: {
    operation: RESPONSES,
    asking: (conversation) => ({
      input: conversation.map(itemOf),
      include: ["reasoning.encrypted_content"],
      tools: TOOLS.map((name) => ({ type: "function", name, parameters: SCHEMA, strict: false })),
    }),
    read: (text, stream) => toldByResponse(stream ? endOf(eventsOf(text)) : JSON.parse(text)),
  },
  Messages: {
    operation: MESSAGES,
    asking: (conversation) => ({
      max_tokens: 2_000,
      messages: turnsOf(conversation),
      tools: TOOLS.map((name) => ({ name, input_schema: SCHEMA })),
    }),
    read: (text, stream) => (stream ? toldByEvents(text) : toldByMessage(text)),
  },
};

/** A gateway that asks each provider in its own form, never in the client's. */
export function bridge(answer: Parameters<typeof cannedUpstream>[0], options: StubOptions = {}): Stub {
  const settings = Object.values(VENDORS).map(({ model }) => {
    const id = model.slice(0, model.indexOf(":"));
    return providerSettings({
      id,
      family: id,
      credentials: [storedKey("key")],
      native: [],
      ...(id === "bedrock" && { settings: { region: "us-east-1" } }),
    });
  });
  return stubGateway({ upstream: cannedUpstream(answer), providers: settings, ...options });
}

/** Asks, and returns what the client reads, what the provider heard, and the head. */
export async function asked(
  front: Front,
  vendor: Vendor,
  {
    conversation = ASKED,
    body = {},
    said = [{ text: "Hello." }],
    stream = false,
    answer,
    headers = {},
  }: {
    readonly conversation?: readonly Piece[];
    readonly body?: JsonObject;
    readonly said?: readonly Said[];
    readonly stream?: boolean;
    readonly answer?: CannedAnswer;
    readonly headers?: Record<string, string>;
  } = {},
) {
  const gateway = bridge(answer ?? (stream ? vendor.stream(said) : vendor.answer(said)));
  const request = { model: vendor.model, ...front.asking(conversation), ...(stream && { stream }), ...body };
  const response = await gateway.call(front.operation, request, { headers });
  const text = await response.text();
  return { response, text, gateway, sent: gateway.sent.at(-1)?.body ?? "", record: gateway.records[0]! };
}
