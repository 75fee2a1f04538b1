// What the models of a provider support, from the table by which the gateway fits requests to them.
import { useRead } from "../../api/use-api.tsx";
import { DataTable } from "../../components/data-table.tsx";
import { Unread } from "../../components/unread.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { useUrlState } from "../../url-state.ts";
import { Status, type Tone } from "../../components/status-mark.tsx";
import { InlineSelect } from "../../components/controls/labelled.tsx";

/** As `GET /api/v1/params` answers. */
interface Capabilities {
  readonly model: string;
  readonly provider: { readonly label: string; readonly docs: string };
  readonly verified: { readonly source: string; readonly date: string } | null;
  readonly parameters: readonly Capability[];
  readonly content_blocks: readonly Capability[];
  readonly operations?: unknown;
}

interface Capability {
  readonly name: string;
  readonly support: string;
  readonly note: string | null;
  readonly values: readonly string[] | null;
  readonly range: readonly [number, number] | null;
}

/** A model of this name has no exceptions of its own. */
const ANY_MODEL = "any";

interface ProviderCapabilitiesProps {
  readonly id: string;
  readonly targets: readonly { readonly model: string }[];
}

export function ProviderCapabilities({ id, targets }: ProviderCapabilitiesProps) {
  const url = useUrlState();
  const model = url.get("model") ?? targets[0]?.model ?? ANY_MODEL;
  const path = `/v1/params?${new URLSearchParams({ model: `${id}:${model}` }).toString()}`;
  const { tenant, project } = useScope();
  const { data, error, refetch, isPlaceholderData } = useRead<Capabilities>(path, {
    // a provider of the same name may be another one elsewhere
    headers: {
      ...(tenant !== null && { "x-gateway-tenant-id": tenant }),
      ...(project !== null && { "x-gateway-project-id": project }),
    },
  });
  const models = [...new Set([model, ...targets.map((target) => target.model)])];
  return (
    <>
      <p className="filter-row">
        <InlineSelect
          label="Model"
          value={model}
          choices={models.map((name) => [name, name === ANY_MODEL ? "any without exceptions" : name])}
          change={(name) => url.set({ model: name }, { replace: true })}
        />
      </p>
      <Unread what="What it supports" lines={8} of={{ data, error, refetch }} />
      {data !== undefined && error === null && (
        <div className={`tab-panel ${isPlaceholderData ? "old" : ""}`}>
          <p className="hint">
            {data.verified === null
              ? "This table says what the provider's form of requests allows. It was not checked against a page of the vendor."
              : `Checked against ${data.verified.source} on ${data.verified.date}.`}
          </p>
          <CapabilityTable title="Parameters" rows={data.parameters} />
          <CapabilityTable title="What a conversation may hold" rows={data.content_blocks} />
        </div>
      )}
    </>
  );
}

function CapabilityTable({ title, rows }: { readonly title: string; readonly rows: readonly Capability[] }) {
  return (
    <DataTable
      label={title}
      rows={rows}
      keyOf={({ name }) => name}
      columns={[
        { head: title, render: ({ name }) => <code>{name}</code> },
        {
          head: "Support",
          render: ({ support }) => (
            <Status tone={TONES[support] ?? "idle"} mark={support === "emulated" ? "~" : undefined}>
              {support}
            </Status>
          ),
        },
        {
          head: "Values",
          render: ({ support, values, range }) => (
            <span className="cut">
              {support === "unsupported" ? "–" : (values?.join(", ") ?? range?.join(" to ") ?? "all")}
            </span>
          ),
        },
        { head: "Note", isWide: true, render: ({ note }) => (note === null ? "" : visibleText(note)) },
      ]}
    />
  );
}

const TONES: Readonly<Record<string, Tone>> = { native: "good", mapped: "good", emulated: "warn" };
