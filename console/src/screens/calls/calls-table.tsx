// The rows of the list of calls. Each begins with a link to its page; a plain click or Enter opens it beside the list.
import type { MouseEvent } from "react";
import { Link } from "wouter";
import type { LoggedCall } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { StatusMark } from "../../components/status-mark.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { wholeCount } from "../../format/count.ts";
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { pathIn } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";

interface CallsTableProps {
  readonly rows: readonly LoggedCall[];
  /** By id. */
  readonly tokenNames: Readonly<Record<string, string>>;
  /** The query that the page of a call keeps, so that it can go on through this list. */
  readonly context: string;
  readonly openId: string | null;
  /** Fewer columns, because a call is open beside it. */
  readonly isNarrow: boolean;
  readonly open: (call: LoggedCall) => void;
}

export function CallsTable({ rows, tokenNames, context, openId, isNarrow, open }: CallsTableProps) {
  const zone = useZone();
  const scope = useScope();
  const showsProject = scope.project === null && !isNarrow;
  return (
    <div className="table-box">
      <table aria-rowcount={-1}>
        <caption className="unseen">Calls, the newest first</caption>
        <thead>
          <tr aria-rowindex={1}>
            <th scope="col">Time ({zone})</th>
            <th scope="col">Status</th>
            {showsProject && <th scope="col">Project</th>}
            <th scope="col">Route</th>
            <th scope="col">Served by</th>
            {!isNarrow && (
              <>
                <th scope="col" className="number">
                  In
                </th>
                <th scope="col" className="number">
                  Out
                </th>
                <th scope="col" className="number">
                  Cost
                </th>
                <th scope="col" className="number">
                  First token
                </th>
              </>
            )}
            <th scope="col" className="number">
              Total
            </th>
            {!isNarrow && <th scope="col">Who</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map((call, index) => (
            <Row
              key={call.trace_id}
              call={call}
              index={index}
              isOpen={call.trace_id === openId}
              isNarrow={isNarrow}
              showsProject={showsProject}
              href={pathIn(scope, `/calls/${call.trace_id}${context}`)}
              tokenNames={tokenNames}
              open={open}
            />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly call: LoggedCall;
  readonly index: number;
  readonly isOpen: boolean;
  readonly isNarrow: boolean;
  readonly showsProject: boolean;
  readonly href: string;
  readonly tokenNames: CallsTableProps["tokenNames"];
  readonly open: (call: LoggedCall) => void;
}

function Row({ call, index, isOpen, isNarrow, showsProject, href, tokenNames, open }: RowProps) {
  const plain = (event: MouseEvent): boolean =>
    event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const used = call.prompt_tokens + call.completion_tokens > 0;
  return (
    <tr
      className="row"
      aria-rowindex={index + 2}
      aria-current={isOpen ? "true" : undefined}
      onClick={(event) => {
        if (!plain(event) || getSelection()?.isCollapsed === false) return;
        event.preventDefault();
        open(call);
      }}
    >
      <th scope="row">
        <Link href={href} data-row={index} onClick={(event) => event.preventDefault()}>
          <TimeText at={call.at} />
        </Link>
      </th>
      <td>
        <StatusMark call={call} />
      </td>
      {showsProject && <td>{call.project_id ?? "–"}</td>}
      <td>
        <span className="cut">{visibleText(call.route ?? "–")}</span>
        {call.operation !== "chat.completions" && <span className="badge">{call.operation}</span>}
        {call.mirror_of !== null && <span className="badge">copy</span>}
      </td>
      <td>
        <ServedBy call={call} />
      </td>
      {!isNarrow && (
        <>
          <td className="number">{used ? wholeCount(call.prompt_tokens) : "–"}</td>
          <td className="number">{used ? wholeCount(call.completion_tokens) : "–"}</td>
          <td className="number">{used || call.cost_usd !== null ? <MoneyText usd={call.cost_usd} /> : "–"}</td>
          <td className="number">{call.first_content_ms === null ? "–" : duration(call.first_content_ms)}</td>
        </>
      )}
      <td className="number">{duration(call.total_ms)}</td>
      {!isNarrow && (
        <td>
          <Who call={call} tokenNames={tokenNames} />
        </td>
      )}
    </tr>
  );
}

/** The token that called by its name, its user, and the end user whom the client names. */
function Who({ call, tokenNames }: Pick<RowProps, "call" | "tokenNames">) {
  const { user_id: user, token_id: token, end_user: endUser } = call;
  const caller =
    token === null ? user : ((Object.hasOwn(tokenNames, token) ? tokenNames[token] : null) ?? user ?? token);
  const texts = [...new Set([caller, user, endUser])].flatMap((text) => (text === null ? [] : [visibleText(text)]));
  return (
    <span className="cut who" title={texts.join(", ")}>
      {texts[0] ?? "–"}
      {texts.length > 1 && <small> {texts.slice(1).join(", ")}</small>}
    </span>
  );
}

/** How many attempts there were is dimmed: each round of tools, hedge and part of a call is one, and not only one that failed. */
export function ServedBy({ call }: { readonly call: LoggedCall }) {
  if (call.provider === null) return <span className="served">{visibleText(call.model_asked ?? "–")}</span>;
  return (
    <span className="served cut">
      {call.attempts > 1 && `${wholeCount(call.attempts)} attempts → `}
      <b>{visibleText(`${call.provider}:${call.model ?? ""}`)}</b>
    </span>
  );
}
