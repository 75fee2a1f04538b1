// The values of a call that a rule can read, in the form of CEL (whole numbers are bigint, others double). They are
// made when a rule first reads them, once for each call: a macro may read one a thousand times. Long texts and lists are
// not available to rules: a rule that reads one fails, and therefore denies (promise 3.1).
import { estimateConversation } from "../accounting/estimate.ts";
import {
  type ChatParams,
  BLOCK_TYPES,
  type ChatRequest,
  type HeldConversation,
  MESSAGE_ROLES,
  type Untranslated,
} from "../core/chat.ts";
import { messageCount, partCounts, roleCounts, textCharacters } from "../core/request/conversation-figures.ts";
import { setMembers, shortMember } from "../core/request/held-body.ts";
import { heldPlace } from "../core/request/held-member.ts";
import type { Principal } from "../core/identity.ts";
import { isObject, isRawNumber, type Json, type JsonObject } from "../core/json.ts";
import type { RecordedOperation } from "../core/operation.ts";
import type { CommonParameter } from "../core/params.ts";
import type { PolicyTarget } from "../core/configured/policy.ts";
import { parseBoundedJson } from "../wire/json/json.ts";

/** The most characters of a text, and items of a list or a mapping, that a rule can read. */
export const MAX_TEXT = 16_384;
export const MAX_ITEMS = 1000;

export class FactError extends Error {}

export function boundedText(text: string): string {
  if (text.length > MAX_TEXT) throw new FactError(`a text is longer than ${MAX_TEXT} characters`);
  return text;
}

function boundedList<T>(items: readonly T[]): readonly T[] {
  if (items.length > MAX_ITEMS) throw new FactError(`a list has more than ${MAX_ITEMS} items`);
  return items;
}

/** Makes a value when it is first read. A value that cannot be made fails at each reading for the same reason. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | { readonly fault: unknown } | null = null;
  return () => {
    made ??= attempt(make);
    if ("fault" in made) throw made.fault;
    return made.value;
  };
}

function attempt<T>(make: () => T): { readonly value: T } | { readonly fault: unknown } {
  try {
    return { value: make() };
  } catch (fault) {
    return { fault };
  }
}

type Value = null | boolean | bigint | number | string | readonly Value[] | ReadonlyMap<string, Value>;

/** Converts a JSON value to the form of CEL. Throws FactError when it holds more than `MAX_ITEMS` values. */
function valueOf(json: Json): Value {
  let left = MAX_ITEMS;
  const convert = (value: Json): Value => {
    if (--left < 0) throw new FactError(`a value has more than ${MAX_ITEMS} members`);
    if (typeof value === "number") return numberOf(value);
    if (typeof value === "string") return boundedText(value);
    if (isRawNumber(value)) return Number(value.rawJSON);
    if (Array.isArray(value)) return (value as readonly Json[]).map(convert);
    return isObject(value) ? mapOf(value, convert) : (value as null | boolean);
  };
  return convert(json);
}

function mapOf(object: JsonObject, convert: (value: Json) => Value): ReadonlyMap<string, Value> {
  const map = new Map<string, Value>();
  for (const [name, value] of Object.entries(object)) if (value !== undefined) map.set(name, convert(value));
  return map;
}

function numberOf(value: number): bigint | number {
  return Number.isSafeInteger(value) ? BigInt(value) : value;
}

const EMPTY: ReadonlyMap<string, Value> = new Map();

/** What rules may read of members that another thread holds: their JSON, or why they cannot be read. */
export function memberFacts(members: readonly Json[]): HeldConversation["memberFacts"] {
  try {
    valueOf(members);
    return { json: JSON.stringify(members) };
  } catch (thrown) {
    if (thrown instanceof FactError) return { fault: thrown.message };
    throw thrown;
  }
}

function extraOf(request: ChatRequest): JsonObject {
  const untranslated = untranslatedMembers(request);
  return untranslated.length === 0
    ? passedMembers(request)
    : { ...Object.fromEntries(untranslated), ...passedMembers(request) };
}

/** The longest name of a member with which a refusal names it. */
const MAX_PATH = 64;
const CONTENT: ReadonlySet<string> = new Set(["messages", "input", "system", "instructions", "tools"]);

/**
 * The members of a request in another form that its translation lacks; a provider that speaks the form may be sent them.
 * Throws FactError when another thread holds a long one.
 */
