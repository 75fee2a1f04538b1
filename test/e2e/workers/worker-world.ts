// A gateway with two workers as real processes, before a provider that holds back or refuses its answers when a test
// wants it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { GatewayProcess } from "../../harness/processes/gateway-process.ts";
import { type FakeUpstream, openaiAnswer, startUpstream } from "../../harness/servers/upstream.ts";
import { startWorkers } from "../../harness/workers.ts";

export const MODEL = { model: "mine:model", max_tokens: 5, messages: [{ role: "user", content: "hello" }] };

export interface WorkerWorld {
  readonly gateway: GatewayProcess;
  readonly upstream: FakeUpstream;
  /** Holds the data folder, and goes with the world. */
  readonly folder: string;
  readonly dataFolder: string;
  readonly config: string;
  /** The most requests that the provider had at the same time. */
  readonly most: () => number;
  /** Makes the provider hold back its answers, or answer what waits. */
  readonly hold: (isHeld: boolean) => void;
  /** The provider answers with this status from now on. */
  readonly answerWith: (status: number, headers?: Readonly<Record<string, string>>) => void;
  readonly close: () => Promise<void>;
}

/** `config` is added to that of the provider, with the world's folder in place of FOLDER. */
export async function openWorkerWorld(config = ""): Promise<WorkerWorld> {
  const folder = mkdtempSync(join(tmpdir(), "dragoman-workers-"));
  const dataFolder = join(folder, "data");
  let held: PromiseWithResolvers<void> | null = null;
  let answer: { status: number; headers: Readonly<Record<string, string>> } = { status: 200, headers: {} };
  let running = 0;
  let most = 0;
  const upstream = startUpstream(async () => {
    most = Math.max(most, ++running);
    await held?.promise;
    running -= 1;
    return answer.status === 200
      ? Response.json(openaiAnswer("hello"))
      : Response.json({ error: { message: "no" } }, answer);
  });
  const whole = `
providers:
  mine: {type: custom, base_url: "${upstream.url}/v1", api_key: key, models: [model]}
${config.replaceAll("FOLDER", folder)}
`;
  const gateway = await startWorkers(2, { dataFolder, config: whole });
  const hold = (isHeld: boolean): void => {
    held?.resolve();
    held = isHeld ? Promise.withResolvers() : null;
  };
  return {
    gateway,
    upstream,
    folder,
    dataFolder,
    config: whole,
    most: () => most,
    hold,
    answerWith: (status, headers = {}) => (answer = { status, headers }),
    async close() {
      hold(false);
      await gateway.stop("SIGKILL");
      await upstream.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function statusOf(response: Promise<Response>): Promise<number> {
  const answer = await response;
  await answer.text();
  return answer.status;
}
