// What one attempt is charged: by whom it is read, and at the bounds of what numbers hold exactly.
import { expect, test } from "bun:test";
import type { AttemptReservation } from "../../src/admission/held-attempt.ts";
import type { CountedUsage } from "../../src/admission/reservation-estimate.ts";
import { NO_RATES, type Rates } from "../../src/core/configured/price.ts";
import type { CallCost } from "../../src/core/record/record.ts";
import type { ChatRequest } from "../../src/core/chat.ts";
import { estimateAttempt } from "../../src/engine/metering/attempt-estimate.ts";
import { AttemptMeter } from "../../src/engine/metering/attempt-meter.ts";
import type { CallPrices } from "../../src/engine/metering/call-prices.ts";

type MeterOptions = ConstructorParameters<typeof AttemptMeter>[0];

const USAGE = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };

/** A meter whose every question for the cost of a usage is answered with the next price. */
function meterAt(prices: readonly number[]) {
  const left = [...prices];
  const counted: CountedUsage[] = [];
  let used: (() => CountedUsage) | null = null;
  const reservation: Partial<AttemptReservation> = {
    sent: (read) => (used = read),
    settle: () => void counted.push(used!()),
  };
  const record: { cost: CallCost | null; callerCost: CallCost | null } = { cost: null, callerCost: null };
  const meter = new AttemptMeter({
    attempt: { fitted: { request: {} }, resolved: {} },
    estimate: {},
    requests: [{ isAccepted: true, usageKnown: () => {} }],
    reservation,
    prices: { cost: () => ({ nanoUsd: left.shift()!, priceId: "own" }), callersCost: () => null },
    recorder: {
      record,
      knowsUsage: true,
      used: () => {},
      costs: (cost: CallCost | null) => (record.cost = cost),
      costsCaller: () => {},
    },
    onClosed: () => {},
  } as unknown as MeterOptions);
  meter.sending();
  meter.readFrom(() => ({ usage: USAGE, isEstimated: false }));
  return { meter, reservation, record, counted };
}

const CHARGED = { tokens: 7, nanoUsd: 10 };

test("[d4.2 d4.7] a budget is charged what the row of the call has, also where another price begins before the attempt is settled", () => {
  const { meter, record, counted } = meterAt([10, 99]);
  meter.charge({ usage: USAGE, isEstimated: false });
  meter.close();
  expect([record.cost?.nanoUsd, counted]).toEqual([10, [CHARGED]]);
});

test("[d4.2 d4.7] the same holds where the call ends before the attempt, so that its limits are settled first", () => {
  const { meter, reservation, record, counted } = meterAt([10, 99]);
  reservation.settle!();
  meter.close();
  expect([record.cost?.nanoUsd, counted]).toEqual([10, [CHARGED, CHARGED]]);
});

test("[d11.2] what a killed call is charged at most is a number that its row can hold, whatever bound the request has", () => {
  const rate = { base: 1_000_000, tiers: [] };
  const rates: Rates = { ...NO_RATES, prompt: rate, completion: rate };
  const request = {
    form: {},
    messages: [{ role: "user", content: "Hello" }],
    params: { n: 128, max_completion_tokens: Number.MAX_SAFE_INTEGER },
    extra: {},
  };
  const { usage, cost } = estimateAttempt(
    request as unknown as Parameters<typeof estimateAttempt>[0],
    { provider: {}, target: { model: "m", facts: { maxOutputTokens: null } } } as unknown as Parameters<
      typeof estimateAttempt
    >[1],
    { counted: () => ({ id: "own", rates }) } as unknown as CallPrices,
  ).most(1, 1);
  expect([usage!.total_tokens, cost!.nanoUsd]).toEqual([Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]);
});

test("[d5.8] the prompt of a request is counted once, however many answers to it fail", () => {
  let reads = 0;
  const request = {
    get messages() {
      reads += 1;
      return [{ role: "user", content: "Hello" }];
    },
    form: {},
    params: {},
    extra: {},
  } as unknown as ChatRequest;
  const told: (number | undefined)[] = [];
  const failed = { isAccepted: true, usageKnown: (usage: { prompt_tokens: number }) => told.push(usage.prompt_tokens) };
  const meter = new AttemptMeter({
    attempt: { fitted: { request }, resolved: {} },
    requests: Array.from({ length: 128 }, () => failed),
    reservation: null,
    prices: { cost: () => null, callersCost: () => null },
    recorder: { record: { cost: null }, knowsUsage: true, costs: () => {}, costsCaller: () => {} },
    onClosed: () => {},
  } as unknown as MeterOptions);
  meter.close();
  expect([new Set(told).size, told.length, reads]).toEqual([1, 128, 1]);
});
