// A cost as a sum that can be checked with a pencil: units times their price.
import type { ReactNode } from "react";
import { wholeCount } from "../format/count.ts";
import { TableBox } from "./table-box.tsx";

export interface CostRow {
  readonly key: string;
  readonly what: ReactNode;
  readonly units: number;
  readonly perMillion: string;
  readonly amount: string;
}

interface CostTableProps {
  readonly label: string;
  readonly rows: readonly CostRow[];
  readonly sum?: string;
  /** Under the table, in its frame. */
  readonly children?: ReactNode;
}

export function CostTable({ label, rows, sum, children }: CostTableProps) {
  return (
    <TableBox label={label}>
      <table>
        <caption className="unseen">{label}</caption>
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
          {rows.map(({ key, what, units, perMillion, amount }) => (
            <tr key={key}>
              <th scope="row" className="wrap">
                {what}
              </th>
              <td className="number">{wholeCount(units)}</td>
              <td className="number">{perMillion}</td>
              <td className="number">{amount}</td>
            </tr>
          ))}
        </tbody>
        {sum !== undefined && (
          <tfoot>
            <tr>
              <th scope="row" colSpan={3} className="wrap">
                Sum, rounded up to a whole nano-dollar
              </th>
              <td className="number">{sum}</td>
            </tr>
          </tfoot>
        )}
      </table>
      {children}
    </TableBox>
  );
}
