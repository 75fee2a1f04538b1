// Streams of the Responses API with faults of servers that speak it themselves: events and members that never come, come
// twice or in another order. A client gets the right answer, or the failure.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { handleCall } from "../../../src/engine/handle.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { eventFaults } from "./response-schemas.ts";
import { eventsOf, type SentEvent } from "./responses-calls.ts";

type Event = JsonObject & { readonly type: string };

async function ask(events: readonly Event[], chunk: "event" | number = "event"): Promise<readonly SentEvent[]> {
  const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const upstream = cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk });
  const stub = stubGateway({ upstream });
  const response = await handleCall(
    RESPONSES,
    new Request("http://gateway.test/api/v1/responses", {
      method: "POST",
      headers: { authorization: stub.authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "openai:gpt-9", input: "Why?", stream: true }),
    }),
    stub.context,
  );
  const text = await response.text();
  if (response.status !== 200) return [{ type: "response.failed", sequence_number: 0, error: text }];
  return eventsOf(text);
}

/** What the model says: the kind of an item and the pieces in which it comes. */
interface Said {
  readonly kind: "text" | "refusal" | "summary" | "raw" | "call" | "custom";
  readonly pieces: readonly string[];
}

const TYPES = {
  text: "message",
  refusal: "message",
  summary: "reasoning",
  raw: "reasoning",
  call: "function_call",
  custom: "custom_tool_call",
} as const;

/** The item when it has begun, and when it has ended. */
function itemOf({ kind, pieces }: Said, at: number, isWhole: boolean): JsonObject {
  const text = isWhole ? pieces.join("") : "";
  const base = { id: `item_${at}`, type: TYPES[kind] };
  const status = isWhole ? "completed" : "in_progress";
  const list = (part: JsonObject): readonly JsonObject[] => (isWhole ? [part] : []);
  switch (kind) {
    case "text":
    case "refusal":
      return { ...base, role: "assistant", status, content: list(partOf(kind, text)!) };
    case "summary":
      return { ...base, summary: list(partOf(kind, text)!), encrypted_content: "gAAA" };
    case "raw":
      return { ...base, summary: [], content: list(partOf(kind, text)!) };
    case "call":
      return { ...base, status, call_id: `call_${at}`, name: "look_up", arguments: text };
    default:
      return { ...base, status, call_id: `call_${at}`, name: "patch", input: text };
  }
}

function partOf(kind: Said["kind"], text: string): JsonObject | null {
  if (kind === "text") return { type: "output_text", text, annotations: [], logprobs: [] };
  if (kind === "refusal") return { type: "refusal", refusal: text };
  if (kind === "summary") return { type: "summary_text", text };
  return kind === "raw" ? { type: "reasoning_text", text } : null;
}

const STEMS = {
  text: "response.output_text",
  refusal: "response.refusal",
  summary: "response.reasoning_summary_text",
  raw: "response.reasoning_text",
  call: "response.function_call_arguments",
  custom: "response.custom_tool_call_input",
} as const;
const WHOLE = {
  text: "text",
  refusal: "refusal",
  summary: "text",
  raw: "text",
  call: "arguments",
  custom: "input",
} as const;

const HEAD: JsonObject = {
  id: "resp_vendor",
  object: "response",
  created_at: 1,
  model: "gpt-9",
  status: "in_progress",
};

