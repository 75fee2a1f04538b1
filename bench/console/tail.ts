// Whether the live list of calls keeps memory: calls at a steady rate, and the browser's heap after each collection of its garbage.
import type { ConsolePage } from "../../test/harness/console/chromium.ts";
import type { GatewayProcess } from "../../test/harness/processes/gateway-process.ts";

export interface TailFigures {
  readonly minutes: number;
  readonly callsPerSecond: number;
  readonly beginMb: number;
  readonly endMb: number;
  /** Of the line that fits the heap best, without the first tenth. */
  readonly slopeKbPerMinute: number;
}

const CALLS_PER_SECOND = 50;
const SAMPLES_PER_MINUTE = 4;
const BODY = { model: "sandbox:echo", messages: [{ role: "user", content: "Hello" }] };

export async function tailFigures(
  gateway: GatewayProcess,
  made: ConsolePage,
  scope: string,
  minutes: number,
): Promise<TailFigures> {
  const { page } = made;
  await made.open(`${scope}/calls?live=1`);
  await page.locator("button.live.open").waitFor();
  const session = await page.context().newCDPSession(page);
  const heapMb = async (): Promise<number> => {
    await session.send("HeapProfiler.collectGarbage");
    return (await session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  };
  const samples: (readonly [minute: number, mb: number])[] = [];
  const startedMs = performance.now();
  const minute = (): number => (performance.now() - startedMs) / 60_000;
  const underWay = new Set<Promise<unknown>>();
  for (let sent = 0; minute() < minutes; sent++) {
    const waitMs = startedMs + (sent * 1000) / CALLS_PER_SECOND - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    const call = gateway.chat(BODY).then((answer) => answer.text());
    underWay.add(call);
    void call.finally(() => underWay.delete(call));
    if (minute() * SAMPLES_PER_MINUTE > samples.length) samples.push([minute(), await heapMb()]);
  }
  await Promise.all(underWay);
  await session.detach();
  const steady = samples.slice(Math.ceil(samples.length / 10));
  return {
    minutes,
    callsPerSecond: CALLS_PER_SECOND,
    beginMb: steady[0]?.[1] ?? 0,
    endMb: steady.at(-1)?.[1] ?? 0,
    slopeKbPerMinute: slopeOf(steady) * 1000,
  };
}

/** By least squares. */
function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([one]) => one)), mean(points.map(([, other]) => other))];
  const below = points.reduce((sum, [one]) => sum + (one - x) ** 2, 0);
  return below === 0 ? 0 : points.reduce((sum, [one, other]) => sum + (one - x) * (other - y), 0) / below;
}
