// Makes a token: a name is enough, everything else has a default of the scope.
import { AsCode } from "../../components/as-code.tsx";
import { type SubmitEvent, useState } from "react";
import type { IssuedToken, NewClaim } from "../../api/types.ts";
import { useWrite } from "../../api/use-write.ts";
import { Select, TextInput } from "../../components/controls/labelled.tsx";
import { Modal } from "../../components/modal.tsx";
import { Problem } from "../../components/problem.tsx";
import { adminPath } from "../../scope/scope.ts";
import { useScope } from "../../scope/scope-context.tsx";
import { may } from "../../session/me.ts";
import { useMe } from "../../session/session.tsx";

const ROLES = ["developer", "viewer", "maintainer"] as const;
const DAYS = [7, 30, 90, 365] as const;
/** The longest that the gateway gives by itself: a tenant may allow less. */
const DEFAULT_DAYS = { personal: 90, project: 365 } as const;

interface NewTokenProps {
  readonly made: (token: IssuedToken) => void;
  /** A link was made in its place, which gives the token to somebody else. */
  readonly linked: (claim: NewClaim) => void;
  readonly close: () => void;
}

export function NewToken({ made, linked, close }: NewTokenProps) {
  const scope = useScope();
  const me = useMe();
  const { send, isBusy, failure } = useWrite();
  const isPersonal = scope.project === null;
  const [name, setName] = useState("");
  const [role, setRole] = useState<string>("developer");
  const [user, setUser] = useState(me.user?.id ?? "");
  const [days, setDays] = useState("");
  const [models, setModels] = useState("");
  const [routes, setRoutes] = useState("");
  const [tools, setTools] = useState("");
  const [addresses, setAddresses] = useState("");
  const [isForOther, setIsForOther] = useState(false);
  const request = {
    name: name.trim(),
    ...(days !== "" && { expires_in_days: Number(days) }),
    ...(isPersonal ? { user_id: user.trim() } : { role }),
    models: listOf(models),
    routes: listOf(routes),
    tools: listOf(tools),
    ip: listOf(addresses),
  };
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    if (isForOther) {
      const claim = await send<NewClaim>("POST", adminPath(scope, "/claims"), request);
      if (claim !== undefined) linked(claim);
      return;
    }
    const token = await send<IssuedToken>("POST", adminPath(scope, "/tokens"), request);
    if (token !== undefined) made(token);
  };
  return (
    <Modal title={isPersonal ? "New personal token" : `New token of ${scope.project}`} close={close}>
      <form className="form" onSubmit={(event) => void submit(event)}>
        <TextInput label="Name" required maxLength={100} placeholder="What uses it" value={name} change={setName} />
        {isPersonal ? (
          <TextInput label="User" required value={user} change={setUser} />
        ) : (
          <Select label="Role" value={role} choices={ROLES.map((one) => [one, one])} change={setRole} />
        )}
        <Select
          label="Expires in"
          value={days}
          choices={[
            ["", `${DEFAULT_DAYS[isPersonal ? "personal" : "project"]} days, or fewer where the tenant allows no more`],
            ...DAYS.map((one) => [String(one), `${one} days`] as const),
          ]}
          change={setDays}
        />
        <details>
          <summary>Narrow what it may call</summary>
          <Narrowing label="Models" hint="Such as acme:*, separated by commas." value={models} change={setModels} />
          <Narrowing label="Routes" hint="Names, separated by commas." value={routes} change={setRoutes} />
          <Narrowing label="Tools" hint="Such as files__*, separated by commas." value={tools} change={setTools} />
          <Narrowing
            label="Addresses"
            hint="Such as 10.0.0.0/8, separated by commas."
            value={addresses}
            change={setAddresses}
          />
        </details>
        {may(me, scope, "create*Claim") && (
          <label className="check">
            <input type="checkbox" checked={isForOther} onChange={(event) => setIsForOther(event.target.checked)} /> For
            another person: make a link that gives it to whoever opens it first, within 24 hours
          </label>
        )}
        {failure !== null && (
          <Problem what={isForOther ? "The link was not made." : "The token was not made."} error={failure} />
        )}
        <p className="actions">
          <button type="submit" className="primary" disabled={isBusy || name.trim() === ""}>
            {isBusy ? "Making…" : isForOther ? "Make the link" : "Make the token"}
          </button>
          <button type="button" className="quiet" onClick={close}>
            Cancel
          </button>
          <AsCode method="POST" path={adminPath(scope, isForOther ? "/claims" : "/tokens")} body={request} />
        </p>
      </form>
    </Modal>
  );
}

interface NarrowingProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly change: (value: string) => void;
}

function Narrowing({ hint, ...input }: NarrowingProps) {
  return <TextInput {...input} hint={`${hint} Empty means all.`} spellCheck={false} />;
}

function listOf(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}