function untranslatedMembers({ written }: ChatRequest): readonly (readonly [name: string, value: Json])[] {
  if (written === undefined || written.untranslated.length === 0) return [];
  const paths = new Set(written.untranslated.map(({ path }) => path));
  return setMembers(written).flatMap((name) => {
    if (CONTENT.has(name) || !paths.has(name.slice(0, MAX_PATH))) return [];
    const value = shortMember(written, name);
    if (value === undefined) throw new FactError("a member is too long");
    return [[name, value] as const];
  });
}

function passedMembers({ extra, held }: ChatRequest): JsonObject {
  const facts = held?.memberFacts ?? null;
  const places = facts === null ? [] : Object.entries(extra).filter(([, value]) => heldPlace(value) !== null);
  if (facts === null || places.length === 0) return extra;
  if ("fault" in facts) throw new FactError(facts.fault);
  const members = parseBoundedJson(facts.json) as readonly Json[];
  return {
    ...extra,
    ...Object.fromEntries(places.map(([name, value]) => [name, members[heldPlace(value)!] ?? null])),
  };
}

/** The type of each common parameter in rules; `dyn` is whatever was sent. */
export const PARAMETER_TYPES: Readonly<
  Record<CommonParameter, "double" | "int" | "bool" | "string" | "list<string>" | "dyn">
> = {
  temperature: "double",
  top_p: "double",
  n: "int",
  stream: "bool",
  stream_options: "dyn",
  stop: "dyn",
  max_tokens: "int",
  max_completion_tokens: "int",
  presence_penalty: "double",
  frequency_penalty: "double",
  logit_bias: "dyn",
  user: "string",
  safety_identifier: "string",
  response_format: "dyn",
  seed: "dyn",
  tools: "dyn",
  tool_choice: "dyn",
  parallel_tool_calls: "bool",
  logprobs: "bool",
  top_logprobs: "int",
  reasoning_effort: "string",
  verbosity: "string",
  modalities: "list<string>",
  audio: "dyn",
  prediction: "dyn",
  service_tier: "string",
  store: "bool",
  prompt_cache_key: "string",
  web_search_options: "dyn",
  deployment_id: "string",
  initial_prompt_value: "string",
  roles: "dyn",
  final_prompt_value: "string",
  bos_token: "string",
  eos_token: "string",
  hf_model_name: "string",
};

/** Has one property for each parameter. A parameter that was not sent is `undefined`, which `has()` reports. */
export class ParameterFacts {
  readonly params: JsonObject;
  /** What `extra_body` has, in which a parameter may stand as well. */
  readonly inExtraBody: JsonObject;
  readonly values = new Map<string, () => Value | undefined>();
  constructor(request: ChatRequest) {
    this.params = request.params as ChatParams as JsonObject;
    this.inExtraBody = request.options.hasExtraBody ? request.extra : {};
  }
}
for (const [name, type] of Object.entries(PARAMETER_TYPES)) {
  Object.defineProperty(ParameterFacts.prototype, name, {
    enumerable: true,
    get(this: ParameterFacts) {
      const { params, inExtraBody, values } = this;
      return values.getOrInsertComputed(name, () => once(() => parameterOf(params[name] ?? inExtraBody[name], type)))();
    },
  });
}

function parameterOf(value: Json | undefined, type: string): Value | undefined {
  if (value === undefined) return undefined;
  return type === "double" && typeof value === "number" ? value : valueOf(value);
}

export class MessageFacts {
  readonly #count: bigint;
  readonly #characters: () => bigint;
  readonly #promptTokens: () => bigint;
  readonly #roles: () => ReadonlyMap<string, bigint>;
  readonly #parts: () => ReadonlyMap<string, bigint>;
  constructor(conversation: Pick<ChatRequest, "messages" | "held">) {
    this.#count = BigInt(messageCount(conversation));
    this.#characters = once(() => BigInt(textCharacters(conversation)));
    this.#promptTokens = once(() => BigInt(estimateConversation(conversation)));
    this.#roles = once(() => countsOf(MESSAGE_ROLES, roleCounts(conversation)));
    this.#parts = once(() => countsOf(BLOCK_TYPES, partCounts(conversation)));
  }
  get count(): bigint {
    return this.#count;
  }
  get characters(): bigint {
    return this.#characters();
  }
  get prompt_tokens(): bigint {
    return this.#promptTokens();
  }
  get roles(): ReadonlyMap<string, bigint> {
    return this.#roles();
  }
  get parts(): ReadonlyMap<string, bigint> {
    return this.#parts();
  }
}

