// Narrows a list to the names that contain a text. The text is in the URL.
import { wholeCount } from "../../format/count.ts";
import { useUrlState } from "../../url-state.ts";
import { Empty } from "../empty.tsx";

/** Whether a name contains the text. */
export function useNameFilter(): (name: string) => boolean {
  const wanted = (useUrlState().get("q") ?? "").toLowerCase();
  return (name) => name.toLowerCase().includes(wanted);
}

/** `what` is listed, such as `providers`. */
export function NameFilter({ what }: { readonly what: string }) {
  const state = useUrlState();
  return (
    <input
      type="search"
      aria-label={`Filter ${what} by name`}
      placeholder="Filter by name"
      value={state.get("q") ?? ""}
      onChange={(event) => state.set({ q: event.target.value }, { replace: true })}
    />
  );
}

/** In place of a list of `count`, none of which has such a name. */
export function NoSuchName({ count }: { readonly count: number }) {
  const state = useUrlState();
  return (
    <Empty title="No name contains this text">
      <button type="button" onClick={() => state.set({ q: null })}>
        Show all {wholeCount(count)}
      </button>
    </Empty>
  );
}
