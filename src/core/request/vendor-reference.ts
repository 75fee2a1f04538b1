// The id of a thing that lives at a vendor, as it stands in a request.

export interface VendorReference {
  /** The path in the client's own body. */
  readonly path: string;
  /** The name of its member, or the type of the object whose id it is. */
  readonly name: string;
  /**
   * Empty where there is no single id, because the value is not a string or the text stands for files. No project has
   * received such a thing.
   */
  readonly id: string;
}
