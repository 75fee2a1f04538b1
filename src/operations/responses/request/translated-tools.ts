// Translates tools to functions of chat completions: custom tools, the tools of namespaces and the client's search for
// tools become functions with names that are valid and unique, and are restored in the answer.
import { isObject, type Json, type JsonObject, isSet } from "../../../core/json.ts";
import { FUNCTION_NAME } from "../../../core/params.ts";
import { invalid } from "../../../core/refusals.ts";
import { shortenedName } from "../../../engine/tools/offered-tools.ts";
import { type ClientTool, FREEFORM_TYPE } from "../request-memo.ts";
import type { UntranslatedParts } from "./untranslated-parts.ts";
import type { ClientDeviationName } from "../../../core/configured/client-deviations.ts";

/** Members that say how the vendor treats a tool, without which the answer means the same. */
const ADVISORY: ReadonlySet<string> = new Set(["defer_loading", "server_description", "output_schema"]);
const FUNCTION_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "description", "parameters", "strict"]);
const CUSTOM_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "description", "format"]);
const SEARCH_MEMBERS: ReadonlySet<string> = new Set(["type", "execution", "description", "parameters"]);
const SEARCH_NAME = "tool_search";

interface Place {
  readonly path: string;
  readonly namespace: { readonly name: string; readonly description: string | null } | null;
}

/**
 * A function as chat completions have it, which some clients send, with its name also beside it:
 * https://github.com/agentjido/req_llm/tree/main/test/support/fixtures/openai
 */
function flatFunction(tool: JsonObject): JsonObject {
  const { function: nested, ...flat } = tool;
  return isObject(nested) ? { ...nested, ...flat } : tool;
}

/** The tools of one request. */
export class TranslatedTools {
  readonly #left: UntranslatedParts;
  readonly #tools = new Map<string, { readonly tool: JsonObject; readonly path: string }>();
  readonly #names = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #clientTools = new Map<string, ClientTool>();
  readonly servers: string[] = [];

  constructor(left: UntranslatedParts) {
    this.#left = left;
  }

