// A table of rows that are all alike: what its columns show is data. The first column names the row.
import type { ReactNode } from "react";
import { TableBox } from "./table-box.tsx";

export interface DataColumn<T> {
  readonly head: string;
  readonly render: (row: T) => ReactNode;
  /** Numbers stand below each other by their last digit. */
  readonly isNumber?: true;
  /** The head is only read out, because the cells explain themselves. */
  readonly hidesHead?: true;
  /** The text may take several lines. */
  readonly isWide?: true;
}

interface DataTableProps<T> {
  readonly label: string;
  /** What is read out before the table; the label, if left out. */
  readonly caption?: string;
  readonly columns: readonly DataColumn<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T, index: number) => string | number;
}

export function DataTable<T>({ label, caption = label, columns, rows, keyOf }: DataTableProps<T>) {
  return (
    <TableBox label={label}>
      <table>
        <caption className="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, hidesHead, ...column }) => (
              <th key={head} scope="col" className={classOf(column)}>
                {hidesHead === true ? <span className="unseen">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={keyOf(row, index)}>
              {columns.map((column, at) =>
                at === 0 ? (
                  <th key={column.head} scope="row" className={classOf(column)}>
                    {column.render(row)}
                  </th>
                ) : (
                  <td key={column.head} className={classOf(column)}>
                    {column.render(row)}
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

function classOf({ isNumber, isWide }: Pick<DataColumn<never>, "isNumber" | "isWide">): string | undefined {
  return isNumber === true ? "number" : isWide === true ? "wide" : undefined;
}
