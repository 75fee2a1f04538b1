// Promises 6.2 and 6.3, generated from the registry: for each provider, each model that its table tells apart and each common parameter, the
// outgoing request with the parameter is compared with the one without it.
import { afterAll, describe, expect, test } from "bun:test";
import { ADVISORY, COMMON_PARAMETERS, type CommonParameter, NEVER_UNSUPPORTED } from "../../src/core/params.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { providers } from "../../src/providers/registry.ts";
import { CONVERSING } from "../harness/conversing.ts";
import { readStream } from "../harness/sse.ts";
import { answeringGateway, ask, type Asked } from "./chat-calls.ts";
import {
  cellOf,
  foreignSampleFor,
  isDoneHere,
  modelNames,
  neutralSamples,
  sampleFor,
  SAMPLES,
} from "./parameter-samples.ts";

// otherwise `store: true` goes out as false
const gateway = answeringGateway({ vendorStore: true });
const counts: Record<string, number> = {};
const count = (kind: string): void => void (counts[kind] = (counts[kind] ?? 0) + 1);
afterAll(() =>
  console.log(
    `parameter matrix: ${CONVERSING.length} providers; ${Object.entries(counts)
      .map(([kind, cells]) => `${cells} ${kind}`)
      .join(", ")}`,
  ),
);

/** One cell of the matrix, with the two requests of which the second has the parameter. */
interface Cell {
  readonly provider: Provider;
  readonly name: CommonParameter;
  readonly model: string;
  /** Without the parameter, with what has to stand beside it as far as the model takes that. */
  readonly base: Readonly<Record<string, unknown>>;
}

async function eachCell(provider: Provider, visit: (cell: Cell) => Promise<void>): Promise<void> {
  for (const model of modelNames(provider))
    for (const name of COMMON_PARAMETERS) {
      // without tools their choice is still a parameter; without logprobs their number is none
      const beside = Object.entries(SAMPLES[name].beside ?? {}).filter(
        ([other]) => other !== "tools" || cellOf(provider, "tools", model).support !== "unsupported",
      );
      await visit({ provider, name, model, base: { model: `${provider.id}:${model}`, ...Object.fromEntries(beside) } });
    }
}

/** A faulty cell is named by this, so that one run tells all of them. */
const labelOf = ({ provider, model, name }: Cell): string => `${provider.id}:${model} ${name}`;

async function judgeCells(provider: Provider, judge: (cell: Cell) => Promise<string | null>): Promise<void> {
  const faults: string[] = [];
  await eachCell(provider, async (cell) => {
    const fault = await judge(cell);
    if (fault !== null) faults.push(`${labelOf(cell)}: ${fault}`);
  });
  expect(faults).toEqual([]);
}

const sameRequest = (one: Asked, other: Asked): boolean =>
  JSON.stringify(one.request) === JSON.stringify(other.request);

/** Served by the gateway itself: the client gets its usage chunk, whatever the provider was asked. */
function servesUsage(answer: Asked): boolean {
  const { events, done } = readStream(answer.text);
  const last = events.at(-1)!;
  return (
    done &&
    last["choices"].length === 0 &&
    last["usage"].total_tokens > 0 &&
    events.slice(0, -1).every((event) => event["usage"] === null)
  );
}

async function judgeSupported(cell: Cell, support: string, value: unknown): Promise<string | null> {
  const { name, base } = cell;
  const without = await ask(gateway, base);
  const given = await ask(gateway, { ...base, [name]: value });
  if (given.outcome !== "200") return `${given.outcome}: ${given.error!.message}`;
  if (given.headers.has("x-gateway-dropped-params")) return "told as dropped";
  const dispositions = gateway.records.at(-1)!.dispositions;
  if (dispositions[name] !== support) return `recorded as ${dispositions[name]}, not ${support}`;
  if (name === "stream_options" && support !== "native") return servesUsage(given) ? null : "no usage chunk";
  if (isDoneHere(name, cellOf(cell.provider, name, cell.model))) return null;
  if (sameRequest(without, given)) return "does not reach the wire";
  // native: under its own name and in its own form
  if (support === "native" && JSON.stringify(given.wire![name]) !== JSON.stringify(value))
    return `on the wire as ${JSON.stringify(given.wire![name])}`;
  return null;
}

