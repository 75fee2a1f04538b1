// What every provider has to do, whatever its wire form: a table that is honest, requests that stay on their address, answers that never surprise.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseCallerHeaders } from "../../src/chat/caller-headers.ts";
import { capabilityOf } from "../../src/core/capability.ts";
import { BLOCK_TYPES, type BlockType } from "../../src/core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../src/core/json.ts";
import { COMMON_PARAMETERS, type CommonParameter, NEVER_UNSUPPORTED } from "../../src/core/params.ts";
import { MalformedAnswer, type Provider, StreamError } from "../../src/providers/provider.ts";
import { cellOf, foreignSampleFor, modelNames, sampleFor, SAMPLES } from "../spec/parameter-samples.ts";
import { bodies, SLOW_BODIES, streams } from "./provider-bytes.ts";
import { examplesOf } from "./provider-examples.ts";
import { choicesOfStream, choicesOfWhole, encoded, fitted, HELLO, onTheWire, refusalOf, targetOf, wireBody } from "./provider-requests.ts";

const RUNS = 400;
const SLOWEST_MS = 1_000;

export function providerSuite(provider: Provider): void {
  describe(`provider ${provider.id}`, () => {
    dataSuite(provider);
    capabilitySuite(provider);
    blockSuite(provider);
    encodeSuite(provider);
    reservedSuite(provider);
    signSuite(provider);
    answerSuite(provider);
    strangeBytesSuite(provider);
    errorSuite(provider);
  });
}

