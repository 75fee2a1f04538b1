// `npm run bench:integrations`: the cost of all integrations for a call. Two gateways, one without integrations and one
// with all of them and a receiver that accepts everything, get the same calls in turn. Prints CPU time per call, of the
// serving thread and of the whole process, for the turn with the least, which other work disturbed least. `--seconds`
// sets the length of a turn, `--turns` their number; `--only` selects integrations.
import { parseArgs } from "node:util";
import { callsAtRate, startWorld, used, type World } from "./integrations-world.ts";
import { httpRequest, runLoad } from "./load/load.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    turns: { type: "string", default: "6" },
    connections: { type: "string", default: "16" },
    only: { type: "string" },
  },
});
const BODY = JSON.stringify({
  model: "sandbox:echo",
  messages: [{ role: "user", content: "Say something." }],
  metadata: { team: "bench", tags: ["a", "b"] },
});
/** Waits for batches in flight, because their cost belongs to the turn. */
const QUIET_MS = 1500;

interface Turn {
  readonly serving: number;
  readonly process: number;
  readonly perSecond: number;
}

async function turn({ gateway }: World): Promise<Turn> {
  const port = Number(new URL(gateway.url).port);
  const before = used(gateway);
  const { requests, seconds } = await runLoad(
    { port, request: httpRequest(port, "/api/v1/chat/completions", BODY, gateway.firstToken) },
    { connections: Number(flags.connections), durationMs: Number(flags.seconds) * 1000 },
  );
  await Bun.sleep(QUIET_MS);
  const after = used(gateway);
  return {
    serving: ((after.serving - before.serving) * 1e6) / requests,
    process: ((after.process - before.process) * 1e6) / requests,
    perSecond: requests / seconds,
  };
}

async function main(): Promise<number> {
  await using none = await startWorld("none");
  await using healthy = await startWorld("healthy", { only: flags.only?.split(",") ?? null });
  for (const { gateway } of [none, healthy]) await callsAtRate(gateway, 500, 2);
  const turns: (readonly [Turn, Turn])[] = [];
  for (let count = 0; count < Number(flags.turns); count++) turns.push([await turn(none), await turn(healthy)]);
  const line = (what: string, of: (turn: Turn) => number, best: (...values: number[]) => number): void => {
    const [without, withAll] = [0, 1].map((side) => best(...turns.map((pair) => of(pair[side]!)))) as [number, number];
    process.stdout.write(
      `| ${what} | ${without.toFixed(1)} | ${withAll.toFixed(1)} | ${(withAll - without).toFixed(1)} |\n`,
    );
  };
  process.stdout.write(
    `integrations: ${healthy.names.join(", ")}\n\n| CPU µs a call, the least of ${turns.length} turns | none | all | added |\n| --- | ---: | ---: | ---: |\n`,
  );
  line("thread that serves", ({ serving }) => serving, Math.min);
  line("whole process", ({ process: whole }) => whole, Math.min);
  line("calls/s", ({ perSecond }) => perSecond, Math.max);
  return 0;
}

process.exit(await main());
