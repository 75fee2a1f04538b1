// How a model does a task: an operation whose answer is a value for each of its inputs.
import type { ToldUsage } from "./upstream-failure.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { Target } from "../../core/target.ts";
import type { JsonObject } from "../../core/json.ts";
import type { TaskName } from "../../core/operation.ts";
import type { TaskValues } from "../tasks/task-values.ts";
import type { DecodeContext, EncodedRequest } from "./encoded-request.ts";

/**
 * How one model does a task: something for a list of inputs, where the answer is no generated text. A request has one
 * message for each input.
 */
export interface TaskForm<Value> {
  /** The vendor's page. */
  readonly docs: string;
  /** The most inputs of one upstream request. */
  readonly mostInputs: number;
  /** The parameters of the operation that the model takes, under the operation's own names. */
  readonly takes: ReadonlySet<string>;
  /** Estimates what is billed for so many inputs, at a vendor that bills search units in place of tokens. */
  searchUnits?(inputs: number): number;
  /** The response header with the number of tokens, where the answer itself has none. */
  readonly tokenHeader?: string;
  /** Writes the request for these inputs. Throws GatewayError with the path. */
  encode(request: ChatRequest, target: Target): EncodedRequest;
  /** Throws StreamError for an error inside a 200, and MalformedAnswer for values that do not fit the inputs. */
  decode(body: string, context: DecodeContext): TaskAnswer<Value>;
}

export interface TaskAnswer<Value> extends ToldUsage {
  /** One value for each input, in the order of the inputs, unless the operation says otherwise. */
  readonly values: readonly Value[];
  /** The provider's own figures, where the operation passes them on. */
  readonly usage?: JsonObject;
  /** The model that answered, as the provider reports it. */
  readonly model: unknown;
}

/** The tasks of a provider. Each returns `null` for a model that does not do it. */
export type Tasks = {
  readonly [Name in TaskName]?: (model: string) => TaskForm<TaskValues[Name]> | null;
};
