// Keeps the place of whoever works without a mouse. When the control that has the focus goes away, or is disabled while something is sent, the
// browser puts the focus on nothing. Here it goes back to the control as soon as that can be used again, and otherwise to the part of the page in
// which the control stood.

interface Held {
  readonly control: HTMLElement;
  /** From the inside to the outside. */
  readonly around: readonly HTMLElement[];
}

/** Marks a part of the page that has the focus in place of a control; elements.css draws no ring around it. */
const PLACE = "data-place";

export function keepFocus(): void {
  let held: Held | null = null;
  const isLost = (): boolean => document.activeElement === null || document.activeElement === document.body;
  const look = (): void => {
    if (held === null || !isLost()) return;
    const { control, around } = held;
    if (control.isConnected && !control.matches(":disabled")) control.focus({ preventScroll: true });
    if (control.isConnected) return;
    const place = around.find((one) => one.isConnected && one.checkVisibility());
    if (place !== undefined) focusPlace(place);
  };
  document.addEventListener("focusin", ({ target }) => {
    held = target instanceof HTMLElement ? { control: target, around: ancestorsOf(target) } : null;
  });
  document.addEventListener("focusout", ({ target }) => {
    // a control that is still there and can be used has been left on purpose
    queueMicrotask(() => {
      if (held?.control === target && isLost() && isUsable(held.control)) held = null;
    });
  });
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ["disabled"],
  });
}

function isUsable(control: HTMLElement): boolean {
  return control.isConnected && !control.matches(":disabled") && control.checkVisibility();
}

function ancestorsOf(control: HTMLElement): readonly HTMLElement[] {
  const found: HTMLElement[] = [];
  for (let one = control.parentElement; one !== null && one !== document.body; one = one.parentElement) found.push(one);
  return found;
}

function focusPlace(place: HTMLElement): void {
  if (!place.hasAttribute("tabindex")) {
    place.tabIndex = -1;
    place.addEventListener("blur", () => place.removeAttribute("tabindex"), { once: true });
  }
  place.setAttribute(PLACE, "");
  place.addEventListener("blur", () => place.removeAttribute(PLACE), { once: true });
  place.focus({ preventScroll: true });
}
