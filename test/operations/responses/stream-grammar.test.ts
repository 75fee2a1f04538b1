// The table of the grammar of streams against the events that OpenAI's own library knows, and each of its rows through all
// that read it: a stream that passes, one that is written, and one that is decoded.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { providers } from "../../../src/providers/registry.ts";
import {
  ANNOTATION_ADDED,
  formOfEvent,
  ITEM_ADDED,
  ITEM_DONE,
  type PartForm,
  PARTS,
  PARTS_ADDED,
  PARTS_DONE,
} from "../../../src/providers/responses/stream-grammar.ts";
import { chunksOfEvents } from "../../../src/operations/responses/recorded-chunks.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { openaiChunk } from "../../harness/servers/upstream.ts";
import { type Read, streamed } from "../../providers/responses/events.ts";
import { eventsOf, responsesGateway, type SentEvent, streaming } from "./responses-calls.ts";

const FORMS: readonly PartForm[] = Object.values(PARTS).flatMap((forms) => Object.values<PartForm>(forms));

/** Events that begin, lengthen or end something, and that pass without being read. */
const UNREAD: readonly string[] = [
  "response.audio.delta",
  "response.audio.done",
  "response.audio.transcript.delta",
  "response.audio.transcript.done",
  "response.shell_call_command.added",
  "response.shell_call_command.delta",
  "response.shell_call_command.done",
  "response.shell_call_output_content.delta",
  "response.shell_call_output_content.done",
];

describe("the table of the grammar", () => {
  test("[d12.5] has every event of OpenAI's library that begins, lengthens or ends an item, a part or a text", async () => {
    const types = new URL("../../../node_modules/openai/resources/responses/responses.d.ts", import.meta.url);
    const named = (await Bun.file(types).text()).matchAll(/\btype: '(response\.[a-z_.]+\.(?:added|delta|done))'/g);
    const known = FORMS.flatMap(({ delta, done, partAdded, partDone }) => [delta, done, partAdded, partDone]);
    const table = new Set([ITEM_ADDED, ITEM_DONE, ANNOTATION_ADDED, ...known.filter((name) => name !== null)]);
    expect([...table, ...UNREAD].toSorted()).toEqual([...new Set([...named].map(([, name]) => name!))].toSorted());
  });

  test("[d12.5] finds each part by its events, and the events of parts by their names", () => {
    for (const form of FORMS) {
      expect([formOfEvent(form.delta), formOfEvent(form.done)]).toEqual([form, form]);
      if (form.list === null) continue;
      expect([PARTS_ADDED.has(form.partAdded!), PARTS_DONE.has(form.partDone!)]).toEqual([true, true]);
    }
    const others = [ITEM_ADDED, ANNOTATION_ADDED, "response.content_part.done", "response.output_text.new_step"];
    expect(others.map(formOfEvent)).toEqual(others.map(() => null));
  });
});

const TEXT = '{"city":"Wien"}';

/** An item with one text. */
function itemOf({ item, list, type, whole }: PartForm): JsonObject {
  const text = list === null ? { [whole]: TEXT } : { [list]: [{ type, [whole]: TEXT }] };
  return { id: "item_1", type: item, status: "completed", call_id: "call_1", name: "look_up", ...text };
}

/** The events of a stream of which the provider sends only the item. */
async function passed(form: PartForm): Promise<readonly SentEvent[]> {
  const item = itemOf(form);
  const sent = [
    { type: "response.created", response: { id: "resp_1", model: "gpt-9", output: [] } },
    { type: ITEM_DONE, output_index: 0, item },
    { type: "response.completed", response: { id: "resp_1", model: "gpt-9", status: "completed", output: [item] } },
  ];
  const body = sent.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const upstream = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body });
  const stub = responsesGateway({ families: providers, upstream });
  return eventsOf(await (await stub.respond({ model: "openai:gpt-9", input: "Why?", stream: true })).text());
}

