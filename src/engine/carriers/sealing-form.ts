// Puts carriers of reasoning into the answers of a form other than that of chat completions: what the form gets to write
// has a carrier wherever the provider has a signature, an encrypted part, or data of its own.

// Decides (the answer): What becomes of signatures and encrypted reasoning in other forms than chat completions? By:
// `sealingForm`. Also: `opened-request.ts` (`withOpenedRequest`), `reasoning-carrier.ts` (`openCarrier`). Rule: They
// are sealed for the client, and opened for the tenant, project, provider and model that they are of.
import type { CarrierPlace, ChatChunk, ChunkChoice, Message, ReasoningDetail, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { AnswerFrame } from "../answer/strict-fields.ts";
import type { AnswerForm, RoundOrigin } from "../answer-form.ts";
import type { StreamWriter } from "../stream/stream-writer.ts";
import { replayedTurns, ROUNDS_FIELD } from "../tools/replayed-conversation.ts";
import type { ReasoningCarriers } from "./reasoning-carrier.ts";
import { joinedExtra } from "./joined-extra.ts";
import { extrasOf, type Seal, sealedDetails, sealedExtras } from "./sealed-reasoning.ts";

type Owner = Pick<CarrierPlace, "tenantId" | "projectId">;

export function sealingForm(form: AnswerForm, carriers: ReasoningCarriers, owner: Owner): AnswerForm {
  const sealFor: SealFor = (model) => (carried) => carriers.seal(carried, { ...owner, ...placeOf(model) });
  const { stream, native } = form;
  return {
    isEngines: form.isEngines,
    body: (answer, request, rounds) =>
      form.body(sealedAnswer(answer, rounds ?? [ofOneTarget(answer)], sealFor), request),
    stream: {
      hasBlocks: stream.hasBlocks,
      opening: (model) => stream.opening(model),
      keepAlive: () => stream.keepAlive(),
      end: stream.end,
      failed: (error, traceId) => stream.failed(error, traceId),
      writer: (frame, includeUsage, request) =>
        new SealingWriter(stream.writer(frame, includeUsage, request), frame, sealFor),
      ...(stream.tools !== undefined && { tools: stream.tools }),
      ...(stream.sending !== undefined && { sending: (text: string) => stream.sending!(text) }),
      ...(stream.leaving !== undefined && { leaving: (text: string) => stream.leaving!(text) }),
      chunksIn: (events) => stream.chunksIn(events),
    },
    ...(native !== undefined && { native }),
  };
}

/** `model` is `<provider>:<model_name>`. */
function placeOf(model: string): Pick<CarrierPlace, "provider" | "model"> {
  const colon = model.indexOf(":");
  return { provider: model.slice(0, colon), model: model.slice(colon + 1) };
}

function ofOneTarget({ model }: JsonObject): RoundOrigin {
  return { model: model as string, details: Number.POSITIVE_INFINITY };
}

type SealFor = (model: string) => Seal;

function sealedAnswer(answer: JsonObject, rounds: readonly RoundOrigin[], sealFor: SealFor): JsonObject {
  const { choices } = answer;
  return {
    ...answer,
    choices: (choices as readonly JsonObject[]).map((choice) => {
      const message = choice["message"] as JsonObject;
      return {
        ...choice,
        message: { ...sealedMessage(message, rounds, sealFor), ...sealedRounds(message, rounds, sealFor) },
      };
    }),
  };
}

/** The vendor's data beside a message and its calls are those of its last round. */
function sealedMessage(whole: JsonObject, rounds: readonly RoundOrigin[], sealFor: SealFor): JsonObject {
  const { reasoning_details: details, extra_content: extra, ...message } = whole;
  const seals = rounds.map(({ model }) => sealFor(model));
  const sealAt = (index: number): Seal => {
    let end = 0;
    return seals[rounds.findIndex(({ details: own }) => index < (end += own))] ?? seals.at(-1)!;
  };
  const sealed = [
    ...sealedDetails(Array.isArray(details) ? details : [], sealAt),
    ...sealedExtras(extrasOf(extra, message["tool_calls"]), seals.at(-1)!),
  ];
  return { ...message, ...(sealed.length > 0 && { reasoning_details: sealed }) };
}

/** The member of `x_gateway_mcp` with the messages of all rounds, one after another, of which the form makes its answer. */
export const SEALED_TURNS = "turns";

function sealedRounds(message: JsonObject, rounds: readonly RoundOrigin[], sealFor: SealFor): JsonObject {
  const report = message[ROUNDS_FIELD];
  if (!isObject(report) || !Array.isArray(report["replay"])) return {};
  let round = 0;
  const sealed = replayedTurns(message as unknown as Message, report["replay"]).map((turn) => {
    const origin = rounds[turn.role === "assistant" ? round++ : round] ?? rounds.at(-1)!;
    return sealedMessage(turn, [origin], sealFor);
  });
  return { [ROUNDS_FIELD]: { ...report, [SEALED_TURNS]: sealed } };
}

/**
 * Seals the reasoning of one round before whatever follows it, and at the end what the vendor keeps beside the message:
 * a block of reasoning waits for its last piece, and what is kept beside the message for more of the same.
 */
class SealingWriter implements StreamWriter {
  readonly #inner: StreamWriter;
  readonly #sealFor: SealFor;
  readonly #seal: Seal;
  /** The pieces of blocks that came since the last other content. */
  #held: ReasoningDetail[] = [];
  /** What is sealed at the end: the message's own data, and data of calls that came after the call had begun. */
  readonly #beside: { extra?: JsonObject; calls?: Record<string, Json | undefined> } = {};
  /** The ids of the calls by their index, because later data of a call comes without its id. */
  readonly #ids: string[] = [];

  constructor(inner: StreamWriter, frame: Pick<AnswerFrame, "model">, sealFor: SealFor) {
    this.#inner = inner;
    this.#sealFor = sealFor;
    this.#seal = sealFor(frame.model);
  }

  get hasContent(): boolean {
    return this.#inner.hasContent || this.#held.length > 0;
  }

  get repeatsEvents(): boolean {
    return this.#held.length === 0 && this.#inner.repeatsEvents;
  }

  get place(): number {
    return this.#inner.place ?? 0;
  }

  get kept(): number {
    return this.#inner.kept ?? 0;
  }

  write(chunk: ChatChunk): string {
    let out = "";
    for (const choice of chunk.choices) out += this.#choice(chunk, choice);
    return chunk.choices.length === 0 ? this.#inner.write(chunk) : out;
  }

  preview(chunk: ChatChunk): string {
    return this.#inner.preview?.(chunk) ?? this.#inner.write(chunk);
  }

  repeated(piece: string): void {
    this.#inner.repeated?.(piece);
  }

  activity(reported: ReportedActivity): string {
    return this.#released() + this.#inner.activity(reported);
  }

  end(chunk: ChatChunk, total: Usage, report: JsonObject | null): string {
    return this.#beforeEnd() + this.#inner.end(chunk, total, report);
  }

  get endsLong(): boolean {
    return this.#inner.endsLong === true;
  }

  endInSteps(chunk: ChatChunk, total: Usage, report: JsonObject | null): readonly (() => string)[] {
    const before = this.#beforeEnd();
    return [() => before, ...this.#inner.endInSteps!(chunk, total, report)];
  }

  #beforeEnd(): string {
    return this.#released() + this.#written(sealedExtras(this.#beside, this.#seal));
  }

  continued(frame: AnswerFrame, includeUsage: boolean): StreamWriter {
    return new SealingWriter(this.#inner.continued(frame, includeUsage), frame, this.#sealFor);
  }

  #choice(chunk: ChatChunk, choice: ChunkChoice): string {
    const { delta = {} } = choice;
    const { reasoning_details: details, extra_content: extra, tool_calls: calls } = delta;
    if (Array.isArray(details)) {
      for (const detail of details as readonly ReasoningDetail[]) this.#hold(detail);
      return "";
    }
    if (isObject(extra)) {
      this.#beside.extra = joinedExtra(this.#beside.extra ?? {}, extra);
      return "";
    }
    const isContent = Object.keys(delta).some((name) => name !== "role");
    const continues = typeof delta.reasoning_content === "string" && !isWhole(this.#held.at(-1));
    const before = isContent && !continues ? this.#released() : "";
    const ofCalls = Array.isArray(calls) ? this.#extrasOf(calls) : "";
    return before + ofCalls + this.#inner.write({ ...chunk, choices: [choice] });
  }

  /** The data of a call goes before it, where it comes with the call's beginning. */
  #extrasOf(calls: readonly JsonObject[]): string {
    let out = "";
    for (const call of calls) {
      const { index, id, extra_content: extra } = call;
      if (typeof id === "string" && typeof index === "number") this.#ids[index] = id;
      if (!isObject(extra)) continue;
      if (typeof id === "string") out += this.#written(sealedExtras(extrasOf(undefined, [call]), this.#seal));
      else if (typeof index === "number") (this.#beside.calls ??= {})[this.#ids[index] ?? ""] = extra;
    }
    return out;
  }

  /** Some vendors send a block in pieces with the same index. */
  #hold(detail: ReasoningDetail): void {
    const last = this.#held.at(-1);
    if (last === undefined || detail.index === undefined || last.type !== detail.type || last.index !== detail.index) {
      this.#held.push(detail);
      return;
    }
    const whole: Record<string, Json | undefined> = { ...last, ...detail };
    for (const name of ["text", "summary", "data"] as const)
      if (typeof last[name] === "string" || typeof detail[name] === "string")
        whole[name] = (last[name] ?? "") + (detail[name] ?? "");
    this.#held[this.#held.length - 1] = whole as unknown as ReasoningDetail;
  }

  #released(): string {
    if (this.#held.length === 0) return "";
    const held = this.#held;
    this.#held = [];
    return this.#written(sealedDetails(held, () => this.#seal));
  }

  #written(details: readonly ReasoningDetail[]): string {
    return details.length === 0
      ? ""
      : this.#inner.write({ choices: [{ index: 0, delta: { reasoning_details: details } }] });
  }
}

/** Whether nothing more can come of a block. The text of a signed block may come in pieces before its signature. */
function isWhole(detail: ReasoningDetail | undefined): boolean {
  return detail?.type === "reasoning.encrypted" || (detail?.signature ?? "") !== "";
}
