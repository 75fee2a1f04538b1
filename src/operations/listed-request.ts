// What requests have in common that are a list of contents: each of them becomes a message of the user.
import { passedMembers } from "../engine/request/task-body.ts";
import type { InputRules } from "../engine/request/listed-inputs.ts";
import type { Translation, Translator } from "../engine/request/translated-form.ts";
import type { BodyBounds } from "../core/request/body-bounds.ts";
import { isSet, type Json, type JsonObject } from "../core/json.ts";
import { memoizePerObject } from "../core/memoization.ts";

export interface OwnWords {
  /** The client's own word for the model; `null` when it named only a route. */
  readonly model: string | null;
}

export interface ListedRequest<Memo extends OwnWords> {
  readonly contents: readonly Json[];
  /** Where each of them stands in the body. */
  readonly places: readonly string[];
  /** Further members of the chat completion; those without a value are left out. */
  readonly members: Readonly<Record<string, Json | undefined>>;
  /** The members that the form knows. Others are passed on. */
  readonly known: ReadonlySet<string>;
  readonly memo: Omit<Memo, "model">;
}

export function listedTranslation<Memo extends OwnWords>(
  body: JsonObject,
  { contents, places, members, known, memo }: ListedRequest<Memo>,
): Translation {
  const { model, metadata } = body;
  const set = Object.entries({ ...members, metadata }).filter(([, value]) => isSet(value)) as [string, Json][];
  return {
    chat: {
      ...(model !== undefined && { model }),
      messages: contents.map((content) => ({ role: "user", content })),
      ...Object.fromEntries(set),
      ...passedMembers(body, known),
    },
    origins: { messages: places, tools: [] },
    untranslated: [],
    memo: { ...memo, model: typeof model === "string" ? model : null },
  };
}

/** Returns where each entry of a member stands, which is the member itself where it is no list. */
export function placesIn(member: string, contents: readonly Json[], isSingle: boolean): readonly string[] {
  return isSingle ? [member] : contents.map((_, index) => `${member}[${index}]`);
}

/** Returns the bounds of bodies whose inputs may be token ids, each of which is a value of its own. */
export function boundsWithTokens({ most, mostTokens }: InputRules): NonNullable<Translator["bounds"]> {
  return memoizePerObject((bounds: BodyBounds): BodyBounds => ({
    ...bounds,
    maxValues: bounds.maxValues + mostTokens + most,
  }));
}
