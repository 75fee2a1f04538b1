// Answers of providers that speak the Responses API themselves: they pass with the client's own word for the model and
// the gateway's id, and with what the API requires where a compatible server has left it out. Streams: native-events.ts.
// https://platform.openai.com/docs/api-reference/responses/object
import type { Sealing } from "../../../engine/carriers/vendor-reasoning.ts";
import { isObject, type Json, type JsonObject } from "../../../core/json.ts";
import { type JsonEdit, withEdits } from "../../../core/request/json-edit.ts";
import { newRandomId } from "../../../core/ids.ts";
import type { HiddenCarrier } from "../keeping/hidden-carriers.ts";
import { carriersIn, hidingEdits } from "../keeping/hidden-reasoning.ts";
import { itemsIn } from "./passed-item.ts";
import { ownMembers, type ResponseFrame, type ResponseState } from "../response-object.ts";
import { itemEdits, usageEdits } from "./supplied-members.ts";

/** Returns how a body changes before the client gets it. */
export function passedEdits(sent: JsonObject, frame: ResponseFrame): readonly JsonEdit[] {
  return [...responseEdits(sent, "completed", frame), ...outputEdits(sent)];
}

function outputEdits({ output }: JsonObject): readonly JsonEdit[] {
  return itemsIn(output).flatMap((item, at) => {
    const { id } = item;
    const known = typeof id === "string" && id !== "" ? id : `item_${newRandomId()}`;
    return itemEdits(item, known, "completed", ["output", at]);
  });
}

/** Called with a response that is kept, and with the carriers of its reasoning; `null` where none is. */
export type Keep = ((response: JsonObject, hidden?: readonly HiddenCarrier[]) => void) | null;

/** `hiddenOf` returns the carriers of the response as it is kept. */
export function keepEdited(
  sent: JsonObject,
  edits: readonly JsonEdit[],
  keep: Keep,
  hiddenOf: (response: JsonObject) => readonly HiddenCarrier[] = () => [],
): void {
  if (keep === null) return;
  const response = withEdits(sent, edits);
  const { status, output } = response;
  // what has something else among its items cannot be read back item by item
  const isWhole = Array.isArray(output) && (output as readonly Json[]).every(isObject);
  if ((status === "completed" || status === "incomplete") && isWhole) keep(response, hiddenOf(response));
}

/** Keeps an answer that came as one body, after its changes. */
export function keepAnswer(answer: JsonObject, keep: Keep, { seal, hides }: Sealing): void {
  keepEdited(answer, hides ? hidingEdits(answer) : [], keep, () => carriersIn(answer, seal));
}

/**
 * The id is the gateway's, because that of the vendor means nothing here: the answer is not stored there, or only for
 * the gateway's account.
 */
export function responseEdits(sent: JsonObject, status: ResponseState["status"], frame: ResponseFrame): JsonEdit[] {
  const { model, repeated } = frame.memo;
  const edits: JsonEdit[] = [
    { path: ["id"], value: frame.id },
    // a request that names only a route has no word for it
    ...(model === "" && sent["model"] !== undefined ? [] : [{ path: ["model"], value: model }]),
  ];
  // what the gateway does itself is not what its request to the provider said
  for (const name of OF_GATEWAY)
    if (sent[name] !== repeated[name]) edits.push({ path: [name], value: repeated[name] ?? null });
  const own = ownMembers(frame, { status, output: [], usage: null });
  for (const members of [own, repeated])
    for (const name in members)
      if (sent[name] === undefined && !NAMED.has(name)) edits.push({ path: [name], value: members[name] });
  edits.push(...usageEdits(sent["usage"], ["usage"]));
  return edits;
}

/** Members that say what the gateway did. */
const OF_GATEWAY = ["background", "previous_response_id", "store"] as const;
/** Members for which there is an edit of their own. */
const NAMED: ReadonlySet<string> = new Set(["id", "model", ...OF_GATEWAY]);
