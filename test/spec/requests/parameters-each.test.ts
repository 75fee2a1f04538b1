// Each row of the specification's tables of parameters, deprecated parameters and content blocks, over every provider and
// each model that its table tells apart: one that supports it gets it, and others refuse it by name, or drop and report it.
import { beforeAll, describe, expect, test } from "bun:test";
import { type Capability, capabilityOf } from "../../../src/core/capability.ts";
import type { BlockType } from "../../../src/core/chat.ts";
import type { JsonObject } from "../../../src/core/json.ts";
import { ADVISORY, COMMON_PARAMETERS, type CommonParameter, NEVER_UNSUPPORTED } from "../../../src/core/params.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import { providers } from "../../../src/providers/registry.ts";
import { CONVERSING } from "../../harness/conversing.ts";
import { readStream } from "../../harness/sse.ts";
import { encoded, onTheWire, refusalOf, wireBody } from "../../contract/providers/provider-requests.ts";
import type { Stub } from "../../harness/in-process.ts";
import { answeringGateway, ask, type Asked, FAMILIES, TOOL } from "../chat-calls.ts";
import {
  besideOf,
  cellOf,
  foreignSampleFor,
  isDoneHere,
  modelNames,
  neutralSamples,
  sampleFor,
  SAMPLES,
} from "./parameter-samples.ts";

let gateway: Stub;
beforeAll(() => {
  // otherwise `store: true` goes out as false
  gateway = answeringGateway({ vendorStore: true });
});

const all = CONVERSING;

/** One parameter of one model. */
interface Cell {
  readonly provider: Provider;
  readonly model: string;
  readonly name: CommonParameter;
  readonly capability: Capability;
  /** The request without the parameter, with what has to stand beside it. */
  readonly base: Readonly<Record<string, unknown>>;
}

/**
 * Judges the parameter at each model that a table tells apart: one that takes it gets it, and at least so many do;
 * elsewhere it is refused by name, or dropped and reported. One run tells all faults.
 */
async function everywhere(name: CommonParameter, atLeast: number): Promise<void> {
  const faults: string[] = [];
  let taken = 0;
  for (const provider of all)
    for (const model of modelNames(provider)) {
      const base = { model: `${provider.id}:${model}`, ...besideOf(provider, name, model) };
      const cell = { provider, model, name, capability: cellOf(provider, name, model), base };
      const isTaken = cell.capability.support !== "unsupported";
      if (isTaken && sampleFor(name, cell.capability) !== undefined) taken++;
      const fault = await (isTaken ? faultOfSupported(cell) : faultOfUnsupported(cell));
      if (fault !== null) faults.push(`${base.model}: ${fault}`);
    }
  expect(faults).toEqual([]);
  expect(taken).toBeGreaterThanOrEqual(atLeast);
}

const sameRequest = (one: Asked, other: Asked): boolean =>
  JSON.stringify(one.request) === JSON.stringify(other.request);

const bases = new Map<string, Promise<Asked>>();
/** The answer to a request without the parameter. It is the same for many parameters, and asked for once. */
function without(base: Cell["base"]): Promise<Asked> {
  const key = JSON.stringify(base);
  return bases.get(key) ?? bases.set(key, ask(gateway, base)).get(key)!;
}

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

async function faultOfSupported(cell: Cell): Promise<string | null> {
  const { name, capability } = cell;
  const [value, foreign] = [sampleFor(name, capability), foreignSampleFor(name, capability)];
  // undefined: the neutral value alone is taken
  const fault = value === undefined ? null : await faultOfTaken(cell, value);
  return fault ?? (foreign === undefined ? null : await faultOfForeign(cell, foreign));
}

async function faultOfTaken({ name, base, capability }: Cell, value: unknown): Promise<string | null> {
  const { support } = capability;
  const plain = await without(base);
  const given = await ask(gateway, { ...base, [name]: value });
  if (given.outcome !== "200") return `${given.outcome}: ${given.error!.message}`;
  if (given.headers.has("x-gateway-dropped-params")) return "told as dropped";
  const disposition = gateway.records.at(-1)!.dispositions[name];
  if (disposition !== support) return `recorded as ${disposition}, not ${support}`;
  // the gateway meters: it asks for the usage of every stream
  if (name === "stream_options" && support !== "native") return servesUsage(given) ? null : "no usage chunk";
  if (isDoneHere(name, capability)) return null;
  if (sameRequest(plain, given)) return "does not reach the wire";
  // native: under its own name and in its own form
  if (support === "native" && JSON.stringify(given.wire![name]) !== JSON.stringify(value))
    return `on the wire as ${JSON.stringify(given.wire![name])}`;
  return null;
}

