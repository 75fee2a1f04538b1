// What became of a call: a word and a mark beside the colour.
import type { LoggedCall } from "../api/types.ts";

export interface MarkedState {
  readonly tone: "good" | "warn" | "bad" | "idle";
  readonly mark: string;
  readonly word: string;
}

export function stateOf({
  status,
  code,
  cancelled,
  settled,
}: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled">): MarkedState {
  if (!settled) return { tone: "bad", mark: "!", word: "Gateway ended" };
  if (cancelled) return { tone: "idle", mark: "–", word: "Client left" };
  if (status < 400) return { tone: "good", mark: "✓", word: code ?? "OK" };
  return { tone: status < 500 ? "warn" : "bad", mark: status < 500 ? "!" : "✕", word: code ?? "Failed" };
}

export function StatusMark({ call }: { readonly call: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled"> }) {
  const { tone, mark, word } = stateOf(call);
  return (
    <span className={`status ${tone}`} data-mark={mark} title={`${call.status} ${word}`}>
      {call.status} {word}
    </span>
  );
}