function dataSuite({ id, label, docs, baseUrl, keyVariables, capabilities, dialect }: Provider): void {
  test("its id can stand in an address, its page is https, its keys are names of variables", () => {
    expect(id).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/);
    expect(label.trim()).toBe(label);
    expect(label).not.toBe("");
    expect(docs).toMatch(/^https:\/\/\S+$/);
    expect(URL.canParse(docs)).toBe(true);
    for (const name of keyVariables) expect(name).toMatch(/^[A-Z][A-Z0-9_]*$/);
    expect(new Set(keyVariables).size).toBe(keyVariables.length);
  });
  test("its address is absolute and has no slash at the end", () => {
    if (baseUrl === null) return;
    expect(URL.canParse(baseUrl)).toBe(true);
    expect(baseUrl).not.toMatch(/[/?#]$/);
    const { protocol, hostname, username, search, hash } = new URL(baseUrl);
    expect([username, search, hash]).toEqual(["", "", ""]);
    // a key goes over an open wire to nobody but this machine
    if (protocol === "http:") expect(hostname).toBe("localhost");
  });
  test("its table names where and when it was checked, or says that it was not", () => {
    const { verified } = capabilities;
    if (verified === "unverified") return;
    expect(verified.source).toMatch(/^https:\/\/\S+$/);
    expect(verified.date).toMatch(/^20\d\d-(0\d|1[0-2])-([0-2]\d|3[01])$/);
  });
  test("its dialect repeats nothing that everybody has", () => {
    expect(dialect.blocks.filter((type) => (BLOCK_TYPES as readonly string[]).includes(type))).toEqual([]);
    expect(dialect.tools.filter((type) => type === "function" || type === "mcp")).toEqual([]);
    expect(dialect.toolChoices.filter((word) => ["none", "auto", "required", "function"].includes(word))).toEqual([]);
  });
}

/** What has to stand beside a parameter, as far as the model takes it. */
function besideOf(provider: Provider, name: CommonParameter, model: string): JsonObject {
  return Object.fromEntries(Object.entries(SAMPLES[name].beside ?? {}).filter(([other]) => other !== "tools" || cellOf(provider, "tools", model).support !== "unsupported")) as JsonObject;
}

/** Each cell of each model that the table tells apart. `judge` gives what is wrong; one run tells all of it. */
function judgeCells(provider: Provider, judge: (name: CommonParameter, model: string, beside: JsonObject) => string | null): void {
  const faults: string[] = [];
  for (const model of modelNames(provider))
    for (const name of COMMON_PARAMETERS) {
      const fault = judge(name, model, besideOf(provider, name, model));
      if (fault !== null) faults.push(`${model} ${name}: ${fault}`);
    }
  expect(faults).toEqual([]);
}

function capabilitySuite(provider: Provider): void {
  const { capabilities } = provider;
  test("[d6.2] its table has a cell for every parameter and block type, and nothing else", () => {
    expect(Object.keys(capabilities.cells).toSorted()).toEqual([...COMMON_PARAMETERS, ...BLOCK_TYPES].toSorted());
    const all = [capabilities.cells, ...capabilities.exceptions.map(({ cells }) => cells)].flatMap((cells) => Object.entries(cells));
    for (const [name, cell] of all) {
      expect(["native", "mapped", "emulated", "unsupported"]).toContain(cell.support);
      // where it is not passed as it is, the note says what becomes of it
      if (cell.support === "mapped" || cell.support === "emulated") expect([name, cell.note?.trim() ?? ""]).not.toEqual([name, ""]);
      if (cell.range !== undefined) expect(cell.range[0]).toBeLessThanOrEqual(cell.range[1]);
      if (cell.values !== undefined) expect(cell.values.length).toBeGreaterThan(0);
    }
    for (const { models } of capabilities.exceptions) expect([String(models), models.global || models.sticky]).toEqual([String(models), false]);
  });
  test("[d6.2] each parameter that it takes changes what is sent, for every model that the table tells apart", () => {
    judgeCells(provider, (name, model, beside) => {
      const cell = cellOf(provider, name, model);
      const value = sampleFor(name, cell);
      if (cell.support === "unsupported" || value === undefined) return null;
      // the usage is asked for on every stream, because the gateway meters: the parameter then changes only what the client sees
      if (name === "stream_options" && cell.support !== "native") return null;
      const without = onTheWire(encoded(provider, beside, { model }));
      return onTheWire(encoded(provider, { ...beside, [name]: value as Json }, { model })) === without ? `${JSON.stringify(value)} changes nothing` : null;
    });
  });
  test("[d6.2] each parameter that it does not take never reaches the wire", () => {
    judgeCells(provider, (name, model, beside) => {
      if (cellOf(provider, name, model).support !== "unsupported") return null;
      for (const value of [...SAMPLES[name].values, ...(SAMPLES[name].neutral ?? [])] as Json[]) {
        const without = onTheWire(encoded(provider, beside, { model, dropParams: true }));
        if (onTheWire(encoded(provider, { ...beside, [name]: value }, { model, dropParams: true })) !== without) return `${JSON.stringify(value)} is sent`;
        if (!NEVER_UNSUPPORTED.has(name) && !(SAMPLES[name].neutral ?? []).includes(value) && SAMPLES[name].values.includes(value)) {
          const refusal = refusalOf(() => fitted(provider, { ...beside, [name]: value }, { model }));
          if (refusal?.code !== "unsupported_parameter") return `${JSON.stringify(value)} is not refused`;
        }
      }
      return null;
    });
  });
  test("[d6.2] a value that a cell leaves out is refused before it is encoded", () => {
    judgeCells(provider, (name, model, beside) => {
      const cell = cellOf(provider, name, model);
      const value = cell.support === "unsupported" ? undefined : foreignSampleFor(name, cell);
      if (value === undefined) return null;
      const refusal = refusalOf(() => fitted(provider, { ...beside, [name]: value as Json }, { model, dropParams: true }));
      return refusal?.code === "unsupported_value" ? null : `${JSON.stringify(value)}: ${refusal?.code ?? "taken"}`;
    });
  });
}

/** Marks that have to be found on the wire: what was written, or its form in base64. */
const MARK = "c29tZSBieXRlcw==";
const ADDRESS = "https://files.example/some-file";
const BLOCKS: Readonly<Record<BlockType, readonly JsonObject[]>> = {
  text: [{ type: "text", text: MARK }],
  image_url: [{ type: "image_url", image_url: { url: `data:image/png;base64,${MARK}` } }, { type: "image_url", image_url: { url: `${ADDRESS}.png` } }],
  input_audio: [{ type: "input_audio", input_audio: { data: MARK, format: "wav" } }],
  video_url: [{ type: "video_url", video_url: { url: `${ADDRESS}.mp4` } }, { type: "video_url", video_url: { url: `data:video/mp4;base64,${MARK}` } }],
  file: [{ type: "file", file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${MARK}` } }, { type: "file", file: { file_id: `${ADDRESS}.pdf` } }],
  document: [{ type: "document", source: { type: "base64", media_type: "application/pdf", data: MARK } }, { type: "document", source: { type: "text", media_type: "text/plain", data: MARK } }],
};

function blockSuite(provider: Provider): void {
  const conversation = (block: JsonObject): JsonObject => ({ messages: [{ role: "user", content: [{ type: "text", text: "Look:" }, block] }] });
  test("[d6.2] the content of each block type that it takes reaches the wire, and one that it does not take is refused with its path", () => {
    const faults: string[] = [];
    for (const model of modelNames(provider))
      for (const type of BLOCK_TYPES) {
        const { support } = capabilityOf(provider.capabilities, type, model);
        const outcomes = BLOCKS[type].map((block) => {
          const refusal = refusalOf(() => encoded(provider, conversation(block), { model, dropParams: true }));
          if (refusal !== null) return `${refusal.code} ${refusal.param}`;
          const { body } = encoded(provider, conversation(block), { model }).request;
          return body.includes(MARK) || body.includes(ADDRESS) ? "sent" : "lost";
        });
        const wanted = support === "unsupported" ? outcomes.every((outcome) => outcome === "unsupported_content_block messages[0].content[1]") : outcomes.includes("sent") && !outcomes.includes("lost");
        if (!wanted) faults.push(`${model} ${type} (${support}): ${outcomes.join(", ")}`);
      }
    expect(faults).toEqual([]);
  });
}

/** A request with everything that the model takes at once. */
function fullRequest(provider: Provider, model: string): JsonObject {
  const request: Record<string, Json> = {};
  for (const name of COMMON_PARAMETERS) {
    const cell = cellOf(provider, name, model);
    const value = cell.support === "unsupported" ? undefined : sampleFor(name, cell);
    if (value !== undefined) Object.assign(request, besideOf(provider, name, model), { [name]: value as Json });
  }
  // reasoning beside a forced tool, and both samplings at once, are refused by some
  for (const name of ["response_format", "reasoning_effort", "tool_choice", "top_p"]) delete request[name];
  return { ...request, messages: [{ role: "system", content: "Be brief." }, ...HELLO], top_k: 7 };
}

function encodeSuite(provider: Provider): void {
  test("changes nothing of the request, and says the same each time", () => {
    for (const model of modelNames(provider)) {
      const request = fitted(provider, fullRequest(provider, model), { model });
      const before = structuredClone({ ...request, options: { ...request.options, needs: [...request.options.needs] } });
      deepFreeze(request);
      const target = deepFreeze(targetOf(provider, model));
      const first = provider.encodeRequest(request, target);
      expect(provider.encodeRequest(request, target)).toEqual(first);
      expect(structuredClone({ ...request, options: { ...request.options, needs: [...request.options.needs] } })).toEqual(before);
      expect(provider.encodeRequest(fitted(provider, fullRequest(provider, model), { model }), target)).toEqual(first);
    }
  });
  test("the body is a JSON object that names the model, and the head says that it is JSON and keeps the caller's headers", () => {
    for (const model of modelNames(provider)) {
      const { request } = encoded(provider, fullRequest(provider, model), { model });
      expect(isObject(JSON.parse(request.body))).toBe(true);
      expect(`${decodeURIComponent(request.url)} ${request.body}`).toContain(model);
      expect(request.headers["content-type"]).toBe("application/json");
      expect(request.headers["x-of-caller"]).toBe("kept");
      expect(Object.keys(request.headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
    }
  });
  test("stays on the target's address, whatever the model is called", () => {
    const rules = (model: string): boolean => model !== "" && !model.includes("..") && !/[?#]/.test(model);
    const printable = fc.string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)), minLength: 1, maxLength: 60 });
    const spiteful = fc.array(fc.constantFrom("/", "//", ".", "./", "%2e%2e", "%2F", "\\", "@", "@evil.example", ":", ":80", "models/", "tunedModels/", ";", "&", "=", "a", "{model}", "$&", "\""), { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(printable, spiteful).filter(rules), fc.constantFrom("", "/deep/path", ":8443/v1"), (model, tail) => {
        const baseUrl = tail === "" ? targetOf(provider).baseUrl : `https://host.example${tail}`;
        const request = parseAndEncode(provider, model, baseUrl);
        const [base, url] = [new URL(baseUrl), new URL(request.url)];
        expect([url.protocol, url.host, url.username, url.password, url.hash]).toEqual([base.protocol, base.host, "", "", ""]);
        expect(url.pathname.startsWith(base.pathname.replace(/\/$/, ""))).toBe(true);
        // nothing but what the address ends in for every model
        expect(url.search).toBe(new URL(parseAndEncode(provider, "plain", baseUrl).url).search);
        JSON.parse(request.body);
      }),
      { numRuns: RUNS },
    );
  });
}

