// The clients of the cache drill: tokens of two tenants that ask equal and nearly equal questions at once. Some leave in
// the middle, some read slowly. Each answer is checked: it has to answer what this client asked, be whole if it ends well,
// and be of a request that was made for this token's own circle after the last purge.
import type { GatewayProcess } from "../../../test/harness/processes/gateway-process.ts";
import { askedText, type EchoUpstream, saidIn } from "./upstream.ts";

export interface Asker {
  readonly tenant: string;
  readonly token: string;
  /** Those who share answers with it. */
  readonly circle: string;
}

export interface Tally {
  calls: number;
  left: number;
  failed: number;
  readonly outcomes: Record<string, number>;
  readonly faults: string[];
}

const QUESTIONS = ["ping", "pong"];
const AT_ONCE = 24;
const SLOW_MS = 5;

export class Clients {
  readonly tally: Tally = { calls: 0, left: 0, failed: 0, outcomes: {}, faults: [] };
  readonly #gateway: () => GatewayProcess;
  readonly #upstream: EchoUpstream;
  readonly #askers: readonly Asker[];
  /** By the serial number of a request: the circle for which it was made. */
  readonly #owners = new Map<number, string>();
  /** By tenant: answers up to this serial number were purged. */
  readonly #purged = new Map<string, number>();

  constructor(gateway: () => GatewayProcess, upstream: EchoUpstream, askers: readonly Asker[]) {
    this.#gateway = gateway;
    this.#upstream = upstream;
    this.#askers = askers;
  }

  /** Makes so many calls, many at once. */
  async ask(calls: number): Promise<void> {
    let left = calls;
    const client = async (): Promise<void> => {
      while (left-- > 0) await this.#call();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
  }

  /** From now on, calls of the tenant get no answer to a request that was made before `purge` began. */
  async purging(tenant: string, purge: () => Promise<void>): Promise<void> {
    const serial = this.#upstream.serial();
    await purge();
    this.#purged.set(tenant, serial);
  }

  async #call(): Promise<void> {
    const asker = oneOf(this.#askers);
    const stream = Math.random() < 0.6;
    const body = {
      model: "echo:m",
      messages: [{ role: "user", content: oneOf(QUESTIONS) }],
      ...(Math.random() < 0.3 && { temperature: oneOf([0, 0.5]) }),
      ...(Math.random() < 0.3 && { seed: oneOf([1, 2]) }),
      ...(stream && { stream }),
      num_retries: 0,
    };
    const purgedUpTo = this.#purged.get(asker.tenant) ?? 0;
    this.tally.calls += 1;
    const leaves = new AbortController();
    try {
      const response = await this.#gateway().chat(body, { token: asker.token, signal: leaves.signal });
      const outcome = response.headers.get("x-gateway-cache");
      if (outcome !== null) this.tally.outcomes[outcome] = (this.tally.outcomes[outcome] ?? 0) + 1;
      const text = await this.#read(response, stream && Math.random() < 0.2 ? leaves : null);
      this.#check(text, response.status, asker, askedText(body), purgedUpTo);
    } catch (thrown) {
      if (leaves.signal.aborted) this.tally.left += 1;
      else this.tally.faults.push(`a call failed: ${String(thrown)}`);
    }
  }

  /** With `leaves`, the client leaves after some pieces. */
  async #read(response: Response, leaves: AbortController | null): Promise<string> {
    const isSlow = Math.random() < 0.2;
    const decoder = new TextDecoder();
    let text = "";
    let pieces = 0;
    for await (const piece of response.body!) {
      text += decoder.decode(piece, { stream: true });
      if (isSlow) await Bun.sleep(SLOW_MS);
      if (leaves !== null && ++pieces === 2) {
        leaves.abort();
        throw new Error("left");
      }
    }
    return text;
  }

  #check(text: string, status: number, asker: Asker, asked: string, purgedUpTo: number): void {
    const { faults } = this.tally;
    const answered = saidIn(text);
    const failed = status !== 200 || text.includes('"error":');
    if (failed) this.tally.failed += 1;
    if (answered === null) {
      if (!failed) faults.push(`an answer of several requests, or of none: ${text.slice(0, 500)}`);
      return;
    }
    const { said, isWhole } = answered;
    if (said.asked !== asked) faults.push(`asked ${asked}, and got the answer to ${said.asked}`);
    if (!failed && !isWhole) faults.push(`a part of answer ${said.serial} was sent as a whole one`);
    if (failed && isWhole && status !== 200) faults.push(`answer ${said.serial} was sent with an error`);
    const owner = this.#owners.get(said.serial) ?? asker.circle;
    if (owner !== asker.circle) faults.push(`${asker.circle} got answer ${said.serial}, which was made for ${owner}`);
    this.#owners.set(said.serial, owner);
    if (said.serial <= purgedUpTo) faults.push(`${asker.tenant} got answer ${said.serial} after it was purged`);
  }
}

function oneOf<T>(all: readonly T[]): T {
  return all[Math.floor(Math.random() * all.length)]!;
}
