// Each row of the specification's tables of parameters, deprecated parameters and content blocks, over every provider:
// a provider that supports it gets it, and others are never sent it. The whole matrix with drop_params and the values
// is parameters-matrix.test.ts.
import { beforeAll, describe, expect, test } from "bun:test";
import { capabilityOf } from "../../src/core/capability.ts";
import type { BlockType } from "../../src/core/chat.ts";
import type { JsonObject } from "../../src/core/json.ts";
import { type CommonParameter, NEVER_UNSUPPORTED } from "../../src/core/params.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { providers } from "../../src/providers/registry.ts";
import { CONVERSING } from "../harness/conversing.ts";
import { encoded, fitted, onTheWire, refusalOf, wireBody } from "../contract/provider-requests.ts";
import type { Stub } from "../harness/in-process.ts";
import { answeringGateway, ask, FAMILIES, TOOL } from "./chat-calls.ts";
import { cellOf, isDoneHere, modelNames, sampleFor, SAMPLES } from "./parameter-samples.ts";

let gateway: Stub;
beforeAll(() => {
  gateway = answeringGateway();
});

const all = CONVERSING;

/** Providers that take the parameter get it, and those that do not refuse it by name: at least so many of the first kind. */
function reaches(name: CommonParameter, atLeast: number): void {
  let taken = 0;
  for (const provider of all)
    for (const model of modelNames(provider)) {
      const cell = cellOf(provider, name, model);
      const beside = besideOf(provider, name, model);
      const value = sampleFor(name, cell);
      if (cell.support === "unsupported") {
        if (!NEVER_UNSUPPORTED.has(name))
          expect([
            provider.id,
            model,
            refusalOf(() => fitted(provider, { ...beside, [name]: SAMPLES[name].values[0] as never }, { model }))?.code,
          ]).toEqual([provider.id, model, "unsupported_parameter"]);
        continue;
      }
      if (value === undefined) continue;
      taken++;
      // the gateway meters: it asks for the usage of every stream
      if (name === "stream_options") continue;
      if (isDoneHere(name, cell)) continue;
      expect([
        provider.id,
        model,
        onTheWire(encoded(provider, { ...beside, [name]: value as never }, { model })) ===
          onTheWire(encoded(provider, beside, { model })),
      ]).toEqual([provider.id, model, false]);
    }
  expect(taken).toBeGreaterThanOrEqual(atLeast);
}

function besideOf(provider: Provider, name: CommonParameter, model: string): JsonObject {
  return Object.fromEntries(
    Object.entries(SAMPLES[name].beside ?? {}).filter(
      ([other]) => other !== "tools" || cellOf(provider, "tools", model).support !== "unsupported",
    ),
  ) as JsonObject;
}

const refused = async (fields: JsonObject): Promise<string> => (await ask(gateway, fields)).outcome;

