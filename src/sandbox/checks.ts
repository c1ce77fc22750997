/** Filled in by its routes. */
export class Checks {}