  get tools(): readonly JsonObject[] {
    return [...this.#tools.values()].map(({ tool }) => tool);
  }
  get paths(): readonly string[] {
    return [...this.#tools.values()].map(({ path }) => path);
  }
  /** What is not a plain function of the same name, by the name of its function. */
  get clientTools(): ReadonlyMap<string, ClientTool> {
    return this.#clientTools;
  }

  /** Throws `invalid_request` with the path. */
  add(tools: Json | undefined, path: string): void {
    if (tools === undefined || tools === null) return;
    if (!Array.isArray(tools)) throw invalid(path, "an array", tools);
    (tools as readonly Json[]).forEach((tool, index) =>
      this.#addOne(tool, { path: `${path}[${index}]`, namespace: null }),
    );
  }

  /** Keeps the functions that a choice allows, and the tools of servers with these names; `null` stands for all. */
  keepOnly(names: ReadonlySet<string>, servers: ReadonlyMap<string, ReadonlySet<string> | null>): void {
    for (const [key, { tool, path }] of this.#tools) {
      const called = tool["function"] as JsonObject | undefined;
      const only = called === undefined ? servers.get(tool["server_label"] as string) : null;
      if (called === undefined ? only === undefined : !names.has(called["name"] as string)) this.#tools.delete(key);
      else if (only) this.#tools.set(key, { tool: narrowedServer(tool, only), path });
    }
  }

  /** Whether a function with this name stands in no namespace. */
  hasFunction(name: string): boolean {
    return this.#names.has(JSON.stringify([null, name]));
  }

  /** Returns the name of the function that stands for a tool, which need not be one of the request. */
  nameOf({ kind, name, namespace }: ClientTool): string {
    const key = JSON.stringify([namespace, name]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const plain = namespace === null ? name : `${namespace}__${name}`;
    const valid = FUNCTION_NAME.test(plain) && !this.#used.has(plain) ? plain : shortenedName(plain, key, this.#used);
    this.#names.set(key, valid);
    this.#used.add(valid);
    if (kind !== "function" || namespace !== null || valid !== name)
      this.#clientTools.set(valid, { kind, name, namespace });
    return valid;
  }

  #addOne(tool: Json, place: Place): void {
    const { path } = place;
    if (!isObject(tool)) throw invalid(path, "an object with a type", tool);
    switch (tool["type"]) {
      case "function":
        return this.#addFunction(tool, place);
      case FREEFORM_TYPE:
        return this.#addCustom(tool, place);
      case "namespace":
        return this.#addNamespace(tool, path);
      case "mcp":
        return this.#addServer(tool, path);
      case "tool_search":
        return this.#addSearch(tool, place);
      default:
        return this.#leaveHosted(tool, path);
    }
  }

  #addFunction(sent: JsonObject, place: Place): void {
    const tool = flatFunction(sent);
    const { description, parameters, strict } = tool;
    const { path } = place;
    if (isSet(description) && typeof description !== "string")
      throw invalid(`${path}.description`, "a string", description);
    if (isSet(parameters) && !isObject(parameters)) throw invalid(`${path}.parameters`, "an object", parameters);
    if (isSet(strict) && typeof strict !== "boolean") throw invalid(`${path}.strict`, "true or false", strict);
    this.#noteOthers(tool, FUNCTION_MEMBERS, path);
    this.#put({ kind: "function", name: nameIn(tool, path), namespace: place.namespace?.name ?? null }, place, {
      ...describedBy(place, description),
      ...(isObject(parameters) && { parameters }),
      ...(typeof strict === "boolean" && { strict }),
    });
  }

  #addCustom(tool: JsonObject, place: Place): void {
    const { description, format } = tool;
    const { path } = place;
    if (isSet(description) && typeof description !== "string")
      throw invalid(`${path}.description`, "a string", description);
    if (isSet(format) && !isObject(format)) throw invalid(`${path}.format`, "an object", format);
    this.#noteOthers(tool, CUSTOM_MEMBERS, path);
    const grammar = isObject(format) ? grammarText(format) : null;
    const texts = [description, grammar].filter((text) => typeof text === "string" && text !== "");
    this.#put({ kind: "freeform", name: nameIn(tool, path), namespace: place.namespace?.name ?? null }, place, {
      ...describedBy(place, texts.length === 0 ? null : texts.join("\n\n")),
      parameters: {
        type: "object",
        properties: { input: { type: "string", description: "The whole input of the tool, as text." } },
        required: ["input"],
        additionalProperties: false,
      },
    });
  }

  #addNamespace(tool: JsonObject, path: string): void {
    const { description } = tool;
    const name = nameIn(tool, path);
    this.#noteOthers(tool, new Set(["type", "name", "description", "tools"]), path);
    const tools = tool["tools"];
    if (!Array.isArray(tools)) throw invalid(`${path}.tools`, "an array", tools);
    const namespace = { name, description: typeof description === "string" && description !== "" ? description : null };
    (tools as readonly Json[]).forEach((one, index) => {
      const at = `${path}.tools[${index}]`;
      if (!isObject(one)) throw invalid(at, "an object with a type", one);
      if (one["type"] === "function") this.#addFunction(one, { path: at, namespace });
      else if (one["type"] === FREEFORM_TYPE) this.#addCustom(one, { path: at, namespace });
      else this.#leaveHosted(one, at);
    });
  }

  /** The gateway runs the tools of these servers, as in chat completions. */
  #addServer(tool: JsonObject, path: string): void {
    const { connector_id: connector, server_label: label } = tool;
    if (isSet(connector)) {
      this.#left.never(
        `${path}.connector_id`,
        "names a service that only its own provider reaches",
        "Name a registered tool server, or send server_url.",
      );
      return this.#left.isTool(`${path}.connector_id`, tool);
    }
    const kept = Object.entries(tool).filter(([name, value]) => {
      if (ADVISORY.has(name) && value !== null) this.#left.always(`${path}.${name}`);
      return !ADVISORY.has(name);
    });
    if (typeof label === "string") this.servers.push(label);
    this.#tools.set(`server ${path}`, { tool: Object.fromEntries(kept), path });
  }

  /** A search that the provider runs is not needed, because all tools are sent. */
  #addSearch(tool: JsonObject, place: Place): void {
    if (tool["execution"] !== "client") {
      this.#left.always(place.path);
      return this.#left.isTool(place.path, tool);
    }
    this.#noteOthers(tool, SEARCH_MEMBERS, place.path);
    const { description, parameters } = tool;
    this.#put({ kind: "tool_search", name: SEARCH_NAME, namespace: null }, place, {
      ...describedBy(place, typeof description === "string" ? description : "Searches for further tools."),
      ...(isObject(parameters) && { parameters }),
    });
  }

  #leaveHosted(tool: JsonObject, path: string): void {
    const type = tool["type"];
    if (typeof type !== "string") throw invalid(`${path}.type`, "the type of a tool", type);
    const why = `is of the type ${JSON.stringify(type.slice(0, 64))}, which only providers that run it themselves can take`;
    const deviation = defaultedTool(tool);
    if (deviation !== null) this.#left.deviating(path, deviation, why);
    else this.#left.asked(path, why);
    this.#left.isTool(path, tool);
  }

  #put(client: ClientTool, { path }: Place, definition: JsonObject): void {
    const name = this.nameOf(client);
    // a tool that a search returns again replaces itself
    this.#tools.set(`function ${name}`, { tool: { type: "function", function: { name, ...definition } }, path });
  }

  #noteOthers(tool: JsonObject, known: ReadonlySet<string>, path: string): void {
    for (const name in tool) {
      if (known.has(name) || !isSet(tool[name])) continue;
      if (ADVISORY.has(name)) this.#left.always(`${path}.${name}`);
      else this.#left.asked(`${path}.${name}`);
    }
  }
}

