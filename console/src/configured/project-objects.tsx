// Beside the list of a tenant: what its projects have of the same kind, each on the page of its project.
import { useRead } from "../api/use-api.tsx";
import { Problem } from "../components/problem.tsx";
import { visibleText } from "../format/visible-text.ts";
import { ScopedLink, useScope } from "../scope/scope-context.tsx";
import { adminPath, type Scope } from "../scope/scope.ts";
import { may } from "../session/me.ts";
import { useMe } from "../session/session.tsx";
import type { ConfiguredObject, Noun } from "./noun.ts";
import { Panel } from "../components/panel.tsx";

const PAGE_ROWS = 1000;
/** Each project is asked by itself. */
const MOST_PROJECTS = 20;

export function ProjectObjects({ noun }: { readonly noun: Noun }) {
  const scope = useScope();
  const me = useMe();
  if (scope.tenant === null || scope.project !== null) return null;
  const places = me.places
    .filter(({ tenant_id: tenant, project_id: project }) => tenant === scope.tenant && project !== null)
    .map(({ project_id: project, name }) => ({ name, scope: { tenant: scope.tenant, project } }))
    .filter((place) => may(me, place.scope, `read*${noun.operation}`));
  if (places.length === 0) return null;
  return (
    <Panel id="of-projects" title={`${noun.many} of its projects`}>
      <ul className="near">
        {places.slice(0, MOST_PROJECTS).map((place) => (
          <OfProject key={place.scope.project} noun={noun} scope={place.scope} name={place.name} />
        ))}
      </ul>
      {(places.length > MOST_PROJECTS || me.more_places) && (
        <p className="hint">Those of further projects are on the pages of these projects.</p>
      )}
    </Panel>
  );
}

interface OfProjectProps {
  readonly noun: Noun;
  readonly scope: Scope;
  readonly name: string;
}

function OfProject({ noun, scope, name }: OfProjectProps) {
  const { data, error } = useRead<{ readonly data: readonly ConfiguredObject[] }>(
    adminPath(scope, `/${noun.plural}?limit=${PAGE_ROWS}`),
  );
  const own = data?.data.filter(({ project_id: project }) => project === scope.project) ?? [];
  return (
    <li>
      <ScopedLink scope={scope} to={noun.screen}>
        {name}
      </ScopedLink>
      <small>
        {data !== undefined && own.length === 0 && " none of its own"}
        {own.map(({ id, name: one }, index) => (
          <span key={id}>
            {index === 0 ? " " : ", "}
            <ScopedLink scope={scope} to={`${noun.screen}/${encodeURIComponent(id)}`}>
              {visibleText(one)}
            </ScopedLink>
          </span>
        ))}
      </small>
      {error !== null && <Problem what="What this project has could not be read." error={error} />}
    </li>
  );
}
