// The operator's key in streams of providers that speak the operation of the call: a provider, or a proxy before it, may
// repeat the key that it received, whole or in pieces, and no client gets to see it.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import type { Operation } from "../../../src/engine/operation.ts";
import { MESSAGES } from "../../../src/operations/messages/messages.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { dataOf } from "../../harness/sse.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { message, responseOf } from "../../providers/responses/events.ts";

const KEY = "sk-proj-0123456789abcdefghijklmnopqrstuvwxyz";

/** The most characters of a key's beginning that are shown before it is known to be one (core/text/quoted-key.ts). */
const SHOWN = 8;

const events = (all: readonly JsonObject[]): string =>
  all.map((data) => `event: ${data["type"] as string}\ndata: ${JSON.stringify(data)}\n\n`).join("");

function messageOf(pieces: readonly string[], member: "text" | "thinking"): string {
  const type = member === "text" ? "text_delta" : "thinking_delta";
  return events([
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 },
      },
    },
    { type: "content_block_start", index: 0, content_block: { type: member, [member]: "" } },
    ...pieces.map((piece) => ({ type: "content_block_delta", index: 0, delta: { type, [member]: piece } })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: "message_stop" },
  ]);
}

function responseOfPieces(pieces: readonly string[]): string {
  let number = 0;
  const at = { item_id: "msg_2", output_index: 0, content_index: 0 };
  const numbered = (data: JsonObject): JsonObject => ({ ...data, sequence_number: number++ });
  return events([
    numbered({ type: "response.created", response: { ...responseOf([]), status: "in_progress" } }),
    numbered({
      type: "response.output_item.added",
      output_index: 0,
      item: { id: "msg_2", type: "message", status: "in_progress", role: "assistant", content: [] },
    }),
    numbered({ type: "response.content_part.added", ...at, part: { type: "output_text", text: "", annotations: [] } }),
    ...pieces.map((delta) => numbered({ type: "response.output_text.delta", ...at, delta, logprobs: [] })),
    numbered({ type: "response.completed", response: responseOf([message("msg_2", pieces.join(""))]) }),
  ]);
}

/** What the client is shown in deltas, and all that it is shown. */
async function shown(operation: Operation, family: string, body: string): Promise<{ deltas: string; all: string }> {
  const gateway = stubGateway({
    providers: [providerSettings({ id: family, family, credentials: [storedKey(KEY)] })],
    upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" }),
  });
  const asked =
    operation === MESSAGES
      ? { max_tokens: 9, messages: [{ role: "user", content: "Which key?" }] }
      : { input: "Which key?", store: false };
  const answer = await gateway.call(operation, { model: `${family}:model-1`, stream: true, ...asked });
  const all = await answer.text();
  const deltas = dataOf(all).flatMap((event) => {
    const { delta } = event as { readonly delta?: unknown };
    if (typeof delta === "string") return [delta];
    const { text, thinking } = (delta ?? {}) as { readonly text?: string; readonly thinking?: string };
    return [text ?? thinking ?? ""];
  });
  return { deltas: deltas.join(""), all };
}

const half = KEY.length / 2;
/** Each ends with text behind the key. */
const PIECES: Readonly<Record<string, readonly string[]>> = {
  "in one piece": ["It is ", KEY, ", I think."],
  "in two halves": ["It is ", KEY.slice(0, half), KEY.slice(half), ", I think."],
  "a character at a time": ["It is ", ...Array.from(KEY), ", I think."],
  "behind pieces that pass as text": ["It ", "is ", "not ", "easy ", KEY.slice(0, 1), `${KEY.slice(1)}, I think.`],
};

describe.each(Object.entries(PIECES))("a key %s", (_, pieces) => {
  const said = pieces.join("");
  const [before, after] = said.split(KEY) as [string, string];

  test.each(["text", "thinking"] as const)("[d12.5] is not shown in %s of messages", async (member) => {
    const { deltas, all } = await shown(MESSAGES, "anthropic", messageOf(pieces, member));
    expect(all).not.toContain(KEY);
    expect([deltas.startsWith(before), deltas.endsWith(after)]).toEqual([true, true]);
    expect(deltas).not.toContain(KEY.slice(SHOWN));
    expect(all).toContain("message_stop");
  });

  test("[d12.5] is not shown in a response", async () => {
    const { deltas, all } = await shown(RESPONSES, "openai", responseOfPieces(pieces));
    expect(all).not.toContain(KEY);
    expect(deltas).not.toContain(KEY.slice(SHOWN));
    expect(deltas.startsWith(before)).toBe(true);
  });
});

test("[d12.5] what only begins like a key is shown whole, in its order", async () => {
  const pieces = ["It begins with ", KEY.slice(0, 20), " and so on, ", KEY.slice(0, 15)];
  expect((await shown(MESSAGES, "anthropic", messageOf(pieces, "text"))).deltas).toBe(pieces.join(""));
  const { deltas, all } = await shown(RESPONSES, "openai", responseOfPieces(pieces));
  expect(deltas).toBe(pieces.join(""));
  expect(all).toContain("response.completed");
});