/** The events of the answer as the vendor sends them. */
function streamOf(answer: readonly Said[]): readonly Event[] {
  const events: Event[] = [
    { type: "response.created", response: { ...HEAD, output: [] } },
    { type: "response.in_progress", response: { ...HEAD, output: [] } },
  ];
  for (const [at, said] of answer.entries()) {
    const { kind, pieces } = said;
    const logged = kind === "text" ? { logprobs: [] } : {};
    const isSummary = kind === "summary";
    const place = {
      item_id: `item_${at}`,
      output_index: at,
      ...(kind !== "call" && kind !== "custom" && { [isSummary ? "summary_index" : "content_index"]: 0 }),
    };
    const part = isSummary ? "response.reasoning_summary_part" : "response.content_part";
    events.push({ type: "response.output_item.added", output_index: at, item: itemOf(said, at, false) });
    if (partOf(kind, "") !== null) events.push({ type: `${part}.added`, ...place, part: partOf(kind, "") });
    for (const delta of pieces) events.push({ type: `${STEMS[kind]}.delta`, ...place, delta, ...logged });
    const named = kind === "call" ? { name: "look_up" } : {};
    events.push({ type: `${STEMS[kind]}.done`, ...place, ...named, [WHOLE[kind]]: pieces.join(""), ...logged });
    if (partOf(kind, "") !== null) events.push({ type: `${part}.done`, ...place, part: partOf(kind, pieces.join("")) });
    events.push({ type: "response.output_item.done", output_index: at, item: itemOf(said, at, true) });
  }
  const output = answer.map((said, at) => itemOf(said, at, true));
  const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
  events.push({ type: "response.completed", response: { ...HEAD, status: "completed", output, usage } });
  return numbered(events);
}

const numbered = (events: readonly Event[]): readonly Event[] =>
  events.map((event, number) => ({ ...event, sequence_number: number }));

/** What a client knows of an item, in one line. */
function lineOf(item: Record<string, any>): string {
  const texts = [...(item["summary"] ?? []), ...(item["content"] ?? [])];
  const said = texts.map((part: Record<string, any>) => part["text"] ?? part["refusal"]).join("");
  return [item["type"], item["call_id"], item["name"], said + (item["arguments"] ?? "") + (item["input"] ?? "")].join(
    "|",
  );
}

/** Three kinds of clients: of the last event, of the events that end items, and of pieces. */
function readings(events: readonly SentEvent[]): Record<"last" | "items" | "pieces", readonly string[]> {
  const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => lineOf(item));
  const pieces = new Map<string, Record<string, any>>();
  for (const event of events) {
    if (event.type === "response.output_item.added")
      pieces.set(event["item"].id, {
        type: event["item"].type,
        call_id: event["item"].call_id,
        name: event["item"].name,
        input: "",
      });
    if (event.type.endsWith(".delta")) pieces.get(event["item_id"])!["input"] += event["delta"];
  }
  return {
    last: (events.at(-1)!["response"].output as Record<string, any>[]).map(lineOf),
    items,
    pieces: [...pieces.values()].map(lineOf),
  };
}

/** Throws where an event does not follow the grammar of the form. */
function requireGrammar(events: readonly SentEvent[]): void {
  let items = 0;
  const open = new Map<number, { readonly id: string; readonly parts: Set<string> }>();
  for (const event of events) {
    const { type, output_index: index, item } = event as Record<string, any>;
    if (type === "response.output_item.added") {
      expect(index).toBe(items++);
      open.set(index, { id: item.id, parts: new Set() });
    } else if (index !== undefined) {
      const known = open.get(index)!;
      expect(item?.id ?? event["item_id"]).toBe(known.id);
      const part = String(event["content_index"] ?? `s${event["summary_index"]}`);
      if (type.endsWith("part.added")) {
        expect(known.parts.has(part)).toBe(false);
        known.parts.add(part);
      } else if (type.endsWith(".delta") && !/call/.test(type)) expect(known.parts.has(part)).toBe(true);
      if (type === "response.output_item.done") open.delete(index);
    }
  }
  expect(open.size).toBe(0);
}

