// A provider in three forms that answers every request with the same stream, of which something is spoiled that the request asks for by `#name`.
import { type FakeUpstream, startUpstream } from "../../../harness/servers/upstream.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import {
  type BodyDefect,
  CHAT_BODIES,
  CHAT_BODY,
  MESSAGES_BODIES,
  MESSAGES_BODY,
  RESPONSES_BODIES,
  RESPONSES_BODY,
} from "./body-defects.ts";
import { CHAT_DEFECTS, CHAT_STREAM } from "./chat-defects.ts";
import { MESSAGES_DEFECTS, MESSAGES_STREAM } from "./messages-defects.ts";
import { type Defect, type Event, named, type Planted, unnamed } from "./planted-answer.ts";
import { RESPONSES_DEFECTS, RESPONSES_STREAM } from "./responses-defects.ts";

export interface PlantedForm {
  readonly name: "responses" | "messages" | "chat";
  /** The model at the gateway that is asked in this form. */
  readonly model: string;
  readonly path: string;
  readonly defects: readonly Defect[];
  readonly events: readonly Event[];
  readonly sound: string;
  readonly bodies: readonly BodyDefect[];
  readonly soundBody: JsonObject;
}

/** The word by which a request asks for the sound stream. */
export const SOUND = "sound";
/** What a request says to get its stream in pieces, which end anywhere; else it comes at once. */
export const IN_PIECES = "in pieces";
const PIECE_BYTES = 173;

export const PLANTED_FORMS: readonly PlantedForm[] = [
  {
    name: "responses",
    model: "openai:gpt-5-pro",
    path: "/r/v1/responses",
    defects: RESPONSES_DEFECTS,
    events: RESPONSES_STREAM,
    sound: named(RESPONSES_STREAM),
    bodies: RESPONSES_BODIES,
    soundBody: RESPONSES_BODY,
  },
  {
    name: "messages",
    model: "anthropic:claude-sonnet-4-5",
    path: "/m/v1/messages",
    defects: MESSAGES_DEFECTS,
    events: MESSAGES_STREAM,
    sound: named(MESSAGES_STREAM),
    bodies: MESSAGES_BODIES,
    soundBody: MESSAGES_BODY,
  },
  {
    name: "chat",
    model: "chat:planted",
    path: "/c/v1/chat/completions",
    defects: CHAT_DEFECTS,
    events: CHAT_STREAM,
    sound: `${unnamed(CHAT_STREAM)}data: [DONE]\n\n`,
    bodies: CHAT_BODIES,
    soundBody: CHAT_BODY,
  },
];

/** The `providers:` section of a gateway before the server at `url`. */
export const plantedConfig = (url: string): string => `providers:
  openai: {base_url: "${url}/r/v1", api_key: key-of-openai, native: [responses]}
  anthropic: {base_url: "${url}/m", api_key: key-of-anthropic}
  chat: {type: custom, base_url: "${url}/c/v1", api_key: key-of-chat, native: []}
`;

export function startPlantedUpstream(): FakeUpstream {
  return startUpstream(({ path, text, body }) => {
    const form = PLANTED_FORMS.find((one) => path.startsWith(one.path));
    const name = /#([a-z0-9-]+)/.exec(text)?.[1];
    if (form === undefined || name === undefined)
      throw new Error(`nothing is planted at ${path}: ${text.slice(0, 200)}`);
    if (body["stream"] !== true) return bodyOf(form, name);
    const planted = name === SOUND ? form.sound : defectOf(form, name).plant(form.events);
    return answered(planted, text.includes(IN_PIECES));
  });
}

function bodyOf({ soundBody, bodies }: PlantedForm, name: string): Response {
  const plant = name === SOUND ? JSON.stringify : bodies.find((defect) => defect.name === name)?.plant;
  if (plant === undefined) throw new Error(`there is no body ${name}`);
  return new Response(plant(soundBody), { headers: { "content-type": "application/json" } });
}

function defectOf({ defects, name }: PlantedForm, wanted: string): Defect {
  const found = defects.find((defect) => defect.name === wanted);
  if (found === undefined) throw new Error(`${name} has no defect ${wanted}`);
  return found;
}

function answered(planted: Planted, isInPieces: boolean): Response {
  if (typeof planted !== "string") return Response.json(planted.body, { status: planted.status });
  return new Response(isInPieces ? inPieces(planted) : planted, { headers: { "content-type": "text/event-stream" } });
}

function inPieces(text: string): ReadableStream<Uint8Array> {
  const bytes = Buffer.from(text);
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      if (at >= bytes.length) return controller.close();
      await new Promise((resolve) => setImmediate(resolve));
      controller.enqueue(bytes.subarray(at, at + PIECE_BYTES));
      at += PIECE_BYTES;
    },
  });
}
