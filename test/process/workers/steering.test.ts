// Which worker gets a new connection: the program that the kernel runs, and the weights.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type Instruction, programBytes, steeringProgram, weightsOf } from "../../../src/process/workers/steering.ts";

/** Runs the program as the kernel would, with this random word. */
function run(program: readonly Instruction[], random: number): number {
  let accumulator = 0;
  for (let at = 0; at < program.length; at++) {
    const { code, k, whenTrue, whenFalse } = program[at]!;
    if (code === 0x20) accumulator = random;
    else if (code === 0x94) accumulator %= k;
    else if (code === 0x35) at += accumulator >= k ? whenTrue : whenFalse;
    else if (code === 0x06) return k;
  }
  throw new Error("the program does not end");
}

const weights = fc.array(fc.integer({ min: 0, max: 64 }), { minLength: 1, maxLength: 64 });

describe("[d13.2] the program that chooses a listener", () => {
  test("returns each index exactly as often as its weight says", () => {
    fc.assert(
      fc.property(weights, (each) => {
        const sum = each.reduce((total, weight) => total + weight, 0);
        const program = steeringProgram(each);
        const counts = each.map(() => 0);
        for (let random = 0; random < sum; random++) counts[run(program, random)]! += 1;
        expect(counts).toEqual([...each]);
      }),
    );
  });

  test("leaves the choice to the kernel when all weights are 0, and is short enough for it", () => {
    expect(run(steeringProgram([0, 0]), 5)).toBe(0xffff_ffff);
    expect(steeringProgram(Array.from({ length: 64 }, () => 1)).length).toBeLessThan(4096);
  });

  test("is written as the kernel reads it", () => {
    expect(Buffer.from(programBytes(steeringProgram([0, 3]), true)).toString("hex")).toBe(
      "2000000038f0ffff94000000030000003500010003000000060000000100000006000000ffffffff",
    );
  });
});

describe("the weights of listeners", () => {
  const load = (callsInFlight: number, isAvoided = false) => ({ callsInFlight, isAvoided });

  test("are equal for equal loads, and less for a worker with long streams", () => {
    expect(weightsOf([load(0), load(0)])).toEqual([16, 16]);
    const [busy, free] = weightsOf([load(300), load(20)]);
    expect(busy! / free!).toBeLessThan(0.2);
    expect(busy).toBeGreaterThanOrEqual(1);
  });

  test("are 0 for a worker that is avoided, unless all are", () => {
    expect(weightsOf([load(5, true), load(5)])).toEqual([0, 16]);
    expect(weightsOf([load(0, true), load(9, true)])).toEqual([1, 1]);
  });
});
