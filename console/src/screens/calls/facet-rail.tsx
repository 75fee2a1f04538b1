// The most frequent values of each dimension in the range. A value is a link that writes its term into the filter, or takes it out.
import { Link, useLocation } from "wouter";
import type { CallFacet, CallFacets } from "../../api/types.ts";
import { useRead } from "../../api/use-api.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { shortCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useUrlState } from "../../url-state.ts";
import { IN_SUMS } from "./calls-path.ts";
import { type Term, termText, withoutTerm, withTerm } from "./filter.ts";

const TITLES: Readonly<Partial<Record<CallFacet["dimension"], string>>> = {
  status: "Status",
  code: "Code",
  route: "Route",
  provider: "Provider",
  model: "Model",
  project: "Project",
  user: "User",
  token: "Token",
  operation: "Operation",
};
/** The parameters of the filter that the counts follow. */
const FOLLOWED: ReadonlySet<string> = new Set([
  "token_id",
  "user_id",
  "route",
  "provider",
  "model",
  "operation",
  "tenant_id",
  "project_id",
]);

interface FacetRailProps {
  /** Of the scope and the range, which ends with `&` or `?`. */
  readonly path: string;
  readonly terms: readonly Term[];
}

export function FacetRail({ path, terms }: FacetRailProps) {
  const parameters = terms.flatMap((term) => term.parameters).filter(([name]) => FOLLOWED.has(name));
  const left = terms.filter(
    ({ text, problem, parameters: asked }) =>
      problem === null && !IN_SUMS.includes(text) && asked.some(([name]) => !FOLLOWED.has(name)),
  );
  const { data, error, refetch, isPlaceholderData } = useRead<CallFacets>(
    `${path}limit=6&${new URLSearchParams(parameters.map(([name, value]) => [name, value])).toString()}`,
  );
  if (error !== null && data === undefined)
    return <Problem what="The values could not be counted." error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Pending what="The most frequent values" lines={6} />;
  return (
    <div className={`facets ${isPlaceholderData ? "old" : ""}`}>
      {Object.entries(TITLES).map(([dimension, title]) => (
        <Facet
          key={dimension}
          title={title}
          dimension={dimension}
          facets={data.data.filter((facet) => facet.dimension === dimension && facet.value !== null)}
          others={data.others[dimension] ?? 0}
          names={dimension === "token" ? data.token_names : {}}
          terms={terms}
        />
      ))}
      {left.length > 0 && (
        <p className="hint">These counts do not follow {left.map(({ text }) => visibleText(text)).join(", ")}.</p>
      )}
    </div>
  );
}

interface FacetProps {
  readonly title: string;
  readonly dimension: string;
  readonly facets: readonly CallFacet[];
  readonly others: number;
  /** What is shown in place of a value, where it has a name. */
  readonly names: Readonly<Record<string, string>>;
  readonly terms: readonly Term[];
}

function Facet({ title, dimension, facets, others, names, terms }: FacetProps) {
  const state = useUrlState();
  const [path] = useLocation();
  const text = state.get("q") ?? "";
  if (facets.length === 0 || (facets.length === 1 && others === 0 && dimension !== "status" && dimension !== "code"))
    return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {facets.map(({ value, calls }) => {
          const term = termText(dimension, value!);
          const isOn = terms.some((one) => one.text === term);
          return (
            <li key={value}>
              <Link
                href={
                  path +
                  state.with({ q: isOn ? withoutTerm(text, term) : withTerm(terms, dimension, value!), open: null })
                }
                aria-current={isOn ? "true" : undefined}
              >
                <span>{visibleText((Object.hasOwn(names, value!) ? names[value!] : undefined) ?? value!)}</span>
                <small>{shortCount(calls)}</small>
              </Link>
            </li>
          );
        })}
        {others > 0 && <li className="hint">{others} more</li>}
      </ul>
    </section>
  );
}
