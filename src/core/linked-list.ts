/**
 * Doubly linked list, for objects that come and go with requests. A Map or Set is the wrong place for them: when V8 replaces its table,
 * the table that is gone refers to the new one and to the entries of that moment. Once one such table is old, each later one and all
 * that it refers to grow old, too, until a full collection. An element that has left this list refers to no other.
 */

/** Places beside an element; the list alone sets them. */
export interface Linked<Element> {
  previous: Element | undefined;
  next: Element | undefined;
}

export class LinkedList<Element extends Linked<Element>> {
  #first: Element | undefined;
  #last: Element | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Adds an element that is in no list, behind the others. */
  add(element: Element): void {
    element.previous = this.#last;
    if (this.#last) this.#last.next = element;
    else this.#first = element;
    this.#last = element;
    this.#size += 1;
  }

  has(element: Element): boolean {
    return element.previous !== undefined || this.#first === element;
  }

  /** Removes an element; false if it is not in the list. */
  delete(element: Element): boolean {
    if (!this.has(element)) return false;
    const { previous, next } = element;
    if (previous) previous.next = next;
    else this.#first = next;
    if (next) next.previous = previous;
    else this.#last = previous;
    element.previous = undefined;
    element.next = undefined;
    this.#size -= 1;
    return true;
  }

  /** In the order in which they were added. The element at hand may be deleted, others may not. */
  *[Symbol.iterator](): Generator<Element> {
    let element = this.#first;
    while (element) {
      const { next } = element;
      yield element;
      element = next;
    }
  }
}
