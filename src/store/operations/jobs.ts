/** Jobs: what is still to be done, and when. */

export {};
