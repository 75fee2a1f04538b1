// The items of a non-streaming answer: those of its one message, or of the rounds of tools that are joined in it.
import { SEALED_TURNS } from "../../../engine/carriers/sealing-form.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../../core/json.ts";
import { turnPieces } from "../../../core/request/turn-order.ts";
import type { Steps } from "../../../core/concurrency/steps.ts";
import { AnswerItems, carriersIn, flatCitations, flatLogprobs } from "./answer-items.ts";
import type { RequestMemo } from "../request-memo.ts";
import { servedCalls, type ToolsBefore } from "./served-tools.ts";

/** Returns the items of a choice; they have not ended. */
export function* answeredItems(choice: JsonObject, memo: RequestMemo, tools: ToolsBefore): Steps<AnswerItems> {
  const message = isObject(choice["message"]) ? choice["message"] : {};
  const report = isObject(message["x_gateway_mcp"]) ? message["x_gateway_mcp"] : {};
  const sealed = report[SEALED_TURNS];
  const turns = Array.isArray(sealed) ? (sealed as readonly JsonObject[]) : [message];
  const logprobs = memo.showsLogprobs ? flatLogprobs(choice["logprobs"]).slice() : [];
  const rows = servedCalls(report);
  const results = new Map(turns.filter(({ role }) => role === "tool").map((turn) => [turn["tool_call_id"], turn]));
  let items = new AnswerItems(memo, null);
  tools.addTo(items);
  const rounds = turns.filter(({ role }) => role !== "tool" && role !== "user");
  for (const [index, turn] of rounds.entries()) {
    // calls of each round are numbered from the first
    if (index > 0) items = new AnswerItems(memo, null, items);
    let before = 0;
    for (const piece of turnPieces(turn)) {
      addPiece(items, piece, logprobs);
      yield* addCalls(items, piece, before, (id) => results.has(id));
      before += callsIn(piece).length;
    }
    for (const call of callsIn(turn)) {
      const id = call["id"] as string;
      const result = results.get(id);
      if (result === undefined) continue;
      const { server_label: server = "", tool = "", status, round } = rows.get(id) ?? {};
      const { text } = calledIn(call);
      const called = { callId: id, server: server as string, name: tool as string, text };
      items.beginServed(called, typeof round === "number" ? round : index + 1);
      items.endServed(id, textOrEmpty(result["content"]), status === "error");
    }
  }
  return items;
}

/** Adds the calls that the client makes. */
function* addCalls(items: AnswerItems, turn: JsonObject, before: number, isServed: (id: Json) => boolean): Steps<void> {
  for (const [at, call] of callsIn(turn).entries()) {
    const id = call["id"] as string;
    if (isServed(id)) continue;
    const { name, text } = calledIn(call);
    items.beginCall(before + at, id, name);
    items.addArguments(before + at, text);
    yield;
  }
}

function addPiece(items: AnswerItems, turn: JsonObject, logprobs: JsonObject[]): void {
  const text = (name: string): string => (typeof turn[name] === "string" ? turn[name] : "");
  if (text("reasoning_content") !== "") items.addReasoning(text("reasoning_content"));
  for (const carrier of carriersIn(turn["reasoning_details"])) items.addCarrier(carrier);
  if (text("content") !== "") {
    items.addText("output_text", text("content"), taken(logprobs, text("content").length));
    items.addCitations(flatCitations(turn["annotations"]));
  }
  if (text("refusal") !== "") items.addText("refusal", text("refusal"), []);
}

/** Takes the log probabilities of a text off the beginning of those of all rounds. */
function taken(logprobs: JsonObject[], length: number): readonly JsonObject[] {
  let covered = 0;
  let count = 0;
  while (count < logprobs.length && covered < length) covered += textOrEmpty(logprobs[count++]!["token"]).length;
  return logprobs.splice(0, count);
}

function callsIn({ tool_calls: calls }: JsonObject): readonly JsonObject[] {
  return objectsIn(calls);
}

function calledIn({ function: called }: JsonObject): { readonly name: string; readonly text: string } {
  const { name, arguments: text } = isObject(called) ? called : {};
  return { name: textOrEmpty(name), text: textOrEmpty(text) };
}