async function faultOfForeign({ name, base }: Cell, value: unknown): Promise<string | null> {
  for (const drop_params of [false, true]) {
    const { outcome, wire } = await ask(gateway, { ...base, [name]: value, drop_params });
    if (outcome !== `400 unsupported_value ${name}` || wire !== null)
      return `${JSON.stringify(value)} with drop_params ${drop_params}: ${outcome}`;
  }
  return null;
}

async function faultOfUnsupported(cell: Cell): Promise<string | null> {
  const { name, capability } = cell;
  const { values } = SAMPLES[name];
  if (NEVER_UNSUPPORTED.has(name)) return faultOfNeutral(cell, values);
  const neutral = neutralSamples(name, capability);
  for (const value of values.filter((one) => !neutral.includes(one))) {
    const fault = await (ADVISORY.has(name) ? faultOfHint : faultOfRefused)(cell, value);
    if (fault !== null) return `${JSON.stringify(value)}: ${fault}`;
  }
  return faultOfNeutral(cell, neutral);
}

async function faultOfHint({ name, base }: Cell, value: unknown): Promise<string | null> {
  for (const fields of [base, { ...base, drop_params: true }]) {
    const left = await ask(gateway, { ...fields, [name]: value });
    const fault = leftOut(name, left) ?? (sameRequest(await without(fields), left) ? null : "left out, and yet sent");
    if (fault !== null) return fault;
  }
  return null;
}

async function faultOfRefused({ name, base, provider, model }: Cell, value: unknown): Promise<string | null> {
  const refusal = await ask(gateway, { ...base, [name]: value });
  if (refusal.error?.code !== "unsupported_parameter" || refusal.status !== 400)
    return `not refused: ${refusal.outcome}`;
  if (refusal.wire !== null) return "was sent all the same";
  const { message, param } = refusal.error;
  const missing = [provider.label, `${provider.id}:${model}`, name, "drop_params"].filter(
    (word) => !message.includes(word),
  );
  if (missing.length > 0) return `the message does not name ${missing.join(", ")}`;
  if (param !== name && !Object.hasOwn(base, param!)) return `param is ${param}`;
  const dropping = { ...base, drop_params: true };
  const dropped = await ask(gateway, { ...dropping, [name]: value });
  return leftOut(name, dropped) ?? (sameRequest(await without(dropping), dropped) ? null : "dropped, and yet sent");
}

/** What is wrong with the answer to a request of which a parameter was left out; null when nothing is. */
function leftOut(name: CommonParameter, answer: Asked): string | null {
  if (answer.outcome !== "200") return `not left out: ${answer.outcome}`;
  if (!answer.headers.get("x-gateway-dropped-params")!.split(",").includes(name)) return "dropped in silence";
  return gateway.records.at(-1)!.dispositions[name] === "dropped" ? null : "not recorded as dropped";
}

/** A neutral value of an unsupported parameter means "not set", and the gateway's own four are never refused. */
async function faultOfNeutral({ name, base, capability }: Cell, values: readonly unknown[]): Promise<string | null> {
  for (const value of values) {
    const given = await ask(gateway, { ...base, [name]: value });
    if (given.outcome !== "200") return `${JSON.stringify(value)}: ${given.outcome}`;
    if (given.headers.has("x-gateway-dropped-params")) return `${JSON.stringify(value)} told as dropped`;
    // a model's own default is a value that it takes
    if (capability.neutral === undefined && !sameRequest(await without(base), given))
      return `${JSON.stringify(value)} reaches the wire`;
    if (name === "stream_options" && !servesUsage(given)) return "no usage chunk";
  }
  return null;
}

const refused = async (fields: JsonObject): Promise<string> => (await ask(gateway, fields)).outcome;

