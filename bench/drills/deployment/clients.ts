// The clients of the drill of the reference deployment: they call the load balancer all the time, and what they saw is
// counted for each scene.
import type { Clients } from "../clients.ts";
import { callOnce, newClients } from "../replicas/clients.ts";

interface Ended {
  readonly call: number;
  readonly startedMs: number;
  readonly endedMs: number;
  readonly isAnswered: boolean;
}

/** What callers saw of the calls that ended within a scene. */
export interface Seen {
  readonly calls: number;
  /** Errors and cut connections. */
  readonly failed: number;
  /** The longest time in which no call was answered. */
  readonly silentMs: number;
  readonly slowestMs: number;
}

export interface DeploymentLoad {
  readonly clients: Clients;
  /** Of the calls that have ended since this time by the process's own clock. */
  since(fromMs: number): Seen;
  /** Starts no further calls, and resolves when those in flight have ended. */
  end(): Promise<void>;
}

const TIMEOUT_MS = 60_000;

export function startDeploymentLoad(
  url: string,
  token: string,
  { workers, paceMs }: { readonly workers: number; readonly paceMs: number },
): DeploymentLoad {
  const clients = newClients();
  const ended: Ended[] = [];
  let goesOn = true;
  const chat = (body: unknown): Promise<Response> =>
    fetch(`${url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  const worker = async (): Promise<void> => {
    while (goesOn) {
      const call = clients.asked;
      const startedMs = performance.now();
      const { status } = await callOnce({ chat }, token, clients, {
        route: "main",
        stream: call % 2 === 0,
        isFree: true,
      });
      ended.push({ call, startedMs, endedMs: performance.now(), isAnswered: status === 200 && clients.seen.has(call) });
      await Bun.sleep(paceMs);
    }
  };
  const working = Array.from({ length: workers }, worker);
  return {
    clients,
    since(fromMs) {
      const of = ended.filter(({ endedMs }) => endedMs >= fromMs);
      const answered = of.filter(({ isAnswered }) => isAnswered).map(({ endedMs }) => endedMs);
      const times = [fromMs, ...answered.toSorted((a, b) => a - b), performance.now()];
      return {
        calls: of.length,
        failed: of.length - answered.length,
        silentMs: Math.max(...times.slice(1).map((at, index) => at - times[index]!)),
        slowestMs: Math.max(0, ...of.map(({ startedMs, endedMs }) => endedMs - startedMs)),
      };
    },
    async end() {
      goesOn = false;
      await Promise.all(working);
    },
  };
}