function parseAndEncode(provider: Provider, model: string, baseUrl: string) {
  return provider.encodeRequest(fitted(provider, {}, { model }), { ...targetOf(provider, model), baseUrl }).request;
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
  return value;
}

/** Conversation, system, output bound, number of answers, tools and streaming, each as what a request says of it. */
const GUARDED: readonly (readonly [what: string, given: JsonObject])[] = [
  ["the conversation", { messages: [{ role: "user", content: "Something else" }] }],
  ["the system's words", { messages: [{ role: "system", content: "Be brief." }, ...HELLO] }],
  ["the output bound", { max_completion_tokens: 77 }],
  ["the number of answers", { n: 2 }],
  ["the tools", { tools: SAMPLES.tools.values[0] as Json }],
  ["streaming", { stream: true }],
];

function reservedSuite(provider: Provider): void {
  const model = modelNames(provider)[0]!;
  test("[d6.5] what it writes for model, conversation, system, output bound, number of answers, tools and streaming cannot be passed through", () => {
    const faults: string[] = [];
    const bare = wireBody(encoded(provider, {}, { model }));
    const guarded: (readonly [string, readonly Path[]])[] = GUARDED.flatMap(([what, given]) => {
      const isTaken = refusalOf(() => fitted(provider, given, { model })) === null;
      return isTaken ? [[what, changedPaths(bare, wireBody(encoded(provider, given, { model })))]] : [];
    });
    if ("model" in bare) guarded.push(["the model", [["model"]]]);
    for (const [what, paths] of guarded)
      for (const path of paths) {
        const passed = passThrough(path, "another-value");
        const refusal = refusalOf(() => encoded(provider, { extra_body: passed }, { model }));
        if (refusal?.code !== "reserved_parameter") faults.push(`${what} at ${path.join(".")}: ${refusal?.code ?? "taken"}`);
      }
    expect(guarded.flatMap(([, paths]) => paths).length).toBeGreaterThan(2);
    expect(faults).toEqual([]);
  });
  test("[d6.5] a pass-through never takes the place of what the gateway encoded", () => {
    for (const each of modelNames(provider)) {
      const request = fullRequest(provider, each);
      const before = wireBody(encoded(provider, request, { model: each }));
      const faults: string[] = [];
      for (const path of leafPaths(before).filter(([name]) => name !== "top_k" && !Object.hasOwn(request, name!))) {
        // through the list of a conversation or of tools there is no path
        if (path.some((step) => typeof step === "number")) continue;
        const passed = passThrough(path, "another-value");
        if (refusalOf(() => encoded(provider, { ...request, ...passed }, { model: each })) !== null) continue;
        const after = wireBody(encoded(provider, { ...request, ...passed }, { model: each }));
        if (JSON.stringify(valueAt(after, path)) !== JSON.stringify(valueAt(before, path)) && !GIVES_WAY.has(path.join("."))) faults.push(`${each}: ${path.join(".")}`);
      }
      expect(faults).toEqual([]);
    }
  });
  test("[d6.5] what is no name of the gateway's or of its own reaches the body untouched", () => {
    const value = { deep: [1, "a", null, { b: true }], digits: 12345678901234567890n.toString() };
    const body = wireBody(encoded(provider, { some_vendor_field: value }, { model }));
    expect(body["some_vendor_field"]).toEqual(value);
    expect(wireBody(encoded(provider, { extra_body: { some_vendor_field: value } }, { model }))["some_vendor_field"]).toEqual(value);
  });
  test("[d6.5] metadata of the caller is never sent", () => {
    expect(onTheWire(encoded(provider, { metadata: { who: "somebody-in-particular" } }, { model }))).not.toContain("somebody-in-particular");
  });
}

