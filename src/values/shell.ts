/** A text as one argument of a shell. */
export function shellQuoted(text: string): string {
  return /^[\w=./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** The options that name these rooftops to a command, each with a space before it: a uid may have blanks and quotes. */
export function rooftopOptions(...uids: readonly string[]): string {
  return uids.map((uid) => ` --rooftop ${shellQuoted(uid)}`).join('')
}
