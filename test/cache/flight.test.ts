// Promise 5.8: what arrives of responses that may be kept is bounded together, and no call fails for it.
import { expect, test } from "bun:test";
import { Flight } from "../../src/cache/flight.ts";
import { SharedBytes } from "../../src/core/concurrency/shared-bytes.ts";
import { Cancellation } from "../../src/core/concurrency/cancellation.ts";
import { arrivedBody } from "../../src/wire/body-bytes.ts";

const LONG = new Uint8Array(150_000).fill(120);

test("[d5.8, d13.5] a response without room is read to its end and not kept; another one is once there is room again", async () => {
  const memory = new SharedBytes();
  const open = async (tenantId: string) => {
    const flight = new Flight({
      tenantId,
      key: "k",
      route: "direct",
      askedAtMs: 0,
      maxBytes: 1_000_000,
      memory,
      maxBytesTogether: 400_000,
      onClosed: () => {},
    });
    const reader = flight.join(new Cancellation());
    const answer = { status: 200, header: () => null, body: arrivedBody(LONG) };
    await reader.respond(() => Promise.resolve(answer), { isAccepted: true, refusal: null });
    let bytes = 0;
    for (let piece = await reader.read(); piece !== null; piece = await reader.read()) bytes += piece.length;
    return { reader, bytes };
  };
  const first = await open("acme");
  const second = await open("acme");
  const other = await open("beta");
  expect([first.bytes, second.bytes, other.bytes]).toEqual([LONG.length, LONG.length, LONG.length]);
  expect([first.reader.complete()?.length, second.reader.complete(), other.reader.complete()?.length]).toEqual([
    LONG.length,
    null,
    LONG.length,
  ]);
  first.reader.leave();
  second.reader.leave();
  const third = await open("acme");
  expect(third.reader.complete()?.length).toBe(LONG.length);
});
