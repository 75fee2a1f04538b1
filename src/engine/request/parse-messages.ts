// The rules of `messages` (promises 5.4 and 5.7; the specification's tables of messages and content blocks). What only
// some vendors understand is noted as a vendor form, and checked when the target is known.
import {
  BLOCK_TYPES,
  MESSAGE_ROLES,
  saysMoreThanText,
  type BlockType,
  type Message,
  type VendorForm,
} from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import { invalid, invalidRequest, objectAt, textAt } from "../../core/refusals.ts";
import { isLegacyMessage, withToolCalls } from "./legacy-functions.ts";
import { ROUNDS_FIELD, withReplays } from "../tools/replayed-conversation.ts";

export interface ParsedConversation {
  readonly messages: readonly Message[];
  readonly blocks: ReadonlyMap<BlockType, string>;
  readonly vendorForms: readonly VendorForm[];
  /** Whether some message had the deprecated function form. */
  readonly legacy: boolean;
  /** Indexes of messages with images that tools returned. */
  readonly toolImages: ReadonlySet<number>;
  /** Whether the messages differ from what was sent. */
  readonly rewritten: boolean;
}

/** What is found in messages. Most have nothing of it. */
class Findings {
  readonly forms: VendorForm[] = [];
  #blocks: Map<BlockType, string> | null = null;
  /** The values of the forms, by kind. */
  #noted: Map<VendorForm["kind"], Set<string>> | null = null;
  /** Functions called so far, whose names a function message may repeat. */
  #called: Set<string> | null = null;

  get blocks(): ReadonlyMap<BlockType, string> {
    return this.#blocks ?? NO_BLOCKS;
  }

