// What every provider does, whatever its wire form: its row is well-formed, and requests stay on their address. What it
// takes of parameters and content blocks: test/spec/requests/parameters-each.test.ts. Its answers:
// provider-answers.suite.ts. Random tests, which providers of the same code share: provider-fuzz.suite.ts.
import { describe, expect, test } from "bun:test";
import { parseCallerHeaders } from "../../../src/engine/fit/caller-headers.ts";
import { effectiveCapability } from "../../../src/core/capability.ts";
import { BLOCK_TYPES, type ChatRequest } from "../../../src/core/chat.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../src/core/json.ts";
import { COMMON_PARAMETERS } from "../../../src/core/params.ts";
import { ADDRESS_WORD } from "../../../src/core/target.ts";
import type { Provider } from "../../../src/providers/interface/provider.ts";
import {
  besideOf,
  cellOf,
  modelNames,
  PLACE_OF_FOREIGN_FIELDS,
  sampleFor,
  SAMPLES,
} from "../../spec/requests/parameter-samples.ts";
import { MODEL_PATHS, staysOnAddress, TAILS } from "./provider-addresses.ts";
import { providerAnswersSuite } from "./provider-answers.suite.ts";
import { encoded, fitted, HELLO, onTheWire, refusalOf, targetOf, wireBody } from "./provider-requests.ts";
import { keyCredential, SIGN_CONTEXT } from "../../harness/targets.ts";

export function providerSuite(provider: Provider): void {
  describe(`provider ${provider.id}`, () => {
    dataSuite(provider);
    capabilitySuite(provider);
    encodeSuite(provider);
    reservedSuite(provider);
    signSuite(provider);
    providerAnswersSuite(provider);
  });
}

