// What every page of the application is: made for an address, shown in the main element, and taken down again.

export interface Page {
  element: HTMLElement;
  destroy(): void;
}

/** Keys pressed in fields and buttons belong to those. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement;
  return (
    /^(INPUT|SELECT|TEXTAREA|BUTTON|SUMMARY)$/.test(target.tagName) && (target as HTMLInputElement).type !== "range"
  );
}

export function go(hash: string): void {
  location.hash = hash;
}
