// What was said in a call, as text. It is read when somebody opens it, which needs a permission and is written to the audit log; where there is
// nothing to open, the reason is said.
import type { ReactNode } from "react";
import type { CallDetail } from "../../api/types.ts";
import { Problem } from "../../components/problem.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { useMe } from "../../session/session.tsx";
import type { JsonObject } from "../play/play-request.ts";
import { type CallContent, type OpenedContent, useContent } from "./use-content.ts";
import { commonStart, textOf, toolCallsOf } from "./conversation-text.ts";

interface ConversationProps {
  readonly call: CallDetail;
  readonly opened: OpenedContent;
}

export function Conversation({ call, opened }: ConversationProps) {
  const before = previousOf(call);
  const earlier = useContent(before);
  const { content, error, isReading, read } = opened;
  const why = useMissing(call);
  if (content === null)
    return (
      <>
        {error !== null && <Problem what="The conversation could not be read." error={error} retry={read} />}
        {why !== null && <p className="hint">{why}</p>}
        {why === null && error === null && (
          <p className="actions">
            <button type="button" disabled={isReading} onClick={read}>
              {isReading ? "Reading…" : "Show the conversation"}
            </button>
            <span className="hint">
              Showing it is written to the audit log.
              {call.content.kept_until !== null && (
                <>
                  {" "}
                  It is kept until <TimeText at={call.content.kept_until} form="day" />.
                </>
              )}
            </span>
          </p>
        )}
      </>
    );
  return (
    <>
      {before !== undefined && earlier.content === null && (
        <p className="actions">
          <button type="button" disabled={earlier.isReading} onClick={earlier.read}>
            Fold what the call before it had said
          </button>
          <span className="hint">
            It reads the conversation of <ScopedLink to={`/calls/${before.trace_id}`}>the call before</ScopedLink>,
            which is written to the audit log too.
          </span>
        </p>
      )}
      {earlier.error !== null && <Problem what="The call before it could not be read." error={earlier.error} />}
      <Turns content={content} earlier={earlier.content} />
    </>
  );
}

/** The call of the same conversation that ended last before this one. */
function previousOf(call: CallDetail) {
  return call.around?.session.find(({ at }) => at < call.at);
}

function Turns({ content, earlier }: { readonly content: CallContent; readonly earlier: CallContent | null }) {
  const { messages = [], rounds = [], answers = [], tools = [], left_out: leftOut } = content;
  const same = earlier === null ? 0 : commonStart(earlier.messages ?? [], messages);
  return (
    <>
      {leftOut !== undefined && leftOut.messages > 0 && (
        <p className="hint">
          {wholeCount(leftOut.messages)} earlier {leftOut.messages === 1 ? "message does" : "messages do"} not fit into
          what is kept of a call.
        </p>
      )}
      {earlier !== null && (
        <p className="hint">
          {same === 0
            ? "No message at the beginning is the same as in the call before."
            : `The first ${same === 1 ? "message is" : `${wholeCount(same)} messages are`} the same as in the call before${messages[0]?.["role"] === "system" ? ", with the same system prompt" : ""}.`}
        </p>
      )}
      <ol className="turns">
        {same > 0 && (
          <li>
            <details>
              <summary>
                {wholeCount(same)} {same === 1 ? "message" : "messages"} as in the call before
              </summary>
              <ol className="turns">
                {messages.slice(0, same).map((message, index) => (
                  <Turn key={index} who={roleOf(message)} message={message} />
                ))}
              </ol>
            </details>
          </li>
        )}
        {messages.slice(same).map((message, index) => (
          <Turn key={`message ${index}`} who={roleOf(message)} message={message} />
        ))}
        {rounds.map((message, index) => (
          <Turn key={`round ${index}`} who={`${roleOf(message)}, in a round of tools`} message={message} />
        ))}
        {answers.map((answer, index) => (
          <Turn key={`answer ${index}`} who={answers.length > 1 ? `answer ${index + 1}` : "answer"} message={answer} />
        ))}
      </ol>
      {answers.length === 0 && <p className="hint">No answer is kept: there was none, or it was no text.</p>}
      {leftOut?.answer_cut === true && <p className="hint">The answer was longer than what is kept.</p>}
      {tools.length > 0 && (
        <p className="hint">
          {leftOut !== undefined && leftOut.tools > 0 ? "The last functions" : "Functions"} that the client offered:{" "}
          {tools.map((tool) => visibleText(functionName(tool))).join(", ")}.
        </p>
      )}
    </>
  );
}

const FOLDED_FROM = 1200;

function Turn({ who, message }: { readonly who: string; readonly message: JsonObject }) {
  const text = visibleText(textOf(message));
  const calls = toolCallsOf(message);
  return (
    <li>
      <h3>{visibleText(who)}</h3>
      {typeof message["reasoning_content"] === "string" && message["reasoning_content"] !== "" && (
        <details>
          <summary>Reasoning</summary>
          <p className="said">{visibleText(message["reasoning_content"])}</p>
        </details>
      )}
      {text !== "" && <Said text={text} />}
      {calls.map((called, index) => (
        <p key={index} className="said">
          <code>
            {visibleText(called.name)}({visibleText(called.arguments)})
          </code>
        </p>
      ))}
      {text === "" && calls.length === 0 && <p className="hint">Nothing that can be shown as text.</p>}
    </li>
  );
}

/** A long text is folded behind its beginning. */
function Said({ text }: { readonly text: string }): ReactNode {
  if (text.length < FOLDED_FROM) return <p className="said">{text}</p>;
  return (
    <details>
      <summary>
        {text.slice(0, 160)}… <small>{wholeCount(text.length)} characters</small>
      </summary>
      <p className="said">{text}</p>
    </details>
  );
}

const roleOf = ({ role, name }: JsonObject): string =>
  `${typeof role === "string" ? role : "message"}${typeof name === "string" ? ` ${name}` : ""}`;

function functionName(tool: JsonObject): string {
  const { name } = (tool["function"] ?? tool) as { readonly name?: unknown };
  const { type } = tool;
  return typeof name === "string" ? name : typeof type === "string" ? type : "tool";
}

const MISSING: Readonly<Record<Exclude<CallDetail["content"]["state"], "kept">, string>> = {
  off: "Nothing is kept of what was said: the content log is off for this project.",
  explained: "Nothing is kept of explanations.",
  elsewhere: "What was said is given to integrations only, and is not kept here.",
  unsampled: "This call is not in the share of calls whose content is kept.",
  expired: "What was said was kept for its time, and is deleted.",
  missing:
    "Nothing is kept of this call, although the content log is on: it was off when the call was made, the content was deleted, or it was lost before it was written.",
};

/** Why there is nothing to open; null where there is. */
function useMissing({ content: { state } }: CallDetail): ReactNode {
  const { permissions } = useMe();
  if (state !== "kept") return MISSING[state];
  return permissions.includes("read_content") ? null : (
    <>
      What was said is kept, but reading it needs the permission <code>read_content</code>, which your session does not
      have. The next login has it where an admin or owner gives it to the token, or the operator to the roles of the
      company login or to a login link.
    </>
  );
}
