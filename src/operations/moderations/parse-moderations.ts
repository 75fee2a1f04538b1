// Requests for moderations, in OpenAI's form: each text becomes a message, and a list of parts one.
// https://platform.openai.com/docs/api-reference/moderations/create
import { invalid } from "../../core/refusals.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { TaskMemo } from "../../providers/tasks/task.ts";
import { listedTranslation, type OwnWords, placesIn } from "../listed-request.ts";

export interface ModerationMemo extends TaskMemo, OwnWords {}

const MAX_INPUTS = 2048;
const KNOWN: ReadonlySet<string> = new Set(["model", "input", "metadata"]);

export const MODERATIONS_FORM = translatedForm({
  translate,
  names: { messages: "input" },
  task: { name: "moderations", parameters: new Set(), reserved: new Set(["model", "input"]), passesAnswer: true },
});

function translate(body: JsonObject): Translation {
  const { isSingle, contents } = inputsOf(body["input"]);
  return listedTranslation<ModerationMemo>(body, {
    contents,
    places: placesIn("input", contents, isSingle),
    members: {},
    known: KNOWN,
    memo: { inputs: "texts", isSingle, encoding: null },
  });
}

/** Throws `invalid_request` with the path. */
function inputsOf(input: Json | undefined): { readonly isSingle: boolean; readonly contents: readonly Json[] } {
  if (typeof input === "string") return { isSingle: true, contents: [input] };
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_INPUTS)
    throw invalid("input", `a text, or a list of 1 to ${MAX_INPUTS} texts or parts`, input);
  const list = input as readonly Json[];
  if (isObject(list[0])) {
    for (const [index, part] of list.entries())
      if (!isObject(part)) throw invalid(`input[${index}]`, "a part, as the first entry is", part);
    return { isSingle: true, contents: [list] };
  }
  for (const [index, text] of list.entries())
    if (typeof text !== "string") throw invalid(`input[${index}]`, "a text", text);
  return { isSingle: false, contents: list };
}
