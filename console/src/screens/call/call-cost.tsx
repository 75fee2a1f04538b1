// The cost of a call as a sum that can be checked with a pencil.
import type { CallCost as CostSum, CallDetail } from "../../api/types.ts";
import { TableBox } from "../../components/table-box.tsx";
import { counted, wholeCount } from "../../format/count.ts";
import { exactUsd, nanoUsd } from "../../format/money.ts";
import { visibleText } from "../../format/visible-text.ts";
import { missWords } from "./cache-miss.ts";
import { recordOf } from "./call-record.ts";

export function CallCost({ call }: { readonly call: CallDetail }) {
  const { price_id: price, caller_cost_nano_usd: ofCaller, cache, attempts = [] } = recordOf(call.record);
  return (
    <>
      <p>{chargedOf(call)}</p>
      {call.cost !== null && <Sum cost={call.cost} />}
      {call.record !== null && call.cost === null && call.cost_usd !== null && (
        <p className="hint">
          The prices of today do not come to this amount, so it is not shown as a sum.
          {price === undefined ? "" : ` The price was ${visibleText(price)}.`}
        </p>
      )}
      {ofCaller !== undefined && (
        <p className="hint">
          By the client&rsquo;s own price it would be {exactUsd(BigInt(ofCaller))}, which no budget counts.
        </p>
      )}
      <PromptCache call={call} />
      {attempts.map(
        ({ provider, model, prompt_cache_miss: miss }, at) =>
          miss !== undefined && (
            <p key={at} className="hint">
              The prompt cache of {visibleText(`${provider}:${model ?? ""}`)} had less than before. {missWords(miss)}
            </p>
          ),
      )}
      {cache !== undefined && (
        <p className="hint">
          Response cache: {cache.outcome}
          {cache.bypass === undefined ? "" : ` (${visibleText(cache.bypass)})`}
          {cache.saved_nano_usd === undefined ? "" : `, which saved ${exactUsd(BigInt(cache.saved_nano_usd))}`}.
        </p>
      )}
    </>
  );
}

function PromptCache({ call }: { readonly call: CallDetail }) {
  const { cached_tokens: read, cache_write_tokens: written } = call;
  const saved = nanoUsd(call.cache_saved_usd) ?? 0n;
  if (read + written === 0) return null;
  return (
    <p className="hint">
      Prompt cache of the provider: {counted(read, "token")} read, {wholeCount(written)} written
      {saved > 0n && `, which saved ${exactUsd(saved)}`}
      {saved < 0n && `, which cost ${exactUsd(-saved)} more than without it`}.
    </p>
  );
}

function chargedOf({
  cost_usd: cost,
  prompt_tokens: sent,
  completion_tokens: received,
  estimated,
  mirror_of: original,
}: CallDetail): string {
  const nano = nanoUsd(cost);
  const tokens = estimated ? ", for tokens that the gateway estimated" : "";
  if (nano !== null)
    return original === null
      ? `${exactUsd(nano)} was charged${tokens}.`
      : `The copy cost ${exactUsd(nano)}${tokens}. Copies are not charged.`;
  return sent + received === 0
    ? "Nothing was used, so nothing was charged."
    : "No price is known for this model, so no cost was charged.";
}

function Sum({ cost }: { readonly cost: CostSum }) {
  return (
    <TableBox label="The cost as a sum">
      <table>
        <caption className="unseen">The cost as a sum</caption>
        <thead>
          <tr>
            <th scope="col">What</th>
            {["Amount", "Price per million", "Cost"].map((head) => (
              <th key={head} scope="col" className="number">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {cost.attempts.flatMap(({ provider, model, parts }, at) =>
            parts.map(({ what, units, usd_per_million: perMillion, usd }) => (
              <tr key={`${at} ${what}`}>
                <th scope="row" className="wrap">
                  {what.replaceAll("_", " ")}
                  {cost.attempts.length > 1 && <small> at {visibleText(`${provider}:${model}`)}</small>}
                </th>
                <td className="number">{wholeCount(units)}</td>
                <td className="number">{dollars(perMillion)}</td>
                <td className="number">${usd}</td>
              </tr>
            )),
          )}
        </tbody>
        <tfoot>
          <tr>
            <th scope="row" colSpan={3} className="wrap">
              Sum, rounded up to a whole nano-dollar
            </th>
            <td className="number">${cost.cost_usd}</td>
          </tr>
        </tfoot>
      </table>
      {cost.attempts.map(({ price_id: id, provider, model }, at) => (
        <p key={at} className="hint in-box">
          Price of {visibleText(`${provider}:${model}`)}: {visibleText(id)}
        </p>
      ))}
    </TableBox>
  );
}

/** With cents, and with all digits that there are. */
function dollars(text: string): string {
  const nano = nanoUsd(text);
  return nano === null ? `$${text}` : exactUsd(nano);
}
