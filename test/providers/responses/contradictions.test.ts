// Streams of the Responses form whose pieces are not what their wholes begin with: what a client has of such an answer is
// wrong, so that the stream fails (promise 8.3). Defects are planted in each kind of text and in each place.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { MalformedAnswer } from "../../../src/providers/interface/upstream-failure.ts";
import { call, customCall, eventsOf, message, reasoning, responseOf, type Streamed, streamed } from "./events.ts";

type Event = Record<string, any>;

const TEXT = "one, two, three and four";
const part = (text: string): JsonObject => ({ type: "output_text", text, annotations: [] });

/** Answers with one text each. */
const ANSWERS: Readonly<Record<string, (text: string) => JsonObject>> = {
  text: (text) => responseOf([message("msg_1", text)]),
  refusal: (text) => responseOf([{ ...message("msg_1", ""), content: [{ type: "refusal", refusal: text }] }]),
  "reasoning summary": (text) => responseOf([reasoning("rs_1", [text]), message("msg_1", "So.")]),
  "raw reasoning": (text) =>
    responseOf([
      { id: "rs_1", type: "reasoning", summary: [], content: [{ type: "reasoning_text", text }] },
      message("msg_1", "So."),
    ]),
  arguments: (text) => responseOf([call("a", "weather", text)]),
  "custom tool input": (text) => responseOf([customCall("c", "patch", text)]),
};

const eventsFor = (response: JsonObject): Event[] => eventsOf(response).map(({ data }) => JSON.parse(data) as Event);
const read = (events: readonly Event[]): Streamed =>
  streamed(events.map((event) => ({ event: event["type"], data: JSON.stringify(event) })));
const uncounted = (events: readonly Event[]): Event[] => events.map((event) => ({ ...event, sequence_number: 0 }));
const isPiece = ({ type }: Event): boolean => type.endsWith(".delta");

/** The events that repeat a whole text: of the text, of its item, and of the answer. */
const WHOLES = [/_(text|input|arguments)\.done$|refusal\.done$/, /output_item\.done$/, /response\.completed$/];

/** Leaves one of the events that repeat the text; the last event comes without its output if it is not that one. */
function onlyWith(kept: RegExp, events: readonly Event[]): Event[] {
  return events
    .filter(({ type }) => kept.test(type) || type === "response.completed" || !type.endsWith(".done"))
    .map((event) =>
      event["type"] === "response.completed" && !kept.test("response.completed")
        ? { ...event, response: { ...event["response"], output: [] } }
        : event,
    );
}

/** Changes the pieces of the text, which are the first of the answer. */
const DEFECTS: Readonly<Record<string, (events: Event[], at: number) => Event[]>> = {
  "two pieces are swapped": (events, at) => {
    const [one, other] = [events[at]!["delta"], events[at + 1]!["delta"]];
    return events.with(at, { ...events[at], delta: other }).with(at + 1, { ...events[at + 1], delta: one });
  },
  "a piece comes twice": (events, at) => uncounted(events.toSpliced(at, 0, events[at]!)),
  "the first piece is lost": (events, at) => events.toSpliced(at, 1),
  "a piece in the middle is lost": (events, at) => events.toSpliced(at + 1, 1),
  "a piece has another text": (events, at) => events.with(at, { ...events[at], delta: "eno, " }),
  "there is a piece too much": (events, at) => {
    const last = events.findLastIndex((event) => isPiece(event) && event["type"] === events[at]!["type"]);
    return uncounted(events.toSpliced(last + 1, 0, { ...events[last]!, delta: "!" }));
  },
};

