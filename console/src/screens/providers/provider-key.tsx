// What is known of the key of a provider: where it is set, a mark by which keys can be told apart, and when it was changed last. The key
// itself is never shown.
import { useRead } from "../../api/use-api.tsx";
import { TimeText } from "../../components/time-text.tsx";
import type { ConfiguredObject } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";
import { Fact } from "../../components/facts.tsx";
import { Panel } from "../../components/panel.tsx";

/** Before what stands for a stored secret. */
const MASK = "*** ";

export function ProviderKey({ id }: { readonly id: string }) {
  const me = useMe();
  const { tenant } = useScope();
  const place = { tenant, project: null };
  const isAllowed = may(me, place, "read*Provider");
  const path = adminPath(place, `/providers/${encodeURIComponent(id)}`);
  const { data: object, error } = useRead<ConfiguredObject>(isAllowed ? path : null, { keepsPrevious: false });
  if (!isAllowed || (error !== null && error.status !== 404)) return null;
  const marks = object === undefined ? [] : marksOf(object);
  return (
    <Panel id="key" title="Its key">
      {error !== null && <p className="hint">It comes from an environment variable, or the provider needs none.</p>}
      {object !== undefined && (
        <dl className="pairs">
          <Fact name="Kept in">{object.origin === "file" ? "the configuration file" : "the database, encrypted"}</Fact>
          <Fact name="Fingerprint">
            {marks.length === 0
              ? "no key is stored"
              : marks.map((mark) => <code key={mark}>{visibleText(mark)} </code>)}
          </Fact>
          {object.updated_at !== null && (
            <Fact name="Changed">
              <TimeText at={object.updated_at} />
              {object.set_by !== null && ` by the role ${object.set_by}`}
            </Fact>
          )}
        </dl>
      )}
    </Panel>
  );
}

/** The marks of all masked secrets in the definition. */
function marksOf(value: unknown): readonly string[] {
  if (typeof value === "string") return value.startsWith(MASK) ? [value.slice(MASK.length)] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(marksOf);
}