const WITH_OWN_TEST: ReadonlySet<string> = new Set<CommonParameter>([
  ...([
    "temperature",
    "top_p",
    "n",
    "stream",
    "stream_options",
    "stop",
    "max_tokens",
    "max_completion_tokens",
  ] as const),
  ...(["presence_penalty", "frequency_penalty", "logit_bias", "user", "safety_identifier", "response_format"] as const),
  ...(["seed", "tools", "tool_choice", "parallel_tool_calls", "logprobs", "top_logprobs"] as const),
]);

describe("[d6.2] [d6.3] [d6.4] [d6.10] [s:behaviors.4] [s:behaviors.6] parameters of the completion call", () => {
  test("[s:param.temperature] temperature reaches every provider that has it; outside 0 to 2 it is refused", async () => {
    await everywhere("temperature", 70);
    for (const temperature of [-0.1, 2.1, "1"])
      expect(await refused({ temperature })).toBe("400 invalid_request temperature");
  });
  test("[s:param.top-p] top_p reaches every provider that has it; outside 0 to 1 it is refused", async () => {
    await everywhere("top_p", 70);
    for (const top_p of [-0.1, 1.1, "1"]) expect(await refused({ top_p })).toBe("400 invalid_request top_p");
  });
  test("[s:param.n] n reaches every provider that gives several choices; outside 1 to 128 it is refused", async () => {
    await everywhere("n", 10);
    for (const n of [0, 129, 1.5]) expect(await refused({ n })).toBe("400 invalid_request n");
  });
  test("[s:param.stream] stream reaches every provider, and the answer ends with [DONE]", async () => {
    await everywhere("stream", 80);
    for (const model of FAMILIES)
      expect((await ask(gateway, { model, stream: true })).text.trimEnd()).toEndWith("data: [DONE]");
  });
  test("[s:param.stream-options] include_usage gives a last chunk with the usage and no choices, and only on a stream", async () => {
    await everywhere("stream_options", 10);
    for (const model of FAMILIES) {
      const chunks = (await ask(gateway, { model, stream: true, stream_options: { include_usage: true } })).text
        .split("\n\n")
        .filter((line) => line.startsWith("data: {"))
        .map((line) => JSON.parse(line.slice(6)) as JsonObject);
      expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } });
      expect(chunks.slice(0, -1).every(({ usage }) => usage === null)).toBe(true);
    }
    expect(await refused({ stream_options: { include_usage: true } })).toBe("400 invalid_request stream_options");
  });
  test("[s:param.stop] stop reaches every provider that has it, as text or list, and is cut to 4 with a warning", async () => {
    await everywhere("stop", 70);
    const { wire, headers } = await ask(gateway, { stop: ["a", "b", "c", "d", "e"] });
    expect([wire!["stop"], headers.get("x-gateway-warnings")]).toEqual([["a", "b", "c", "d"], "stop_truncated"]);
  });
  test("[s:param.max-tokens] max_tokens reaches every provider that has a bound", async () => {
    await everywhere("max_tokens", 80);
    expect(await refused({ max_tokens: -2 })).toBe("400 invalid_request max_tokens");
  });
  test("[s:param.max-completion-tokens] max_completion_tokens is the same bound, under the provider's own name", async () => {
    await everywhere("max_completion_tokens", 80);
    for (const provider of all) {
      const [asMax, asCompletion] = ["max_tokens", "max_completion_tokens"].map((name) =>
        wireBody(encoded(provider, { [name]: 77 })),
      );
      for (const body of [asMax!, asCompletion!])
        expect([provider.id, JSON.stringify(body).includes("77")]).toEqual([provider.id, true]);
    }
    expect(await refused({ max_tokens: 1, max_completion_tokens: 2 })).toBe("400 invalid_request max_tokens");
  });
  test("[s:param.presence-penalty] presence_penalty reaches every provider that has it; outside -2 to 2 it is refused", async () => {
    await everywhere("presence_penalty", 20);
    for (const presence_penalty of [-2.1, 2.1])
      expect(await refused({ presence_penalty })).toBe("400 invalid_request presence_penalty");
  });
  test("[s:param.frequency-penalty] frequency_penalty reaches every provider that has it; outside -2 to 2 it is refused", async () => {
    await everywhere("frequency_penalty", 20);
    for (const frequency_penalty of [-2.1, 2.1])
      expect(await refused({ frequency_penalty })).toBe("400 invalid_request frequency_penalty");
  });
  test("[s:param.logit-bias] logit_bias is a map that reaches every provider that has it", async () => {
    await everywhere("logit_bias", 10);
    expect(await refused({ logit_bias: [1] })).toBe("400 invalid_request logit_bias");
  });
  test("[s:param.user] user is taken everywhere, and reaches every provider that has a place for it", async () => {
    await everywhere("user", 20);
    for (const model of FAMILIES) expect((await ask(gateway, { model, user: "u-1" })).outcome).toBe("200");
  });
  test("[s:param.safety-identifier] safety_identifier is taken everywhere, and reaches every provider that has a place for it", async () => {
    await everywhere("safety_identifier", 3);
    for (const model of FAMILIES) expect((await ask(gateway, { model, safety_identifier: "s-1" })).outcome).toBe("200");
  });
  test("[s:param.response-format] response_format reaches every provider that has it, native or emulated; other types are refused", async () => {
    await everywhere("response_format", 40);
    expect(await refused({ response_format: { type: "xml" } })).toBe("400 invalid_request response_format.type");
    expect(await refused({ response_format: { type: "json_schema" } })).toBe(
      "400 invalid_request response_format.json_schema",
    );
  });
  test("[s:param.seed] seed reaches every provider that has it, with all its digits, and system_fingerprint comes back where there is one", async () => {
    await everywhere("seed", 30);
    const { request } = await ask(
      gateway,
      '{"model":"openai:gpt-4o","messages":[{"role":"user","content":"x"}],"seed":9007199254740993}',
    );
    expect(request!.body).toContain("9007199254740993");
    expect(await refused({ seed: 1.5 })).toBe("400 invalid_request seed");
  });
  test("[s:param.tools] tools reach every provider that has them; a function needs a name, and other types are refused", async () => {
    await everywhere("tools", 70);
    expect(await refused({ tools: [{ type: "function" }] })).toBe("400 invalid_request tools[0].function");
    expect(await refused({ tools: [{ type: "telepathy" }] })).toBe("400 invalid_request tools[0].type");
  });
  test("[s:param.tool-choice] tool_choice reaches every provider that has it, as word and as one function; other values are refused", async () => {
    await everywhere("tool_choice", 40);
    expect(await refused({ tools: [TOOL], tool_choice: "perhaps" })).toBe("400 invalid_request tool_choice");
  });
  test("[d6.2] [s:param.tool-choice] a forced call without tools is refused by every translation, and never dropped silently", () => {
    for (const provider of all.filter(({ sameShape }) => !sameShape))
      for (const tools of [undefined, []])
        for (const tool_choice of ["required", { type: "function", function: { name: "weather" } }] as const) {
          const refusal = refusalOf(() =>
            encoded(provider, { tool_choice, ...(tools && { tools }) }, { model: modelNames(provider)[0]! }),
          );
          expect([provider.id, refusal?.param]).toEqual([provider.id, "tool_choice"]);
        }
  });
  test("[s:param.parallel-tool-calls] parallel_tool_calls false reaches every provider that has it", async () => {
    await everywhere("parallel_tool_calls", 10);
    expect(await refused({ parallel_tool_calls: "no" })).toBe("400 invalid_request parallel_tool_calls");
  });
  test("[s:param.logprobs] logprobs reaches every provider that has it", async () => {
    await everywhere("logprobs", 15);
    expect(await refused({ logprobs: 1 })).toBe("400 invalid_request logprobs");
  });
  test("[s:param.top-logprobs] top_logprobs is 0 to 5, only with logprobs, and reaches every provider that has it", async () => {
    await everywhere("top_logprobs", 15);
    for (const top_logprobs of [-1, 6])
      expect(await refused({ logprobs: true, top_logprobs })).toBe("400 invalid_request top_logprobs");
    expect(await refused({ top_logprobs: 2 })).toBe("400 invalid_request top_logprobs");
  });
  test.each(COMMON_PARAMETERS.filter((name) => !WITH_OWN_TEST.has(name)))(
    "%s reaches every provider that has it",
    (name) => everywhere(name, 1),
  );
});