describe.each(Object.entries(ANSWERS))("[d8.3] %s", (_kind, answer) => {
  const events = eventsFor(answer(TEXT));
  const first = events.findIndex(isPiece);

  test.each(Object.entries(DEFECTS))("%s: the stream fails, whichever event repeats the whole", (_name, plant) => {
    for (const kept of WHOLES) {
      expect(read(onlyWith(kept, events)).isComplete).toBe(true);
      expect(() => read(onlyWith(kept, plant(events, first)))).toThrow(MalformedAnswer);
    }
  });
  test("a whole of another text fails, in each of the events that repeat it", () => {
    const others = eventsFor(answer(TEXT.replace("two", "owt")));
    for (const kept of WHOLES) {
      const at = events.findIndex(({ type }) => kept.test(type));
      expect(() => read(events.with(at, others[at]!))).toThrow(MalformedAnswer);
    }
  });
  test("pieces in another order fail by their numbers where nothing repeats the whole", () => {
    const alone = onlyWith(/^nothing$/, events);
    expect(read(alone).isComplete).toBe(true);
    expect(() => read(alone.with(first, alone[first + 1]!).with(first + 1, alone[first]!))).toThrow(MalformedAnswer);
  });
  test("a piece after the whole is left out, and fails where the whole does not come again", () => {
    const end = events.findIndex(({ type }) => WHOLES[0]!.test(type));
    const late = uncounted(events.toSpliced(end + 1, 0, events[first]!));
    expect(read(late)).toEqual(read(events));
    expect(() => read(onlyWith(WHOLES[0]!, late))).toThrow(MalformedAnswer);
  });
  test("pieces that are missing at the end are supplied", () => {
    const last = events.findLastIndex(({ type }) => type === events[first]!["type"]);
    for (const kept of WHOLES)
      expect(read(onlyWith(kept, events.toSpliced(last, 1)))).toEqual(read(onlyWith(kept, events)));
  });
});

describe("[d8.3] several texts", () => {
  const TWO = responseOf([message("msg_1", "one, two"), message("msg_2", "three, four")]);
  const isOfItem = (index: number) => (event: Event) => event["output_index"] === index;

  test("a text that would have to stand before what the client has fails", () => {
    const lost = eventsFor(TWO).filter((event) => !isOfItem(0)(event));
    expect(() => read(lost)).toThrow(MalformedAnswer);
    const cut = eventsFor(TWO).filter(
      (event) => !isOfItem(0)(event) || event["type"].endsWith(".added") || event["delta"] === "one, ",
    );
    expect(() => read(cut)).toThrow(MalformedAnswer);
    expect(() => read(cut.filter(({ type }) => !type.endsWith(".added")))).toThrow(MalformedAnswer);
  });
  test("a message whose first part is lost, or of which the whole lacks a part or has another kind, fails", () => {
    const parts = responseOf([{ ...message("msg_1", ""), content: [part("one, two"), part("three, four")] }]);
    const events = eventsFor(parts);
    expect(read(events).read.text).toBe("one, twothree, four");
    expect(() => read(events.filter((event) => event["content_index"] !== 0))).toThrow(MalformedAnswer);
    for (const content of [[part("one, two")], [part("one, two"), { type: "refusal", refusal: "three, four" }]]) {
      const whole = responseOf([{ ...message("msg_1", ""), content }]);
      expect(() => read(events.with(events.length - 1, { ...events.at(-1), response: whole }))).toThrow(
        MalformedAnswer,
      );
    }
  });
  test("the pieces of two messages in turns fail", () => {
    const [begun, , ...others] = eventsFor(TWO);
    const [one, two] = [others.filter(isOfItem(0)), others.filter(isOfItem(1))];
    const turns = one.flatMap((event, at) => [event, ...(two[at] === undefined ? [] : [two[at]])]);
    const ended = others.at(-1)!;
    expect(() => read(uncounted([begun!, ...turns, ...two.slice(one.length), ended]))).toThrow(MalformedAnswer);
  });
});

describe("[d8.3] several calls", () => {
  const [one, two] = [call("a", "weather", "{}"), call("b", "clock", "{}")];

  test("a call whose events are lost is supplied, and no other comes twice", () => {
    const events = eventsFor(responseOf([one, two]));
    const { read: said } = read(events.filter((event) => event["output_index"] !== 0));
    expect(said.calls.map(({ id }) => id as string).toSorted()).toEqual(["call_a", "call_b"]);
  });
  test("a call of another name in the whole fails", () => {
    const events = eventsFor(responseOf([one]));
    const other = { ...events.at(-1), response: responseOf([{ ...one, name: "clock" }]) };
    expect(() => read(events.with(events.length - 1, other))).toThrow(MalformedAnswer);
  });
});
