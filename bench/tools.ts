// `npm run bench:tools`: what a tool round costs beyond the time of the tools (at most 1 ms is promised). It runs in
// one process, with an upstream that answers at once, and compares calls of one, two and five rounds, non-streaming and
// streamed. The tools answer after a known time.
import { fakeToolServers, says, waitFor } from "../test/harness/tools/fake-tools.ts";
import { type Stub, stubGateway } from "../test/harness/in-process.ts";
import { providerSettings, storedKey } from "../test/harness/targets.ts";
import { type ScriptedRound, scriptedModel } from "../test/spec/tools/scripted-rounds.ts";

const CALLS = 1000;
const WARM_UP = 200;
const TOOL_MS = [0, 10] as const;

const round: ScriptedRound = {
  text: "Let me look.",
  calls: [
    { name: "sky__wait", args: '{"city":"Paris"}' },
    { name: "sky__wait", args: '{"city":"Oslo"}' },
  ],
};

/** Measures the milliseconds in which at least one tool ran. */
class OwnTime {
  ms = 0;
  #running = 0;
  #sinceMs = 0;

  begin(): void {
    if (this.#running++ === 0) this.#sinceMs = performance.now();
  }
  end(): void {
    if (--this.#running === 0) this.ms += performance.now() - this.#sinceMs;
  }
}

function stageOf(rounds: number, toolMs: number, own: OwnTime): Stub {
  const tools = fakeToolServers({
    sky: {
      wait: {
        inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        async run(_, signal) {
          own.begin();
          if (toolMs > 0) await waitFor(toolMs, signal);
          own.end();
          return says("warm");
        },
      },
    },
  });
  const providers = [
    providerSettings({ id: "up", family: "custom", baseUrl: "http://up.test/v1", credentials: [storedKey("key")] }),
  ];
  return stubGateway({
    upstream: scriptedModel([...Array.from({ length: rounds - 1 }, () => round), { text: "It is warm." }]),
    providers,
    tools,
  });
}

/** Returns the median duration of successive calls in milliseconds, without the time of their tools. */
async function median(stage: Stub, own: OwnTime, stream: boolean, calls: number): Promise<number> {
  const body = JSON.stringify({
    model: "up:m",
    stream,
    messages: [{ role: "user", content: "Is it warm?" }],
    tools: [{ type: "mcp", server_label: "sky" }],
  });
  const times: number[] = [];
  for (let at = 0; at < calls; at++) {
    const ownBefore = own.ms;
    const startedMs = performance.now();
    await (await stage.chat(body)).text();
    times.push(performance.now() - startedMs - (own.ms - ownBefore));
  }
  return times.toSorted((one, other) => one - other)[calls >> 1]!;
}

for (const toolMs of TOOL_MS) {
  for (const stream of [false, true]) {
    const calls = toolMs === 0 ? CALLS : CALLS / 10;
    const measured: number[] = [];
    for (const rounds of [1, 2, 5]) {
      const own = new OwnTime();
      const stage = stageOf(rounds, toolMs, own);
      await median(stage, own, stream, toolMs === 0 ? WARM_UP : 10);
      measured.push(await median(stage, own, stream, calls));
    }
    const [one, two, five] = measured as [number, number, number];
    const each = (five - one) / 4;
    process.stdout.write(
      `two tools of ${toolMs} ms, ${stream ? "streamed" : "plain"}, without their time: 1 round ${one.toFixed(3)} ms, 2 rounds ${two.toFixed(3)} ms, 5 rounds ${five.toFixed(3)} ms; a round adds ${each.toFixed(3)} ms beyond its tools\n`,
    );
    if (each > 1) process.exitCode = 1;
  }
}