describe("fields that say how and where a call goes", () => {
  test("[s:param.headers] headers go with the request, and [s:param.extra-headers] extra_headers win over them", async () => {
    for (const model of FAMILIES) {
      const { request } = await ask(gateway, {
        model,
        headers: { "x-one": "1", "x-two": "1" },
        extra_headers: { "X-Two": "2" },
      });
      expect(request!.headers).toMatchObject({ "x-one": "1", "x-two": "2" });
    }
  });
  test("[s:param.base-url] base_url is the address that is called, and [s:param.api-base] api_base is the same", async () => {
    for (const { id } of all.filter(({ id: own }) => own !== "sandbox"))
      for (const name of ["base_url", "api_base"]) {
        const { request } = await ask(gateway, {
          model: `${id}:${modelNames(providers.get(id)!)[0]!}`,
          [name]: "http://127.0.0.1:9/own",
          drop_params: true,
        });
        expect([id, request?.url.startsWith("http://127.0.0.1:9/own")]).toEqual([id, true]);
      }
  });
  test("[s:param.api-key] api_key is the credential of the call", async () => {
    for (const model of FAMILIES) {
      const { request } = await ask(gateway, { model, api_key: "sk-of-the-caller" });
      expect([
        JSON.stringify(request!.headers).includes("sk-of-the-caller"),
        request!.body.includes("sk-of-the-caller"),
      ]).toEqual([true, false]);
    }
  });
  test("[s:param.timeout] timeout is a number of seconds above 0", async () => {
    for (const timeout of [0, -1, "10"]) expect(await refused({ timeout })).toBe("400 invalid_request timeout");
    expect((await ask(gateway, { timeout: 0.5 })).outcome).toBe("200");
  });
  test("[s:param.model-list] model_list is a list of entries, each with the model's name and parameters", async () => {
    expect(await refused({ model_list: [{ params: { model: "openai:m" } }] })).toBe(
      "400 invalid_request model_list[0].model_name",
    );
    expect(await refused({ model_list: [{ model_name: "m" }] })).toBe("400 invalid_request model_list[0].params");
    expect(await refused({ model_list: [{ model_name: "m", params: { model: "openai:m" } }] })).toBe(
      "404 model_not_found model",
    );
    const { request } = await ask(gateway, {
      model: "m",
      model_list: [{ model_name: "m", params: { model: "openai:inner", api_key: "sk-of-the-entry" } }],
    });
    expect([JSON.parse(request!.body).model, request!.headers["authorization"]]).toEqual([
      "inner",
      "Bearer sk-of-the-entry",
    ]);
  });
});

