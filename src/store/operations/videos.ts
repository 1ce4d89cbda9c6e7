/** Video tasks, their submissions and what they cost. */

export {};
