// The id of a thing that lives at a vendor, as it stands in a request.

export interface VendorReference {
  /** The path in the client's own body. */
  readonly path: string;
  /** The name of its member, or the type of the object whose id it is. */
  readonly name: string;
  /** Empty where it is no text, or a text that stands for files, which is bound to nobody. */
  readonly id: string;
}
