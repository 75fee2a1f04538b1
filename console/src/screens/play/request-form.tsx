// The request as a form. It shows the members that most calls have; all others are named and stay as they are.
import { useId } from "react";
import { wholeCount } from "../../format/count.ts";
import {
  type JsonObject,
  messagesOf,
  targetOf,
  withMember,
  withMessage,
  withNewMessage,
  withoutMessage,
} from "./play-request.ts";
import { perMillion } from "./token-cost.ts";
import { isRouteEntry, type ListedModel } from "./use-models.ts";
import { Choices, Labelled } from "../../components/controls/labelled.tsx";

interface RequestFormProps {
  readonly body: JsonObject;
  readonly change: (body: JsonObject) => void;
  readonly models: readonly ListedModel[];
}

const ROLES = ["system", "developer", "user", "assistant", "tool"];
const NUMBERS = [
  { name: "temperature", step: "0.1" },
  { name: "max_tokens", step: "1" },
  { name: "seed", step: "1" },
] as const;
const SHOWN: ReadonlySet<string> = new Set([
  "model",
  "route",
  "messages",
  "stream",
  "drop_params",
  ...NUMBERS.map(({ name }) => name),
]);

export function RequestForm({ body, change, models }: RequestFormProps) {
  const messages = messagesOf(body);
  const others = Object.keys(body).filter((name) => !SHOWN.has(name));
  return (
    <div className="request-form">
      <Target body={body} change={change} models={models} />
      {messages === null ? (
        <p className="hint">
          <code>messages</code> is no list, so it can be changed as JSON only.
        </p>
      ) : (
        <fieldset className="messages">
          <legend>Messages</legend>
          {messages.map((message, index) => (
            <div key={index} className="message">
              <div className="message-head">
                <Choices
                  aria-label={`Role of message ${index + 1}`}
                  value={message.role}
                  choices={[...new Set([...ROLES, message.role])].map((role) => [role, role])}
                  change={(role) => change(withMessage(body, index, { role }))}
                />
                <button
                  type="button"
                  className="quiet"
                  aria-label={`Remove message ${index + 1}`}
                  onClick={() => change(withoutMessage(body, index))}
                >
                  Remove
                </button>
              </div>
              {message.text === null ? (
                <p className="hint">Parts: {message.parts.join(", ")}. They can be changed as JSON.</p>
              ) : (
                <textarea
                  aria-label={`Text of message ${index + 1}`}
                  rows={Math.min(14, Math.max(2, message.text.split("\n").length))}
                  value={message.text}
                  onChange={(event) => change(withMessage(body, index, { content: event.target.value }))}
                />
              )}
            </div>
          ))}
          <button type="button" onClick={() => change(withNewMessage(body))}>
            Add a message
          </button>
        </fieldset>
      )}
      <div className="form-row">
        {NUMBERS.map(({ name, step }) => (
          <NumberField key={name} name={name} step={step} body={body} change={change} />
        ))}
      </div>
      <div className="form-row">
        <Switch name="stream" label="Stream the answer" body={body} change={change} />
        <Switch name="drop_params" label="Drop what the model does not support" body={body} change={change} />
      </div>
      {others.length > 0 && (
        <p className="hint">
          The request also has{" "}
          {others.map((name, index) => (
            <span key={name}>
              {index > 0 && ", "}
              <code>{name}</code>
            </span>
          ))}
          , which can be changed as JSON.
        </p>
      )}
    </div>
  );
}

function Target({ body, change, models }: RequestFormProps) {
  const id = useId();
  const target = targetOf(body);
  const model = models.find((one) => one.id === target);
  const member = typeof body["route"] === "string" && body["route"] === target ? "route" : "model";
  const unsupported = unsupportedIn(body, model, models);
  return (
    <div className="field">
      <label htmlFor={id}>Model or route</label>
      <input
        id={id}
        list={`${id}-list`}
        spellCheck={false}
        autoComplete="off"
        value={target ?? ""}
        onChange={(event) => change(withMember(body, member, event.target.value))}
      />
      <datalist id={`${id}-list`}>
        {models.map((one) => (
          <option key={one.id} value={one.id}>
            {isRouteEntry(one) ? "route" : one.name}
          </option>
        ))}
      </datalist>
      <p className="hint">{model === undefined ? "Models that are not listed can be called as well." : told(model)}</p>
      {unsupported.length > 0 && (
        <p className="warning" role="status">
          {target} does not support <code>{unsupported.join(", ")}</code>.{" "}
          {body["drop_params"] === true ? "The gateway will leave that out." : "The call will be refused."}
        </p>
      )}
    </div>
  );
}

function told(model: ListedModel): string {
  const { pricing = {}, context_length: context } = model;
  const input = pricing["prompt"];
  const output = pricing["completion"];
  const kind = isRouteEntry(model) ? "A route" : model.name;
  const price =
    input === undefined && output === undefined
      ? isRouteEntry(model)
        ? "its targets have their own prices"
        : "no price is known"
      : `${perMillion(input ?? "0")} in and ${perMillion(output ?? "0")} out for a million tokens`;
  return `${kind}; ${price}${context === undefined ? "" : `; ${wholeCount(context)} tokens of context`}.`;
}

/** Common parameters of the request that no entry of the list for this target has, although other models have them. */
function unsupportedIn(
  body: JsonObject,
  model: ListedModel | undefined,
  models: readonly ListedModel[],
): readonly string[] {
  if (model === undefined) return [];
  const common = new Set(models.flatMap(({ supported_parameters: names }) => names));
  const own = new Set(model.supported_parameters);
  return Object.keys(body).filter((name) => common.has(name) && !own.has(name));
}

interface MemberProps extends Pick<RequestFormProps, "body" | "change"> {
  readonly name: string;
}

function NumberField({ name, step, body, change }: MemberProps & { readonly step: string }) {
  const value = body[name];
  return (
    <Labelled label={<code>{name}</code>}>
      {(id) => (
        <input
          id={id}
          type="number"
          step={step}
          value={typeof value === "number" ? value : ""}
          onChange={(event) => {
            const { value: text, valueAsNumber } = event.target;
            change(withMember(body, name, text === "" || Number.isNaN(valueAsNumber) ? undefined : valueAsNumber));
          }}
        />
      )}
    </Labelled>
  );
}

function Switch({ name, label, body, change }: MemberProps & { readonly label: string }) {
  return (
    <label>
      <input
        type="checkbox"
        checked={body[name] === true}
        onChange={(event) => change(withMember(body, name, event.target.checked ? true : undefined))}
      />
      {label}
    </label>
  );
}
