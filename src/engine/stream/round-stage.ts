// The stage of tool rounds: the content of each round goes into the accumulator of the multi-round answer, and out as the
// client sees it. Texts are joined, numbering continues, and calls that the gateway runs are not shown.
import type { ChatChunk, ChunkChoice, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import { isTextMember } from "../../core/delta-members.ts";
import type { Json } from "../../core/json.ts";
import type { AccumulatedCall, RoundAccumulator } from "../tools/multi-round-answer.ts";
import { isOpening, type StreamStage } from "./stream-stage.ts";
import { calledIn } from "./tool-call-deltas.ts";

/** A tool call of the round; the index is that among the calls that the client sees. */
type RoundCall =
  | { readonly kind: "hidden"; readonly accumulated: AccumulatedCall }
  | { readonly kind: "shown"; readonly accumulated: AccumulatedCall; readonly index: number }
  | { readonly kind: "dropped" };

interface CallTexts {
  readonly name: string | undefined;
  readonly text: string | undefined;
}

export class RoundStage implements StreamStage {
  readonly #round: RoundAccumulator;
  /** In the order of their indexes. */
  readonly #calls: RoundCall[] = [];
  #isComplete = false;

  constructor(round: RoundAccumulator) {
    this.#round = round;
  }

  write(chunk: ChatChunk): ChatChunk {
    return { ...chunk, choices: chunk.choices.map((choice) => this.#choice(choice)) };
  }

  /** The round is complete. What is written from here on ends the answer, and is not part of the round. */
  end(): void {
    this.#isComplete = true;
  }

  #choice(choice: ChunkChoice): ChunkChoice {
    return choice.delta === undefined ? choice : { ...choice, delta: this.#delta(choice.delta) };
  }

  #delta(delta: ChunkDelta): ChunkDelta {
    if (isOpening(delta)) return this.#round.continues ? {} : delta;
    const shown: Record<string, Json> = {};
    for (const name in delta) {
      const value = delta[name];
      if (name === "role" || value === null || value === undefined) continue;
      if (isTextMember(name)) shown[name] = this.#round.text(name, value as string);
      else if (name === "reasoning_details")
        shown[name] = this.#round.details(value as unknown as readonly ReasoningDetail[]);
      else if (name === "annotations") shown[name] = this.#round.annotations(value as readonly Json[]);
      else if (name === "tool_calls")
        shown[name] = (value as unknown as readonly ToolCallDelta[]).flatMap((call) => this.#call(call));
      else if (name !== "extra_content" || this.#showsExtraContent(value)) shown[name] = value;
    }
    return shown;
  }

  /** For a round that the gateway continues, the client receives the member in `x_gateway_mcp.replay`. */
  #showsExtraContent(extra: Json): boolean {
    this.#round.addExtraContent(extra);
    return !this.#round.hasHidden;
  }

  #call(delta: ToolCallDelta): readonly ToolCallDelta[] {
    const { index, extra_content: extra } = delta;
    const { takesText, ...called } = calledIn(delta);
    const { name, text } = called as CallTexts;
    let call = this.#calls[index!];
    if (call === undefined) {
      const id = this.#round.callId(delta.id!);
      call = this.#calls[index!] = this.#opened(this.#round.addCall(id, name!, text ?? "", extra, takesText));
      return call.kind === "shown" ? [{ ...delta, index: call.index, id }] : [];
    }
    if (call.kind === "dropped") return [];
    if (!this.#isComplete) this.#round.addArguments(call.accumulated, text ?? "");
    call.accumulated.extra ??= extra ?? undefined;
    return call.kind === "shown" ? [{ ...delta, index: call.index }] : [];
  }

  #opened(accumulated: AccumulatedCall | null): RoundCall {
    if (accumulated === null) return { kind: "dropped" };
    if (!accumulated.isShown) return { kind: "hidden", accumulated };
    return { kind: "shown", accumulated, index: this.#calls.filter((call) => call.kind === "shown").length };
  }
}
