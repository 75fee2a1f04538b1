// The filter as one line of text and as chips that can be removed.
import { type SubmitEvent, useId, useMemo, useRef, useState } from "react";
import { visibleText } from "../../format/visible-text.ts";
import { type Binding, useKeys } from "../../keyboard/keys.tsx";
import { useUrlState } from "../../url-state.ts";
import { FILTER_NAMES, parseFilter, withoutTerm } from "./filter.ts";

/** Begins anew with each filter that is applied, by a chip or by Back. */
export function FilterBar() {
  const applied = useUrlState().get("q") ?? "";
  return <FilterForm key={applied} applied={applied} />;
}

function FilterForm({ applied }: { readonly applied: string }) {
  const state = useUrlState();
  const [text, setText] = useState(applied);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const bindings = useMemo<readonly Binding[]>(
    () => [{ keys: "/", label: "Filter", run: () => field.current?.focus() }],
    [],
  );
  useKeys(bindings);
  const apply = (event: SubmitEvent): void => {
    event.preventDefault();
    state.set({ q: text.trim(), open: null });
    field.current?.blur();
  };
  const terms = parseFilter(applied);
  const wrong = terms.find(({ problem }) => problem !== null);
  return (
    <>
      <search>
        <form className="filter-row" onSubmit={apply}>
          <label htmlFor={id} className="unseen">
            Filter
          </label>
          <input
            id={id}
            ref={field}
            className="filter"
            type="search"
            list={`${id}-names`}
            placeholder="status:4xx route:chat cost>0.05"
            spellCheck={false}
            autoCapitalize="none"
            aria-invalid={wrong !== undefined}
            aria-describedby={wrong === undefined ? undefined : `${id}-problem`}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Escape") field.current?.blur();
            }}
          />
          <datalist id={`${id}-names`}>
            {FILTER_NAMES.map((name) => (
              <option
                key={name}
                value={`${name.replace("<name>", "")}${name.startsWith("meta") ? "" : ":"}`}
                aria-label={name}
              />
            ))}
          </datalist>
          <button type="submit">Filter</button>
        </form>
      </search>
      {terms.length > 0 && (
        <div className="chips">
          {terms.map(({ text: term, problem }) => (
            <button
              key={term}
              type="button"
              className={problem === null ? "" : "wrong"}
              aria-label={`Remove ${visibleText(term)}`}
              onClick={() => state.set({ q: withoutTerm(applied, term), open: null })}
            >
              {visibleText(term)} <span aria-hidden="true">×</span>
            </button>
          ))}
        </div>
      )}
      {wrong !== undefined && (
        <p id={`${id}-problem`} role="alert" className="hint">
          <code>{visibleText(wrong.text)}</code> filters nothing. {visibleText(wrong.problem!)}
        </p>
      )}
    </>
  );
}