describe("deprecated parameters", () => {
  test("[s:deprecated.functions] functions become tools for every provider that has tools; [s:deprecated.function-call] function_call becomes tool_choice", () => {
    const { function: definition } = TOOL;
    let taken = 0;
    for (const provider of all) {
      const model = modelNames(provider)[0]!;
      const choice = capabilityOf(provider.capabilities, "tool_choice", model);
      if (
        capabilityOf(provider.capabilities, "tools", model).support === "unsupported" ||
        choice.support === "unsupported"
      )
        continue;
      taken++;
      const named = choice.values === undefined || choice.values.includes("function");
      const pairs = [
        [{ functions: [definition] }, { tools: [TOOL] }],
        ...(named
          ? [
              [
                { functions: [definition], function_call: { name: "weather" } },
                { tools: [TOOL], tool_choice: { type: "function", function: { name: "weather" } } },
              ],
            ]
          : []),
      ] as unknown as readonly (readonly [JsonObject, JsonObject])[];
      // the old form has one call at a time
      const one = { parallel_tool_calls: false };
      for (const [old, now] of pairs)
        expect([provider.id, wireBody(encoded(provider, old, { model }))]).toEqual([
          provider.id,
          wireBody(encoded(provider, { ...now, ...one }, { model, dropParams: true })),
        ]);
    }
    expect(taken).toBeGreaterThanOrEqual(18);
  });
});