/** Returns a tool server of which only these tools may be called. What is no list of tools is left to the parser. */
function narrowedServer(server: JsonObject, only: ReadonlySet<string>): JsonObject {
  const { allowed_tools: allowed } = server;
  const { tool_names: listed } = isObject(allowed) ? allowed : { tool_names: allowed };
  if (isSet(listed) && !Array.isArray(listed)) return server;
  const names = isSet(listed) ? (listed as readonly Json[]).filter((name) => only.has(name as string)) : [...only];
  return { ...server, allowed_tools: isObject(allowed) ? { ...allowed, tool_names: names } : names };
}

function nameIn(tool: JsonObject, path: string): string {
  const name = tool["name"];
  if (typeof name !== "string" || name === "" || name.length > 256)
    throw invalid(`${path}.name`, "a name of 1 to 256 characters", name);
  return name;
}

/** The description of a namespace precedes that of each of its tools. */
function describedBy({ namespace }: Place, description: Json | undefined): JsonObject {
  const texts: string[] = [];
  if (namespace !== null && namespace.description !== null) texts.push(namespace.description);
  if (typeof description === "string" && description !== "") texts.push(description);
  return texts.length === 0 ? {} : { description: texts.join("\n\n") };
}

/** Returns `null` for a format that is plain text. */
function grammarText(format: JsonObject): string | null {
  const { type, syntax, definition } = format;
  if (type !== "grammar" || typeof definition !== "string") return null;
  return `The input must follow this grammar (${typeof syntax === "string" ? syntax : "lark"}):\n${definition}`;
}

/**
 * A tool that a client adds to every request by default, although its user did not ask for it (promise 12.14). A provider
 * that cannot run such a tool is sent the request without it.
 */
interface DefaultTool {
  readonly deviation: ClientDeviationName;
  /** Members by which the tool is recognized; each has this value. */
  readonly members: JsonObject;
}

const DEFAULT_TOOLS: readonly DefaultTool[] = [
  // the default: https://developers.openai.com/codex/config-reference
  { deviation: "default_search_tool", members: { type: "web_search", external_web_access: false } },
  // the default where it runs with full access
  { deviation: "default_search_tool", members: { type: "web_search", external_web_access: true } },
];

/** Returns the deviation for a tool that a client adds by default; `null` for any other tool. */
function defaultedTool(tool: JsonObject): ClientDeviationName | null {
  const found = DEFAULT_TOOLS.find(({ members }) => Object.keys(members).every((name) => tool[name] === members[name]));
  return found?.deviation ?? null;
}