/** Names that do not occur count 0. */
function countsOf(names: readonly string[], found: ReadonlyMap<string, number>): ReadonlyMap<string, bigint> {
  const counts = new Map(names.map((name) => [name, 0n]));
  for (const [name, count] of found) counts.set(name, BigInt(count));
  return counts;
}

export class RequestFacts {
  /** The name of the operation, such as `chat.completions`. */
  readonly operation: string;
  readonly #request: ChatRequest;
  readonly #parameters: () => ParameterFacts;
  readonly #messages: () => MessageFacts;
  readonly #metadata: () => Value;
  readonly #extra: () => Value;
  readonly #tools: () => readonly string[];
  readonly #toolNames: () => readonly string[];
  constructor(request: ChatRequest, operation: RecordedOperation) {
    this.operation = operation;
    this.#request = request;
    const { metadata } = request.options;
    this.#parameters = once(() => new ParameterFacts(request));
    this.#messages = once(() => new MessageFacts(request));
    this.#metadata = once(() => (metadata === null ? EMPTY : valueOf(metadata)));
    this.#extra = once(() => valueOf(extraOf(request)));
    this.#tools = once(() => toolTypes(request));
    this.#toolNames = once(() => toolNames(request));
  }
  /** Empty when not sent. */
  get route(): string {
    return boundedText(this.#request.options.route ?? "");
  }
  get model(): string {
    return boundedText(this.#request.options.model ?? "");
  }
  get stream(): boolean {
    return this.#request.params.stream === true;
  }
  get parameters(): ParameterFacts {
    return this.#parameters();
  }
  get extra(): Value {
    return this.#extra();
  }
  get messages(): MessageFacts {
    return this.#messages();
  }
  get metadata(): Value {
    return this.#metadata();
  }
  get tools(): readonly string[] {
    return this.#tools();
  }
  get tool_names(): readonly string[] {
    return this.#toolNames();
  }
}

type Tools = Pick<ChatRequest, "params" | "options" | "written">;

function toolTypes(request: Tools): readonly string[] {
  const {
    params: { tools = [] },
    options: { toolServers },
  } = request;
  return [
    ...boundedList(tools).map((tool) => boundedText(typeof tool["type"] === "string" ? tool["type"] : "")),
    ...toolServers.map(() => "mcp"),
    ...untranslatedTools(request).map(({ type }) => boundedText(type ?? "")),
  ];
}

/** The tools of a request in another form that its translation lacks; a provider that speaks the form may be sent them. */
function untranslatedTools({ written }: Tools): readonly NonNullable<Untranslated["tool"]>[] {
  return boundedList((written?.untranslated ?? []).flatMap(({ tool }) => tool ?? []));
}

function toolNames(request: Tools): readonly string[] {
  const {
    params: { tools = [] },
    options: { toolServers },
  } = request;
  const own = boundedList(tools).flatMap((tool) => {
    const called = isObject(tool["function"]) ? tool["function"]["name"] : (tool["name"] ?? tool["server_label"]);
    return typeof called === "string" ? [boundedText(called)] : [];
  });
  const untranslated = untranslatedTools(request).flatMap(({ name }) => (name === null ? [] : [boundedText(name)]));
  return [...own, ...toolServers.map(({ label }) => label), ...untranslated];
}

export class TargetFacts {
  readonly provider: string;
  readonly model: string;
  /** `<provider>:<model_name>`. */
  readonly name: string;
  readonly route: string;
  constructor({ provider, model, route }: PolicyTarget) {
    this.provider = provider;
    this.model = boundedText(model);
    this.name = `${provider}:${this.model}`;
    this.route = route;
  }
}

export class TokenFacts {
  readonly id: string;
  readonly kind: string;
  readonly role: string;
  /** Empty for a project token. */
  readonly user: string;
  readonly permissions: readonly string[];
  constructor({ tokenId, tokenKind, role, userId, permissions }: Principal) {
    this.id = tokenId;
    this.kind = tokenKind;
    this.role = role;
    this.user = userId ?? "";
    this.permissions = [...permissions];
  }
}

export class ScopeFacts {
  readonly id: string;
  constructor(id: string) {
    this.id = id;
  }
}

export class ClientFacts {
  /** Empty when unknown. */
  readonly ip: string;
  constructor(ip: string) {
    this.ip = ip;
  }
}