/** What a provider adds unasked and documents as giving way to the caller's own word. */
const GIVES_WAY: ReadonlySet<string> = new Set(["generationConfig.thinkingConfig.includeThoughts", "user_id"]);

type Path = readonly (string | number)[];

/** Paths of members that are new or different in `after`, down to the outermost that is new. */
function changedPaths(before: Json | undefined, after: Json | undefined, path: Path = []): readonly Path[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(after) || (path.length > 0 && !isObject(before) && before !== undefined)) return [path];
  return Object.keys(after).flatMap((name) => changedPaths(isObject(before) ? before[name] : undefined, after[name], [...path, name]));
}

function leafPaths(value: Json | undefined, path: Path = []): readonly Path[] {
  return isObject(value) ? Object.entries(value).flatMap(([name, member]) => leafPaths(member, [...path, name])) : [path];
}

function valueAt(value: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>((at, step) => (isObject(at) ? at[step] : undefined), value);
}

function passThrough(path: Path, value: Json): JsonObject {
  return path.reduceRight<Json>((inner, step) => ({ [step]: inner }), value) as JsonObject;
}

function signSuite(provider: Provider): void {
  const apiKey = "key-0123456789abcdef";
  const unsigned = encoded(provider, {}).request;
  test("adds the credential to one header, and changes nothing else", () => {
    const before = structuredClone(unsigned);
    const signed = provider.sign(deepFreeze(unsigned), { apiKey, fromCaller: false }, 1_767_225_600_000);
    expect([signed.url, signed.body]).toEqual([before.url, before.body]);
    const added = Object.keys(signed.headers).filter((name) => signed.headers[name] !== before.headers[name]);
    expect(added).toHaveLength(1);
    expect(signed.headers[added[0]!]).toContain(apiKey);
    for (const [name, value] of Object.entries(before.headers)) expect([name, signed.headers[name]]).toEqual([name, value]);
    // a caller who could set that header could say who the gateway is
    expect(refusalOf(() => parseCallerHeaders({ [added[0]!]: "x" }, undefined))?.code).toBe("header_not_allowed");
  });
  test("without a credential changes nothing, and says the same each time", () => {
    expect(provider.sign(unsigned, null, 1_767_225_600_000)).toEqual(unsigned);
    const once = provider.sign(unsigned, { apiKey, fromCaller: true }, 1_767_225_600_000);
    expect(provider.sign(unsigned, { apiKey, fromCaller: true }, 1_767_225_600_000)).toEqual(once);
  });
}

