// What the decoders of one provider have to know: fields of its row, what its finish reasons mean, and its errors.
import { type ErrorClassifier, errorClassifier } from "./errors.ts";
import { type FinishReasonTable, finishReasonTable } from "./finish-reasons.ts";
import type { OpenAICompatibleRow } from "./row.ts";

/** The fields of a row that the decoders of answers read. */
export type AnswerRow = Pick<
  OpenAICompatibleRow,
  "usageAt" | "billedBeside" | "reasoningField" | "lacksFinishReason" | "finishReasons" | "splitsAnswers"
>;

export interface AnswerRules {
  readonly row: AnswerRow;
  readonly finishReasons: FinishReasonTable;
  readonly errors: ErrorClassifier;
}

export function answerRules(row: AnswerRow & Parameters<typeof errorClassifier>[0]): AnswerRules {
  return { row, finishReasons: finishReasonTable(row), errors: errorClassifier(row) };
}
