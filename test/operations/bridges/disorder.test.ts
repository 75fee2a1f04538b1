// Providers whose streams have events out of order, twice, or never. Whatever comes, the client reads a stream of its own
// form, in which every item is whole, or is told that the answer failed; and nothing is called complete that is not.
import { describe, expect, test } from "bun:test";
import { type CannedAnswer, cannedUpstream, stubGateway } from "../../harness/in-process.ts";
import { readEvents } from "../messages/message-events.ts";
import { asked, FRONTS } from "./fronts.ts";
import type { Said } from "./said.ts";
import { VENDORS } from "./vendors.ts";

const TURN: readonly Said[] = [
  { thinking: "Let me see.", signature: "EqQBCkYIBxgC" },
  { text: "I look." },
  { call: "call_a", name: "look", input: { at: [1, 2] } },
  { call: "call_b", name: "see", input: { what: "x" } },
];

/** The events of a stream, as bytes. */
function eventsIn({ body, headers }: CannedAnswer): readonly Uint8Array[] {
  const bytes = Buffer.from(body as Uint8Array);
  if (headers!["content-type"] === "text/event-stream")
    return bytes
      .toString()
      .split(/(?<=\n\n)/)
      .map((event) => Buffer.from(event));
  const events: Uint8Array[] = [];
  // each frame of AWS begins with its length
  for (let at = 0; at < bytes.length; at += bytes.readUInt32BE(at))
    events.push(bytes.subarray(at, at + bytes.readUInt32BE(at)));
  return events;
}

type Change = readonly [what: string, events: (all: readonly Uint8Array[]) => readonly Uint8Array[]];

const CHANGES: readonly Change[] = [
  ["every event twice", (all) => all.flatMap((event) => [event, event])],
  ["the whole stream twice", (all) => [...all, ...all]],
  ["the last event first", (all) => [...all.slice(-1), ...all.slice(0, -1)]],
  ["the first event last", (all) => [...all.slice(1), ...all.slice(0, 1)]],
  ["in reverse", (all) => all.toReversed()],
  [
    "every other event first",
    (all) => [...all.filter((_, at) => at % 2 === 0), ...all.filter((_, at) => at % 2 === 1)],
  ],
  ["neighbours in each other's place", (all) => all.map((event, at) => all[at ^ 1] ?? event)],
  ["no event", () => []],
];

describe.each(
  Object.entries(FRONTS).flatMap(([front, by]) =>
    Object.entries(VENDORS).map(([name, at]) => [`${front} over ${name}`, by, at] as const),
  ),
)("%s", (_name, front, vendor) => {
  const whole = vendor.stream(TURN);
  const all = eventsIn(whole);

  /** Returns how the answer ended; throws where the stream has not the form of the client. */
  async function endOf(events: readonly Uint8Array[]): Promise<string> {
    const answer = { ...whole, body: Buffer.concat(events) };
    const { response, text, record } = await asked(front, vendor, { answer, stream: true });
    expect(record.code).not.toBe("internal_error");
    if (response.status !== 200) {
      expect([response.status, JSON.parse(text).error === undefined]).toEqual([502, false]);
      return "refused";
    }
    const { said, end } = front.read(text, true);
    // what is told as whole has calls that can be run
    if (end === "calls") expect(said.some((one) => "call" in one && one.name !== "")).toBe(true);
    return end;
  }

  for (const [what, change] of CHANGES)
    test(`[d12.5] ${what}: a stream of the client's form, or a failure`, async () => {
      const end = await endOf(change(all));
      if (what === "no event") expect(end).toBe("refused");
    });

  test("[d12.5] any one event that never comes, or comes twice, leaves a stream of the client's form, or a failure", async () => {
    for (let at = 0; at < all.length; at++) {
      await endOf(all.toSpliced(at, 1));
      await endOf(all.toSpliced(at, 0, all[at]!));
    }
  });
});

