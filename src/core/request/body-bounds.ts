// Bounds on the structure of a request body, whatever its size in bytes (promise 5.8). They are checked before the work
// that they bound is done.

export interface BodyBounds {
  /** Every JSON value counts: strings, numbers, literals, arrays and objects. */
  readonly maxValues: number;
  /** The greatest nesting depth of arrays and objects; the body itself is the first level. */
  readonly maxLevels: number;
  readonly maxMessages: number;
  readonly maxTools: number;
  /**
   * Bounds any other array in a field that the gateway knows, such as the parts of a message, and the members of any
   * object.
   */
  readonly maxItems: number;
  /** Bounds the names of fields, models, routes and the like. */
  readonly maxNameCharacters: number;
  readonly maxNumberDigits: number;
}

/** The defaults. They are also the minimum: operators can only raise them. */
export const LEAST_BODY_BOUNDS: BodyBounds = {
  maxValues: 250_000,
  maxLevels: 64,
  maxMessages: 10_000,
  maxTools: 2048,
  maxItems: 10_000,
  maxNameCharacters: 256,
  maxNumberDigits: 64,
};
