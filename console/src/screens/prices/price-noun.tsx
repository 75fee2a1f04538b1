// What the console knows of prices.
import type { Noun } from "../../configured/noun.ts";
import { PriceForm } from "./price-form.tsx";
import { eachText, rateText, textOf } from "./price-words.ts";

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
    { head: "Model", render: ({ model }) => textOf(model) },
    { head: "Input", render: (price) => rateText(price, "prompt") },
    { head: "Output", render: (price) => rateText(price, "completion") },
    { head: "Beside tokens", render: eachText },
    { head: "From", render: ({ from }) => textOf(from) },
  ],
  Form: PriceForm,
};