  addBlock(type: BlockType, path: string): void {
    this.#blocks ??= new Map();
    if (!this.#blocks.has(type)) this.#blocks.set(type, path);
  }

  isCalled(name: string): boolean {
    return this.#called?.has(name) === true;
  }

  addCall(name: string): void {
    (this.#called ??= new Set()).add(name);
  }

  /** Notes the first form of its kind and value: where one is accepted, so are the others. */
  note(form: Omit<VendorForm, "message">, expected: string): void {
    const noted = (this.#noted ??= new Map<VendorForm["kind"], Set<string>>());
    const values = noted.get(form.kind) ?? new Set<string>();
    if (values.has(form.value)) return;
    values.add(form.value);
    noted.set(form.kind, values);
    this.forms.push({ ...form, message: `${form.path} ${expected}` });
  }

  /** Notes a breach of the common rules that some vendor's row may allow. */
  rule(value: string, path: string, expected: string): void {
    this.note({ kind: "message_rule", value, path }, expected);
  }

  /** Checks a message whose blocks do not count. */
  withoutBlocks(check: () => void): void {
    const blocks = this.#blocks;
    this.#blocks = null;
    check();
    this.#blocks = blocks;
  }
}

const NO_BLOCKS: ReadonlyMap<BlockType, string> = new Map();

const ROLES: ReadonlySet<unknown> = new Set(MESSAGE_ROLES);
const BLOCKS: ReadonlySet<string> = new Set(BLOCK_TYPES);
const FUNCTION_MESSAGE_NAME = /^[a-zA-Z0-9_]{1,64}$/;
const MAX_NAME = 64;

/**
 * With `replays`, the rounds of earlier answers that the client sends back are inserted in their places; otherwise they
 * are left out.
 */
export function parseMessages(value: Json | undefined, legacyParams: boolean, replays: boolean): ParsedConversation {
  if (!Array.isArray(value)) throw invalid("messages", "an array of at least one message", value);
  if (value.length === 0)
    throw invalidRequest("messages", "messages must hold at least one message; got an empty array.");
  const found = new Findings();
  let legacy = false;
  let hasFunctionCalls = false;
  let brought = false;
  for (let index = 0; index < value.length; index++) {
    const message = value[index] as Json;
    const path = `messages[${index}]`;
    if (!isObject(message)) throw invalid(path, "an object", message);
    checkMessage(message, path, found);
    const hasFunctionCall = isSet(message["function_call"]);
    if (hasFunctionCall) hasFunctionCalls = true;
    if ((hasFunctionCall || message["role"] === "function") && isLegacyMessage(message)) legacy = true;
    if (message[ROUNDS_FIELD] !== undefined) brought = true;
  }
  const sent = value as readonly Message[];
  const messages = legacy || hasFunctionCalls ? withToolCalls(sent) : sent;
  const known = { blocks: found.blocks, vendorForms: found.forms, legacy: legacy || legacyParams };
  if (!brought) return { ...known, messages, toolImages: NO_IMAGES, rewritten: known.legacy || hasFunctionCalls };
  return {
    ...known,
    ...withReplays(messages, replays, (message, path) => found.withoutBlocks(() => checkMessage(message, path, found))),
    rewritten: true,
  };
}
const NO_IMAGES: ReadonlySet<number> = new Set();

function checkMessage(message: JsonObject, path: string, found: Findings): void {
  const role = message["role"];
  if (!ROLES.has(role)) throw invalid(`${path}.role`, `one of ${MESSAGE_ROLES.join(", ")}`, role);
  checkCalls(message, path, found);
  checkName(message, path, found);
  checkContent(message, path, found);
  checkReasoning(message, path);
  if (role === "tool") {
    const id = message["tool_call_id"];
    if (id === undefined || id === null || id === "")
      found.rule(
        "tool_without_id",
        `${path}.tool_call_id`,
        "is required in a message of role tool: the id of the call that the message answers",
      );
    else if (typeof id !== "string") throw invalid(`${path}.tool_call_id`, "a string", id);
  }
}

function checkName(message: JsonObject, path: string, found: Findings): void {
  const name = message["name"];
  if (message["role"] === "function") {
    const fits =
      typeof name === "string" &&
      (FUNCTION_MESSAGE_NAME.test(name) || (found.isCalled(name) && /^[a-zA-Z0-9_-]{1,64}$/.test(name)));
    if (!fits) throw invalid(`${path}.name`, "the function's name: 1 to 64 letters, digits or underscores", name);
    return;
  }
  if (name === undefined || name === null) return;
  if (typeof name !== "string" || name.length < 1 || name.length > MAX_NAME)
    throw invalid(`${path}.name`, `a string of 1 to ${MAX_NAME} characters`, name);
}

/** Checks `tool_calls` and `function_call` of earlier answers that the client sends back. */
function checkCalls(message: JsonObject, path: string, found: Findings): void {
  const call = message["function_call"];
  if (call !== undefined && call !== null) {
    if (!isObject(call) || typeof call["name"] !== "string")
      throw invalid(`${path}.function_call`, "an object with name and arguments", call);
    if (typeof call["arguments"] !== "string")
      throw invalid(`${path}.function_call.arguments`, "a string", call["arguments"]);
    found.addCall(call["name"]);
  }
  const calls = message["tool_calls"];
  if (calls === undefined || calls === null) return;
  if (!Array.isArray(calls)) throw invalid(`${path}.tool_calls`, "an array", calls);
  calls.forEach((item: Json, index: number) => checkToolCall(item, `${path}.tool_calls[${index}]`, found));
}

function checkToolCall(call: Json, path: string, found: Findings): void {
  if (!isObject(call)) throw invalid(path, "an object", call);
  const type = call["type"] ?? "function";
  if (typeof type !== "string") throw invalid(`${path}.type`, '"function"', type);
  if (type !== "function") {
    found.note(
      { kind: "tool", value: type, path: `${path}.type` },
      `must be "function"; got ${JSON.stringify(type.slice(0, 64))}`,
    );
    return;
  }
  const called = call["function"];
  if (!isObject(called)) throw invalid(`${path}.function`, "an object with name and arguments", called);
  if (typeof called["name"] !== "string" || called["name"] === "")
    throw invalid(`${path}.function.name`, "a string", called["name"]);
  if (typeof called["arguments"] !== "string")
    found.rule("arguments_not_text", `${path}.function.arguments`, "must be a string that contains JSON");
  if (typeof call["id"] !== "string") found.rule("call_without_id", `${path}.id`, "must be a string");
  found.addCall(called["name"]);
}

/**
 * Checks the reasoning of an earlier answer. The content of its blocks concerns only the client and the provider that
 * made them.
 */
function checkReasoning(message: JsonObject, path: string): void {
  const details = message["reasoning_details"];
  if (details === undefined || details === null) return;
  if (!Array.isArray(details)) throw invalid(`${path}.reasoning_details`, "an array", details);
  details.forEach((detail: Json, index) => {
    if (!isObject(detail)) throw invalid(`${path}.reasoning_details[${index}]`, "an object", detail);
  });
}

function checkContent(message: JsonObject, path: string, found: Findings): void {
  const content = message["content"];
  if (typeof content === "string") return;
  if (content === undefined || content === null) {
    if (saysMoreThanText(message)) return;
    found.rule(
      "no_content",
      `${path}.content`,
      "must be a string or an array of content blocks; it may be null only in an assistant message that has tool calls, a refusal, audio, images or reasoning",
    );
    return;
  }
  if (!Array.isArray(content)) throw invalid(`${path}.content`, "a string or an array of content blocks", content);
  if (content.length === 0 && !saysMoreThanText(message))
    found.rule("empty_content", `${path}.content`, "must hold at least one content block");
  for (let index = 0; index < content.length; index++)
    checkBlock(content[index] as Json, `${path}.content[${index}]`, found);
}

function checkBlock(block: Json, path: string, found: Findings): void {
  if (!isObject(block)) throw invalid(path, "an object with a type", block);
  const type = block["type"];
  if (typeof type !== "string") throw invalid(`${path}.type`, `one of ${BLOCK_TYPES.join(", ")}`, type);
  if (!BLOCKS.has(type)) {
    found.note(
      { kind: "block", value: type, path: `${path}.type` },
      `must be one of ${BLOCK_TYPES.join(", ")}; got ${JSON.stringify(type.slice(0, 64))}`,
    );
    return;
  }
  const known = type as BlockType;
  found.addBlock(known, path);
  BLOCK_CHECKS[known](block, path, found);
}

const BLOCK_CHECKS: Readonly<Record<BlockType, (block: JsonObject, path: string, found: Findings) => void>> = {
  text: (block, path) => textAt(block, "text", path),
  image_url: (block, path, found) => {
    if (typeof block["image_url"] === "string")
      found.rule("image_url_text", `${path}.image_url`, "must be an object with a url");
    else {
      const image = objectAt(block, "image_url", path);
      textAt(image, "url", `${path}.image_url`);
      checkAddressForm(image["url"] as string, `${path}.image_url.url`, found);
    }
  },
  input_audio: (block, path, found) => {
    if (typeof block["input_audio"] === "string")
      return found.rule("input_audio_text", `${path}.input_audio`, "must be an object with data and format");
    const audio = objectAt(block, "input_audio", path);
    textAt(audio, "data", `${path}.input_audio`);
    textAt(audio, "format", `${path}.input_audio`);
    checkDataUri(audio["data"] as string, `${path}.input_audio.data`);
  },
  video_url: (block, path, found) => {
    const video = objectAt(block, "video_url", path);
    textAt(video, "url", `${path}.video_url`);
    checkAddressForm(video["url"] as string, `${path}.video_url.url`, found);
  },
  file: (block, path, found) => {
    if (block["file"] === undefined && typeof block["file_id"] === "string")
      return found.rule("file_id_alone", `${path}.file`, "must be an object with file_id or file_data");
    const file = objectAt(block, "file", path);
    const given = ["file_id", "file_data"].filter((name) => file[name] !== undefined && file[name] !== null);
    if (given.length === 0) throw invalidRequest(`${path}.file`, `${path}.file must hold file_id or file_data.`);
    for (const name of given) {
      textAt(file, name, `${path}.file`);
      if (file[name] === "") throw invalid(`${path}.file.${name}`, "a non-empty string", file[name]);
      checkDataUri(file[name] as string, `${path}.file.${name}`);
    }
  },
  document: (block, path, found) => {
    if (block["source"] === undefined && isObject(block["document"]))
      return found.rule("document_inline", `${path}.source`, "must be an object");
    const source = objectAt(block, "source", path);
    textAt(source, "type", `${path}.source`);
    if (source["type"] === "base64" && typeof source["data"] === "string")
      checkBase64(source["data"], 0, `${path}.source.data`);
  },
};

/** Storage addresses of clouds and vendors, which their rows name; `files/` is a name of the Gemini API. */
const VENDOR_ADDRESS = /^(gs|s3|ms|files)(?::\/\/|\/)./i;

/** Throws `invalid_request` for an address that no provider could read. */
function checkAddressForm(address: string, path: string, found: Findings): void {
  const head = address.slice(0, 16);
  if (/^data:/i.test(head)) return checkDataUri(address, path);
  if (/^https?:\/\/./i.test(head)) return;
  const vendor = VENDOR_ADDRESS.exec(head)?.[1]?.toLowerCase();
  if (vendor === undefined) throw invalid(path, "an http or https address, or a data URI", address);
  found.rule(`${vendor}_address`, path, "must be an http or https address, or a data URI");
}

const BASE64_DATA = /^data:[^,]{0,255};base64,/i;
/**
 * Matches either alphabet of base64, with the line breaks and the missing padding of some encoders. The pattern is
 * sticky, so that the data, which may be megabytes, is not copied.
 */
const BASE64 = /[A-Za-z0-9+/_=\s-]*$/y;

/**
 * Checks that data declared as base64 is base64: no provider could read it otherwise, and some report it with an error
 * that does not help.
 */
function checkDataUri(address: string, path: string): void {
  const head = BASE64_DATA.exec(address.slice(0, 300));
  if (head !== null) checkBase64(address, head[0].length, path);
}

function checkBase64(text: string, from: number, path: string): void {
  BASE64.lastIndex = from;
  if (!BASE64.test(text))
    throw invalidRequest(path, `${path} must be base64, but contains characters that are not base64.`);
}