const piece = fc.stringMatching(/^[a-d"\\ é]{1,3}$/);
const answers = fc.array(
  fc.record({
    kind: fc.constantFrom<Said["kind"]>("text", "refusal", "summary", "raw", "call", "custom"),
    pieces: fc.array(piece, { minLength: 1, maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 4 },
);
const TRUTH = (answer: readonly Said[]): readonly string[] => answer.map((said, at) => lineOf(itemOf(said, at, true)));

describe("streams of servers that speak Responses", () => {
  test("[d12.5] valid events pass one for one, in any chunks", async () => {
    await fc.assert(
      fc.asyncProperty(answers, fc.constantFrom<"event" | number>("event", 7, 4096), async (answer, chunk) => {
        const sent = streamOf(answer);
        const events = await ask(sent, chunk);
        expect(events).toHaveLength(sent.length);
        for (const [at, event] of events.entries()) {
          const { response, ...others } = sent[at]!;
          expect(event).toMatchObject(response === undefined ? others : { type: event.type });
        }
      }),
      { numRuns: drawCount(20, 300) },
    );
  });

  test("[d12.5] every event but the pieces and the last, and every member that has a counterpart, is supplied where it is missing", async () => {
    const optional = /\.(?:created|in_progress|added|done)$/;
    const members = [
      "item_id",
      "sequence_number",
      "logprobs",
      "content_index",
      "summary_index",
      "name",
      "part",
      "text",
    ];
    await fc.assert(
      fc.asyncProperty(answers, fc.array(fc.nat(60)), fc.subarray(members), async (answer, dropped, stripped) => {
        const whole = streamOf(answer);
        const sent = whole
          .filter(({ type }, at) => !(optional.test(type) && dropped.includes(at)))
          .map((event) => {
            // the beginning and the end of an item are nothing without it
            const kept = Object.entries(event).filter(([name]) => !stripped.includes(name));
            return Object.fromEntries(kept) as Event;
          });
        const events = await ask(sent);
        requireGrammar(events);
        expect(events.flatMap(eventFaults)).toEqual([]);
        const { last, items, pieces } = readings(events);
        expect(last).toEqual(TRUTH(answer));
        // items of which the beginning or the end is missing begin and end late
        expect([items.toSorted(), pieces.toSorted()]).toEqual([last.toSorted(), last.toSorted()]);
        // pieces that had to wait come as one
        const types = (list: readonly Event[]): readonly string[] =>
          list.map(({ type }) => type).filter((type) => !type.endsWith(".delta"));
        expect(types(events).toSorted()).toEqual(types(whole).toSorted());
      }),
      { numRuns: drawCount(100, 2_000) },
    );
  });

  test("[d12.5] events that never come, come twice or in another order are put right, or fail the call", async () => {
    const defects = fc.array(
      fc.record({
        what: fc.constantFrom("drop", "twice", "later"),
        at: fc.nat(40),
        by: fc.integer({ min: 1, max: 6 }),
      }),
      { minLength: 1, maxLength: 3 },
    );
    let right = 0;
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(answers, defects, async (answer, planted) => {
        const sent = streamOf(answer).slice();
        for (const { what, at, by } of planted) {
          if (at >= sent.length - 1) continue;
          if (what === "drop") sent.splice(at, 1);
          else if (what === "twice") sent.splice(at + by, 0, sent[at]!);
          else sent.splice(at + by, 0, ...sent.splice(at, 1));
        }
        const events = await ask(sent);
        if (events.at(-1)!.type === "response.failed") {
          failed++;
          return;
        }
        right++;
        requireGrammar(events);
        const { last, items, pieces } = readings(events);
        expect(last).toEqual(TRUTH(answer));
        // what came in another order stands in that order
        expect([items.toSorted(), pieces.toSorted()]).toEqual([last.toSorted(), last.toSorted()]);
      }),
      { numRuns: drawCount(150, 3_000) },
    );
    expect(Math.min(right, failed)).toBeGreaterThan(0);
  });

  test("[d12.5] an answer that only its pieces or only its items tell is whole in the last event", async () => {
    const answer: readonly Said[] = [
      { kind: "summary", pieces: ["Let ", "me."] },
      { kind: "text", pieces: ["Hé", "llo"] },
      { kind: "call", pieces: ['{"a":', "1}"] },
    ];
    const bare = streamOf(answer).map((event) => {
      if (event.type !== "response.completed") return event;
      return { ...event, response: { ...HEAD, status: "completed" } };
    });
    const forms = [
      bare,
      bare.filter(({ type }) => !/(?:_item|_part|text|arguments)\.done$/.test(type)),
      bare.filter(({ type }) => !type.endsWith(".delta")),
      bare.filter(({ type }) => /completed$|item\.done$/.test(type)),
    ];
    for (const sent of forms) {
      const events = await ask(sent);
      requireGrammar(events);
      expect(readings(events)).toEqual({ last: TRUTH(answer), items: TRUTH(answer), pieces: TRUTH(answer) });
    }
  });

  test("[d12.5] an item that the last event leaves out stays in the answer, and its id is that of the first event", async () => {
    const answer: readonly Said[] = [
      { kind: "text", pieces: ["Hello"] },
      { kind: "call", pieces: ["{}"] },
    ];
    const sent = streamOf(answer).map((event) => {
      if (event.type !== "response.completed") return event;
      const [message] = (event["response"] as JsonObject)["output"] as readonly JsonObject[];
      return { ...event, response: { ...HEAD, status: "completed", output: [{ ...message, id: "msg_other" }] } };
    });
    const events = await ask(sent);
    expect(readings(events).last).toEqual(TRUTH(answer));
    expect(events.at(-1)!["response"].output.map(({ id }: { id: string }) => id)).toEqual(["item_0", "item_1"]);
  });

  test("[d12.5] a server that counts the parts of all items together is told to the client item by item", async () => {
    const part = (kind: "raw" | "text", text: string): JsonObject => partOf(kind, text)!;
    const items = [
      { id: "rs_1", type: "reasoning", summary: [], content: [part("raw", "Think.")] },
      { id: "msg_1", type: "message", status: "completed", role: "assistant", content: [part("text", "Say.")] },
    ];
    const at = (index: number): JsonObject => ({
      output_index: index,
      item_id: items[index]!.id,
      content_index: index,
    });
    const response = (output: readonly JsonObject[]): JsonObject => ({ id: "resp_1", object: "response", output });
    const read = await ask(
      (
        [
          { type: "response.created", response: response([]) },
          { type: "response.output_item.added", output_index: 0, item: { ...items[0], content: [] } },
          { type: "response.reasoning_part.added", ...at(0), part: part("raw", "") },
          { type: "response.reasoning_text.delta", ...at(0), delta: "Think." },
          { type: "response.reasoning_text.done", ...at(0), text: "Think." },
          { type: "response.output_item.done", output_index: 0, item: items[0] },
          { type: "response.output_item.added", output_index: 1, item: { ...items[1], content: [] } },
          { type: "response.content_part.added", ...at(1), part: part("text", "") },
          { type: "response.output_text.delta", ...at(1), delta: "Say.", logprobs: [] },
          { type: "response.output_text.done", ...at(1), text: "Say.", logprobs: [] },
          { type: "response.content_part.done", ...at(1), part: part("text", "Say.") },
          { type: "response.output_item.done", output_index: 1, item: items[1] },
          { type: "response.completed", response: { ...response(items), status: "completed" } },
        ] as Event[]
      ).map((event, sequence_number) => ({ ...event, sequence_number })),
    );
    expect(read.at(-1)).toMatchObject({ type: "response.completed", response: { output: items } });
    expect(new Set(read.map((event) => (event as JsonObject)["content_index"]))).toEqual(new Set([undefined, 0]));
  });
  test("[d12.5] an item of an unknown type gets the id that it lacks, whatever its type is called", async () => {
    for (const type of ["hologram_call", "constructor"]) {
      const item = { type, status: "completed" };
      const [created, begun] = streamOf([]);
      const events = await ask(
        numbered([
          created!,
          begun!,
          { type: "response.output_item.done", output_index: 0, item },
          { type: "response.completed", response: { ...HEAD, status: "completed", output: [item] } },
        ]),
      );
      requireGrammar(events);
      expect(events.at(-1)!["response"].output).toMatchObject([{ type, id: expect.stringMatching(/^item_\w+$/) }]);
    }
  });

  test("[d12.5] a last event with another text than the pieces fails the call", async () => {
    const sent = streamOf([{ kind: "text", pieces: ["ab", "cd"] }]);
    const changed = (text: string): readonly Event[] =>
      sent.map((event) => JSON.parse(JSON.stringify(event).replaceAll('"abcd"', JSON.stringify(text))) as Event);
    expect((await ask(changed("abcd"))).at(-1)!.type).toBe("response.completed");
    expect((await ask(changed("abcdef"))).at(-1)!.type).toBe("response.completed");
    const events = await ask(changed("cdab"));
    expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
    expect((events.at(-1)!["response"].output as readonly Json[])[0]).toMatchObject({ status: "incomplete" });
  });
});
