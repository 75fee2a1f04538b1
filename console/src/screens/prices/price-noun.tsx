// What the console knows of prices.
import type { ConfiguredObject, Noun } from "../../configured/noun.ts";
import { visibleText } from "../../format/visible-text.ts";
import { PriceForm } from "./price-form.tsx";

const text = (value: unknown): string => (typeof value === "string" ? visibleText(value) : "–");
const unit = ({ per }: ConfiguredObject): string => (per === "token" ? "for a token" : "for a million");

export const PRICE_NOUN: Noun = {
  plural: "prices",
  screen: "/prices",
  one: "price",
  many: "Prices",
  command: "price",
  operation: "Price",
  template: 'model: "sandbox:*"\nprompt: "2.50"\ncompletion: "10.00"\n',
  purpose:
    "A price of your own takes precedence over the built-in list, for a model or for all models that match a pattern.",
  columns: [
    { head: "Model", render: ({ model }) => text(model) },
    { head: "Input", render: (price) => `${text(price["prompt"])} ${unit(price)}` },
    { head: "Output", render: (price) => `${text(price["completion"])} ${unit(price)}` },
    { head: "From", render: ({ from }) => text(from) },
  ],
  Form: PriceForm,
};