describe("parameters of the completion call", () => {
  test("[s:param.temperature] temperature reaches every provider that has it; outside 0 to 2 it is refused", async () => {
    reaches("temperature", 70);
    for (const temperature of [-0.1, 2.1, "1"])
      expect(await refused({ temperature })).toBe("400 invalid_request temperature");
  });
  test("[s:param.top-p] top_p reaches every provider that has it; outside 0 to 1 it is refused", async () => {
    reaches("top_p", 70);
    for (const top_p of [-0.1, 1.1, "1"]) expect(await refused({ top_p })).toBe("400 invalid_request top_p");
  });
  test("[s:param.n] n reaches every provider that gives several choices; outside 1 to 128 it is refused", async () => {
    reaches("n", 10);
    for (const n of [0, 129, 1.5]) expect(await refused({ n })).toBe("400 invalid_request n");
  });
  test("[s:param.stream] stream reaches every provider, and the answer ends with [DONE]", async () => {
    reaches("stream", 80);
    for (const model of FAMILIES)
      expect((await ask(gateway, { model, stream: true })).text.trimEnd()).toEndWith("data: [DONE]");
  });
  test("[s:param.stream-options] include_usage gives a last chunk with the usage and no choices, and only on a stream", async () => {
    reaches("stream_options", 10);
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
    reaches("stop", 70);
    const { wire, headers } = await ask(gateway, { stop: ["a", "b", "c", "d", "e"] });
    expect([wire!["stop"], headers.get("x-gateway-warnings")]).toEqual([["a", "b", "c", "d"], "stop_truncated"]);
  });
  test("[s:param.max-tokens] max_tokens reaches every provider that has a bound", async () => {
    reaches("max_tokens", 80);
    expect(await refused({ max_tokens: -2 })).toBe("400 invalid_request max_tokens");
  });
  test("[s:param.max-completion-tokens] max_completion_tokens is the same bound, under the provider's own name", async () => {
    reaches("max_completion_tokens", 80);
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
    reaches("presence_penalty", 20);
    for (const presence_penalty of [-2.1, 2.1])
      expect(await refused({ presence_penalty })).toBe("400 invalid_request presence_penalty");
  });
  test("[s:param.frequency-penalty] frequency_penalty reaches every provider that has it; outside -2 to 2 it is refused", async () => {
    reaches("frequency_penalty", 20);
    for (const frequency_penalty of [-2.1, 2.1])
      expect(await refused({ frequency_penalty })).toBe("400 invalid_request frequency_penalty");
  });
  test("[s:param.logit-bias] logit_bias is a map that reaches every provider that has it", async () => {
    reaches("logit_bias", 10);
    expect(await refused({ logit_bias: [1] })).toBe("400 invalid_request logit_bias");
  });
  test("[s:param.user] user is taken everywhere, and reaches every provider that has a place for it", async () => {
    reaches("user", 20);
    for (const model of FAMILIES) expect((await ask(gateway, { model, user: "u-1" })).outcome).toBe("200");
  });
  test("[s:param.safety-identifier] safety_identifier is taken everywhere, and reaches every provider that has a place for it", async () => {
    reaches("safety_identifier", 3);
    for (const model of FAMILIES) expect((await ask(gateway, { model, safety_identifier: "s-1" })).outcome).toBe("200");
  });
  test("[s:param.response-format] response_format reaches every provider that has it, native or emulated; other types are refused", async () => {
    reaches("response_format", 40);
    expect(await refused({ response_format: { type: "xml" } })).toBe("400 invalid_request response_format.type");
    expect(await refused({ response_format: { type: "json_schema" } })).toBe(
      "400 invalid_request response_format.json_schema",
    );
  });
  test("[s:param.seed] seed reaches every provider that has it, with all its digits, and system_fingerprint comes back where there is one", async () => {
    reaches("seed", 30);
    const { request } = await ask(
      gateway,
      '{"model":"openai:gpt-4o","messages":[{"role":"user","content":"x"}],"seed":9007199254740993}',
    );
    expect(request!.body).toContain("9007199254740993");
    expect(await refused({ seed: 1.5 })).toBe("400 invalid_request seed");
  });
  test("[s:param.tools] tools reach every provider that has them; a function needs a name, and other types are refused", async () => {
    reaches("tools", 70);
    expect(await refused({ tools: [{ type: "function" }] })).toBe("400 invalid_request tools[0].function");
    expect(await refused({ tools: [{ type: "telepathy" }] })).toBe("400 invalid_request tools[0].type");
  });
  test("[s:param.tool-choice] tool_choice reaches every provider that has it, as word and as one function; other values are refused", async () => {
    reaches("tool_choice", 40);
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
    reaches("parallel_tool_calls", 10);
    expect(await refused({ parallel_tool_calls: "no" })).toBe("400 invalid_request parallel_tool_calls");
  });
  test("[s:param.logprobs] logprobs reaches every provider that has it", async () => {
    reaches("logprobs", 15);
    expect(await refused({ logprobs: 1 })).toBe("400 invalid_request logprobs");
  });
  test("[s:param.top-logprobs] top_logprobs is 0 to 5, only with logprobs, and reaches every provider that has it", async () => {
    reaches("top_logprobs", 15);
    for (const top_logprobs of [-1, 6])
      expect(await refused({ logprobs: true, top_logprobs })).toBe("400 invalid_request top_logprobs");
    expect(await refused({ top_logprobs: 2 })).toBe("400 invalid_request top_logprobs");
  });
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

const BLOCKS: Readonly<Record<BlockType, JsonObject>> = {
  text: { type: "text", text: "marked-text" },
  image_url: { type: "image_url", image_url: { url: "data:image/png;base64,aW1hZ2U=" } },
  input_audio: { type: "input_audio", input_audio: { data: "YXVkaW8=", format: "wav" } },
  video_url: { type: "video_url", video_url: { url: "data:video/mp4;base64,dmlkZW8=" } },
  file: { type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,ZmlsZQ==" } },
  document: { type: "document", source: { type: "base64", media_type: "application/pdf", data: "ZG9jdW1lbnQ=" } },
};
const MARKS: Readonly<Record<BlockType, string>> = {
  text: "marked-text",
  image_url: "aW1hZ2U=",
  input_audio: "YXVkaW8=",
  video_url: "dmlkZW8=",
  file: "ZmlsZQ==",
  document: "ZG9jdW1lbnQ=",
};

/** Beside a text in one message: on the wire where the model takes it, refused with the path where not; `atLeast` providers take it. */
function carried(type: BlockType, atLeast: number): void {
  let taken = 0;
  for (const provider of all)
    for (const model of modelNames(provider)) {
      const messages = [{ role: "user", content: [{ type: "text", text: "Look:" }, BLOCKS[type]] }];
      const run = (): string => onTheWire(encoded(provider, { messages }, { model }));
      if (capabilityOf(provider.capabilities, type, model).support === "unsupported") {
        const refusal = refusalOf(run);
        expect([provider.id, model, refusal?.code, refusal?.param]).toEqual([
          provider.id,
          model,
          "unsupported_content_block",
          "messages[0].content[1]",
        ]);
        continue;
      }
      const refusal = refusalOf(run);
      // a provider may accept the type and not this form of it, which is reported with the path
      if (refusal !== null)
        expect([
          provider.id,
          model,
          /^unsupported_(value|content_block)$/.test(refusal.code),
          refusal.param?.startsWith("messages[0].content[1]"),
        ]).toEqual([provider.id, model, true, true]);
      else {
        taken++;
        expect([provider.id, model, run().includes(MARKS[type])]).toEqual([provider.id, model, true]);
      }
    }
  expect(taken).toBeGreaterThanOrEqual(atLeast);
}

describe("content blocks", () => {
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
    const content = [{ type: "text", text: "first-text" }, BLOCKS.image_url, { type: "text", text: "last-text" }];
    for (const provider of all.filter(({ capabilities }) => capabilities.cells.image_url.support !== "unsupported")) {
      const refusal = refusalOf(() => encoded(provider, { messages: [{ role: "user", content }] }));
      if (refusal !== null) continue;
      const wire = onTheWire(encoded(provider, { messages: [{ role: "user", content }] }));
      const places = ["first-text", MARKS.image_url, "last-text"].map((mark) => wire.indexOf(mark));
      // some forms keep pictures beside the text of a message
      expect([provider.id, places.every((place) => place >= 0)]).toEqual([provider.id, true]);
      if (provider.sameShape) expect([provider.id, places]).toEqual([provider.id, places.toSorted((a, b) => a - b)]);
    }
  });
});