function answerSuite(provider: Provider): void {
  const { answers, errors } = examplesOf(provider);
  const model = modelNames(provider)[0]!;
  test.each(answers.map((example) => [example.name, example] as const))("whole and streamed say the same: %s", (_, { asked = {}, whole, events, choices }) => {
    const { memo } = encoded(provider, asked, { model, dropParams: true });
    expect(choicesOfWhole(provider, whole, memo, model)).toEqual([...choices]);
    expect(choicesOfStream(provider, events, memo, model, choices.length)).toEqual([...choices]);
  });
  test("two streams at once do not mix", () => {
    const [one, other] = [answers[0]!, answers[1]!];
    const decoders = [one, other].map(() => provider.openStream({ model, memo: null }));
    const alone = [one, other].map(({ events }) => said(provider, events, model));
    const mixed = [[], []] as unknown[][];
    for (let at = 0; at < Math.max(one.events.length, other.events.length); at++)
      [one, other].forEach(({ events }, index) => {
        const event = events[at];
        if (event !== undefined && event.data !== "[DONE]") mixed[index]!.push(...decoders[index]!.push(event));
      });
    decoders.forEach((decoder, index) => mixed[index]!.push(...decoder.end()));
    expect(mixed).toEqual(alone.map((chunks) => [...chunks]));
  });
  test.each(errors.map((error) => [error.message, error] as const))("an error inside a 200 is the provider's failure: %s", (_, { event, body, message }) => {
    const decoder = provider.openStream({ model, memo: null });
    const streamed = thrownBy(() => decoder.push({ event, data: JSON.stringify(body) }));
    expect(streamed).toBeInstanceOf(StreamError);
    expect((streamed as StreamError).failure.message).toContain(message);
    const whole = thrownBy(() => provider.decodeResponse(JSON.stringify(body), { model, memo: null }));
    expect(whole).toBeInstanceOf(StreamError);
    expect((whole as StreamError).failure.message).toContain(message);
  });
  test("what is no answer is a malformed one, and no text of it is repeated", () => {
    for (const body of ["", "<html><title>It works: secret-word</title></html>", "secret-word", '"secret-word"', "7", "null", "[]", "{}", '{"secret-word": 1}', '{"choices"', "data: {}\n\n"]) {
      const thrown = thrownBy(() => provider.decodeResponse(body, { model, memo: null }));
      if (thrown instanceof StreamError) continue;
      expect([body, thrown instanceof MalformedAnswer]).toEqual([body, true]);
      expect((thrown as Error).message).not.toContain("It works");
    }
  });
}