describe.each(Object.entries(FRONTS))(
  "[d12.5] %s: what belongs to a call is never lost in silence, and none is invented",
  (_name, front) => {
    for (const [name, vendor] of Object.entries(VENDORS).filter(([each]) => each !== "gemini"))
      test(`where the beginning of a call does not come, or comes twice, over ${name}`, async () => {
        const whole = vendor.stream(TURN);
        const all = eventsIn(whole);
        const begins = all.findIndex((event) => Buffer.from(event).includes("call_b"));
        expect(begins).toBeGreaterThan(0);
        const read = async (events: readonly Uint8Array[]) => {
          const answer = { ...whole, body: Buffer.concat(events) };
          return front.read((await asked(front, vendor, { answer, stream: true })).text, true);
        };
        expect((await read(all.toSpliced(begins, 1))).end).toBe("failed");
        // one that comes twice makes no second call
        const { said } = await read(all.toSpliced(begins, 0, all[begins]!));
        const calls: readonly Said[] = said.filter((one) => "call" in one);
        expect(calls).toEqual(TURN.slice(2));
      });
  },
);

describe("[d12.5] Messages at a provider that speaks them itself:", () => {
  const vendor = VENDORS["anthropic"]!;
  const front = FRONTS["Messages"]!;
  const whole = vendor.stream(TURN);
  const all = eventsIn(whole);
  const typeOf = (event: Uint8Array): string => /^event: (\w+)/.exec(Buffer.from(event).toString())![1]!;
  const read = async (events: readonly Uint8Array[], chunk: number | "whole" | "event" = "event") => {
    const answer = { ...whole, chunk, body: Buffer.concat(events) };
    const gateway = stubGateway({ upstream: cannedUpstream(answer) });
    const request = { model: vendor.model, ...front.asking([{ role: "user", text: "?" }]), stream: true };
    const response = await gateway.call(front.operation, request);
    const text = await response.text();
    expect(gateway.records[0]!.code).not.toBe("internal_error");
    return response.status === 200 ? { text, ...readEvents(text) } : null;
  };
  const expected = readEvents(Buffer.concat(all).toString()).content;

  test("a valid stream passes byte for byte but for the model", async () => {
    for (const chunk of ["whole", "event", 7] as const)
      expect((await read(all, chunk))!.text).toBe(
        Buffer.concat(all).toString().replace('"model":"m"', `"model":"${vendor.model}"`),
      );
  });

  for (const [what, change] of CHANGES)
    test(`${what}: events in the order of the form, or a failure`, async () => {
      const told = await read(change(all));
      // what fails before its first content has a status of its own
      if (told === null) return expect(["no event", "in reverse"]).toContain(what);
      expect(["message_stop", "error"]).toContain(told.events.at(-1)!.type);
      if (/whole stream twice|first/.test(what) && !what.includes("every other"))
        expect([what, told.content]).toEqual([what, expected]);
    });

  test("beginnings and ends that come twice or never change nothing of what a client reads", async () => {
    for (const [at, event] of all.entries()) {
      const type = typeOf(event);
      if (type === "content_block_delta") continue;
      expect([type, (await read(all.toSpliced(at, 0, event)))!.content]).toEqual([type, expected]);
      const isCall = Buffer.from(event).includes("tool_use");
      const without = await read(all.toSpliced(at, 1));
      // nothing can stand for the beginning of a call, which has its name
      if (type === "content_block_start" && isCall) expect(without!.events.at(-1)!.type).toBe("error");
      else expect([type, without!.content]).toEqual([type, expected]);
      for (const { events } of [without!, (await read(all.toSpliced(at, 0, event)))!])
        expect(events.filter((one) => one.type === "message_delta").length).toBeLessThanOrEqual(1);
    }
  });

  test("blocks that are all counted as the first, or from one on, get the indexes that clients count with", async () => {
    for (const index of [() => 0, (own: number) => own + 1, () => 7]) {
      const numbered = all.map((event) =>
        Buffer.from(
          Buffer.from(event)
            .toString()
            .replace(/"index":(\d)/, (_, own: string) => `"index":${index(Number(own))}`),
        ),
      );
      expect((await read(numbered))!.content).toEqual(expected);
    }
  });
});
