// What decided a call, as one sentence, and what else was out of the ordinary.
import type { CallDetail } from "../../api/types.ts";
import { visibleText } from "../../format/visible-text.ts";

export function CallVerdict({ call }: { readonly call: CallDetail }) {
  if (call.verdict === null) return null;
  return (
    <div>
      <p className="verdict">{visibleText(call.verdict.text)}</p>
      {call.verdict.notes.map((note) => (
        <p key={note}>{visibleText(note)}</p>
      ))}
    </div>
  );
}