type Chat = Exclude<PartForm["chat"], null>;
const called = (name: string, text: string): JsonObject => ({
  tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: text } }],
});
/** What a provider of chat completions sends. */
const CHUNKS: Readonly<Record<Chat, JsonObject>> = {
  content: { content: TEXT },
  refusal: { refusal: TEXT },
  reasoning: { reasoning_content: TEXT },
  function: called("look_up", TEXT),
  custom: called("patch", JSON.stringify({ input: TEXT })),
};
/** What is kept of it, as the delta of a chunk. */
const KEPT: Readonly<Record<Chat, JsonObject>> = { ...CHUNKS, custom: called("look_up", TEXT) };
/** Where a client of chat completions finds it. */
const READ: Readonly<Record<Chat, (read: Read) => unknown>> = {
  content: ({ text }) => text,
  refusal: ({ refusal }) => refusal,
  reasoning: ({ reasoning }) => reasoning,
  function: ({ calls: [call] }) => (call!["function"] as JsonObject)["arguments"],
  custom: ({ calls: [call] }) => (call!["custom"] as JsonObject)["input"],
};

async function written(chat: Chat): Promise<readonly SentEvent[]> {
  const tools = [
    { type: "function", name: "look_up", parameters: { type: "object" } },
    { type: "custom", name: "patch" },
  ];
  const stub = streaming(openaiChunk(CHUNKS[chat]), openaiChunk({}, "stop"));
  return eventsOf(await (await stub.respond({ model: "openai:gpt-9", input: "Why?", stream: true, tools })).text());
}

/** The events of the item, with the names of their members. */
function shapes(events: readonly SentEvent[]): readonly (readonly string[])[] {
  return events
    .filter(({ response }) => response === undefined)
    .map(({ type, ...members }) => [type, ...Object.keys(members).toSorted()]);
}

describe.each(FORMS)("$type of $item", (form) => {
  const { item, at, chat, whole } = form;
  const place = { item_id: "item_1", output_index: 0, ...(at !== null && { [at]: 0 }) };

  test("[d12.5] events that a server leaves out are supplied by the table", async () => {
    const events = (await passed(form)).filter(({ response }) => response === undefined);
    const types = [ITEM_ADDED, form.partAdded, form.delta, form.done, form.partDone, ITEM_DONE];
    expect(events.map(({ type }) => type)).toEqual(types.filter((type) => type !== null));
    const event = (type: string): SentEvent | undefined => events.find((one) => one.type === type);
    expect(event(form.delta)).toMatchObject({ ...place, delta: TEXT });
    expect(event(form.done)).toMatchObject({ ...place, [whole]: TEXT });
    if (form.partDone === null) return;
    expect(event(form.partAdded!)).toMatchObject({ ...place, part: { type: form.type, [whole]: "" } });
    expect(event(form.partDone)).toMatchObject({ ...place, part: { type: form.type, [whole]: TEXT } });
  });

  test("[d12.13] pieces are read as what they are in a chat completion", () => {
    const begun = { id: "item_1", type: item, call_id: "call_1", name: "look_up" };
    const events = [
      { type: ITEM_ADDED, output_index: 0, item: begun },
      { type: form.delta, ...place, delta: TEXT.slice(0, 4) },
      { type: form.done, ...place, [whole]: TEXT },
    ];
    const { read } = streamed(events.map((event) => ({ event: event.type, data: JSON.stringify(event) })));
    const said = Object.entries(READ).filter(([name]) => name === chat);
    expect(said.map(([, find]) => find(read))).toEqual(chat === null ? [] : [TEXT]);
    const { text, refusal, reasoning, calls } = read;
    if (chat === null) expect([text, refusal, reasoning, calls.length]).toEqual(["", "", "", 0]);
  });

  test("[d11.3] what is kept of it is what it is in a chat completion", async () => {
    const events = (await passed(form)).map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const deltas = chunksOfEvents(events.join("")).flatMap(
      ({ choices }) => (choices as readonly JsonObject[])[0]!["delta"],
    );
    expect(deltas).toEqual([...(chat === null ? [] : [KEPT[chat]]), {}]);
  });

  // what a chat completion says of reasoning is written as its summary
  if (chat !== null && form !== PARTS.reasoning.reasoning_text)
    test("[d12.5] a translated answer has the events of one that passes", async () => {
      expect(shapes(await written(chat))).toEqual(shapes(await passed(form)));
    });
});
