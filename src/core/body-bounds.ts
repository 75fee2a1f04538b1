// How much a request's body may hold, however many bytes it has (decisions 5.8): work is bounded before it is done.

export interface BodyBounds {
  /** JSON values: texts, numbers, words, arrays and objects. */
  readonly maxValues: number;
  /** Arrays and objects inside one another, the body itself counted. */
  readonly maxLevels: number;
  readonly maxMessages: number;
  readonly maxTools: number;
  /** Items of any other array of a field that the gateway knows, the parts of a message among them; and members of any object. */
  readonly maxItems: number;
  /** Characters of the name of a field, a model, a route and the like. */
  readonly maxNameCharacters: number;
  readonly maxNumberDigits: number;
}

/** Operators can raise them. */
export const LEAST_BODY_BOUNDS: BodyBounds = {
  maxValues: 250_000,
  maxLevels: 64,
  maxMessages: 10_000,
  maxTools: 2048,
  maxItems: 10_000,
  maxNameCharacters: 256,
  maxNumberDigits: 64,
};