/** Marks that have to be found on the wire: what was written, or its form in base64. */
const MARK = "c29tZSBieXRlcw==";
const ADDRESS = "https://files.example/some-file";
/** The forms of each type. */
const BLOCKS: Readonly<Record<BlockType, readonly JsonObject[]>> = {
  text: [{ type: "text", text: MARK }],
  image_url: [
    { type: "image_url", image_url: { url: `data:image/png;base64,${MARK}` } },
    { type: "image_url", image_url: { url: `${ADDRESS}.png` } },
  ],
  input_audio: [{ type: "input_audio", input_audio: { data: MARK, format: "wav" } }],
  video_url: [
    { type: "video_url", video_url: { url: `${ADDRESS}.mp4` } },
    { type: "video_url", video_url: { url: `data:video/mp4;base64,${MARK}` } },
  ],
  file: [
    { type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${MARK}` } },
    { type: "file", file: { file_id: `${ADDRESS}.pdf` } },
  ],
  document: [
    { type: "document", source: { type: "base64", media_type: "application/pdf", data: MARK } },
    { type: "document", source: { type: "text", media_type: "text/plain", data: MARK } },
  ],
};

/** Beside a text in one message: on the wire where the model takes it, refused with the path where not; `atLeast` models take it. */
function carried(type: BlockType, atLeast: number): void {
  const faults: string[] = [];
  let taken = 0;
  for (const provider of all)
    for (const model of modelNames(provider)) {
      const outcomes = BLOCKS[type].flatMap((block) =>
        [false, true].map((dropParams) => {
          const messages = [{ role: "user", content: [{ type: "text", text: "Look:" }, block] }];
          let body = "";
          const refusal = refusalOf(
            () => void ({ body } = encoded(provider, { messages }, { model, dropParams }).request),
          );
          if (refusal !== null) return `${refusal.code} ${refusal.param}`;
          return body.includes(MARK) || body.includes(ADDRESS) ? "sent" : "lost";
        }),
      );
      const isTaken = capabilityOf(provider.capabilities, type, model).support !== "unsupported";
      // a provider may accept the type and not each form of it, which is reported with the path
      const isRight = isTaken
        ? outcomes.includes("sent") && outcomes.every((outcome) => TAKEN_OR_FORM_REFUSED.test(outcome))
        : outcomes.every((outcome) => outcome === "unsupported_content_block messages[0].content[1]");
      if (isTaken) taken++;
      if (!isRight) faults.push(`${provider.id}:${model}: ${outcomes.join(", ")}`);
    }
  expect(faults).toEqual([]);
  expect(taken).toBeGreaterThanOrEqual(atLeast);
}
const TAKEN_OR_FORM_REFUSED = /^(sent|unsupported_(value|content_block) messages\[0\]\.content\[1\].*)$/;

describe("[d6.2] content blocks", () => {
  test("[s:block.text] text reaches every provider", () => carried("text", 50));
  test("[s:block.image-url] image_url reaches every provider that takes images, and is refused with its path elsewhere", () =>
    carried("image_url", 25));
  test("[s:block.input-audio] input_audio reaches every provider that takes audio, and is refused with its path elsewhere", () =>
    carried("input_audio", 5));
  test("[s:block.video-url] video_url reaches every provider that takes videos, and is refused with its path elsewhere", () =>
    carried("video_url", 4));
  test("[s:block.file] file reaches every provider that takes files, and is refused with its path elsewhere", () =>
    carried("file", 5));
  test("[s:block.document] document reaches every provider that takes documents, and is refused with its path elsewhere", () =>
    carried("document", 5));
  test("[s:block.text, s:block.image-url] several types stand in one message, in order", () => {
    const content = [{ type: "text", text: "first-text" }, BLOCKS.image_url[0]!, { type: "text", text: "last-text" }];
    for (const provider of all.filter(({ capabilities }) => capabilities.cells.image_url.support !== "unsupported")) {
      const refusal = refusalOf(() => encoded(provider, { messages: [{ role: "user", content }] }));
      if (refusal !== null) continue;
      const wire = onTheWire(encoded(provider, { messages: [{ role: "user", content }] }));
      const places = ["first-text", MARK, "last-text"].map((mark) => wire.indexOf(mark));
      // some forms keep pictures beside the text of a message
      expect([provider.id, places.every((place) => place >= 0)]).toEqual([provider.id, true]);
      if (provider.sameShape) expect([provider.id, places]).toEqual([provider.id, places.toSorted((a, b) => a - b)]);
    }
  });
});
