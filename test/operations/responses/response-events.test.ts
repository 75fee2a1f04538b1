// The numbers of a stream's events, which are written when the events leave.
import { describe, expect, test } from "bun:test";
import {
  eventText,
  numberedRun,
  sequencePlace,
  SequenceNumbers,
} from "../../../src/operations/responses/response-events.ts";

const place = sequencePlace(3);
const delta = (number: number, text: string, space = ""): string =>
  `event: d\ndata: {"type":"d","delta":${JSON.stringify(text)},"sequence_number":${space}${number}}\n\n`;
const own = (number?: number): string =>
  eventText(place, "own", {}).replace(place, () => (number === undefined ? place : String(number)));

describe("[d12.5] the numbers of a stream", () => {
  test("count from 0, and a run keeps those that are right", () => {
    const numbers = new SequenceNumbers();
    const run = delta(1, "a") + delta(2, '"sequence_number":7', " ");
    expect(numbers.numbered(own() + numberedRun(place, run, 1, 2) + own())).toBe(own(0) + run + own(3));
    expect(numbers.lastWriter).toBe(3);
    expect(numbers.numbered(numberedRun(place, delta(4, "b"), 4, 1))).toBe(delta(4, "b"));
  });

  test("are written into a run that has others, over texts", () => {
    const numbers = new SequenceNumbers();
    const run = (first: number): string =>
      delta(first, "a") + 'data: {"type":"x"}\n\n' + delta(first + 1, '"sequence_number":7', " ");
    const sent = numbers.numbered(numberedRun(place, run(98), 98, 2) + numberedRun(place, run(2), 2, 2) + own());
    expect(sent).toBe(run(0) + run(2) + own(4));
    expect(numbers.numbered(numberedRun(place, delta(107, "b"), 107, 1) + own())).toBe(delta(5, "b") + own(6));
  });
});
