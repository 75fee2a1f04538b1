// `/limits`: limits and budgets, the one that will be reached first at the top.
import type { LimitState, LimitStates } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { AsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { NameFilter, NoSuchName, useNameFilter } from "../../components/controls/name-filter.tsx";
import { Segments } from "../../components/controls/segments.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { Unread } from "../../components/unread.tsx";
import { operationOf } from "../../configured/configured-operations.ts";
import { CreateLink } from "../../components/controls/create-link.tsx";
import { wholeCount } from "../../format/count.ts";
import { inAllZones, utcAndOwn } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { ScopedLink, useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { useUrlState } from "../../url-state.ts";
import { FillBar } from "./fill-bar.tsx";
import { LIMIT_NOUNS } from "./limit-nouns.tsx";
import { amountText, boundText, exactAmount, hitText, scopeText } from "./limit-words.ts";

const EVERY_MS = 2000;
const KINDS = { all: "All", budget: "Budgets", limit: "Limits" } as const;

export function LimitsScreen() {
  const scope = useScope();
  const me = useMe();
  const url = useUrlState();
  const kind = url.get("kind");
  const isWanted = useNameFilter();
  const path = adminPath(scope, `/limit_states${kind === "budget" || kind === "limit" ? `?kind=${kind}` : ""}`);
  const { data, error, refetch, isPlaceholderData } = useRead<LimitStates>(path, { everyMs: EVERY_MS });
  const mayCreate = may(me, scope, operationOf("create", LIMIT_NOUNS.budget));
  const shown = data?.data.filter(({ name }) => isWanted(name)) ?? [];
  return (
    <>
      <div className="title-row">
        <h1>Limits and budgets</h1>
        {mayCreate && <CreateLink screen="/limits" label="Create a limit or budget" />}
        <AsCode path={path} />
      </div>
      <div className="filter-row list-filter">
        <Segments
          label="Kind"
          choices={KINDS}
          chosen={kind ?? "all"}
          choose={(name) => url.set({ kind: name === "all" ? null : name })}
        />
        <NameFilter what="limits and budgets" />
      </div>
      <Unread
        what="The limits and budgets"
        pending="The list of limits and budgets"
        lines={6}
        of={{ data, error, refetch }}
      />
      {data !== undefined && data.data.length === 0 && (
        <Empty title={kind === null ? "There is no limit and no budget yet" : `There is no ${kind} yet`}>
          <p>
            A budget bounds the money or the tokens of a day, week or month, or in total. A limit bounds requests,
            tokens, or calls at the same time.
          </p>
          {!mayCreate && <p>Someone with a higher role in this tenant or project can make one.</p>}
        </Empty>
      )}
      {data !== undefined && data.data.length > 0 && shown.length === 0 && <NoSuchName count={data.data.length} />}
      {data !== undefined && shown.length > 0 && (
        <div className={isPlaceholderData ? "old" : ""}>
          <LimitTable limits={shown} asOfMs={Date.parse(data.as_of)} />
          <p className="after-table">
            <span>
              As of <TimeText at={data.as_of} />. What will be reached first is at the top.
              {data.others > 0 && ` ${wholeCount(data.others)} further ones can be opened by their address.`}
            </span>
          </p>
        </div>
      )}
    </>
  );
}

const HEADS = ["Name", "Amount", "Filled", "Used up", "Resets"];

function LimitTable({ limits, asOfMs }: { readonly limits: readonly LimitState[]; readonly asOfMs: number }) {
  return (
    <TableBox label="Limits and budgets">
      <table>
        <caption className="unseen">Limits and budgets</caption>
        <thead>
          <tr>
            {HEADS.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {limits.map((limit) => (
            <Row key={limit.id} limit={limit} asOfMs={asOfMs} />
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function Row({ limit, asOfMs }: { readonly limit: LimitState; readonly asOfMs: number }) {
  const zone = useZone();
  const [fullest] = limit.accounts;
  const hit = fullest === undefined ? null : hitText(fullest, asOfMs, zone);
  return (
    <tr>
      <th scope="row">
        <ScopedLink to={`/limits/${encodeURIComponent(limit.id)}`}>{visibleText(limit.name)}</ScopedLink>{" "}
        <small>{limit.kind}</small> {limit.mode === "audit" && <span className="badge">only reports</span>}
      </th>
      <td>
        {boundText(limit)}
        <small className="line">
          {scopeText(limit)}
          {limit.project_id !== null && ` of project ${limit.project_id}`}
        </small>
      </td>
      <td>
        {fullest === undefined ? (
          <span className="hint">nothing counted</span>
        ) : (
          <span className="filled">
            <FillBar state={limit} account={fullest} />
            <span title={exactAmount(limit, fullest.used)}>
              {Math.round(fullest.share * 100)} % <small>{amountText(limit, fullest.used)}</small>
            </span>
            {fullest.value !== null && <small className="cut">of {visibleText(fullest.value)}</small>}
          </span>
        )}
      </td>
      <td>
        {hit === null ? (
          <span className="hint">
            {limit.kind === "budget" && limit.window !== "total" ? "not in this period" : "–"}
          </span>
        ) : (
          hit
        )}
      </td>
      <td className="wrap">
        {fullest?.resets_at == null ? (
          "–"
        ) : limit.kind === "budget" ? (
          <span title={inAllZones(Date.parse(fullest.resets_at), zone)}>
            {utcAndOwn(Date.parse(fullest.resets_at))}
          </span>
        ) : (
          <TimeText at={fullest.resets_at} />
        )}
      </td>
    </tr>
  );
}
