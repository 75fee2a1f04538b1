// What the models of a provider support, from the table by which the gateway fits requests to them.
import { useRead } from "../../api/use-api.tsx";
import { Pending } from "../../components/pending.tsx";
import { Problem } from "../../components/problem.tsx";
import { TableBox } from "../../components/table-box.tsx";
import { visibleText } from "../../format/visible-text.ts";
import { useUrlState } from "../../url-state.ts";

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
  const { data, error, refetch, isPlaceholderData } = useRead<Capabilities>(path);
  const models = [...new Set([model, ...targets.map((target) => target.model)])];
  return (
    <>
      <p className="filter-row">
        <label>
          Model
          <select value={model} onChange={(event) => url.set({ model: event.target.value }, { replace: true })}>
            {models.map((name) => (
              <option key={name} value={name}>
                {name === ANY_MODEL ? "any without exceptions" : name}
              </option>
            ))}
          </select>
        </label>
      </p>
      {error !== null && (
        <Problem what="What it supports could not be read." error={error} retry={() => void refetch()} />
      )}
      {data === undefined && error === null && <Pending what="What it supports" lines={8} />}
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
    <TableBox label={title}>
      <table>
        <caption className="unseen">{title}</caption>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col">Support</th>
            <th scope="col">Values</th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, support, values, range, note }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code>
              </th>
              <td>
                <span className={`status ${TONES[support]?.tone ?? "idle"}`} data-mark={TONES[support]?.mark ?? "–"}>
                  {support}
                </span>
              </td>
              <td>
                <span className="cut">
                  {support === "unsupported" ? "–" : (values?.join(", ") ?? range?.join(" to ") ?? "all")}
                </span>
              </td>
              <td className="wide">{note === null ? "" : visibleText(note)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableBox>
  );
}

const TONES: Readonly<Record<string, { readonly tone: string; readonly mark: string }>> = {
  native: { tone: "good", mark: "✓" },
  mapped: { tone: "good", mark: "✓" },
  emulated: { tone: "warn", mark: "~" },
};
