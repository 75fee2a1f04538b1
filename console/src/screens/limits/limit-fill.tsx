// How full a limit or budget is: one bar where all calls share a count, and a table where each value has its own.
import type { LimitDetail } from "../../api/types.ts";
import { Empty } from "../../components/empty.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { TimeText } from "../../components/time-text.tsx";
import { nanoUsd, usdText } from "../../format/money.ts";
import { utcAndOwn } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { useZone } from "../../use-zone.ts";
import { FillBar, fillTone } from "./fill-bar.tsx";
import { countedCalls } from "./limit-calls.ts";
import { type Account, amountText, exactAmount, hitText, projectionText } from "./limit-words.ts";
import { Fact } from "../../components/facts.tsx";

export function LimitFill({ limit }: { readonly limit: LimitDetail }) {
  const [first, ...others] = limit.accounts;
  if (first === undefined)
    return (
      <Empty title="Nothing is counted yet">
        <p>Each value gets a count of its own with its first call, and the values that use most are shown then.</p>
      </Empty>
    );
  return others.length === 0 && first.value === null ? (
    <OneAccount limit={limit} account={first} />
  ) : (
    <AccountTable limit={limit} />
  );
}

interface AccountProps {
  readonly limit: LimitDetail;
  readonly account: Account;
}

function OneAccount({ limit, account }: AccountProps) {
  const zone = useZone();
  const parts = partsOf(limit, account);
  const calls = countedCalls(limit, account.value);
  return (
    <section className="panel" aria-label="How full it is">
      <div className="panel-body">
        <p className="verdict">{projectionText(limit, account, Date.parse(limit.as_of), zone)}</p>
        <FillBar state={limit} account={account} />
        <dl className={`facts fill-facts ${fillTone(account)}`}>
          {parts.map(([name, amount]) => (
            <div key={name}>
              <dt className={`fill-${name.toLowerCase()}`}>{name}</dt>
              <dd title={exactAmount(limit, amount)}>
                {name === "Used" && calls !== null ? (
                  <ScopedLink to={calls}>{amountText(limit, amount)}</ScopedLink>
                ) : (
                  amountText(limit, amount)
                )}
              </dd>
            </div>
          ))}
          <div>
            <dt>Amount</dt>
            <dd title={exactAmount(limit, limit.limit)}>{amountText(limit, limit.limit)}</dd>
          </div>
          {limit.begins_at !== null && <Fact name="Period began">{utcAndOwn(Date.parse(limit.begins_at))}</Fact>}
          {account.resets_at !== null && (
            <Fact name={limit.kind === "budget" ? "Resets" : "Empty again, if nothing is called"}>
              {limit.kind === "budget" ? utcAndOwn(Date.parse(account.resets_at)) : <TimeText at={account.resets_at} />}
            </Fact>
          )}
        </dl>
      </div>
    </section>
  );
}

/** What is used and settled, what is reserved for calls that run, and what is left. They add up to the bound, unless it is overdrawn. */
function partsOf(
  limit: LimitDetail,
  { used, reserved, remaining }: Account,
): readonly (readonly [string, number | string])[] {
  if (reserved === null)
    return [
      [limit.metric === "concurrency" ? "Running" : "Used", used],
      ["Left", remaining],
    ];
  return [
    [
      "Used",
      limit.metric === "usd"
        ? usdText((nanoUsd(String(used)) ?? 0n) - (nanoUsd(String(reserved)) ?? 0n))
        : Number(used) - Number(reserved),
    ],
    ["Reserved", reserved],
    ["Left", remaining],
  ];
}

function AccountTable({ limit }: { readonly limit: LimitDetail }) {
  return (
    <section className="panel" aria-labelledby="accounts">
      <h2 id="accounts">
        The fullest <small>each value has a count of its own</small>
      </h2>
      <TableBox label="Counts by value">
        <table>
          <caption className="unseen">Counts by value</caption>
          <thead>
            <tr>
              <th scope="col">Value</th>
              <th scope="col">Filled</th>
              <th scope="col" className="number">
                Used
              </th>
              <th scope="col" className="number">
                Left
              </th>
              <th scope="col">Used up</th>
            </tr>
          </thead>
          <tbody>
            {limit.accounts.map((account) => (
              <AccountRow key={account.value} limit={limit} account={account} />
            ))}
          </tbody>
        </table>
      </TableBox>
    </section>
  );
}

function AccountRow({ limit, account }: AccountProps) {
  const zone = useZone();
  const calls = account.value === null || account.share === 0 ? null : countedCalls(limit, account.value);
  const used = amountText(limit, account.used);
  return (
    <tr>
      <th scope="row">
        <span className="cut">{visibleText(account.value ?? "all others")}</span>
      </th>
      <td>
        <span className="filled">
          <FillBar state={limit} account={account} />
          {Math.round(account.share * 100)} %
        </span>
      </td>
      <td className="number" title={exactAmount(limit, account.used)}>
        {calls === null ? used : <ScopedLink to={calls}>{used}</ScopedLink>}
      </td>
      <td className="number" title={exactAmount(limit, account.remaining)}>
        {amountText(limit, account.remaining)}
      </td>
      <td>{hitText(account, Date.parse(limit.as_of), zone) ?? "–"}</td>
    </tr>
  );
}
