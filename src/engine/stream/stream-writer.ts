// The last stage of the stream normalizer, which writes the events of one round in the form of an operation.
import type { ChatChunk, Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { AnswerFrame } from "../answer/strict-fields.ts";

/** Takes strict chunks, of which each entry of `choices` has one kind of content, in the order of generation. */
export interface StreamWriter {
  /** Whether text, reasoning, a tool call, a refusal or an activity of a tool was written. */
  readonly hasContent: boolean;
  /**
   * Whether a chunk that differs from an earlier one only in its piece of text yields the event of the earlier one with
   * another text. Such events may be written without this writer.
   */
  readonly repeatsEvents: boolean;
  /**
   * Changes where the same piece of text yields another event than before, such as one with another number. Events of
   * an earlier place are then not repeated. Absent where they stay the same.
   */
  readonly place?: number;
  /** How many characters of the answer are kept for later events. Absent where none are. */
  readonly kept?: number;
  /** Returns the events for a chunk; empty when it has nothing for a client. */
  write(chunk: ChatChunk): string;
  /** Returns what `write` would return, and keeps nothing. Absent where `write` keeps nothing of pieces of text. */
  preview?(chunk: ChatChunk): string;
  /** Called with the piece of text of each event that was written without this writer. Absent where none is kept. */
  repeated?(piece: string): void;
  /** Returns an event about what the gateway does between two rounds. */
  activity(reported: ReportedActivity): string;
  /**
   * Returns the last events: those of `chunk`, of which the last has a finish reason, and the usage. `report` is about
   * the tools that the gateway ran in all rounds; `null` in an answer of one round.
   */
  end(chunk: ChatChunk, total: Usage, report: JsonObject | null): string;
  /**
   * Whether the last events repeat so much that each of them needs a turn of the event loop. They are then taken from
   * `endInSteps`, which does the same as `end` when each of its functions is called in turn. Absent where there are no
   * such events.
   */
  readonly endsLong?: boolean;
  endInSteps?(chunk: ChatChunk, total: Usage, report: JsonObject | null): readonly (() => string)[];
  /** Returns a writer for the next round, whose events continue those of this one. This one does not change. */
  continued(frame: AnswerFrame, includeUsage: boolean): StreamWriter;
}
