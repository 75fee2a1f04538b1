// Drains: which are in force, how one is ended, and the dialog that begins one. A drain ends by itself.
import { ActionsAsCode, AsCode } from "../../components/as-code.tsx";
import { type SubmitEvent, useId, useState } from "react";
import type { Drain, ProviderHealth, ProviderHealths } from "../../api/types.ts";
import type { ShownRequest } from "../../api/command-of.ts";
import { useRead } from "../../api/use-api.tsx";
import { useWrite } from "../../api/use-write.ts";
import { Select, TextInput } from "../../components/controls/labelled.tsx";
import { Modal } from "../../components/modal.tsx";
import { Problem } from "../../components/problem.tsx";
import { Unread } from "../../components/unread.tsx";
import { ageOf, inAllZones, dayAndClock } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";
import { useZone } from "../../use-zone.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { adminPath, type Scope } from "../../scope/scope.ts";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";

/** Drains belong to the tenant, whose projects they concern. */
const ofTenant = ({ tenant }: Scope): Scope => ({ tenant, project: null });
const drainPath = (scope: Scope, provider: string): string =>
  adminPath(ofTenant(scope), `/providers/${encodeURIComponent(provider)}/drain`);

export function Drains({ drains, asOfMs }: { readonly drains: readonly Drain[]; readonly asOfMs: number }) {
  const scope = useScope();
  const me = useMe();
  const zone = useZone();
  const { ask, isBusy, failure } = useWrite();
  if (drains.length === 0) return null;
  const mayEnd = may(me, ofTenant(scope), "end*Drain");
  const ending = ({ provider, model }: Drain): ShownRequest => ({
    method: "DELETE",
    path: `${drainPath(scope, provider)}${model === null ? "" : `?${new URLSearchParams({ model }).toString()}`}`,
  });
  return (
    <div className="banner">
      <ul className="near">
        {drains.map((drain) => {
          const untilMs = Date.parse(drain.until);
          return (
            <li key={drain.model ?? ""}>
              <span>
                <b>{drain.model === null ? "Drained" : `${visibleText(drain.model)} is drained`}</b> until{" "}
                <time dateTime={drain.until} title={inAllZones(untilMs, zone)}>
                  {dayAndClock(untilMs, asOfMs, zone)}
                </time>
                , {ageOf(untilMs, asOfMs)}. It gets no calls of this tenant until then, and routes use their other
                targets.{drain.note !== null && ` Reason: ${visibleText(drain.note)}`}{" "}
                <small>Begun by {visibleText(drain.begun_by)}.</small>
              </span>
              {mayEnd && (
                <>
                  <button type="button" disabled={isBusy} onClick={() => void ask(ending(drain))}>
                    End the drain now
                  </button>
                  <ActionsAsCode
                    of={`of ending the drain of ${drain.model ?? drain.provider}`}
                    actions={{ "End the drain": ending(drain) }}
                  />
                </>
              )}
            </li>
          );
        })}
      </ul>
      {failure !== null && <Problem what="The drain was not ended." error={failure} />}
    </div>
  );
}

interface DrainButtonProps {
  readonly provider: ProviderHealth;
}

export function DrainButton({ provider }: DrainButtonProps) {
  const scope = useScope();
  const me = useMe();
  const [isOpen, setIsOpen] = useState(false);
  const isAllowed = may(me, ofTenant(scope), "drain*Provider");
  return (
    <>
      <button
        type="button"
        disabled={!isAllowed}
        title={isAllowed ? undefined : "Someone with the role admin or owner in the tenant can do it."}
        onClick={() => setIsOpen(true)}
      >
        Drain for a time
      </button>
      {isOpen && <DrainDialog provider={provider} close={() => setIsOpen(false)} />}
    </>
  );
}

/** The same for a provider of which only the name is known. */
export function DrainDialogOf({ id, close }: { readonly id: string; readonly close: () => void }) {
  const scope = useScope();
  const { data, error, refetch } = useRead<ProviderHealths>(adminPath(scope, "/provider_health"));
  const provider = data?.data.find((one) => one.id === id);
  if (provider !== undefined) return <DrainDialog provider={provider} close={close} />;
  return (
    <Modal title={`Drain ${visibleText(id)}`} close={close}>
      <Unread what="The provider" of={{ data, error, refetch }} />
      {data !== undefined && <p>There is no provider of this name here any more.</p>}
    </Modal>
  );
}

const TIMES = [
  { minutes: 15, label: "15 minutes" },
  { minutes: 60, label: "1 hour" },
  { minutes: 240, label: "4 hours" },
  { minutes: 1440, label: "1 day" },
] as const;

function DrainDialog({ provider, close }: DrainButtonProps & { readonly close: () => void }) {
  const scope = useScope();
  const id = useId();
  const { send, isBusy, failure } = useWrite();
  const [minutes, setMinutes] = useState<number>(60);
  const [model, setModel] = useState("");
  const [note, setNote] = useState("");
  const request = {
    minutes,
    ...(model !== "" && { model }),
    ...(note.trim() !== "" && { note: note.trim() }),
  };
  const begin = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const begun = await send("POST", drainPath(scope, provider.id), request);
    if (begun !== undefined) close();
  };
  return (
    <Modal title={`Drain ${visibleText(provider.id)}`} close={close}>
      <form className="form" onSubmit={(event) => void begin(event)}>
        <p>
          Calls of this tenant that have begun go on. New ones go to the other targets of their routes
          {provider.routes.length > 0 &&
            `: ${[...new Set(provider.routes.map(({ name }) => visibleText(name)))].join(", ")}`}
          . A call that has no other target is refused with the time at which it can be tried again.
        </p>
        <fieldset>
          <legend>For how long</legend>
          <div className="form-row">
            {TIMES.map(({ minutes: one, label }) => (
              <label key={one}>
                <input type="radio" name={id} checked={minutes === one} onChange={() => setMinutes(one)} />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
        <Select
          label="Models"
          value={model}
          choices={[
            ["", "all of its models"],
            ...provider.targets.map((target) => [target.model, `only ${target.model}`] as const),
          ]}
          change={setModel}
        />
        <TextInput
          label="Reason"
          hint="Callers whose calls are refused see it."
          value={note}
          maxLength={200}
          change={setNote}
        />
        {failure !== null && <Problem what="Nothing was drained." error={failure} />}
        <p className="actions">
          <button type="submit" className="primary" disabled={isBusy}>
            {isBusy ? "Draining…" : "Drain"}
          </button>
          <button type="button" className="quiet" onClick={close}>
            Cancel
          </button>
          <AsCode method="POST" path={drainPath(scope, provider.id)} body={request} />
        </p>
      </form>
    </Modal>
  );
}
