// Beside the draft of a route: where its last calls would go with it, asked again on each pause in typing and with outages as switches.
import { type ReactNode, useState } from "react";
import type { RouteSimulation, SimulatedOutcome } from "../../api/types.ts";
import { MoneyText } from "../../components/money-text.tsx";
import { DataTable } from "../../components/data-table.tsx";
import type { SimulationProps } from "../../configured/noun.ts";
import { SimulationPanel } from "../../configured/simulation-panel.tsx";
import { withValue } from "../../configured/yaml-text.ts";
import { counted, wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { SimulatedCalls } from "../calls/simulated-calls.tsx";
import { termText } from "../calls/filter.ts";
import { targetsOf } from "./route-targets.ts";

const OUTAGES = {
  down: { label: "is down", fault: { kind: "dead" } },
  half: { label: "fails half of the calls", fault: { kind: "status", status: 503, share: 0.5 } },
  slow: { label: "is 3 s slower", fault: { kind: "slow", added_ms: 3000 } },
} as const;
type Outage = keyof typeof OUTAGES;

export function RouteSimulationPanel({ fields, edit, isReadOnly, path, isChanged }: SimulationProps) {
  const [outages, setOutages] = useState<Readonly<Record<string, Outage>>>({});
  const body = {
    ...(isChanged && { route: fields }),
    faults: Object.entries(outages).map(([target, outage]) => ({ target, ...OUTAGES[outage].fault })),
  };
  // a target that only the published route has keeps the switch that was set
  const models = [...new Set([...targetsOf(fields).map(({ model }) => model), ...Object.keys(outages)])].filter(
    (model) => model !== "",
  );
  const switches = (
    <fieldset className="outages">
      <legend>If</legend>
      {models.map((model) => (
        <label key={model}>
          <span className="mono cut">{visibleText(model)}</span>
          <select
            value={outages[model] ?? ""}
            onChange={({ target: { value } }) =>
              setOutages(({ [model]: _before, ...rest }) =>
                value === "" ? rest : { ...rest, [model]: value as Outage },
              )
            }
          >
            <option value="">works as usual</option>
            {Object.entries(OUTAGES).map(([name, { label }]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      ))}
    </fieldset>
  );
  return (
    <SimulationPanel<RouteSimulation>
      path={path}
      body={body}
      note="on its last recorded calls; no provider is called"
      lines={5}
      switches={switches}
    >
      {(answer) => (
        <>
          <Result answer={answer} />
          {!isReadOnly && answer.suggested_tests.length > 0 && (
            <p className="actions">
              <button type="button" onClick={() => edit((yaml) => withValue(yaml, ["tests"], answer.suggested_tests))}>
                Take {counted(answer.suggested_tests.length, "test")} made of these calls
              </button>
            </p>
          )}
        </>
      )}
    </SimulationPanel>
  );
}

function Result({ answer }: { readonly answer: RouteSimulation }) {
  const { calls, from, to, now, proposed, difference, left_out: leftOut, tests } = answer;
  const shown = proposed ?? now;
  return (
    <>
      {tests.length > 0 && (
        <ul className="simulated-tests" aria-label="Tests">
          {tests.map(({ name, passed, fault }, index) => (
            <li key={index}>
              <b>{passed ? "✓" : "✗"}</b> “{visibleText(name)}” {passed ? "holds." : "does not hold."}
              {fault !== null && ` ${visibleText(fault)}`}
            </li>
          ))}
        </ul>
      )}
      {calls === 0 || shown === null ? (
        <p className="hint">No call of this route can be simulated. It begins with the first call that names it.</p>
      ) : (
        <>
          <p className="hint">
            <SimulatedCalls calls={calls} from={from} to={to} terms={[termText("route", answer.route)]} />
          </p>
          {difference !== null && (
            <ul className="change-words">
              {difference.sentences.map((sentence) => (
                <li key={sentence}>{visibleText(sentence)}</li>
              ))}
            </ul>
          )}
          <Targets now={now} proposed={proposed} />
          <Figures now={now} proposed={proposed} />
          <Refusals outcome={shown} />
          {shown.unjudged > 0 && (
            <p className="hint">
              {counted(shown.unjudged, "call meets a condition that reads", "calls meet conditions that read")} what
              records do not keep, such as headers or the client's address. Where they go is not certain.
            </p>
          )}
        </>
      )}
      {leftOut.length > 0 && (
        <details>
          <summary>Calls that are left out</summary>
          <ul className="change-words">
            {leftOut.map(({ reason, calls: left }) => (
              <li key={reason}>
                {wholeCount(left)}: {visibleText(reason)}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

interface BothProps {
  readonly now: SimulatedOutcome | null;
  readonly proposed: SimulatedOutcome | null;
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function Targets({ now, proposed }: BothProps) {
  const names = [...new Set([...(proposed?.targets ?? []), ...(now?.targets ?? [])].map(({ target }) => target))];
  const rowOf = (outcome: SimulatedOutcome | null, name: string) =>
    outcome?.targets.find(({ target }) => target === name);
  const cell = (outcome: SimulatedOutcome | null, name: string): string => {
    const row = rowOf(outcome, name);
    return row === undefined ? "–" : `${wholeCount(row.calls)} (${percent(row.share)})`;
  };
  return (
    <DataTable
      label="Calls by target"
      rows={names}
      keyOf={(name) => name}
      columns={[
        {
          head: "Target",
          render: (name) => (
            <span className="mono">
              {visibleText(name)}
              {rowOf(proposed ?? now, name)?.recorded_answers === 0 && <small> its times are not known</small>}
            </span>
          ),
        },
        { head: "Now", render: (name) => cell(now, name) },
        ...(proposed === null ? [] : [{ head: "With the draft", render: (name: string) => cell(proposed, name) }]),
      ]}
    />
  );
}

const FIGURES: readonly (readonly [title: string, of: (outcome: SimulatedOutcome) => ReactNode])[] = [
  ["Answered", ({ answered }) => wholeCount(answered)],
  ["Failed", ({ failed }) => wholeCount(failed)],
  [
    "Cost",
    ({ unpriced, answered, cost_usd: cost }) => <MoneyText usd={unpriced > 0 && unpriced === answered ? null : cost} />,
  ],
  ["Half end within", ({ total_ms: total }) => milliseconds(total.p50)],
  ["95 % end within", ({ total_ms: total }) => milliseconds(total.p95)],
];
type Figure = (typeof FIGURES)[number];

function Figures({ now, proposed }: BothProps) {
  return (
    <DataTable
      label="Figures"
      rows={FIGURES}
      keyOf={([title]) => title}
      columns={[
        { head: "Of these calls", render: ([title]) => title },
        { head: "Now", render: ([, of]) => (now === null ? "–" : of(now)) },
        ...(proposed === null ? [] : [{ head: "With the draft", render: ([, of]: Figure) => of(proposed) }]),
      ]}
    />
  );
}

const milliseconds = (ms: number | null): string => (ms === null ? "–" : `${wholeCount(ms)} ms`);

function Refusals({ outcome }: { readonly outcome: SimulatedOutcome }) {
  const { refusals, failures, rules } = outcome;
  if (refusals.length === 0 && failures.length === 0 && rules.length === 0) return null;
  return (
    <ul className="change-words" aria-label="Refused and failed">
      {refusals.map(({ target, message, calls }, index) => (
        <li key={index}>
          {wholeCount(calls)} refused by {visibleText(target ?? "the route")}: {visibleText(message)}
        </li>
      ))}
      {failures.map(({ code, calls }) => (
        <li key={code}>
          {wholeCount(calls)} failed with {visibleText(code)}
        </li>
      ))}
      {rules.map(({ kind, name, calls, unknown }) => (
        <li key={`${kind} ${name}`}>{ruleWords(kind, visibleText(name), calls, unknown)}</li>
      ))}
    </ul>
  );
}

/** What a limit, a budget or a policy would do with the answered calls. */
function ruleWords(kind: string, name: string, calls: number, unknown: number): string {
  const judged =
    kind === "policy"
      ? `${wholeCount(calls)} would be denied by the policy ${name}`
      : `${wholeCount(calls)} would be beyond the ${kind} ${name}, if only these calls counted`;
  if (unknown === 0) return `${judged}.`;
  const open = `${wholeCount(unknown)} cannot be judged by the policy ${name}, because the records do not hold what it reads`;
  return calls === 0 ? `${open}.` : `${judged}; ${open}.`;
}