function dataSuite(provider: Provider): void {
  const { id, label, docs, baseUrl, keyVariables, capabilities, dialect, settings } = provider;
  test("its id can stand in an address, its page is https, its keys are names of variables", () => {
    expect(id).toMatch(/^[a-z0-9][a-z0-9_-]{0,63}$/);
    expect(label.trim()).toBe(label);
    expect(label).not.toBe("");
    expect(docs).toMatch(/^https:\/\/\S+$/);
    expect(URL.canParse(docs)).toBe(true);
    for (const name of keyVariables) expect(name).toMatch(/^[A-Z][A-Z0-9_]*$/);
    expect(new Set(keyVariables).size).toBe(keyVariables.length);
  });
  test("its address is absolute and has no trailing slash", () => {
    if (baseUrl === null) return;
    const filled = targetOf(provider).baseUrl;
    expect(URL.canParse(filled)).toBe(true);
    expect(filled).not.toMatch(/[/?#]$/);
    const { protocol, hostname, username, search, hash } = new URL(filled);
    expect([username, search, hash]).toEqual(["", "", ""]);
    // a key is sent without TLS to this machine alone
    if (protocol === "http:") expect(hostname).toBe("localhost");
  });
  test("[d1.8] its address names only settings that it has, and whatever their values the host ends in the vendor's own domain", () => {
    const names = [...(baseUrl ?? "").matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);
    expect(names.filter((name) => !settings.some((setting) => setting.name === name))).toEqual([]);
    const host = baseUrl?.split("/")[2] ?? "";
    if (!host.includes("{")) return;
    const domain = host.slice(host.lastIndexOf("}") + 1);
    expect(domain).toMatch(/^\.[a-z0-9-]+(\.[a-z0-9-]+)+$/);
    for (const value of [
      "a.b-c_d",
      "evil.example",
      "127.0.0.1",
      "0x7f000001",
      "-",
      "_",
      "..a",
      "a..",
      "x".repeat(128),
    ]) {
      expect([value, ADDRESS_WORD.test(value)]).toEqual([value, true]);
      const address = baseUrl!.replaceAll(/\{\w+\}/g, value);
      // an invalid address is never called
      if (URL.canParse(address)) expect(new URL(address).hostname.endsWith(domain)).toBe(true);
    }
  });
  test("its table names where and when it was checked, or says that it was not", () => {
    const { verified } = capabilities;
    if (verified === "unverified") return;
    expect(verified.source).toMatch(/^https:\/\/\S+$/);
    expect(verified.date).toMatch(/^20\d\d-(0\d|1[0-2])-([0-2]\d|3[01])$/);
  });
  test("its dialect repeats nothing that all dialects have", () => {
    expect(dialect.blocks.filter((type) => (BLOCK_TYPES as readonly string[]).includes(type))).toEqual([]);
    expect(dialect.tools.filter((type) => type === "function" || type === "mcp")).toEqual([]);
    expect(dialect.toolChoices.filter((word) => ["none", "auto", "required", "function"].includes(word))).toEqual([]);
  });
}

/** Servers that hand requests on to others, of whose models nothing is known. */
const HANDING_ON = new Set(["custom", "litellm", "sagemaker", "sandbox"]);

/** A value that means the same as not sending the parameter. */
function isDefaultWord(name: string, value: string): boolean {
  return name === "tool_choice" ? value === "auto" : name === "response_format" ? value === "text" : false;
}

function capabilitySuite(provider: Provider): void {
  const { capabilities } = provider;
  test("[d6.2] its table has a cell for every parameter and block type, and nothing else", () => {
    expect(Object.keys(capabilities.cells).toSorted()).toEqual([...COMMON_PARAMETERS, ...BLOCK_TYPES].toSorted());
    const all = [capabilities.cells, ...capabilities.exceptions.map(({ cells }) => cells)].flatMap((cells) =>
      Object.entries(cells),
    );
    for (const [name, cell] of all) {
      expect(["native", "mapped", "emulated", "unsupported"]).toContain(cell.support);
      // where it is not passed as it is, the note says what becomes of it
      if (cell.support === "mapped" || cell.support === "emulated")
        expect([name, cell.note?.trim() ?? ""]).not.toEqual([name, ""]);
      // a parameter of which one value is taken is unsupported, and that value neutral
      if (cell.range !== undefined) expect([name, cell.range[0] < cell.range[1]]).toEqual([name, true]);
      if (cell.values !== undefined)
        expect([name, cell.values.some((value) => !isDefaultWord(name, value))]).toEqual([name, true]);
      if (cell.neutral !== undefined) expect([name, cell.support]).toEqual([name, "unsupported"]);
    }
    for (const { models } of capabilities.exceptions)
      expect([String(models), models.global || models.sticky]).toEqual([String(models), false]);
  });
  test("[d6.9] an address in file_id is never sent as the id of an upload: it is fetched, mapped, or refused", () => {
    const model = modelNames(provider)[0]!;
    if (
      effectiveCapability(capabilities, "file", model).support === "unsupported" ||
      provider.inlines(model).has("file") ||
      HANDING_ON.has(provider.id)
    )
      return;
    const messages = [{ role: "user", content: [{ type: "file", file: { file_id: "https://files.example/a.pdf" } }] }];
    let wire = "";
    const refusal = refusalOf(() => void (wire = onTheWire(encoded(provider, { messages }, { model }))));
    expect([refusal?.param?.startsWith("messages[0].content[0]") ?? true, wire.includes('"file_id":"https:')]).toEqual([
      true,
      false,
    ]);
  });
  test("[d9.4] the places that the encoder reports for explain have one form: a common parameter, an arrow, its place in the upstream request", () => {
    const faults: string[] = [];
    for (const model of modelNames(provider))
      for (const name of COMMON_PARAMETERS) {
        const cell = cellOf(provider, name, model);
        const value = cell.support === "unsupported" ? undefined : sampleFor(name, cell);
        if (value === undefined) continue;
        const asked = { ...besideOf(provider, name, model), [name]: value as Json };
        const wrong = (encoded(provider, asked, { model }).mapped ?? []).filter(
          (words) =>
            !COMMON_PARAMETERS.some(
              (parameter) => words.startsWith(`${parameter} -> `) && words.length > parameter.length + 4,
            ),
        );
        if (wrong.length > 0) faults.push(`${model} ${name}: ${JSON.stringify(wrong)}`);
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
  // reasoning beside a forced tool, and both samplings at once, are refused by some; a deployment stands in place of the model
  for (const name of ["response_format", "reasoning_effort", "tool_choice", "top_p", "deployment_id"])
    delete request[name];
  return { ...request, messages: [{ role: "system", content: "Be brief." }, ...HELLO], top_k: 7 };
}

const WORD = /zq\d+qz/g;
let words = 0;
const word = (): string => `zq${++words}qz`;
const worded = (count: number): readonly JsonObject[] =>
  Array.from({ length: count }, () => ({ type: "text", text: word() }));
const wordedFile = (): JsonObject => ({
  type: "document",
  title: word(),
  source: { type: "text", media_type: "text/plain", data: word() },
});
const said = (role: string, content: Json = word(), more: JsonObject = {}): JsonObject => ({ role, content, ...more });
const answered = (content: Json, more: JsonObject = {}): readonly JsonObject[] => [
  said("user"),
  said("assistant", content, more),
  said("user"),
];
const called = (content: Json): readonly JsonObject[] => [
  said("user"),
  said("assistant", word(), {
    tool_calls: [{ id: "call00001", type: "function", function: { name: "f", arguments: `{"a":"${word()}"}` } }],
  }),
  said("tool", content, { tool_call_id: "call00001" }),
];
const details = (...formats: readonly string[]): JsonObject => ({
  reasoning_details: formats.map((format, index) => ({
    type: "reasoning.text",
    text: word(),
    signature: "s",
    id: "rs_1",
    format,
    index,
  })),
});

/** Conversations of which each text has a word of its own. */
const WORDED: readonly (readonly JsonObject[])[] = [
  [said("system"), said("user")],
  [said("system"), said("developer"), said("user")],
  [said("system", worded(2)), said("system"), said("user", worded(2))],
  [said("user"), said("user"), said("assistant"), said("assistant"), said("user"), said("system"), said("user")],
  [said("user", word(), { name: word() })],
  [said("user", [...worded(1), wordedFile()])],
  [said("user", [wordedFile()])],
  [said("user", [...worded(1), { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } }, ...worded(1)])],
  answered(worded(2)),
  answered([...worded(1), wordedFile()]),
  answered([...worded(1), { type: "refusal", refusal: word() }]),
  answered(word(), { refusal: word() }),
  answered(word(), { reasoning_content: word() }),
  answered(word(), { reasoning: word() }),
  answered(word(), details("anthropic-claude-v1", "anthropic-claude-v1")),
  answered(word(), details("openai-responses-v1", "openai-responses-v1")),
  answered(word(), { ...details("unknown", "unknown"), reasoning_content: word() }),
  called(word()),
  called(worded(2)),
  called([...worded(2), wordedFile()]),
];

function textOfParts({ content }: JsonObject): string {
  return Array.isArray(content)
    ? (content as readonly JsonObject[]).map(({ text }) => (typeof text === "string" ? text : "")).join("")
    : "";
}

function textsIn(value: Json): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value)) return (value as readonly Json[]).flatMap(textsIn);
  return isObject(value) ? Object.values(value).flatMap((member) => textsIn(member!)) : [];
}

function encodeSuite(provider: Provider): void {
  test("changes nothing of the request, and gives the same result each time", () => {
    for (const model of modelNames(provider)) {
      const request = fitted(provider, fullRequest(provider, model), { model });
      const before = structuredClone({
        ...request,
        form: null,
        options: { ...request.options, needs: [...request.options.needs] },
      });
      deepFreeze(request);
      const target = deepFreeze(targetOf(provider, model));
      const first = provider.encodeRequest(request, target);
      expect(provider.encodeRequest(request, target)).toEqual(first);
      expect(
        structuredClone({ ...request, form: null, options: { ...request.options, needs: [...request.options.needs] } }),
      ).toEqual(before);
      expect(provider.encodeRequest(fitted(provider, fullRequest(provider, model), { model }), target)).toEqual(first);
    }
  });
  test("the body is a JSON object that names the model, and the headers say that it is JSON and include the caller's headers", () => {
    for (const model of modelNames(provider)) {
      const { request } = encoded(provider, fullRequest(provider, model), { model });
      expect(isObject(JSON.parse(request.body))).toBe(true);
      expect(`${decodeURIComponent(request.url)} ${request.body}`).toContain(model);
      expect(request.headers["content-type"]).toBe("application/json");
      expect(request.headers["x-of-caller"]).toBe("kept");
      expect(Object.keys(request.headers).filter((name) => name !== name.toLowerCase())).toEqual([]);
    }
  });
  test("[d3.5] a text in the body that is made of several of the conversation is one of those that guards search", () => {
    const faults: string[] = [];
    for (const model of modelNames(provider))
      for (const messages of WORDED) {
        const target = targetOf(provider, model);
        let request: ChatRequest;
        let body: Json;
        try {
          request = fitted(provider, { messages }, { model, dropParams: true });
          body = wireBody(provider.encodeRequest(request, target));
        } catch (thrown) {
          if (!(thrown instanceof GatewayError)) throw thrown;
          continue;
        }
        const sent = textsIn(body);
        const joined = provider.joinedTexts?.(request, target).map(({ text }) => text) ?? [];
        // guards search the texts of one message's parts as one text
        const known = new Set([...joined, ...messages.map(textOfParts)]);
        const unknown = sent.filter((text) => new Set(text.match(WORD)).size > 1 && !known.has(text));
        const unsent = joined.filter((text) => !sent.some((one) => one.includes(text)));
        faults.push(...unknown.map((text) => `${model} joins ${text}`), ...unsent.map((text) => `${model}: ${text}`));
      }
    expect(faults).toEqual([]);
  });
  test("stays on the target's address, also where a model has the name of a path or a host", () => {
    for (const model of MODEL_PATHS) for (const tail of TAILS) staysOnAddress(provider, model, tail);
  });
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
  test("[d6.5] its wire names for model, conversation, system, output bound, number of answers, tools and streaming cannot be passed through", () => {
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
        if (refusal?.code !== "reserved_parameter")
          faults.push(`${what} at ${path.join(".")}: ${refusal?.code ?? "taken"}`);
      }
    expect(guarded.flatMap(([, paths]) => paths).length).toBeGreaterThan(2);
    expect(faults).toEqual([]);
  });
  test("[d6.5] a pass-through never replaces what the gateway encoded", () => {
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
        if (
          JSON.stringify(valueAt(after, path)) !== JSON.stringify(valueAt(before, path)) &&
          !GIVES_WAY.has(path.join("."))
        )
          faults.push(`${each}: ${path.join(".")}`);
      }
      expect(faults).toEqual([]);
    }
  });
  test("[d6.5] a name of neither the gateway nor the provider reaches the body unchanged", () => {
    const value = { deep: [1, "a", null, { b: true }], digits: 12345678901234567890n.toString() };
    const place = PLACE_OF_FOREIGN_FIELDS[provider.id];
    for (const asked of [{ some_vendor_field: value }, { extra_body: { some_vendor_field: value } }]) {
      const body = wireBody(encoded(provider, asked, { model }));
      expect((place === undefined ? body : (body[place] as JsonObject))["some_vendor_field"]).toEqual(value);
    }
  });
  test("[d6.5] metadata of the caller is never sent", () => {
    expect(onTheWire(encoded(provider, { metadata: { who: "somebody-in-particular" } }, { model }))).not.toContain(
      "somebody-in-particular",
    );
  });
}

