// `/models`: what can be called in a project, with prices, context and what it supports.
import { AsCode } from "../../components/as-code.tsx";
import { Empty } from "../../components/empty.tsx";
import { NameFilter, NoSuchName, useNameFilter } from "../../components/controls/name-filter.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { wholeCount } from "../../format/count.ts";
import { visibleText } from "../../format/visible-text.ts";
import { ScopedLink } from "../../scope/scope-context.tsx";
import { usePayingProject } from "../play/paying-project.ts";
import { ProjectChoice } from "../play/project-choice.tsx";
import { perMillion } from "../play/token-cost.ts";
import { answersChats, isRouteEntry, type ListedModel, useModels } from "../play/use-models.ts";
import { Unread } from "../../components/unread.tsx";

const MOST_ROWS = 500;

export function ModelsScreen() {
  const project = usePayingProject();
  const { data: models, error, refetch } = useModels(project.id);
  const isWanted = useNameFilter();
  const found = models?.filter(({ id, name }) => isWanted(`${id} ${name}`)) ?? [];
  return (
    <>
      <div className="title-row">
        <h1>Models</h1>
        <ProjectChoice project={project} label="As seen by" />
        {project.id !== null && <AsCode path="/v1/models" headers={{ "x-gateway-project-id": project.id }} />}
      </div>
      {project.id === null && (
        <Empty title={project.choices.length === 0 ? "You have a role in no project here" : "Which project?"}>
          <p>
            {project.choices.length === 0
              ? "Which models can be called depends on the project. Someone with the role admin or owner can give you a role in one."
              : "Which models can be called, and at which prices, depends on the project. Choose one at the right."}
          </p>
        </Empty>
      )}
      {project.id !== null && (
        <Unread what="The models" pending="The list of models" lines={8} of={{ data: models, error, refetch }} />
      )}
      {models !== undefined && (
        <>
          <p className="filter-row list-filter">
            <NameFilter what="models" />
          </p>
          {models.length === 0 ? (
            <Empty title="No model can be called">
              <p>Enable a provider with its key, and its models are here.</p>
            </Empty>
          ) : found.length === 0 ? (
            <NoSuchName count={models.length} />
          ) : (
            <ModelTable models={found.slice(0, MOST_ROWS)} projectId={project.id} />
          )}
          {found.length > MOST_ROWS && (
            <p className="hint">
              The first {MOST_ROWS} of {wholeCount(found.length)} are shown. Filter by name to see others.
            </p>
          )}
          <p className="hint">
            Prices are those of <ScopedLink to="/prices">your own list</ScopedLink> where it has the model, or else
            those that its provider has in the configuration, and otherwise those of the built-in list, in US dollars
            for a million tokens.
          </p>
        </>
      )}
    </>
  );
}

function ModelTable({
  models,
  projectId,
}: {
  readonly models: readonly ListedModel[];
  readonly projectId: string | null;
}) {
  return (
    <DataTable
      label="Models"
      caption="Models and routes that can be called"
      rows={models}
      keyOf={({ id }) => id}
      columns={[
        {
          head: "Model or route",
          render: (model) => (
            <>
              {visibleText(model.id)} {isRouteEntry(model) && <span className="badge">route</span>}
            </>
          ),
        },
        { head: "Input", isNumber: true, render: (model) => <Price model={model} kind="prompt" /> },
        { head: "Output", isNumber: true, render: (model) => <Price model={model} kind="completion" /> },
        { head: "Price from", render: ({ price_id: id }) => (id === undefined ? "–" : <PriceSource id={id} />) },
        {
          head: "Context",
          isNumber: true,
          render: ({ context_length: tokens }) => (tokens === undefined ? "–" : wholeCount(tokens)),
        },
        { head: "Takes", render: ({ architecture }) => architecture.input_modalities.join(", ") },
        {
          head: "Try it",
          render: (model) =>
            answersChats(model) ? (
              <ScopedLink to={playPath(model.id, projectId)} aria-label={`Try ${model.id} in the playground`}>
                Playground
              </ScopedLink>
            ) : (
              "–"
            ),
        },
      ]}
    />
  );
}

/** Ids of the built-in list begin with its name and version. */
function PriceSource({ id }: { readonly id: string }) {
  return <span title={visibleText(id)}>{/^[\w-]+@[\d.]+:/.test(id) ? "built-in list" : "own list"}</span>;
}

function playPath(model: string, projectId: string | null): string {
  const query = new URLSearchParams({ model, ...(projectId !== null && { project: projectId }) });
  return `/play?${query.toString()}`;
}

function Price({ model, kind }: { readonly model: ListedModel; readonly kind: string }) {
  const price = model.pricing?.[kind];
  if (price !== undefined) return perMillion(price);
  // the price is for something else, such as a search unit
  if (model.pricing !== undefined) return "–";
  return <span className="hint">{isRouteEntry(model) ? "by target" : "no price"}</span>;
}