async function judgeUnsupported(cell: Cell, value: unknown): Promise<string | null> {
  const { name, base, provider, model } = cell;
  const without = await ask(gateway, { ...base, drop_params: true });
  if (ADVISORY.has(name)) {
    const left = await ask(gateway, { ...base, [name]: value });
    return (
      leftOut(name, left) ?? (sameRequest(await ask(gateway, base), left) ? null : "left out, and yet on the wire")
    );
  }
  const refused = await ask(gateway, { ...base, [name]: value });
  if (refused.error?.code !== "unsupported_parameter" || refused.status !== 400)
    return `not refused: ${refused.outcome}`;
  if (refused.wire !== null) return "was sent all the same";
  const { message, param } = refused.error;
  const missing = [provider.label, `${provider.id}:${model}`, name, "drop_params"].filter(
    (word) => !message.includes(word),
  );
  if (missing.length > 0) return `the message does not name ${missing.join(", ")}`;
  if (param !== name && !Object.hasOwn(base, param!)) return `param is ${param}`;
  const dropped = await ask(gateway, { ...base, [name]: value, drop_params: true });
  return leftOut(name, dropped) ?? (sameRequest(without, dropped) ? null : "dropped, and yet on the wire");
}

/** What is wrong with the answer to a request of which a parameter was left out; null when nothing is. */
function leftOut(name: CommonParameter, answer: Asked): string | null {
  if (answer.outcome !== "200") return `not left out: ${answer.outcome}`;
  if (!answer.headers.get("x-gateway-dropped-params")!.split(",").includes(name)) return "dropped in silence";
  return gateway.records.at(-1)!.dispositions[name] === "dropped" ? null : "not recorded as dropped";
}

describe("the parameters of each provider", () => {
  test("[d6.2] the model names of this test cover every exception of every table", () => {
    const unreached = CONVERSING.flatMap(({ id, capabilities }) =>
      capabilities.exceptions
        .filter(({ models }) => !modelNames(providers.get(id)!).some((name) => models.test(name)))
        .map(({ models }) => `${id} ${String(models)}`),
    );
    expect(unreached).toEqual([]);
  });

  for (const provider of CONVERSING) {
    test(`[d6.2] [s:behaviors.6] ${provider.label}: each parameter that it supports reaches the wire`, async () => {
      await judgeCells(provider, async (cell) => {
        const capability = cellOf(provider, cell.name, cell.model);
        const value = sampleFor(cell.name, capability);
        // undefined: the neutral value alone is taken
        if (capability.support === "unsupported" || value === undefined) return null;
        count(capability.support);
        return judgeSupported(cell, capability.support, value);
      });
    });

    test(`[d6.3] [d6.4] [s:behaviors.4] ${provider.label}: each parameter that it does not support is refused by name, or dropped and reported`, async () => {
      await judgeCells(provider, async (cell) => {
        if (cellOf(provider, cell.name, cell.model).support !== "unsupported" || NEVER_UNSUPPORTED.has(cell.name))
          return null;
        count("unsupported");
        return judgeUnsupported(cell, SAMPLES[cell.name].values[0]);
      });
    });

    test(`[d6.3] ${provider.label}: a value that it does not accept of a supported parameter is refused, with drop_params too`, async () => {
      await judgeCells(provider, async (cell) => {
        const capability = cellOf(provider, cell.name, cell.model);
        const value = capability.support === "unsupported" ? undefined : foreignSampleFor(cell.name, capability);
        if (value === undefined) return null;
        count("with a foreign value");
        for (const drop_params of [false, true]) {
          const { outcome, wire } = await ask(gateway, { ...cell.base, [cell.name]: value, drop_params });
          if (outcome !== `400 unsupported_value ${cell.name}` || wire !== null)
            return `${JSON.stringify(value)} with drop_params ${drop_params}: ${outcome}`;
        }
        return null;
      });
    });

    test(`[d6.3] ${provider.label}: a neutral value of an unsupported parameter counts as "not set", and the gateway's own four are never refused`, async () => {
      await judgeCells(provider, async (cell) => {
        const capability = cellOf(provider, cell.name, cell.model);
        if (capability.support !== "unsupported") return null;
        const own = NEVER_UNSUPPORTED.has(cell.name);
        for (const value of own ? SAMPLES[cell.name].values : neutralSamples(cell.name, capability)) {
          count(own ? "served by the gateway" : "neutral");
          const without = await ask(gateway, cell.base);
          const given = await ask(gateway, { ...cell.base, [cell.name]: value });
          if (given.outcome !== "200") return `${JSON.stringify(value)}: ${given.outcome}`;
          if (given.headers.has("x-gateway-dropped-params")) return `${JSON.stringify(value)} told as dropped`;
          // a model's own default is a value that it takes
          if (capability.neutral === undefined && !sameRequest(without, given))
            return `${JSON.stringify(value)} reaches the wire`;
          if (cell.name === "stream_options" && !servesUsage(given)) return "no usage chunk";
        }
        return null;
      });
    });
  }
});
