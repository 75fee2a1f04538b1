// `dragoman chat`: one chat call to a running gateway, as any client makes it, with its answer as text, as JSON, or part by part.
import type { Environment } from "../config/environment.ts";
import { isObject, type Json, type JsonObject, listIn } from "../core/json.ts";
import { parseBoundedJson } from "../wire/json/json.ts";
import { createSseParser } from "../wire/sse.ts";
import { type GatewayFlags, openAdminClient } from "./admin/client.ts";
import { type InputFlags, readInput } from "./admin/input.ts";
import { printJson, printLine, printText } from "./output.ts";
import { rowsOf } from "./things.ts";

export interface ChatFlags extends GatewayFlags, InputFlags {
  readonly model?: string;
  readonly project?: string;
  readonly explain?: true;
}

const BASE = "/api/v1";
const PATH = "/chat/completions";
/** A call may take as long as the gateway lets it take. */
const TIMEOUT_MS = 620_000;
const MAX_EVENT_BYTES = 64 * 1024 * 1024;

/** Throws Error when the gateway refuses the call, or when its stream ends with an error. */
export async function chat(message: string | undefined, flags: ChatFlags, environment: Environment): Promise<void> {
  const client = openAdminClient(flags, environment, BASE);
  const body = withMessage(await readInput(flags), message, flags.model);
  const headers = {
    ...(flags.project !== undefined && { "x-gateway-project-id": flags.project }),
    ...(flags.explain === true && { "x-gateway-explain": "true" }),
  };
  const request = { body, headers, timeoutMs: TIMEOUT_MS };
  if (body["stream"] === true && flags.explain !== true)
    return await printStream(await client.read(PATH, request), flags.json === true);
  const answer = await client.send("POST", PATH, request);
  if (flags.json === true || flags.explain === true) return printJson(answer);
  printChoices(answer);
}

function withMessage(given: JsonObject, message: string | undefined, model: string | undefined): JsonObject {
  const before = listIn(given["messages"]);
  return {
    ...given,
    ...(model !== undefined && { model }),
    ...(message !== undefined && { messages: [...before, { role: "user", content: message }] }),
  };
}

function printChoices(answer: Json): void {
  for (const choice of choicesOf(answer)) {
    const said = isObject(choice["message"]) ? choice["message"] : {};
    const text = said["content"] ?? said["refusal"] ?? null;
    if (typeof text === "string") printLine(text);
    if (said["tool_calls"] != null) printJson(said["tool_calls"]);
  }
}

/** With JSON each chunk is a line; otherwise the text of the first choice is printed as it arrives. Calls of functions are in the JSON only. */
async function printStream(bytes: ReadableStream<Uint8Array>, isJson: boolean): Promise<void> {
  const parser = createSseParser({ maxEventBytes: MAX_EVENT_BYTES });
  let isWhole = false;
  const show = (data: string): void => {
    if (data === "[DONE]") {
      isWhole = true;
      return;
    }
    const chunk = parseBoundedJson(data);
    if (isJson) printLine(JSON.stringify(chunk));
    throwFailure(chunk);
    if (!isJson) printDelta(chunk);
  };
  for await (const part of bytes) for (const { data } of parser.push(part)) show(data);
  for (const { data } of parser.end()) show(data);
  if (!isJson) printLine("");
  // a proxy in between may end a stream that was cut as if it were whole
  if (!isWhole) throw new Error("The stream was cut: the end of the answer did not arrive.");
}

function printDelta(chunk: Json): void {
  const first = choicesOf(chunk).find(({ index }) => index === 0);
  const delta = isObject(first?.["delta"]) ? first["delta"] : {};
  const text = delta["content"] ?? delta["refusal"] ?? null;
  if (typeof text === "string") printText(text);
}

function throwFailure(chunk: Json): void {
  if (!isObject(chunk) || !isObject(chunk["error"])) return;
  const { message, code } = chunk["error"];
  const words = typeof message === "string" ? message : "The stream ended with an error.";
  throw new Error(typeof code === "string" ? `${words} (${code})` : words);
}

const choicesOf = (answer: Json): readonly JsonObject[] => rowsOf(isObject(answer) ? answer["choices"] : undefined);
