// What became of a call: a word and a mark beside the colour.
import type { LoggedCall } from "../api/types.ts";
import { Status, type Tone } from "./status.tsx";

function stateOf({ status, code, cancelled, settled }: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled">): {
  readonly tone: Tone;
  readonly mark?: string;
  readonly word: string;
} {
  if (!settled) return { tone: "bad", mark: "!", word: "Gateway ended" };
  if (cancelled) return { tone: "idle", word: "Client left" };
  if (status < 400) return { tone: "good", word: code ?? "OK" };
  return { tone: status < 500 ? "warn" : "bad", word: code ?? "Failed" };
}

export function StatusMark({ call }: { readonly call: Pick<LoggedCall, "status" | "code" | "cancelled" | "settled"> }) {
  const { tone, mark, word } = stateOf(call);
  return (
    <Status tone={tone} mark={mark} title={`${call.status} ${word}`}>
      {call.status} {word}
    </Status>
  );
}