/** What a provider adds unasked and documents as giving way to the caller's own word. */
const GIVES_WAY: ReadonlySet<string> = new Set([
  "generationConfig.thinkingConfig.includeThoughts",
  "toolConfig.includeServerSideToolInvocations",
  "user_id",
  "random_seed",
  "venice_parameters.enable_web_search",
]);

type Path = readonly (string | number)[];

/** Paths of members that are new or different in `after`, down to the outermost that is new. */
function changedPaths(before: Json | undefined, after: Json | undefined, path: Path = []): readonly Path[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  if (!isObject(after) || (path.length > 0 && !isObject(before) && before !== undefined)) return [path];
  return Object.keys(after).flatMap((name) =>
    changedPaths(isObject(before) ? before[name] : undefined, after[name], [...path, name]),
  );
}

function leafPaths(value: Json | undefined, path: Path = []): readonly Path[] {
  return isObject(value)
    ? Object.entries(value).flatMap(([name, member]) => leafPaths(member, [...path, name]))
    : [path];
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
  test("adds the credential to one header, and changes nothing else", async () => {
    const before = structuredClone(unsigned);
    const signed = await provider.sign(deepFreeze(unsigned), keyCredential(apiKey), SIGN_CONTEXT);
    expect([signed.url, signed.body]).toEqual([before.url, before.body]);
    const added = Object.keys(signed.headers).filter((name) => signed.headers[name] !== before.headers[name]);
    expect(added).toHaveLength(1);
    expect(signed.headers[added[0]!]).toContain(apiKey);
    for (const [name, value] of Object.entries(before.headers))
      expect([name, signed.headers[name]]).toEqual([name, value]);
    // a caller who could set that header could say who the gateway is
    expect(refusalOf(() => parseCallerHeaders({ [added[0]!]: "x" }, undefined))?.code).toBe("header_not_allowed");
  });
  test("without a credential changes nothing, and gives the same result each time", async () => {
    expect(await provider.sign(unsigned, null, SIGN_CONTEXT)).toEqual(unsigned);
    const once = await provider.sign(unsigned, keyCredential(apiKey, true), SIGN_CONTEXT);
    expect(await provider.sign(unsigned, keyCredential(apiKey, true), SIGN_CONTEXT)).toEqual(once);
  });
}