function said(provider: Provider, events: readonly { readonly event: string; readonly data: string }[], model: string): readonly unknown[] {
  const decoder = provider.openStream({ model, memo: null });
  return [...events.filter(({ data }) => data !== "[DONE]").flatMap((event) => decoder.push(event)), ...decoder.end()];
}

/** Undefined when nothing is thrown. */
function thrownBy(run: () => unknown): unknown {
  try {
    run();
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

const isOwnFault = (thrown: unknown): boolean => thrown === undefined || thrown instanceof StreamError || thrown instanceof MalformedAnswer;

function strangeBytesSuite(provider: Provider): void {
  const examples = examplesOf(provider);
  const model = modelNames(provider)[0]!;
  test("whole answers of any bytes give an answer, a failure of the provider or a malformed answer, and nothing else", () => {
    fc.assert(
      fc.property(bodies(examples), (body) => {
        const thrown = thrownBy(() => {
          const answer = provider.decodeResponse(body, { model, memo: null });
          expect(Array.isArray(answer.choices)).toBe(true);
          for (const choice of answer.choices) expect([isObject(choice), isObject(choice) && isObject(choice.message)]).toEqual([true, true]);
        });
        if (!isOwnFault(thrown)) throw thrown;
        if (thrown instanceof StreamError) expect(thrown.failure.message.trim()).not.toBe("");
      }),
      { numRuns: RUNS },
    );
  });
  test("streams of any events give chunks, a failure of the provider or a malformed answer, and nothing else", () => {
    fc.assert(
      fc.property(streams(examples), (events) => {
        const thrown = thrownBy(() => {
          const decoder = provider.openStream({ model, memo: null });
          const chunks = events.flatMap((event) => decoder.push(event));
          for (const chunk of [...chunks, ...decoder.end()]) expect([isObject(chunk), Array.isArray(chunk.choices)]).toEqual([true, true]);
        });
        if (!isOwnFault(thrown)) throw thrown;
        if (thrown instanceof StreamError) expect(thrown.failure.message.trim()).not.toBe("");
      }),
      { numRuns: RUNS },
    );
  });
  test("takes no longer than its size deserves, whatever the body is made of", () => {
    const slow: string[] = [];
    const ways: readonly (readonly [string, (body: string) => unknown])[] = [
      ["classifyError", (body) => provider.classifyError({ status: 400, body })],
      ["decodeResponse", (body) => provider.decodeResponse(body, { model, memo: null })],
      ["openStream", (body) => provider.openStream({ model, memo: null }).push({ event: "", data: body })],
      ["openStream, event error", (body) => provider.openStream({ model, memo: null }).push({ event: "error", data: body })],
    ];
    for (const [name, body] of SLOW_BODIES)
      for (const [way, run] of ways) {
        const startedMs = performance.now();
        const thrown = thrownBy(() => run(body));
        if (!isOwnFault(thrown)) throw thrown;
        const tookMs = performance.now() - startedMs;
        if (tookMs > SLOWEST_MS) slow.push(`${way}: ${name}, ${body.length} characters: ${Math.round(tookMs)} ms`);
      }
    expect(slow).toEqual([]);
  }, 120_000);
}

const FAILURE_CLASSES: readonly string[] = ["authentication", "permission", "not_found", "rate_limit", "quota", "context_length", "content_policy", "invalid_request", "overloaded", "server", "timeout"];
const WORDS = "The sum of the parts is odd.";
/** Bodies that say something, in all the forms that vendors and the proxies before them have. */
const TELLING: readonly (readonly [form: string, body: string])[] = [
  ["a text", WORDS],
  ["a JSON string", JSON.stringify(WORDS)],
  ["{error: {message}}", JSON.stringify({ error: { message: WORDS, type: "some_error", code: "some_code", param: null } })],
  ["{error: text}", JSON.stringify({ error: WORDS })],
  ["{message}", JSON.stringify({ message: WORDS })],
  ["{detail: text}", JSON.stringify({ detail: WORDS })],
  ["{detail: [...]}", JSON.stringify({ detail: [{ loc: ["body", "n"], msg: WORDS, type: "value_error" }] })],
  ["a list with one error", JSON.stringify([{ error: { message: WORDS } }])],
  ["a list of texts", JSON.stringify([WORDS])],
  ["a page with a title", `<!DOCTYPE html><html><head><title>${WORDS}</title></head><body>secret-body</body></html>`],
];
/** Bodies that say nothing: then the status has to. */
const SILENT: readonly (readonly [form: string, body: string])[] = [
  ["nothing", ""],
  ["white space", " \n "],
  ["an empty object", "{}"],
  ["an empty list", "[]"],
  ["null", "null"],
  ["an empty error", '{"error":{}}'],
  ["an empty message", '{"error":{"message":""}}'],
  ["a page without a title", "<html><body></body></html>"],
];
const STATUSES = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529];

function errorSuite(provider: Provider): void {
  test("tells the words of an error, in whatever form they come", () => {
    const faults: string[] = [];
    for (const [form, body] of TELLING)
      for (const status of STATUSES) {
        const { class: failureClass, message, param } = provider.classifyError({ status, body });
        if (!FAILURE_CLASSES.includes(failureClass)) faults.push(`${form}: the class is ${failureClass}`);
        if (!message.includes(WORDS) || /<html|secret-body/i.test(message)) faults.push(`${form} with ${status}: ${message}`);
        if (param === "") faults.push(`${form}: param is empty`);
      }
    expect(faults).toEqual([]);
  });
  test("tells the status of an error that has no words", () => {
    const faults = SILENT.flatMap(([form, body]) => STATUSES.map((status) => [form, status, provider.classifyError({ status, body }).message] as const).filter(([, status, message]) => !message.includes(String(status)))).map(([form, status, message]) => `${form} with ${status}: ${JSON.stringify(message)}`);
    expect(faults).toEqual([]);
  });
  test("the status decides where nothing else does", () => {
    const classes = Object.fromEntries([400, 401, 403, 404, 429, 500, 502, 503, 504].map((status) => [status, provider.classifyError({ status, body: "" }).class]));
    expect(classes).toEqual({ 400: "invalid_request", 401: "authentication", 403: "permission", 404: "not_found", 429: "rate_limit", 500: "server", 502: "server", 503: "overloaded", 504: "timeout" });
  });
  test("any bytes get a class and words", () => {
    fc.assert(
      fc.property(bodies(examplesOf(provider)), fc.constantFrom(...STATUSES, 200), (body, status) => {
        const { class: failureClass, message, param, nativeCode } = provider.classifyError({ status, body });
        expect(FAILURE_CLASSES).toContain(failureClass);
        expect(typeof message).toBe("string");
        expect(message.trim()).not.toBe("");
        for (const word of [param, nativeCode]) expect(word === null || typeof word === "string").toBe(true);
      }),
      { numRuns: RUNS },
    );
  });
}
