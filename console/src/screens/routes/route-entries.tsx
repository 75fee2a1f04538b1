// The targets and the fallbacks of a route in its form: one row for each, in their order, with the calls that it is for.
import type { KeyboardEvent } from "react";
import type { FormProps } from "../../configured/noun.ts";
import { withMoved, withValue } from "../../configured/yaml-text.ts";
import { visibleText } from "../../format/visible-text.ts";
import { entriesOf, type EntryList, type RouteEntry, withMember, withModel } from "./route-targets.ts";

const LISTS = {
  targets: { one: "target", legend: "Targets in order", numbers: ["weight", "order", "share"] },
  fallbacks: {
    one: "fallback",
    legend: "Fallbacks in order, models or route:<name>, for calls for which all targets have failed",
    numbers: ["share"],
  },
} as const;
const NUMBERS = { weight: "Weight", order: "Order", share: "Share" } as const;

export function RouteEntries({ list, fields, edit, isReadOnly }: FormProps & { readonly list: EntryList }) {
  const { one, legend } = LISTS[list];
  const entries = entriesOf(fields, list);
  const add = (): void =>
    edit((yaml) =>
      Array.isArray(fields[list])
        ? withValue(yaml, [list, entries.length], "sandbox:echo")
        : withValue(yaml, [list], ["sandbox:echo"]),
    );
  return (
    <fieldset className="targets">
      <legend>
        {legend}; <kbd>Alt</kbd> <kbd>↑</kbd> <kbd>↓</kbd> move one
      </legend>
      <ol>
        {entries.map((entry, index) => (
          <EntryRow
            key={index}
            list={list}
            entry={entry}
            index={index}
            count={entries.length}
            isMapping={typeof (fields[list] as readonly unknown[])[index] === "object"}
            edit={edit}
            isReadOnly={isReadOnly}
          />
        ))}
      </ol>
      {!isReadOnly && (
        <button type="button" onClick={add}>
          Add a {one}
        </button>
      )}
    </fieldset>
  );
}

interface EntryRowProps extends Pick<FormProps, "edit" | "isReadOnly"> {
  readonly list: EntryList;
  readonly entry: RouteEntry;
  readonly index: number;
  readonly count: number;
  readonly isMapping: boolean;
}

function EntryRow({ list, entry, index, count, isMapping, edit, isReadOnly }: EntryRowProps) {
  const { one, numbers } = LISTS[list];
  const nth = `${one} ${index + 1}`;
  const move = (by: number): void => edit((yaml) => withMoved(yaml, [list], index, index + by));
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (!event.altKey || by === 0 || isReadOnly || index + by < 0 || index + by >= count) return;
    event.preventDefault();
    move(by);
    const rows = event.currentTarget.closest("ol")!.children;
    rows[index + by]!.querySelector<HTMLInputElement>("input")?.focus();
  };
  const setModel = (model: string): void => edit((yaml) => withModel(yaml, list, index, isMapping, model));
  const setMember = (name: "weight" | "order" | "share" | "when", value: number | string | undefined): void =>
    edit((yaml) => withMember(yaml, list, index, { entry, isMapping }, name, value));
  // an empty list of fallbacks would take those of a wider scope away
  const remove = (): void =>
    edit((yaml) => withValue(yaml, list === "fallbacks" && count === 1 ? [list] : [list, index], undefined));
  return (
    <li>
      <input
        className="mono target-model"
        aria-label={`Model of ${nth}`}
        value={entry.model}
        readOnly={isReadOnly}
        spellCheck={false}
        autoComplete="off"
        onKeyDown={press}
        onChange={(event) => setModel(event.target.value)}
      />
      {numbers.map((name) => (
        <label key={name} className="target-number">
          {name === "share" ? "share %" : name}
          <input
            type="number"
            step="any"
            aria-label={`${NUMBERS[name]} of ${nth}`}
            value={entry[name] ?? ""}
            readOnly={isReadOnly}
            onChange={({ target: { value, valueAsNumber } }) =>
              setMember(name, value === "" || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber)
            }
          />
        </label>
      ))}
      {!isReadOnly && (
        <span className="target-buttons">
          <button
            type="button"
            className="quiet"
            aria-label={`Move ${nth} up`}
            disabled={index === 0}
            onClick={() => move(-1)}
          >
            ↑
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={`Move ${nth} down`}
            disabled={index === count - 1}
            onClick={() => move(1)}
          >
            ↓
          </button>
          <button type="button" className="quiet" aria-label={`Remove ${nth}`} onClick={remove}>
            Remove
          </button>
        </span>
      )}
      <label className="target-when">
        when
        <input
          className="mono"
          aria-label={`Condition of ${nth}`}
          placeholder="all calls"
          value={entry.when}
          readOnly={isReadOnly}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target: { value } }) => setMember("when", value === "" ? undefined : value)}
        />
      </label>
      {entry.further.length > 0 && (
        <small className="target-further">also sets {entry.further.map((name) => visibleText(name)).join(", ")}</small>
      )}
    </li>
  );
}
